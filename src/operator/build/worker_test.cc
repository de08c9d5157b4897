// Golden files are in tests/data/operator/nodeset: NAME.nodeset.json makes NAME.pod.json. With
// MAINSPRING_WRITE_GOLDEN=1 they are written anew, to be read and judged before they are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "api/names.h"
#include "operator/build/worker.h"

namespace mainspring::op::build {
namespace {

using json::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kData = MAINSPRING_TEST_DATA "/operator/nodeset/";

std::string slurp(const std::string& name) {
  std::ifstream file(kData + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class T>
T decoded(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string() << " in " << text;
  return value.value_or(T{});
}

template <class T>
T load(const std::string& name) {
  return decoded<T>(slurp(name));
}

api::Controller controller() { return load<api::Controller>("controller.json"); }

// {"metadata": {...}, "spec": SPEC} of a set named "set".
api::NodeSet nodeset(const std::string& spec) {
  return decoded<api::NodeSet>(R"({"metadata":{"name":"set","namespace":"hpc","uid":"n"},"spec":)" +
                               spec + "}");
}

Result<Value> try_template(const api::NodeSet& set) {
  return worker_template({set, controller(), "cluster.local"});
}

Value make_template(const api::NodeSet& set) {
  auto made = try_template(set);
  EXPECT_TRUE(made) << made.error().to_string();
  return made.value_or(Value());
}

Value at(const Value& value, std::string_view pointer) {
  const Value* found = value.at_pointer(pointer);
  return found == nullptr ? Value() : *found;
}

std::string text_at(const Value& value, std::string_view pointer) {
  return std::string(at(value, pointer).as_string().value_or("(no text there)"));
}

void expect_golden(const std::string& name, const Value& value) {
  const std::string text = json::to_text(value, {.indent = 2, .sort_keys = true}) + "\n";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): before any thread is started
  if (std::getenv("MAINSPRING_WRITE_GOLDEN") != nullptr) std::ofstream(kData + name) << text;
  EXPECT_EQ(text, slurp(name)) << name;
}

TEST(WorkerPod, OfAMinimalSetIsPrivilegedAndAloneOnItsNode) {
  const auto set = load<api::NodeSet>("minimal.nodeset.json");
  expect_golden("minimal.pod.json", worker_pod(set, make_template(set), {.ordinal = 0}, "5d8c"));
}

TEST(WorkerPod, WithEverythingIsPinnedPaddedAndMerged) {
  const auto set = load<api::NodeSet>("everything.nodeset.json");
  const auto node = load<kube::Node>("node.json");
  const WorkerIdentity identity{.ordinal = 7, .node = &node};
  expect_golden("everything.pod.json", worker_pod(set, make_template(set), identity, "5d8c"));
  Value claims = Value::array();
  for (Value& claim : worker_claims(set, identity)) claims.push_back(std::move(claim));
  expect_golden("everything.claims.json", claims);
}

TEST(WorkerPod, InDaemonSetModeBelongsToOneNodeAndToleratesItsAilments) {
  const auto set = load<api::NodeSet>("daemonset.nodeset.json");
  const auto node = load<kube::Node>("node.json");
  expect_golden("daemonset.pod.json", worker_pod(set, make_template(set), {.node = &node}, "5d8c"));
}

TEST(WorkerPod, WithoutPrivilegeHasTheFourCapabilitiesThatSuffice) {
  const auto set = load<api::NodeSet>("unprivileged.nodeset.json");
  expect_golden("unprivileged.pod.json",
                worker_pod(set, make_template(set), {.ordinal = 0}, "5d8c"));
}

TEST(WorkerPod, WithoutPrivilegeButWithSshMayLockSshdUp) {
  auto set = load<api::NodeSet>("unprivileged.nodeset.json");
  set.spec.ssh_enabled = true;
  const Value pod = worker_pod(set, make_template(set), {.ordinal = 0}, "5d8c");
  EXPECT_EQ(*pod.at_pointer("/spec/containers/0/securityContext/capabilities/add"),
            Value::array({"CHOWN", "KILL", "SETGID", "SETUID", "SYS_CHROOT"}));
}

TEST(WorkerPod, SharedObjectsBelongToAllSetsByName) {
  const auto set = [](const char* file) {
    return std::make_shared<const api::NodeSet>(load<api::NodeSet>(file));
  };
  const NodeSets sets{set("everything.nodeset.json"), set("minimal.nodeset.json")};
  expect_golden("shared.json",
                Value::array({workers_service(controller(), sets), workers_pdb(controller(), sets),
                              worker_ssh_config(*sets[0]).value_or(Value())}));
  EXPECT_EQ(workers_pdb(controller(), sets), workers_pdb(controller(), {sets[1], sets[0]}));
  EXPECT_FALSE(worker_ssh_config(*sets[1]));
}

TEST(WorkerPod, PrivilegeGoesOnlyByAnExplicitFalse) {
  EXPECT_FALSE(is_unprivileged(nodeset("{}")));
  EXPECT_FALSE(is_unprivileged(nodeset(R"({"slurmd":{"securityContext":{}}})")));
  EXPECT_FALSE(is_unprivileged(nodeset(R"({"slurmd":{"securityContext":{"privileged":true}}})")));
  EXPECT_TRUE(is_unprivileged(nodeset(R"({"slurmd":{"securityContext":{"privileged":false}}})")));

  const auto more = make_template(nodeset(
      R"({"slurmd":{"securityContext":{"privileged":false,"capabilities":{"add":["SYS_NICE"]}}}})"));
  EXPECT_EQ(at(more, "/spec/containers/0/securityContext/capabilities"),
            json::parse(R"({"drop":["ALL"],"add":["SYS_NICE"]})").value());
}

struct NameCase {
  std::uint32_t padding;
  std::uint32_t ordinal;
  const char* prefix;
  const char* pod;
  const char* hostname;
};

TEST(WorkerPod, NamesFollowPrefixAndPadding) {
  for (const NameCase& c :
       {NameCase{0, 7, "", "set-7", "set-7"}, NameCase{3, 7, "", "set-007", "set-007"},
        NameCase{1, 12, "", "set-12", "set-12"}, NameCase{2, 7, "gpu", "set-07", "gpu07"},
        NameCase{0, 0, "gpu-", "set-0", "gpu-0"}}) {
    auto set = nodeset("{}");
    set.spec.ordinal_padding = c.padding;
    if (*c.prefix != '\0') set.spec.pod_template.spec["hostname"] = c.prefix;
    EXPECT_EQ(worker_pod_name(set, c.ordinal), c.pod);
    EXPECT_EQ(worker_hostname(set, {.ordinal = c.ordinal}), c.hostname);
  }
}

TEST(WorkerPod, AnAbsurdPaddingCostsNoMemory) {
  auto set = nodeset("{}");
  set.spec.ordinal_padding = 4'000'000'000;
  EXPECT_THAT(worker_pod_name(set, 1), SizeIs(63 + 4));
}

TEST(WorkerPod, ADaemonIsNamedAfterItsNodeOrItsOverride) {
  const auto set = nodeset(R"({"scalingMode":"DaemonSet"})");
  auto node = decoded<kube::Node>(R"({"metadata":{"name":"a1.rack.example.org"}})");
  EXPECT_EQ(worker_hostname(set, {.node = &node}), "a1");
  node = decoded<kube::Node>(
      R"({"metadata":{"name":"a1","annotations":{"nodeset.slinky.slurm.net/hostname-override":"gpu-07"}}})");
  EXPECT_EQ(worker_hostname(set, {.node = &node}), "gpu-07");
}

// The API server takes a label for spec.hostname, and refuses the whole pod for anything else.
TEST(WorkerPod, AnOverrideThatNoHostCanBeCalledIsLeftOut) {
  const auto set = nodeset(R"({"scalingMode":"DaemonSet"})");
  for (const std::string bad : {"GPU_1", "x.y", "-a", "a b", "n1\\n", ""}) {
    const auto node = decoded<kube::Node>(
        R"({"metadata":{"name":"a1.org","annotations":{"nodeset.slinky.slurm.net/hostname-override":")" +
        bad + R"("}}})");
    EXPECT_EQ(worker_hostname(set, {.node = &node}), "a1") << bad;
    EXPECT_EQ(refused_hostname(node).empty(), bad.empty()) << bad;
  }
}

