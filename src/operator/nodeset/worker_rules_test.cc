// worker_view, placement and claims: the small rules about one worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/names.h"
#include "base/rfc3339.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/placement.h"
#include "operator/nodeset/worker_testing.h"
#include "operator/nodeset/worker_view.h"

namespace mainspring::op {
namespace {

using testing::ElementsAre;

template <class T>
T decoded(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string() << " in " << text;
  return value.value_or(T{});
}

api::NodeSet nodeset() {
  return decoded<api::NodeSet>(
      R"({"metadata":{"name":"gpu","namespace":"hpc","uid":"set-uid"},"spec":{}})");
}

kube::Pod pod(const std::string& text) { return decoded<kube::Pod>(text); }

TEST(WorkerView, SlurmKnowsAWorkerByTheLabelTheHostnameOrThePodsName) {
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-0"}})")), "gpu-0");
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-0"},"spec":{"hostname":"h0"}})")),
            "h0");
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-0","labels":{
      "nodeset.slinky.slurm.net/pod-hostname":"l0"}},"spec":{"hostname":"h0"}})")),
            "l0");
}

TEST(WorkerView, OnTheHostsNetworkAWorkerHasTheNamesOfItsNode) {
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-0"},
      "spec":{"hostNetwork":true,"nodeName":"a1.x","hostname":"gpu-0"}})")),
            "a1.x");
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-0"},"spec":{"hostNetwork":true}})")),
            "")
      << "not scheduled: Slurm cannot know it";
  EXPECT_EQ(slurm_node_name(pod(R"({"metadata":{"name":"gpu-x7","labels":{
      "nodeset.slinky.slurm.net/scaling-mode":"DaemonSet",
      "nodeset.slinky.slurm.net/pod-hostname":"a1"}},
      "spec":{"hostNetwork":true,"nodeName":"a1.x","hostname":"a1"}})")),
            "a1");
}

TEST(WorkerView, AWorkerIsAboutToRegisterWhileItHasJustStartedAndSlurmDoesNotCallItUp) {
  using Knowledge = SlurmFacts::Knowledge;
  using slurm::NodeState;
  const auto ready = *parse_rfc3339("2026-11-16T10:00:00Z");
  WorkerView worker;
  worker.pod = std::make_shared<kube::Pod>(pod(R"({"metadata":{"name":"gpu-0"},"status":{
      "phase":"Running","conditions":[{"type":"Ready","status":"True",
      "lastTransitionTime":"2026-11-16T10:00:00Z"}]}})"));
  const auto about_to = [&](Knowledge knowledge, NodeState state = {}) {
    auto node = std::make_shared<slurm::Node>();
    node->state = state;
    worker.slurm = {knowledge, knowledge == Knowledge::kPresent ? node : nullptr};
    return is_about_to_register(worker, ready + minutes(1));
  };
  EXPECT_FALSE(about_to(Knowledge::kUnknown));
  EXPECT_FALSE(about_to(Knowledge::kPresent, NodeState(NodeState::Base::kIdle)));
  EXPECT_TRUE(about_to(Knowledge::kPresent, NodeState(NodeState::Base::kDown)));
  EXPECT_TRUE(about_to(Knowledge::kAbsent));
  EXPECT_FALSE(is_about_to_register(worker, ready + minutes(3))) << "that was long ago";
  worker.pod = std::make_shared<kube::Pod>(pod(R"({"metadata":{"name":"gpu-0"}})"));
  EXPECT_FALSE(is_about_to_register(worker, ready)) << "not ready";
}

TEST(WorkerView, OrdinalsAreReadWhateverTheirPadding) {
  const auto ordinal = [](const char* name) {
    kube::Pod named;
    named.meta.name = name;
    return ordinal_of(nodeset(), named);
  };
  EXPECT_EQ(ordinal("gpu-0"), 0U);
  EXPECT_EQ(ordinal("gpu-0012"), 12U);
  EXPECT_EQ(ordinal("gpu-4294967295"), 4294967295U);
  for (const char* name : {"gpu", "gpu-", "gpu-x7k2p", "gpu--1", "gpu-+1", "gpu-1-2", "gpu2-1",
                           "gpu-4294967296", "cpu-1"}) {
    EXPECT_EQ(ordinal(name), std::nullopt) << name;
  }
}

