// operator/nodeset/projection_test.cc
#include "operator/nodeset/projection.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"
#include "json/strategic_merge.h"

namespace mainspring::op {
namespace {

using json::Value;
using slurm::NodeState;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;
using Base = NodeState::Base;
using Flag = NodeState::Flag;
using Knowledge = SlurmFacts::Knowledge;

const WallTime kNow = *parse_rfc3339("2026-11-16T09:00:00Z");

template <class T>
std::shared_ptr<const T> decoded(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return std::make_shared<const T>(*std::move(value));
}

std::shared_ptr<const kube::Pod> pod(std::string_view meta = "", std::string_view conditions = "") {
  return decoded<kube::Pod>(R"({"metadata":{"name":"gpu-0","namespace":"slurm","uid":"u-1")" +
                            std::string(meta) + R"(},"status":{"phase":"Running","conditions":[)" +
                            std::string(conditions) + "]}}");
}

SlurmFacts facts(NodeState state, std::string_view reason = "") {
  auto node = std::make_shared<slurm::Node>();
  node->name = "gpu-0";
  node->state = state;
  node->reason = reason;
  return {Knowledge::kPresent, std::move(node), {}, 0};
}
const SlurmFacts kUnknownFacts = {};
const SlurmFacts kAbsentFacts = {Knowledge::kAbsent, nullptr, {}, 0};

WorkerView worker(SlurmFacts slurm, std::shared_ptr<const kube::Pod> of = pod()) {
  return {.pod = std::move(of), .node = nullptr, .slurm = std::move(slurm)};
}

std::shared_ptr<const slurm::Job> job(std::int64_t start, slurm::Number limit,
                                      slurm::JobState state = slurm::JobState::Base::kRunning) {
  auto made = std::make_shared<slurm::Job>();
  made->state = state;
  made->start_time = start;
  made->time_limit = limit;
  return made;
}

std::vector<std::string> types(const std::vector<kube::Condition>& conditions) {
  std::vector<std::string> names;
  for (const kube::Condition& condition : conditions) names.push_back(condition.type.str());
  return names;
}

TEST(StateConditions, AreOneForTheBaseStateAndOneForEachFlagThatToolsKnow) {
  const auto conditions = state_conditions(
      *facts({Base::kDown, {Flag::kNotResponding, Flag::kDrain, Flag::kDynamicNorm}}, "bad dimm")
           .node);
  EXPECT_THAT(types(conditions), ElementsAre("SlurmNodeStateDown", "SlurmNodeStateDrain",
                                             "SlurmNodeStateNotResponding"));
  for (const kube::Condition& condition : conditions) {
    EXPECT_EQ(condition.status, kube::ConditionStatus::kTrue);
    EXPECT_EQ(condition.message, "bad dimm");
  }
  EXPECT_EQ(conditions[0].reason, "Down");
}

TEST(StateConditions, CoverEveryStateOfTheContract) {
  std::vector<std::string> all;
  for (const Base base : {Base::kAllocated, Base::kDown, Base::kError, Base::kFuture, Base::kIdle,
                          Base::kMixed, Base::kUnknown, Base::kInvalid}) {
    for (const std::string& type : types(state_conditions(*facts(base).node))) all.push_back(type);
  }
  EXPECT_THAT(all,
              ElementsAre("SlurmNodeStateAllocated", "SlurmNodeStateDown", "SlurmNodeStateError",
                          "SlurmNodeStateFuture", "SlurmNodeStateIdle", "SlurmNodeStateMixed",
                          "SlurmNodeStateUnknown", "SlurmNodeStateInvalid"));
  const NodeState flags(Base::kNone,
                        {Flag::kCompleting, Flag::kDrain, Flag::kFail, Flag::kInvalidReg,
                         Flag::kMaintenance, Flag::kNotResponding, Flag::kUndrain});
  EXPECT_THAT(types(state_conditions(*facts(flags).node)),
              ElementsAre("SlurmNodeStateCompleting", "SlurmNodeStateDrain", "SlurmNodeStateFail",
                          "SlurmNodeStateInvalidReg", "SlurmNodeStateMaintenance",
                          "SlurmNodeStateNotResponding", "SlurmNodeStateUndrain"));
  EXPECT_THAT(state_conditions(*facts(NodeState()).node), IsEmpty());
}

constexpr std::string_view kReady =
    R"({"type":"Ready","status":"True","lastTransitionTime":"2026-11-16T08:00:00Z"})";
constexpr std::string_view kIdle =
    R"({"type":"SlurmNodeStateIdle","status":"True","reason":"Idle","message":"",)"
    R"("lastTransitionTime":"2026-11-16T08:30:00Z"})";

constexpr std::string_view kMixed = R"({"type":"SlurmNodeStateMixed","status":"True"})";

// What the API server would make of the pod's conditions.
Value patched(std::string_view conditions, const Value& patch) {
  const std::string text = R"({"status":{"conditions":[)" + std::string(conditions) + "]}}";
  auto merged =
      json::apply_strategic_merge(*json::parse(text), patch, json::merge_type_of_kind("Pod"));
  EXPECT_TRUE(merged) << merged.error().to_string();
  return *std::move(merged);
}

TEST(ConditionsPatch, ReplacesStaleStatesAndLeavesTheKubeletsAlone) {
  const std::string has = std::string(kReady) + "," + std::string(kIdle);
  const SlurmFacts down = facts({Base::kDown, {Flag::kDrain, Flag::kNotResponding}}, "lost it");
  const Value patch = conditions_patch(worker(down, pod("", has)), kNow);
  EXPECT_EQ(*patch.at_pointer("/metadata/uid"), Value("u-1"));
  EXPECT_EQ(to_text(*patch.at_pointer("/status/conditions/0")),
            R"({"type":"SlurmNodeStateDown","status":"True","reason":"Down","message":"lost it",)"
            R"("lastTransitionTime":"2026-11-16T09:00:00Z"})");
  const Value after = patched(has, patch);
  std::vector<std::string> left;
  for (const Value& condition : *after.at_pointer("/status/conditions")) {
    left.emplace_back(*condition.find("type")->as_string());
  }
  EXPECT_THAT(left,
              ::testing::UnorderedElementsAre("Ready", "SlurmNodeStateDown", "SlurmNodeStateDrain",
                                              "SlurmNodeStateNotResponding"));

  // The same state a second time changes nothing.
  const auto again = decoded<kube::Pod>(to_text(after));
  EXPECT_TRUE(conditions_patch(worker(down, again), kNow + hours(1)).is_null());
}

TEST(ConditionsPatch, ANewReasonIsNoNewState) {
  const Value patch = conditions_patch(worker(facts(Base::kIdle, "planned"), pod("", kIdle)), kNow);
  EXPECT_EQ(to_text(*patch.at_pointer("/status/conditions")),
            R"([{"type":"SlurmNodeStateIdle","status":"True","reason":"Idle","message":"planned",)"
            R"("lastTransitionTime":"2026-11-16T08:30:00Z"}])");
}

TEST(ConditionsPatch, KeepsThemWhileSlurmIsUnknownAndOneInTheirPlaceOfANodeThatIsGone) {
  EXPECT_TRUE(conditions_patch(worker(kUnknownFacts, pod("", kIdle)), kNow).is_null());
  const Value gone = conditions_patch(worker(kAbsentFacts, pod("", kIdle)), kNow);
  EXPECT_EQ(to_text(*gone.at_pointer("/status/conditions/0/type")), R"("SlurmNodeStateGone")");
  EXPECT_EQ(to_text(*gone.at_pointer("/status/conditions/1")),
            R"({"$patch":"delete","type":"SlurmNodeStateIdle"})");
  EXPECT_TRUE(conditions_patch(worker(kAbsentFacts, pod("", kReady)), kNow).is_null());
}

TEST(ConditionsPatch, KeepsThemOfANodeThatSlurmLostWithJobsOnIt) {
  EXPECT_TRUE(conditions_patch(worker(kAbsentFacts, pod("", kMixed)), kNow).is_null());
  EXPECT_FALSE(conditions_patch(worker(facts(Base::kIdle), pod("", kMixed)), kNow).is_null());
}

TEST(Projection, ABusyPodIsProtectedUnlessProtectionIsOff) {
  api::NodeSet nodeset;
  EXPECT_TRUE(project(nodeset, worker(facts(Base::kAllocated)), {}).protect);
  EXPECT_TRUE(project(nodeset, worker(facts(Base::kMixed)), {}).protect);
  EXPECT_TRUE(project(nodeset, worker(facts({Base::kIdle, {Flag::kCompleting}})), {}).protect);
  EXPECT_FALSE(project(nodeset, worker(facts(Base::kIdle)), {}).protect);
  SlurmFacts suspended = facts(Base::kIdle);
  suspended.jobs = 1;
  EXPECT_TRUE(project(nodeset, worker(suspended), {}).protect);
  EXPECT_FALSE(project(nodeset, worker(kAbsentFacts), {}).protect);
  nodeset.spec.workload_disruption_protection = false;
  EXPECT_FALSE(project(nodeset, worker(facts(Base::kAllocated)), {}).protect);
}

constexpr std::string_view kProtected =
    R"(,"labels":{"nodeset.slinky.slurm.net/pod-protect":"true"},)"
    R"("annotations":{"nodeset.slinky.slurm.net/pod-deadline":"2026-11-16T10:00:00Z"})";

TEST(Projection, WhatSlurmLastSaidStaysWhileItIsUnknown) {
  const auto kept = project({}, worker(kUnknownFacts, pod(kProtected)), {});
  EXPECT_TRUE(kept.protect);
  EXPECT_EQ(kept.deadline, "2026-11-16T10:00:00Z");
  EXPECT_TRUE(metadata_patch(*pod(kProtected), kept, Cause::kNone).is_null());
  EXPECT_FALSE(project({}, worker(kUnknownFacts), {}).protect);
  const auto lost = project({}, worker(kAbsentFacts, pod(kProtected, kMixed)), {});
  EXPECT_TRUE(lost.protect);
  EXPECT_EQ(lost.deadline, "2026-11-16T10:00:00Z");
}

TEST(Projection, TheDeadlineIsTheLastOfTheRunningJobs) {
  const std::int64_t start = 1794819600;  // 2026-11-16T09:00:00Z
  const std::vector jobs = {
      job(start, 60), job(start, 30), job(start, 600, slurm::JobState::Base::kPending),
      job(start, 600, {slurm::JobState::Base::kCompleted, {slurm::JobState::Flag::kCompleting}})};
  EXPECT_EQ(project({}, worker(facts(Base::kMixed)), jobs).deadline, "2026-11-16T10:00:00Z");
  EXPECT_EQ(project({}, worker(facts(Base::kIdle)), {}).deadline, std::nullopt);
}

TEST(Projection, AJobWithoutALimitHasADeadlineFarAwayThatCanBeReadAgain) {
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max() - 1;
  for (const auto& one : {job(1794819600, slurm::Number::infinite()), job(1794819600, {}),
                          job(1794819600, huge), job(huge, 60), job(-huge, 60)}) {
    const std::vector jobs = {one};
    const auto deadline = project({}, worker(facts(Base::kMixed)), jobs).deadline;
    EXPECT_EQ(deadline, "2262-04-11T23:47:16Z");
    EXPECT_TRUE(parse_rfc3339(*deadline));
  }
}

TEST(Projection, TopologyComesFromTheKubernetesNode) {
  WorkerView view = worker(facts(Base::kIdle));
  EXPECT_EQ(project({}, view, {}).topology, std::nullopt);
  view.node = decoded<kube::Node>(R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(project({}, view, {}).topology, std::nullopt);
  view.node = decoded<kube::Node>(
      R"({"metadata":{"name":"n1","annotations":{"topology.slinky.slurm.net/spec":"s1:b2"}}})");
  EXPECT_EQ(project({}, view, {}).topology, "s1:b2");
}

TEST(Projection, ATopologyThatIsNoneGoesNeitherToThePodNorToSlurm) {
  WorkerView view = worker(facts(Base::kIdle), decoded<kube::Pod>(
                                                   R"({"metadata":{"name":"w-0","annotations":{
                                  "topology.slinky.slurm.net/spec":"s1:b2"}}})"));
  view.node = decoded<kube::Node>(
      R"({"metadata":{"name":"n1","annotations":{"topology.slinky.slurm.net/spec":"s1:b2 Weight=0"}}})");
  EXPECT_EQ(project({}, view, {}).topology, "");
  EXPECT_FALSE(has_topology(view));
}

TEST(Projection, ATopologyThatTheNodeNoLongerHasIsCleared) {
  WorkerView view = worker(facts(Base::kIdle), decoded<kube::Pod>(
                                                   R"({"metadata":{"name":"w-0","annotations":{
                                  "topology.slinky.slurm.net/spec":"s1:b2"}}})"));
  view.node = decoded<kube::Node>(R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(project({}, view, {}).topology, "");
}

