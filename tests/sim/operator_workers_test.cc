// Which workers a NodeSet has as its spec and the nodes change, and what is told of them:
// revisions, taints, privilege, metrics. Told to the whole operator.
#include <gmock/gmock.h>

#include <map>

#include "sim/operator_story.h"

namespace mainspring::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::UnorderedElementsAre;

class OperatorWorkers : public OperatorStory {};

TEST_F(OperatorWorkers, RevisionsAreKeptAsManyAsAskedForAndUsedAgain) {
  begin(2, R"(,"revisionHistoryLimit":1,"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}})");
  constexpr std::string_view kHash = "/metadata/labels/controller.kubernetes.io~1hash";
  const auto revisions = [&] {
    std::map<std::string, std::string> uids;  // By hash.
    const Objects all = world.api.storage().all("controllerrevisions.apps");
    for (const auto& [key, one] : all) uids.emplace(text_at(*one, kHash), uid_of(*one));
    EXPECT_EQ(uids.size(), all.size());
    return uids;
  };
  const auto in_use = [&] {
    return std::string(text_at(*world.nodeset("gpu"), "/status/nodeSetHash"));
  };
  const auto roll = [&](const std::string& image) {
    spec(fmt::format(R"({{"slurmd":{{"image":"{}"}}}})", image));
    pass(minutes(2));
    for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) {
      EXPECT_EQ(text_at(*pod, "/spec/containers/0/image"), image);
      EXPECT_EQ(text_at(*pod, kHash), in_use()) << image;
    }
    return in_use();
  };
  const std::string first = in_use();
  const std::string uid = revisions()[first];
  const std::string second = roll("2");
  EXPECT_NE(second, first);
  // Back to one that is still kept: it is the same object.
  EXPECT_EQ(roll("i"), first);
  EXPECT_EQ(revisions().size(), 2U);
  EXPECT_EQ(revisions()[first], uid);
  const std::string third = roll("3");
  EXPECT_THAT(revisions(), UnorderedElementsAre(Key(first), Key(third)));
  // And to one that is not: another object of the same hash, and the oldest goes.
  EXPECT_EQ(roll("2"), second);
  EXPECT_THAT(revisions(), UnorderedElementsAre(Key(second), Key(third)));
  spec(R"({"revisionHistoryLimit":0})");
  pass(seconds(10));
  EXPECT_THAT(revisions(), UnorderedElementsAre(Key(second)));
}

TEST_F(OperatorWorkers, ARevisionThatAPodStillHasIsKeptWhateverTheLimit) {
  begin(2, R"(,"updateStrategy":{"type":"OnDelete"})");
  for (const char* image : {"2", "3"}) {
    spec(fmt::format(R"({{"slurmd":{{"image":"{}"}}}})", image));
    pass(seconds(20));
    // That of the pods and that of the spec; what was between is nobody's.
    EXPECT_EQ(world.api.storage().all("controllerrevisions.apps").size(), 2U) << image;
  }
  for (const char* const pod : {"gpu-0", "gpu-1"}) world.kubectl(Method::kDelete, kPods + pod);
  pass(minutes(2));
  EXPECT_EQ(image_of("gpu-0"), "3");
  EXPECT_EQ(world.api.storage().all("controllerrevisions.apps").size(), 1U);
}