TEST(WorkerView, TheModeIsTheLabelsOrElseTheNames) {
  const auto mode = [](const std::string& name, const std::string& label) {
    return scaling_mode_of(
        nodeset(),
        pod(R"({"metadata":{"name":")" + name +
            R"(","labels":{"nodeset.slinky.slurm.net/scaling-mode":")" + label + R"("}}})"));
  };
  EXPECT_EQ(mode("gpu-12345", "DaemonSet"), api::ScalingMode::kDaemonSet);
  EXPECT_EQ(mode("gpu-1", "StatefulSet"), api::ScalingMode::kStatefulSet);
  EXPECT_EQ(mode("gpu-1", ""), api::ScalingMode::kStatefulSet);
  EXPECT_EQ(mode("gpu-x7k2p", ""), api::ScalingMode::kDaemonSet);
}

TEST(WorkerView, EveryCauseIsReadAsItIsWritten) {
  for (const auto cause :
       {Cause::kNone, Cause::kScaleIn, Cause::kUpdate, Cause::kModeSwitch, Cause::kMisplaced,
        Cause::kDuplicate, Cause::kHostname, Cause::kDeletion, Cause::kNode, Cause::kPerson}) {
    EXPECT_EQ(cause_of(to_string(cause)), cause) << to_string(cause);
  }
  EXPECT_EQ(cause_of("a word of a later version"), Cause::kPerson);
}

Cause cause_with(const std::string& annotations, const std::string& reason,
                 bool unschedulable = false) {
  WorkerView worker;
  worker.pod = std::make_shared<const kube::Pod>(
      pod(R"({"metadata":{"name":"gpu-0","annotations":)" + annotations + "}}"));
  kube::Node node;
  node.unschedulable = unschedulable;
  worker.node = std::make_shared<const kube::Node>(node);
  if (!reason.empty()) {
    slurm::Node known;
    known.reason = reason;
    worker.slurm = {SlurmFacts::Knowledge::kPresent, std::make_shared<const slurm::Node>(known)};
  }
  return cordon_cause(worker);
}

TEST(WorkerView, ACordonWithoutANoteIsAPersonsUnlessSlurmShowsUpstreamsReason) {
  const std::string cordon = R"({"nodeset.slinky.slurm.net/pod-cordon":"true"})";
  EXPECT_EQ(cause_with("{}", "slurm-operator: x"), Cause::kNone);
  EXPECT_EQ(cause_with(R"({"nodeset.slinky.slurm.net/pod-cordon":"false"})", ""), Cause::kNone);
  EXPECT_EQ(cause_with(cordon, ""), Cause::kPerson) << "Slurm silent: nothing may be lifted";
  EXPECT_EQ(cause_with(cordon, "bad disk"), Cause::kPerson);
  EXPECT_EQ(cause_with(cordon, "slurm-operator: Pod (hpc/gpu-0) was cordoned"), Cause::kPerson);
  EXPECT_EQ(cause_with(cordon, "bad disk", true), Cause::kPerson);
  EXPECT_EQ(cause_with(cordon, "slurm-operator: Pod (hpc/gpu-0) was cordoned", true),
            Cause::kPerson)
      << "a cordon of the node beside it is another's";
  EXPECT_EQ(
      cause_with(cordon, "slurm-operator: Pod (hpc/gpu-0) is pending termination for scale-in"),
      Cause::kScaleIn);
  EXPECT_EQ(cause_with(cordon,
                       "slurm-operator: Node (a1) was cordoned, Pod (hpc/gpu-0) must be cordoned"),
            Cause::kNode);
  EXPECT_EQ(cause_with(cordon, "slurm-operator: replace the fan", true), Cause::kNode);
}