TEST(MetadataPatch, NamesOurKeysAndThePodAndNothingElse) {
  const PodProjection busy{.protect = true, .deadline = "2026-11-16T11:00:00Z", .topology = "s1"};
  EXPECT_EQ(to_text(metadata_patch(*pod(R"(,"labels":{"theirs":"x"})"), busy, Cause::kScaleIn)),
            R"({"metadata":{"uid":"u-1","labels":{"nodeset.slinky.slurm.net/pod-protect":"true"},)"
            R"("annotations":{"nodeset.slinky.slurm.net/pod-deadline":"2026-11-16T11:00:00Z",)"
            R"("topology.slinky.slurm.net/spec":"s1",)"
            R"("nodeset.slinky.slurm.net/pod-cordon":"true",)"
            R"("mainspring.slurm.net/cordoned-for":"scale-in"}}})");
  EXPECT_EQ(to_text(metadata_patch(*pod(kProtected), {}, Cause::kNone)),
            R"({"metadata":{"uid":"u-1","labels":{"nodeset.slinky.slurm.net/pod-protect":null},)"
            R"("annotations":{"nodeset.slinky.slurm.net/pod-deadline":null}}})");
  EXPECT_TRUE(metadata_patch(*pod(), {}, Cause::kNone).is_null());
}