TEST(WorkerPod, OnTheHostsNetworkHasNoSlurmNameBeforeItHasANode) {
  const auto set = nodeset(R"({"template":{"spec":{"hostNetwork":true}}})");
  const Value made = make_template(set);
  const Value labels = at(worker_pod(set, made, {.ordinal = 0}, "h"), "/metadata/labels");
  EXPECT_EQ(labels.find(api::label::kPodHostname), nullptr);

  auto node = load<kube::Node>("node.json");
  const WorkerIdentity pinned{.ordinal = 0, .node = &node};
  const Value with_node = at(worker_pod(set, made, pinned, "h"), "/metadata/labels");
  ASSERT_NE(with_node.find(api::label::kPodHostname), nullptr);
  EXPECT_EQ(*with_node.find(api::label::kPodHostname), Value("rack1-07.example.org"));

  node.meta.name = std::string(100, 'n');  // No value of a label.
  EXPECT_EQ(
      at(worker_pod(set, made, pinned, "h"), "/metadata/labels").find(api::label::kPodHostname),
      nullptr);
}

TEST(WorkerPod, StampingLeavesTheTemplateAsItIs) {
  const auto set = load<api::NodeSet>("everything.nodeset.json");
  const Value made = make_template(set);
  const std::string before = json::to_text(made);
  const auto node = load<kube::Node>("node.json");
  const Value pod = worker_pod(set, made, {.ordinal = 1, .node = &node}, "h");
  EXPECT_EQ(json::to_text(made), before);
  EXPECT_EQ(made.at_pointer("/spec/hostname"), nullptr);
  EXPECT_EQ(text_at(pod, "/spec/hostname"), "gpu-001");
}