TEST(WorkerView, ACordonIsAPersonsWhereSlurmsReasonIsOfAnEarlierPod) {
  Sketch sketch{.name = "gpu-0", .cordon = "true", .created = kNow - hours(1)};
  sketch.reason = "slurm-operator: Pod (slurm/gpu-0) is pending termination for scale-in";
  sketch.reason_since = kNow - hours(2);
  EXPECT_EQ(cordon_cause(view_of(sketch)), Cause::kPerson);
  sketch.reason_since = kNow;
  EXPECT_EQ(cordon_cause(view_of(sketch)), Cause::kScaleIn);
}

TEST(WorkerView, OurNoteSaysWhyWhateverSlurmShows) {
  EXPECT_EQ(cause_with(R"({"nodeset.slinky.slurm.net/pod-cordon":"true",
                           "mainspring.slurm.net/cordoned-for":"update"})",
                       "bad disk"),
            Cause::kUpdate);
  EXPECT_EQ(cause_with(R"({"mainspring.slurm.net/cordoned-for":"update"})", ""), Cause::kNone);
}

// Of a DaemonSet-mode template with this pod spec.
PlacementRules rules(const std::string& spec) {
  json::Value pod_template = json::Value::object();
  pod_template["spec"] = json::parse(spec).value();
  json::Value& tolerations = pod_template["spec"]["tolerations"];
  for (const json::Value& one : daemon_tolerations(false)) tolerations.push_back(one);
  return placement_rules(pod_template).value();
}

struct PlaceCase {
  const char* what;
  const char* spec;
  const char* node;
  bool should_run;
  bool should_continue;
};

TEST(Placement, AsksSelectorAffinityTaintsAndCordon) {
  constexpr const char* kAffinity = R"({"affinity":{"nodeAffinity":{
      "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
        {"matchExpressions":[{"key":"pool","operator":"In","values":["gpu"]}]}]}}}})";
  const PlaceCase cases[] = {
      {"a plain node", "{}", "{}", true, true},
      {"selector fits", R"({"nodeSelector":{"pool":"gpu"}})",
       R"({"metadata":{"labels":{"pool":"gpu"}}})", true, true},
      {"selector does not", R"({"nodeSelector":{"pool":"gpu"}})",
       R"({"metadata":{"labels":{"pool":"cpu"}}})", false, false},
      {"affinity fits", kAffinity, R"({"metadata":{"labels":{"pool":"gpu"}}})", true, true},
      {"affinity does not", kAffinity, "{}", false, false},
      {"NoSchedule keeps new pods off", "{}",
       R"({"spec":{"taints":[{"key":"x","effect":"NoSchedule"}]}})", false, true},
      {"NoExecute drives pods away", "{}",
       R"({"spec":{"taints":[{"key":"x","effect":"NoExecute"}]}})", false, false},
      {"a taint that is tolerated", R"({"tolerations":[{"key":"x","operator":"Exists"}]})",
       R"({"spec":{"taints":[{"key":"x","effect":"NoExecute"}]}})", true, true},
      {"PreferNoSchedule is no bar", "{}",
       R"({"spec":{"taints":[{"key":"x","effect":"PreferNoSchedule"}]}})", true, true},
      {"a cordoned node", "{}", R"({"spec":{"unschedulable":true}})", true, true},
      {"a cordoned node with its taint", "{}",
       R"({"spec":{"unschedulable":true,"taints":[
           {"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}})",
       true, true},
      {"an unreachable node keeps its pod", "{}",
       R"({"spec":{"taints":[{"key":"node.kubernetes.io/unreachable","effect":"NoExecute"}]}})",
       true, true},
  };
  for (const PlaceCase& c : cases) {
    const auto node = std::make_shared<const kube::Node>(decoded<kube::Node>(c.node));
    const Place found = place(rules(c.spec), node);
    EXPECT_EQ(found.should_run, c.should_run) << c.what;
    EXPECT_EQ(found.should_continue, c.should_continue) << c.what;
    EXPECT_EQ(found.node, node);
  }
}