TEST(MetadataPatch, OurCordonIsLiftedAndAPersonsIsNot) {
  const auto ours = pod(R"(,"annotations":{"nodeset.slinky.slurm.net/pod-cordon":"true",)"
                        R"("mainspring.slurm.net/cordoned-for":"update"})");
  EXPECT_EQ(to_text(metadata_patch(*ours, {}, Cause::kNone)),
            R"({"metadata":{"uid":"u-1","annotations":{)"
            R"("nodeset.slinky.slurm.net/pod-cordon":null,)"
            R"("mainspring.slurm.net/cordoned-for":null}}})");
  EXPECT_TRUE(metadata_patch(*ours, {}, Cause::kUpdate).is_null());
  const auto theirs = pod(R"(,"annotations":{"nodeset.slinky.slurm.net/pod-cordon":"true"})");
  EXPECT_TRUE(metadata_patch(*theirs, {}, Cause::kPerson).is_null());
  const auto no = pod(R"(,"annotations":{"nodeset.slinky.slurm.net/pod-cordon":"false"})");
  EXPECT_TRUE(metadata_patch(*no, {}, Cause::kNone).is_null());
}

TEST(Count, FollowsPodsAndTheirSlurmNodes) {
  api::NodeSet nodeset;
  nodeset.status.slurm_idle = 7;
  const std::string current = R"(,"labels":{"controller.kubernetes.io/hash":"h2"})";
  const auto unborn = decoded<kube::Pod>(R"({"metadata":{"name":"gpu-9"}})");
  std::vector<WorkerView> workers = {
      worker(facts({Base::kIdle, {Flag::kDrain}}), pod(current, kReady)),
      worker(facts(Base::kAllocated), pod(current)),
      worker(facts(Base::kMixed), pod("", kReady)),
      worker(facts({Base::kDown, {Flag::kDrain, Flag::kUndrain}}), pod()),
      worker(kAbsentFacts, unborn),
  };
  const Counters some = count(nodeset, workers, "h2", 5, kNow);
  EXPECT_EQ(some.replicas, 4);
  EXPECT_EQ(some.updated, 2);
  EXPECT_EQ(some.ready, 2);
  EXPECT_EQ(some.available, 2);
  EXPECT_EQ(some.unavailable, 2);
  EXPECT_EQ(some.slurm_idle, 1);
  EXPECT_EQ(some.slurm_allocated, 2);
  EXPECT_EQ(some.slurm_down, 1);
  EXPECT_EQ(some.slurm_drain, 1);

  nodeset.spec.scaling_mode = api::ScalingMode::kDaemonSet;
  EXPECT_EQ(count(nodeset, workers, "h2", 5, kNow).unavailable, 3);

  workers[0].slurm = kUnknownFacts;
  EXPECT_EQ(count(nodeset, workers, "h2", 5, kNow).slurm_idle, 7);
}