TEST(WorkerPod, ANodeNameInTheTemplateDoesNotBypassTheScheduler) {
  const auto set = nodeset(R"({"template":{"spec":{"nodeName":"a1"}}})");
  EXPECT_EQ(make_template(set).at_pointer("/spec/nodeName"), nullptr);
}

TEST(WorkerPod, DaemonTolerationsComeOnceAndOnlyWithTheMode) {
  const auto keys = [](const std::string& spec) {
    std::vector<std::string> out;
    for (const Value& one : at(make_template(nodeset(spec)), "/spec/tolerations")) {
      out.push_back(text_at(one, "/key"));
    }
    return out;
  };
  EXPECT_THAT(keys("{}"), ElementsAre(std::string(api::kWorkerTaint)));
  EXPECT_THAT(keys(R"({"scalingMode":"DaemonSet"})"), SizeIs(7));
  EXPECT_THAT(keys(R"({"scalingMode":"DaemonSet","template":{"spec":{"hostNetwork":true}}})"),
              testing::Contains("node.kubernetes.io/network-unavailable"));
  EXPECT_THAT(keys(R"({"scalingMode":"DaemonSet","template":{"spec":{"tolerations":[
        {"key":"node.kubernetes.io/unschedulable","operator":"Exists","effect":"NoSchedule"}]}}})"),
              SizeIs(6));
}

TEST(WorkerPod, LimitsOfTheContainerBeatThoseOfThePod) {
  const auto limits = [](const std::string& spec) {
    const Value env = at(make_template(nodeset(spec)), "/spec/containers/0/env");
    return text_at(env, "/1/value") + " CPUs, " + text_at(env, "/2/value") + " MiB";
  };
  EXPECT_EQ(limits("{}"), "0 CPUs, 0 MiB");
  EXPECT_EQ(limits(R"({"slurmd":{"resources":{"limits":{"cpu":"1500m","memory":"1Gi"}}}})"),
            "2 CPUs, 1024 MiB");
  EXPECT_EQ(limits(R"({"template":{"spec":{"resources":{"limits":{"cpu":8,"memory":"2G"}}}}})"),
            "8 CPUs, 1907 MiB");
  EXPECT_EQ(limits(R"({"slurmd":{"resources":{"limits":{"cpu":4}}},
                       "template":{"spec":{"resources":{"limits":{"cpu":8,"memory":"1Gi"}}}}})"),
            "4 CPUs, 1024 MiB");
  EXPECT_EQ(limits(R"({"slurmd":{"resources":{"limits":{"cpu":"many"}}}})"), "0 CPUs, 0 MiB");
}

TEST(WorkerPod, WithoutASlurmKeyTheErrorSaysWhatToDo) {
  const auto set = nodeset("{}");
  const auto made = worker_template({set, api::Controller{}, "cluster.local"});
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().to_string(), HasSubstr("spec.slurmKeyRef"));
}

std::string conf_argument(const std::string& extra_conf) {
  auto set = nodeset("{}");
  set.spec.extra_conf = extra_conf;
  return text_at(make_template(set), "/spec/containers/0/args/4");
}