TEST(Placement, WithoutTheDaemonsTolerationsACordonIsABar) {
  kube::Node node;
  node.unschedulable = true;
  const Place found = place(PlacementRules{}, std::make_shared<const kube::Node>(node));
  EXPECT_FALSE(found.should_run);
  EXPECT_TRUE(found.should_continue);
}

TEST(Placement, ATemplateThatKubernetesCouldNotReadIsAnError) {
  json::Value pod_template = json::Value::object();
  pod_template["spec"]["tolerations"] = "all";
  EXPECT_FALSE(placement_rules(pod_template));
}

kube::OwnerReference set_ref(std::string uid = "set-uid") {
  return {"slinky.slurm.net/v1beta1", "NodeSet", "gpu", std::move(uid), true, true};
}
kube::OwnerReference pod_ref(std::string uid = "pod-uid") {
  return {"v1", "Pod", "gpu-0", std::move(uid), true, true};
}
kube::OwnerReference backup_ref(bool controller) {
  return {"backup.example.org/v1", "Plan", "nightly", "plan-uid", controller, false};
}

using Owners = std::vector<kube::OwnerReference>;

struct Policy {
  bool when_deleted;
  bool when_scaled;
};

// The owners after one pass; the second value is whether a write was asked for.
std::pair<Owners, bool> owners_after(Policy policy, bool scaled_in, const Owners& before,
                                     bool deleting = false) {
  auto set = nodeset();
  set.spec.delete_claims_when_deleted = policy.when_deleted;
  set.spec.delete_claims_when_scaled = policy.when_scaled;
  kube::Pod worker;
  worker.meta.name = "gpu-0";
  worker.meta.uid = "pod-uid";
  set.spec.volume_claim_templates = {
      json::parse(R"({"metadata":{"name":"data"},"spec":{}})").value()};
  kube::PersistentVolumeClaim claim;
  claim.meta.name = "data-gpu-0";
  claim.meta.owners = before;
  if (deleting) claim.meta.deletion = WallTime{};
  const auto wanted = wanted_owners(set, worker, scaled_in, claim);
  if (!wanted) return {before, false};
  return {Owners(wanted->begin(), wanted->end()), true};
}

TEST(Claims, OwnersFollowTheRetentionPolicyFromAnyStateAndThenRest) {
  struct Case {
    Policy policy;
    bool scaled_in;
    Owners owners;
  };
  const Case cases[] = {
      {{false, false}, false, {}},         {{false, false}, true, {}},
      {{true, false}, false, {set_ref()}}, {{true, false}, true, {set_ref()}},
      {{false, true}, false, {}},          {{false, true}, true, {pod_ref()}},
      {{true, true}, false, {set_ref()}},  {{true, true}, true, {pod_ref()}},
  };
  for (const Case& c : cases) {
    for (const Owners& before : {Owners{}, Owners{set_ref()}, Owners{pod_ref()}}) {
      const auto [after, written] = owners_after(c.policy, c.scaled_in, before);
      EXPECT_EQ(after, c.owners);
      EXPECT_EQ(written, before != c.owners);
      EXPECT_FALSE(owners_after(c.policy, c.scaled_in, after).second) << "at rest, silence";
    }
  }
}

TEST(Claims, OtherPeoplesReferencesStay) {
  EXPECT_THAT(owners_after({true, true}, true, {set_ref(), backup_ref(false)}).first,
              ElementsAre(backup_ref(false), pod_ref()));
  EXPECT_FALSE(owners_after({true, false}, false, {set_ref(), backup_ref(false)}).second)
      << "the order does not matter";
}

TEST(Claims, OfAnotherControllerOnlyLoseOurReferences) {
  EXPECT_THAT(owners_after({true, true}, false, {set_ref(), backup_ref(true)}).first,
              ElementsAre(backup_ref(true)));
  EXPECT_FALSE(owners_after({true, true}, false, {backup_ref(true)}).second);
}