TEST(PodInfo, IsWrittenAsTheContractHasItAndReadAgain) {
  const PodInfo info{"slurm", "gpu-0", "node-a", "gpu", "u-9"};
  EXPECT_EQ(to_comment(info), R"({"namespace":"slurm","podName":"gpu-0","node":"node-a",)"
                              R"("nodeSetName":"gpu","nodeSetUID":"u-9"})");
  EXPECT_EQ(parse_comment(to_comment(info)), info);
  PodInfo placed = info;
  placed.topology = "racks:rack1";
  EXPECT_EQ(parse_comment(to_comment(placed)), placed);
  for (const char* other : {"", "rack 7", "{", "{}", R"({"podName":1})", R"({"podName":"x"})"}) {
    EXPECT_EQ(parse_comment(other), std::nullopt) << other;
  }
}

std::shared_ptr<const kube::Node> featured(std::string_view csv) {
  return decoded<kube::Node>(to_text(Value::object(
      {{"metadata", Value::object({{"annotations", Value::object({{"features.slinky.slurm.net/spec",
                                                                   csv}})}})}})));
}

TEST(Features, OnlyThoseUnderOurPrefixAreReplaced) {
  EXPECT_THAT(wanted_features({"gpu", "k8s/old"}, *featured("a, b,,a")),
              Optional(ElementsAre("gpu", "k8s/a", "k8s/b")));
  EXPECT_EQ(wanted_features({"k8s/b", "gpu", "k8s/a"}, *featured("a,b")), std::nullopt);
  EXPECT_THAT(wanted_features({"gpu", "k8s/a"}, kube::Node()), Optional(ElementsAre("gpu")));
  EXPECT_EQ(wanted_features({"gpu"}, kube::Node()), std::nullopt);
}