// What slurmd is given when an entrypoint lets a shell read the argument.
std::string read_by_a_shell(const std::string& argument, const std::string& topology) {
  // NOLINTBEGIN(concurrency-mt-unsafe,cert-env33-c): one thread, and a shell is what is asked
  setenv("ARGUMENT", argument.c_str(), 1);
  setenv("SLINKY_TOPOLOGY", topology.c_str(), 1);
  FILE* pipe = popen("eval \"arg=$ARGUMENT\"; printf %s \"$arg\"", "r");
  // NOLINTEND(concurrency-mt-unsafe,cert-env33-c)
  std::array<char, 4096> text{};
  const std::size_t size = std::fread(text.data(), 1, text.size(), pipe);
  pclose(pipe);
  return {text.data(), size};
}

TEST(NodeConf, IsSortedAndKnowsKeysInAnyCase) {
  const std::string topology = " '\"${SLINKY_TOPOLOGY:+Topology=$SLINKY_TOPOLOGY}\"''";
  EXPECT_EQ(conf_argument(""), "'Features=set" + topology);
  EXPECT_EQ(conf_argument("  weight=10\n\tGRES=gpu:h100:8(S:0-1)  RealMemory=1 "),
            "'Features=set Gres=gpu:h100:8(S:0-1) Realmemory=1 Weight=10" + topology);
  EXPECT_EQ(conf_argument("Feature=z,a FEATURES=a,set,"), "'Features=a,set,z" + topology);
  EXPECT_EQ(conf_argument("Topology=t:s1"), "'Features=set Topology=t:s1'");
  EXPECT_EQ(conf_argument("Gres= Weight=1"), "'Features=set Weight=1" + topology)
      << "Slurm would read Gres=Weight=1";
}

TEST(NodeConf, ThatIsMalformedOrHostileIsLeftOutWhole) {
  for (const char* text :
       {"Weight", "=1", "Weight=1 foo", "a-b=1", "A=1'", "A='x'", "A=\"x\"", "A=$(HOSTNAME)",
        "A=${HOME}", "A=`id`", "A=\\", "A=\x01", "A=\x7f", "A=1';id;'", "A=';reboot"}) {
    EXPECT_EQ(conf_argument(text), conf_argument("")) << text;
  }
}

TEST(NodeConf, AnEmptyTopologyLeavesNothingBehind) {
  const std::string argument = conf_argument("Weight=10 Gres=gpu:8(S:0-1)");
  EXPECT_EQ(read_by_a_shell(argument, ""), "Features=set Gres=gpu:8(S:0-1) Weight=10 ");
  EXPECT_EQ(read_by_a_shell(argument, "default:rack1,$(id)"),
            "Features=set Gres=gpu:8(S:0-1) Weight=10 Topology=default:rack1,$(id)");
}

TEST(NodeConf, NothingThatAUserWritesEndsTheQuotes) {
  const std::string baseline = conf_argument("");
  const std::string tail = baseline.substr(baseline.find(" '"));
  EXPECT_TRUE(rc::check("a value stays inside its single quotes", [&] {
    const auto value = *rc::gen::container<std::string>(
        rc::gen::elementOf(std::string("ab1=,:' \"\\$`(){};|&\n\t")));
    std::string argument = conf_argument("Weight=1 Reason=" + value);
    RC_ASSERT(argument.ends_with(tail));
    argument.resize(argument.size() - tail.size());
    RC_ASSERT(argument.starts_with("'"));
    RC_ASSERT(argument.find_first_of("'\"\\$`\n", 1) == std::string::npos);
  }));
}

TEST(NodeConf, AHostileHostnameIsRefused) {
  const auto made = try_template(nodeset(R"({"template":{"spec":{"hostname":"x';id;'"}}})"));
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().to_string(), HasSubstr("template.spec.hostname"));
}

