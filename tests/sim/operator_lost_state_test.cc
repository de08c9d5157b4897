// What becomes of workers when slurmctld has lost its state: they run, they are Ready, and Slurm
// knows none of them. The idle ones come back by themselves, a few a minute; nobody is touched on
// the word of a list alone, and nobody at all whose jobs may still run.
#include <gtest/gtest.h>

#include "sim/operator_world.h"

namespace mainspring::sim {
namespace {

class LostState : public ::testing::Test {
 protected:
  void SetUp() override {
    world.put(R"(
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu, namespace: slurm}
spec: {controllerRef: {name: c}, replicas: 2, slurmd: {image: i}, logfile: {image: i}}
)");
    world.heal();
    pass(minutes(3));
    ASSERT_EQ(known(), 2U) << world.safety.account();
    first_pods = pods();
  }
  void pass(Duration time) {
    world.pass(time, [] {});
    EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
  }
  std::size_t known() { return world.slurm.model().nodes().size(); }
  std::set<std::string> pods() {
    std::set<std::string> uids;
    for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) uids.emplace(uid_of(*pod));
    return uids;
  }
  std::size_t old_pods() {
    std::size_t count = 0;
    for (const std::string& uid : pods()) count += first_pods.count(uid);
    return count;
  }
  void lose_state() {
    world.slurm.model().restart_without_state(world.executor.clock().wall_now());
  }
  std::string degraded(const char* what = "/reason") {
    for (const json::Value& one : *world.nodeset("gpu")->at_pointer("/status/conditions")) {
      if (text_at(one, "/type") == "Degraded") return std::string(text_at(one, what));
    }
    return "";
  }
  // The UID of gpu-0, which works when the state is lost, while gpu-1 is idle and registers anew.
  std::string lose_state_at_work() {
    SlurmJob job{.partition = "all", .required = {"gpu-0"}};
    EXPECT_FALSE(world.slurm.model().submit(job));
    pass(seconds(10));
    lose_state();
    pass(minutes(15));
    EXPECT_EQ(known(), 1U) << world.safety.account();
    EXPECT_EQ(old_pods(), 1U);
    return worker();
  }
  std::string worker() {
    for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) {
      if (name_of(*pod) == "gpu-0") return std::string(uid_of(*pod));
    }
    return "";
  }

  OperatorWorld world{1};
  std::set<std::string> first_pods;
};

TEST_F(LostState, IsNoticedAndIdleWorkersRegisterAnewOneAMinute) {
  lose_state();
  pass(seconds(100));
  EXPECT_EQ(old_pods(), 2U);
  EXPECT_EQ(degraded(), "SlurmHasNoNodes");
  pass(seconds(50));
  EXPECT_EQ(old_pods(), 1U);
  pass(minutes(2));
  EXPECT_EQ(old_pods(), 0U);
  EXPECT_EQ(known(), 2U);
  EXPECT_EQ(degraded(), "AsExpected");
}

TEST_F(LostState, SlurmIsNotAskedForWorkersThatTheLimitHoldsBack) {
  lose_state();
  pass(seconds(150));
  ASSERT_EQ(old_pods(), 1U);
  const auto before = world.safety.slurm_looks;
  const bool first_is_new = !first_pods.contains(worker());
  const std::string held_back = first_is_new ? "gpu-1" : "gpu-0";
  pass(seconds(25));
  ASSERT_EQ(old_pods(), 1U);
  EXPECT_EQ(world.safety.slurm_looks[held_back], before.at(held_back));
}

using LostStateAtScale = LostState;

TEST_F(LostStateAtScale, SparesWorkersWithJobsAndSaysSoUntilSomebodyDeletesThem) {
  const std::string at_work = lose_state_at_work();
  EXPECT_TRUE(first_pods.contains(at_work));
  EXPECT_EQ(degraded(), "BusyWorkersUnknown");
  EXPECT_NE(degraded("/message").find("1 workers had jobs"), std::string::npos);
  EXPECT_NE(degraded("/message").find("(gpu-0)"), std::string::npos);
  // Also where it is to go, and where another operator takes over.
  world.kubectl(http::Method::kPatch,
                "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/nodesets/gpu",
                R"({"spec":{"replicas":0}})");
  world.kill();
  world.start();
  pass(minutes(15));
  EXPECT_EQ(worker(), at_work);
  EXPECT_EQ(degraded(), "BusyWorkersUnknown");
  world.kubectl(http::Method::kDelete, "/api/v1/namespaces/slurm/pods/gpu-0");
  pass(minutes(3));
  EXPECT_EQ(worker(), "");
  EXPECT_EQ(degraded(), "AsExpected");
}

TEST_F(LostState, IsOverForAWorkerWhoseSlurmdRegistersByItself) {
  const std::string at_work = lose_state_at_work();
  world.kubelet.restart_container(at_work);
  pass(minutes(3));
  EXPECT_EQ(worker(), at_work);
  EXPECT_EQ(known(), 2U);
  EXPECT_EQ(degraded(), "AsExpected");
}

TEST_F(LostState, IsNotBelievedOfAnEmptyListAlone) {
  world.safety.trouble.empty_nodes = true;
  pass(minutes(15));
  EXPECT_EQ(old_pods(), 2U);
}

TEST_F(LostState, LeavesWorkersAloneThatSlurmNeverKnew) {
  lose_state();
  pass(seconds(10));
  // As with the RestApi of another cluster.
  for (const Object& pod : world.pods_of(*world.nodeset("gpu"))) {
    world.kubectl(http::Method::kPatch,
                  "/api/v1/namespaces/slurm/pods/" + std::string(name_of(*pod)) + "/status",
                  R"({"status":{"conditions":[{"type":"Ready","status":"True",)"
                  R"("lastTransitionTime":"2020-01-01T00:00:00Z"}]}})");
  }
  pass(minutes(15));
  EXPECT_EQ(old_pods(), 2U);
}

}  // namespace
}  // namespace mainspring::sim