TEST(WantedUpdate, LeavesOutWhatTheVersionHasNoWordFor) {
  api::NodeSet nodeset;
  auto slurm = std::make_shared<slurm::Node>(*facts({Base::kIdle, {Flag::kDynamicNorm}}).node);
  WorkerView one = worker({Knowledge::kPresent, slurm}, pod("", kReady));
  one.node = decoded<kube::Node>(R"({"metadata":{"name":"n1","annotations":{)"
                                 R"("topology.slinky.slurm.net/spec":"topo-switch:s1"}}})");
  ASSERT_TRUE(has_topology(one));
  const auto now = wanted_update(nodeset, one, slurm::Version::k43);
  ASSERT_TRUE(now.has_value());
  EXPECT_EQ(now->topology, "topo-switch:s1");
  const auto before = wanted_update(nodeset, one, slurm::Version::k42);
  ASSERT_TRUE(before.has_value());
  EXPECT_EQ(before->topology, std::nullopt);
  EXPECT_TRUE(before->comment.has_value());
  // And nothing is left to tell once the rest is told.
  slurm->comment = *before->comment;
  EXPECT_FALSE(wanted_update(nodeset, one, slurm::Version::k42).has_value());
  EXPECT_TRUE(wanted_update(nodeset, one, slurm::Version::k43).has_value());
}

std::shared_ptr<const kube::Node> placed(std::string_view topology) {
  return decoded<kube::Node>(to_text(Value::object(
      {{"metadata", Value::object({{"annotations", Value::object({{"topology.slinky.slurm.net/spec",
                                                                   topology}})}})}})));
}