TEST(Claims, ShadowVolumesOfTheSameNameAndAreNamedByWhoUsesThem) {
  const auto set = nodeset(R"({
    "template":{"spec":{"volumes":[{"name":"data","emptyDir":{}},{"name":"keep","emptyDir":{}}]}},
    "volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{}}]})");
  const Value pod = worker_pod(set, make_template(set), {.ordinal = 3}, "h");
  std::vector<std::string> names;
  for (const Value& volume : at(pod, "/spec/volumes")) names.push_back(text_at(volume, "/name"));
  EXPECT_EQ(std::count(names.begin(), names.end(), "data"), 1);
  EXPECT_EQ(
      text_at(at(pod, "/spec/volumes").at(names.size() - 1), "/persistentVolumeClaim/claimName"),
      "data-set-3");
  const auto node = decoded<kube::Node>(R"({"metadata":{"name":"a1.x"}})");
  EXPECT_EQ(text_at(worker_claims(set, {.node = &node}).at(0), "/metadata/name"), "data-set-a1");
  EXPECT_EQ(worker_claims(set, {.ordinal = 3}).at(0).at_pointer("/metadata/ownerReferences"),
            nullptr);
}

TEST(Revision, HasWhatMakesPodsAndNothingElse) {
  auto set = load<api::NodeSet>("everything.nodeset.json");
  const Value data = revision_data(set);
  set.spec.replicas = 3;
  set.spec.partition_config = "Default=YES";
  set.meta.labels = {};
  set.spec.volume_claim_templates.clear();
  EXPECT_EQ(revision_data(set), data);
  set.spec.slurmd["image"] = "example.org/slurmd:26.11";
  EXPECT_NE(revision_data(set), data);
}

TEST(Revision, OfOursIsComparedToTheLetter) {
  const auto set = nodeset(R"({"slurmd":{"image":"a"}})");
  EXPECT_TRUE(same_revision(revision_data(set), json::to_text(revision_data(set))));
  const auto said = nodeset(R"({"slurmd":{"image":"a"},"template":{"spec":{"tolerations":[]}}})");
  EXPECT_FALSE(same_revision(revision_data(said), json::to_text(revision_data(set))))
      << "an explicit empty list takes our toleration away";
  EXPECT_FALSE(same_revision(revision_data(set), "not JSON"));
  EXPECT_FALSE(same_revision(revision_data(set), "{}"));
}

TEST(Revision, OfUpstreamsIsTheSameWhateverItsStructsAddAndDrop) {
  const auto set = load<api::NodeSet>("upstream-revision.nodeset.json");
  EXPECT_TRUE(same_revision(revision_data(set), slurp("upstream-revision.json")));
  EXPECT_TRUE(same_revision(
      revision_data(nodeset("{}")),
      R"({"spec":{"template":{"$patch":"replace","spec":{"containers":null}},"ordinalPadding":0,
          "oversubscribeNode":false,"slurmd":{"$patch":"replace","name":"","resources":{}},
          "logfile":{"$patch":"replace","name":"","resources":{}},"ssh":{"$patch":"replace",
          "enabled":false}}})"));
}

TEST(Revision, OfUpstreamsDiffersInEverythingThatMeansSomething) {
  const std::string theirs = slurp("upstream-revision.json");
  const auto changed = [&](std::string_view pointer, Value value) {
    Value data = revision_data(load<api::NodeSet>("upstream-revision.nodeset.json"));
    Value* at_it = data.at_pointer(pointer);
    EXPECT_NE(at_it, nullptr) << pointer;
    if (at_it != nullptr) *at_it = std::move(value);
    return !same_revision(data, theirs);
  };
  EXPECT_TRUE(changed("/spec/ordinalPadding", 2));
  EXPECT_TRUE(changed("/spec/oversubscribeNode", true));
  EXPECT_TRUE(changed("/spec/extraConf", "Weight=11"));
  EXPECT_TRUE(changed("/spec/slurmd/securityContext/privileged", true));
  EXPECT_TRUE(changed("/spec/slurmd/securityContext/privileged", nullptr))
      << "false and silence are not the same wish";
  EXPECT_TRUE(changed("/spec/slurmd/securityContext/runAsUser", nullptr));
  EXPECT_TRUE(changed("/spec/slurmd/resources/limits/memory", "1025Mi"));
  EXPECT_TRUE(changed("/spec/slurmd/env/0/value", "x"));
  EXPECT_TRUE(changed("/spec/slurmd/tty", true));
  EXPECT_TRUE(changed("/spec/template/spec/hostNetwork", true));
  EXPECT_TRUE(changed("/spec/template/spec/nodeSelector", Value::object()));
  EXPECT_TRUE(changed("/spec/template/metadata/labels/flag", "on"));
  EXPECT_TRUE(
      changed("/spec/template/spec/volumes/0/emptyDir", Value::object({{"medium", "Memory"}})));
}

}  // namespace
}  // namespace mainspring::op::build