TEST_F(OperatorWorkers, WorkersInDaemonSetModeFollowTaintsAndTheEndOfNodes) {
  begin(1, R"(,"scalingMode":"DaemonSet")");
  const auto taint = [&](const std::string& node, const std::string& effect) {
    const std::string taints =
        effect.empty() ? "null"
                       : fmt::format(R"([{{"key":"broken","value":"","effect":"{}"}}])", effect);
    world.kubectl(Method::kPatch, kNodes + node,
                  fmt::format(R"({{"spec":{{"taints":{}}}}})", taints));
    pass(seconds(20));
  };
  // Who is there stays, and nobody comes.
  const std::string uid(uid_of(*worker_on("a0")));
  taint("a0", "NoSchedule");
  ASSERT_NE(worker_on("a0"), nullptr);
  EXPECT_EQ(uid_of(*worker_on("a0")), uid);
  EXPECT_FALSE(drained("a0"));
  EXPECT_EQ(desired(), 3);
  world.kubectl(Method::kDelete, kPods + std::string(name_of(*worker_on("a0"))));
  pass(minutes(1));
  EXPECT_EQ(worker_on("a0"), nullptr);
  taint("a0", "");
  EXPECT_NE(worker_on("a0"), nullptr);
  EXPECT_EQ(desired(), 4);

  // Who is there goes, after its job.
  const std::uint32_t job = run_job("a1");
  const std::string name(name_of(*worker_on("a1")));
  taint("a1", "NoExecute");
  ASSERT_NE(worker_on("a1"), nullptr);
  EXPECT_TRUE(drained("a1"));
  EXPECT_EQ(
      world.slurm.model().node("a1")->reason,
      fmt::format("slurm-operator: Pod (slurm/{}) is pending termination for misplaced", name));
  static_cast<void>(world.slurm.model().cancel(job));
  pass(minutes(1));
  EXPECT_EQ(worker_on("a1"), nullptr);
  EXPECT_EQ(desired(), 3);
  taint("a1", "");
  pass(seconds(20));
  ASSERT_NE(worker_on("a1"), nullptr);
  EXPECT_FALSE(drained("a1"));
  // One that is tolerated changes nothing.
  world.kubectl(Method::kPatch, kNodes + "a2", R"({"spec":{"taints":[
      {"key":"node.kubernetes.io/unreachable","effect":"NoExecute"}]}})");
  pass(seconds(20));
  EXPECT_FALSE(drained("a2"));
  EXPECT_EQ(desired(), 4);

  world.kubectl(Method::kDelete, kNodes + "a3");
  pass(minutes(2));
  EXPECT_EQ(worker_on("a3"), nullptr);
  EXPECT_EQ(pods(), 3U);
  EXPECT_EQ(condition("Ready"), "True AllAvailable");
}

TEST_F(OperatorWorkers, ProtectionThatIsSwitchedReachesWorkersThatAreBusyAlready) {
  begin(2);
  run_job("gpu-1");
  const auto is_protected = [&](const char* pod) {
    return text_at(*find(pod), "/metadata/labels/nodeset.slinky.slurm.net~1pod-protect") == "true";
  };
  ASSERT_TRUE(is_protected("gpu-1"));
  pass(minutes(1));
  for (const bool wanted : {false, true}) {
    spec(fmt::format(R"({{"workloadDisruptionProtection":{}}})", wanted));
    pass(seconds(5));
    EXPECT_EQ(is_protected("gpu-1"), wanted);
    EXPECT_FALSE(is_protected("gpu-0"));
  }
}

TEST_F(OperatorWorkers, AnotherScalingModeTakesIdleWorkersAFewAtATime) {
  begin(4);
  const auto with_ordinal = [&] {
    const char* const names[] = {"gpu-0", "gpu-1", "gpu-2", "gpu-3"};
    return std::count_if(std::begin(names), std::end(names),
                         [&](const char* name) { return find(name) != nullptr; });
  };
  spec(R"({"scalingMode":"DaemonSet"})");
  pass(seconds(50));
  EXPECT_GE(with_ordinal(), 2);
  EXPECT_LT(with_ordinal(), 4);
  EXPECT_EQ(condition("Degraded"), "True DeletionsLimited");
  EXPECT_THAT(message("Degraded"), HasSubstr("scalingMode"));
  pass(minutes(6));
  EXPECT_EQ(with_ordinal(), 0);
  EXPECT_EQ(pods(), 4U);
  EXPECT_EQ(condition("Ready"), "True AllAvailable");
  EXPECT_EQ(condition("Degraded"), "False AsExpected");
}

TEST_F(OperatorWorkers, ANodeThatIsToBeCalledWhatNobodyCanBeKeepsItsWorkerAndIsToldOf) {
  begin(1, R"(,"scalingMode":"DaemonSet")");
  const std::string uid(uid_of(*worker_on("a0")));
  const auto call = [&](const std::string& name) {
    const std::string body = fmt::format(
        R"({{"metadata":{{"annotations":{{"nodeset.slinky.slurm.net/hostname-override":"{}"}}}}}})",
        name);
    ASSERT_EQ(world.kubectl(Method::kPatch, kNodes + "a0", body).status, 200);
    pass(minutes(2));
  };
  call("GPU_1");
  ASSERT_NE(worker_on("a0"), nullptr);
  EXPECT_EQ(uid_of(*worker_on("a0")), uid);
  EXPECT_FALSE(drained("a0"));
  EXPECT_EQ(condition("Ready"), "True AllAvailable");
  EXPECT_EQ(condition("HostnameOverrides"), "False InvalidHostname");
  EXPECT_THAT(message("HostnameOverrides"), HasSubstr(R"(Node a0 has "GPU_1")"));
  call("login7");
  ASSERT_NE(worker_on("a0"), nullptr);
  EXPECT_EQ(text_at(*worker_on("a0"), "/spec/hostname"), "login7");
  EXPECT_EQ(condition("HostnameOverrides"), "");
}

