// What becomes of workers when slurmctld has lost its state: they run, they are Ready, and Slurm
// knows none of them. The idle ones come back by themselves, a few a minute; nobody is touched on
// the word of a list alone.
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
    for (const char* const node : {"gpu-0", "gpu-1"}) {
      ASSERT_FALSE(world.slurm.model().delete_node(node));
    }
  }
  std::string degraded() {
    for (const json::Value& one : *world.nodeset("gpu")->at_pointer("/status/conditions")) {
      if (text_at(one, "/type") == "Degraded") return std::string(text_at(one, "/reason"));
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