// One that has been told all, with this topology of its Kubernetes node.
class ToldTopology : public ::testing::Test {
 protected:
  void tell() {
    const auto update = wanted_update(nodeset, one, slurm::Version::k44);
    ASSERT_TRUE(update.has_value());
    if (update->comment) slurm->comment = *update->comment;
    if (update->topology) slurm->topology = *update->topology;
    EXPECT_FALSE(wanted_update(nodeset, one, slurm::Version::k44).has_value());
  }
  // Unset: nothing is told, nor is anything noted.
  std::optional<std::string> told() {
    const auto update = wanted_update(nodeset, one, slurm::Version::k44);
    EXPECT_EQ(update && update->comment, update && update->topology);
    return update ? update->topology : std::nullopt;
  }

  api::NodeSet nodeset;
  std::shared_ptr<slurm::Node> slurm =
      std::make_shared<slurm::Node>(*facts({Base::kIdle, {Flag::kDynamicNorm}}).node);
  WorkerView one = worker({Knowledge::kPresent, slurm}, pod("", kReady));
};

TEST_F(ToldTopology, GoesWhenTheKubernetesNodeHasNoneAnyMore) {
  one.node = placed("racks:rack1");
  tell();
  one.node = std::make_shared<kube::Node>();
  EXPECT_EQ(told(), "");
  tell();
  // Whatever somebody then gives it is theirs.
  slurm->topology = "racks:rack2";
  EXPECT_EQ(told(), std::nullopt);
}

TEST_F(ToldTopology, OfOthersIsNeverTakenAway) {
  slurm->topology = "racks:rack1";
  one.node = std::make_shared<kube::Node>();
  tell();
  EXPECT_EQ(slurm->topology, "racks:rack1");
}

TEST_F(ToldTopology, StaysWhereTheKubernetesNodeIsUnknownOrSaysWhatIsNone) {
  one.node = placed("racks:rack1");
  tell();
  one.node = nullptr;
  EXPECT_EQ(told(), std::nullopt);
  one.node = placed("racks:rack1 Weight=0");
  EXPECT_EQ(told(), std::nullopt);
}

TEST_F(ToldTopology, GivesWayToTheOneOfExtraConf) {
  nodeset.spec.extra_conf = "Weight=1 topology=racks:rack9";
  one.node = placed("racks:rack1");
  tell();
  one.node = std::make_shared<kube::Node>();
  EXPECT_EQ(told(), "racks:rack9");
}

TEST(WantedUpdate, ActivatesOurFeaturesAndNoOthers) {
  const api::NodeSet nodeset;
  auto slurm = std::make_shared<slurm::Node>(*facts({Base::kIdle, {Flag::kDynamicNorm}}).node);
  slurm->features = {"gpu", "nps4", "k8s/a"};
  slurm->active_features = {"gpu", "k8s/old"};
  WorkerView one = worker({Knowledge::kPresent, slurm}, pod("", kReady));
  one.node = featured("a");
  const auto repaired = wanted_update(nodeset, one, slurm::Version::k44);
  ASSERT_TRUE(repaired.has_value());
  EXPECT_THAT(repaired->features, Optional(ElementsAre("gpu", "nps4", "k8s/a")));
  EXPECT_THAT(repaired->active_features, Optional(ElementsAre("gpu", "k8s/a")));
  one.node = featured("b");
  const auto changed = wanted_update(nodeset, one, slurm::Version::k44);
  ASSERT_TRUE(changed.has_value());
  EXPECT_THAT(changed->features, Optional(ElementsAre("gpu", "nps4", "k8s/b")));
  EXPECT_THAT(changed->active_features, Optional(ElementsAre("gpu", "k8s/b")));
  slurm->active_features = {"gpu", "k8s/a"};
  one.node = featured("a");
  const auto right = wanted_update(nodeset, one, slurm::Version::k44);
  ASSERT_TRUE(right.has_value());  // The comment is missing.
  EXPECT_FALSE(right->features || right->active_features);
}

TEST(Features, WhatNoConstraintCouldNameIsLeftOut) {
  EXPECT_THAT(wanted_features({}, *featured("ok,a&b,x y,[c],n\nm,zone=1")),
              Optional(ElementsAre("k8s/ok", "k8s/zone=1")));
}

}  // namespace
}  // namespace mainspring::op