TEST_F(OperatorWorkers, WorkersWithoutPrivilegeSayWhichConfinementIsLost) {
  begin(1);
  EXPECT_EQ(condition("JobsConfined"), "");
  const auto privileged = [&](const char* value) {
    spec(fmt::format(R"({{"slurmd":{{"securityContext":{{"privileged":{}}}}}}})", value));
    pass(minutes(2));
  };
  privileged("false");
  EXPECT_EQ(condition("JobsConfined"), "False Unprivileged");
  EXPECT_THAT(message("JobsConfined"), HasSubstr("bounded by the pod alone"));
  EXPECT_EQ(condition("Ready"), "True AllAvailable");
  const auto made = world.kubectl(
      Method::kPost, kSets.substr(0, kSets.size() - 1),
      R"({"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet","metadata":{"name":"cpu"},
          "spec":{"controllerRef":{"name":"c"},"replicas":0,"slurmd":{"image":"i"},
                  "logfile":{"image":"i"}}})");
  ASSERT_EQ(made.status, 201) << made.body;
  pass(seconds(20));
  EXPECT_EQ(condition("JobsConfined"), "False MixedPrivilege");
  EXPECT_THAT(message("JobsConfined"), HasSubstr("make all of them alike"));
  world.kubectl(Method::kPatch, kSets + "cpu",
                R"({"spec":{"slurmd":{"securityContext":{"privileged":false}}}})");
  pass(seconds(20));
  EXPECT_EQ(condition("JobsConfined"), "False Unprivileged");
  privileged("null");
  EXPECT_EQ(condition("JobsConfined"), "");
}

TEST_F(OperatorWorkers, StatesOfWorkersAndTheTimeOfDrainsAreMetrics) {
  begin(3);
  const auto metric = [&](const std::string& name) {
    const std::string text = world.metrics.to_text();
    const auto at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
  };
  const auto nodes = [&](const char* state) {
    return metric(fmt::format(
        R"(mainspring_nodeset_slurm_nodes{{namespace="slurm",nodeset="gpu",state="{}"}})", state));
  };
  const std::uint32_t job = run_job("gpu-2");
  EXPECT_EQ(nodes("idle"), 2);
  EXPECT_EQ(nodes("allocated"), 1);
  world.kubectl(Method::kPatch, kPods + "gpu-0",
                R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-cordon":"true"}}})");
  pass(seconds(20));
  EXPECT_EQ(nodes("drain"), 1);
  EXPECT_EQ(metric("mainspring_drain_seconds_count"), 1);
  // Of a drain that is lifted nobody knows how long it would have taken.
  world.kubectl(
      Method::kPatch, kPods + "gpu-2",
      R"({"metadata":{"annotations":{"nodeset.slinky.slurm.net/pod-deletion-cost":"-9"}}})");
  pass(seconds(5));
  spec(R"({"replicas":2})");
  pass(minutes(1));
  ASSERT_TRUE(drained("gpu-2"));
  spec(R"({"replicas":3})");
  pass(minutes(1));
  ASSERT_FALSE(drained("gpu-2"));
  spec(R"({"replicas":2})");
  pass(minutes(10));
  EXPECT_EQ(metric("mainspring_drain_seconds_count"), 1);
  static_cast<void>(world.slurm.model().cancel(job));
  pass(minutes(1));
  EXPECT_EQ(pods(), 2U);
  EXPECT_EQ(metric("mainspring_drain_seconds_count"), 2);
  EXPECT_GT(metric("mainspring_drain_seconds_sum"), 600);
  EXPECT_LT(metric("mainspring_drain_seconds_sum"), 660);
  EXPECT_EQ(nodes("idle"), 2);
  EXPECT_EQ(nodes("allocated"), 0);
  world.kubectl(Method::kDelete, kSets + "gpu");
  pass(minutes(10));
  ASSERT_EQ(world.nodeset("gpu"), nullptr);
  EXPECT_EQ(nodes("idle"), 0);
  EXPECT_EQ(nodes("drain"), 0);
}

}  // namespace
}  // namespace mainspring::sim