TEST(Claims, OfAnEarlierSetOrPodOfTheSameNameAreLeftToTheGarbageCollector) {
  EXPECT_FALSE(owners_after({true, true}, false, {set_ref("old")}).second);
  EXPECT_FALSE(owners_after({true, true}, false, {pod_ref("old")}).second);
  auto weak = pod_ref("old");
  weak.controller = false;
  EXPECT_FALSE(owners_after({true, true}, false, {weak}).second);
  EXPECT_FALSE(owners_after({true, true}, false, {}, true).second) << "being deleted";
}

TEST(Claims, ThatTheUserMadeAreNeverOurs) {
  auto set = nodeset();
  set.spec.delete_claims_when_deleted = true;
  set.spec.volume_claim_templates = {json::parse(R"({"metadata":{"name":"data"}})").value()};
  const auto touched = [&](const char* worker, const char* name) {
    kube::PersistentVolumeClaim claim;
    claim.meta.name = name;
    return wanted_owners(set, pod(worker), false, claim).has_value();
  };
  constexpr const char* kByOrdinal = R"({"metadata":{"name":"gpu-0","uid":"p"}})";
  constexpr const char* kByNode =
      R"({"metadata":{"name":"gpu-x7k2p","uid":"p"},"spec":{"hostname":"a1"}})";
  EXPECT_TRUE(touched(kByOrdinal, "data-gpu-0"));
  EXPECT_TRUE(touched(kByNode, "data-gpu-a1"));
  for (const char* name : {"home", "data", "data-gpu-1", "home-gpu-0", "data-gpu-"}) {
    EXPECT_FALSE(touched(kByOrdinal, name)) << name;
  }
}

TEST(Claims, APodWaitsForThoseThatItsTemplatesMakeAndForNoOthers) {
  auto set = nodeset();
  set.spec.delete_claims_when_deleted = true;
  for (const char* name : {"data", "scratch"}) {
    set.spec.volume_claim_templates.push_back(json::Value::object(
        {{"metadata", json::Value::object({{"name", name}})}, {"spec", json::Value::object()}}));
  }
  // "scratch" of this pod is the user's.
  const kube::Pod worker = pod(R"({"metadata":{"name":"gpu-0","uid":"p"},"spec":{"volumes":[
      {"name":"home","persistentVolumeClaim":{"claimName":"home"}},
      {"name":"scratch","persistentVolumeClaim":{"claimName":"everybodys"}},
      {"name":"data","persistentVolumeClaim":{"claimName":"data-gpu-0"}},
      {"name":"tmp","emptyDir":{}}]}})");
  const auto claims = claims_of(set, worker);
  ASSERT_EQ(claims.size(), 1U);
  EXPECT_EQ(claims[0].name, "data-gpu-0");
  EXPECT_EQ(*claims[0].object.at_pointer("/metadata/name"), json::Value("data-gpu-0"));
  EXPECT_EQ(*claims[0].object.at_pointer("/metadata/ownerReferences/0/uid"),
            json::Value("set-uid"));
}

TEST(Claims, OnlyAPodThatHasNotStartedWaits) {
  EXPECT_TRUE(waits_to_start(pod(R"({"metadata":{"name":"a"},"status":{"phase":"Pending"}})")));
  EXPECT_TRUE(waits_to_start(pod(R"({"metadata":{"name":"a"}})")));
  EXPECT_FALSE(waits_to_start(pod(R"({"metadata":{"name":"a"},"status":{"phase":"Running"}})")));
  EXPECT_FALSE(waits_to_start(pod(R"({"metadata":{"name":"a",
      "deletionTimestamp":"2026-11-16T10:00:00Z"},"status":{"phase":"Pending"}})")));
}

TEST(Claims, AReferenceOfOursThatDoesNotControlIsMadeRight) {
  auto weak = set_ref();
  weak.controller = false;
  EXPECT_THAT(owners_after({true, false}, false, {weak}).first, ElementsAre(set_ref()));
}

}  // namespace
}  // namespace mainspring::op
