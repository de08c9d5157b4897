// How gangs end, one scenario each: nodes that vanish, pods that change their gang or are replaced,
// many ends at once, ends that nobody reports. What must never happen is judged where it would
// (bridge_safety.h).
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

constexpr std::string_view kGroupLabel = "scheduling.x-k8s.io/pod-group";

class BridgeEnding : public testing::Test {
 protected:
  BridgeEnding() {
    world.heal();
    world.kubelet.run_on();
  }
  void TearDown() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  void add_nodes(int count) {
    for (int i = 0; i < count; ++i) world.add_node(fmt::format("n{}", i));
  }
  // As large as a node; of a gang where one is named.
  void put_pod(const std::string& name, const std::string& group = "") {
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, labels: {{{}}}}}, "
        "spec: {{schedulerName: slurm-bridge-scheduler, containers: [{{name: main, image: i, "
        "resources: {{requests: {{cpu: '8', memory: 1Gi}}}}}}]}}}}",
        name, group.empty() ? "" : fmt::format("{}: {}", kGroupLabel, group)));
  }
  void put_group(const std::string& name, int least) {
    world.put(
        fmt::format("{{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: "
                    "{{name: {}, namespace: default}}, spec: {{minMember: {}}}}}",
                    name, least));
  }
  void delete_pod(const std::string& name) { ask(http::Method::kDelete, path_of(name)); }
  void delete_node(const std::string& name) { ask(http::Method::kDelete, "/api/v1/nodes/" + name); }
  void ask(http::Method method, const std::string& path) {
    const http::Response answer = ask_kube(world.api, method, path);
    EXPECT_LT(answer.status, 300) << path << answer.body;
  }
  static std::string path_of(const std::string& name) {
    return "/api/v1/namespaces/default/pods/" + name;
  }
  Object find(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*find(name), "/spec/nodeName"));
  }
  bool runs(std::uint32_t job) {
    const SlurmJob* const found = world.slurm.model().job(job);
    return found != nullptr && found->state == SlurmJob::State::kRunning;
  }
  int running_jobs() {
    int count = 0;
    for (const auto& [id, job] : world.slurm.model().jobs()) count += runs(id) ? 1 : 0;
    return count;
  }
  int times_told(std::string_view reason) {
    int times = 0;
    for (const auto& [key, event] : world.api.storage().all("events.events.k8s.io")) {
      if (text_at(*event, "/reason") != reason) continue;
      const json::Value* const count = event->at_pointer("/series/count");
      times += count == nullptr ? 1 : static_cast<int>(count->as_int().value_or(1));
    }
    return times;
  }
  bool was_told(std::string_view reason) { return times_told(reason) > 0; }

  BridgeWorld world{1};
};

TEST_F(BridgeEnding, ANodeThatIsNotThereForAMomentEndsNothing) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  delete_node("n0");
  world.pass(seconds(35));
  EXPECT_TRUE(runs(1)) << world.safety.account();
  add_nodes(1);
  world.pass(minutes(5));
  EXPECT_TRUE(runs(1)) << world.safety.account();
  EXPECT_TRUE(find("p") && !is_being_deleted(*find("p")));
}

TEST_F(BridgeEnding, ANodeThatStaysAwayGivesItsJobsBack) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  delete_node("n0");
  world.kubelet.lose("n0");
  world.pass(minutes(2));
  EXPECT_FALSE(runs(1)) << world.safety.account();
  EXPECT_EQ(world.slurm.model().job(1)->comment, "pod default/p was lost with node n0");
}

TEST_F(BridgeEnding, ANodeThatIsDeclaredOutOfServiceIsLostAtOnce) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  world.kubelet.lose("n0");
  world.pass(minutes(2));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  world.patch("/api/v1/nodes/n0",
              R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service",)"
              R"("effect":"NoExecute"}]}})");
  world.pass(seconds(10));
  EXPECT_FALSE(runs(1)) << world.safety.account();
}

TEST_F(BridgeEnding, JobsOfManyLostNodesEndSomeAtATime) {
  add_nodes(30);
  for (int i = 0; i < 30; ++i) put_pod(fmt::format("p{}", i));
  world.pass(minutes(2));
  ASSERT_EQ(running_jobs(), 30) << world.safety.account();
  for (int i = 0; i < 30; ++i) {
    world.kubelet.lose(fmt::format("n{}", i));
    delete_node(fmt::format("n{}", i));
  }
  world.pass(seconds(70));
  EXPECT_EQ(running_jobs(), 10) << world.safety.account();
  EXPECT_TRUE(was_told("EndingDelayed"));
  world.pass(minutes(2));
  EXPECT_EQ(running_jobs(), 0) << world.safety.account();
}

TEST_F(BridgeEnding, PodsOfManyEndedJobsAreDeletedSomeAtATime) {
  add_nodes(30);
  for (int i = 0; i < 30; ++i) put_pod(fmt::format("p{}", i));
  world.pass(minutes(2));
  ASSERT_EQ(running_jobs(), 30) << world.safety.account();
  for (std::uint32_t id = 1; id <= 30; ++id) ASSERT_FALSE(world.slurm.model().cancel(id));
  const auto untouched = [this] {
    int count = 0;
    for (const Object& pod : world.pods()) count += is_being_deleted(*pod) ? 0 : 1;
    return count;
  };
  world.pass(seconds(30));
  EXPECT_EQ(untouched(), 10) << world.safety.account();
  world.pass(minutes(2));
  EXPECT_EQ(untouched(), 0) << world.safety.account();
}

TEST_F(BridgeEnding, PodsOfManyPreemptedJobsAreDeletedAtOnce) {
  add_nodes(30);
  for (int i = 0; i < 30; ++i) put_pod(fmt::format("p{}", i));
  world.pass(minutes(2));
  ASSERT_EQ(running_jobs(), 30) << world.safety.account();
  for (std::uint32_t id = 1; id <= 30; ++id) world.slurm.model().preempt(id);
  world.pass(seconds(30));
  for (const Object& pod : world.pods()) EXPECT_TRUE(is_being_deleted(*pod));
  EXPECT_FALSE(was_told("EndingDelayed")) << world.safety.account();
}

TEST_F(BridgeEnding, APodThatIsSaidToBeOfAnotherGangKeepsItsJob) {
  add_nodes(2);
  put_group("one", 2);
  put_group("two", 1);
  put_pod("a", "one");
  put_pod("b", "one");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  world.patch(path_of("b"),
              fmt::format(R"({{"metadata":{{"labels":{{"{}":"two"}}}}}})", kGroupLabel));
  world.pass(seconds(10));
  delete_pod("a");
  world.pass(minutes(4));
  EXPECT_FALSE(find("a"));
  EXPECT_TRUE(runs(1)) << world.safety.account();
  delete_pod("b");
  world.pass(minutes(4));
  EXPECT_FALSE(runs(1)) << world.safety.account();
}

TEST_F(BridgeEnding, AMemberThatIsMadeAnewDoesNotBeginAloneWhileTheOldOnesEnd) {
  add_nodes(4);
  put_group("g", 2);
  put_pod("a1", "g");
  put_pod("b1", "g");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  world.kubelet.linger(true);
  delete_pod("a1");
  delete_pod("b1");
  put_pod("a2", "g");
  world.pass(seconds(30));
  EXPECT_EQ(job_of_pod(*find("a2")), 0U) << world.safety.account();
  put_pod("b2", "g");
  world.pass(seconds(30));
  EXPECT_EQ(job_of_pod(*find("a2")), 2U) << world.safety.account();
  EXPECT_EQ(job_of_pod(*find("b2")), 2U) << world.safety.account();
}

TEST_F(BridgeEnding, AMemberThatIsReplacedGetsTheNodeThatItsJobStillHolds) {
  add_nodes(2);
  put_group("g", 2);
  put_pod("a1", "g");
  put_pod("b1", "g");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  const std::string node = node_of("b1");
  world.kubelet.linger(true);
  delete_pod("b1");
  put_pod("b2", "g");
  world.pass(seconds(30));
  EXPECT_EQ(node_of("b2"), "") << "its predecessor is still there";
  world.kubelet.linger(false);
  world.pass(minutes(4));
  EXPECT_FALSE(find("b1")) << world.safety.account();
  EXPECT_EQ(job_of_pod(*find("b2")), 1U) << world.safety.account();
  EXPECT_EQ(node_of("b2"), node);
  EXPECT_EQ(running_jobs(), 1);
}

TEST_F(BridgeEnding, APodWhoseEndNobodyReportsIsToldOfUntilItsNodeIsDeclaredLost) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  world.kubelet.lose("n0");
  delete_pod("p");
  world.pass(minutes(4));
  EXPECT_FALSE(was_told("StuckEnding"));
  world.pass(minutes(4));
  EXPECT_TRUE(was_told("StuckEnding")) << world.safety.account();
  EXPECT_TRUE(runs(1));
}

TEST_F(BridgeEnding, APodWhoseJobSlurmHasForgottenRunsOnAndSomebodyIsTold) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  EXPECT_FALSE(was_told("SlurmJobForgotten"));
  world.kill();
  ASSERT_FALSE(world.slurm.model().cancel(1));
  world.pass(minutes(6));
  ASSERT_EQ(world.slurm.model().job(1), nullptr);
  world.start();
  world.pass(minutes(2));
  EXPECT_EQ(times_told("SlurmJobForgotten"), 1) << world.safety.account();
  EXPECT_TRUE(find("p") && !is_being_deleted(*find("p"))) << world.safety.account();
  // Not with everything that happens to it.
  for (const char* const value : {"one", "two"}) {
    world.patch(path_of("p"), fmt::format(R"({{"metadata":{{"labels":{{"x":"{}"}}}}}})", value));
    world.pass(minutes(2));
  }
  EXPECT_EQ(times_told("SlurmJobForgotten"), 1);
}

TEST_F(BridgeEnding, TheFinalizerOfEarlyReleasesIsTakenOffWhereTheContainersAreGone) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  ASSERT_TRUE(runs(1)) << world.safety.account();
  // As slurm-bridge before 1.0 leaves it to us.
  world.kill();
  world.patch(path_of("p"), R"({"metadata":{"finalizers":["slinky.slurm.net/finalizer"]}})");
  world.start();
  world.pass(minutes(1));
  world.kubelet.linger(true);
  delete_pod("p");
  world.pass(minutes(1));
  EXPECT_TRUE(find("p") && runs(1)) << world.safety.account();
  world.kubelet.linger(false);
  world.pass(minutes(5));
  EXPECT_FALSE(find("p")) << world.safety.account();
  EXPECT_FALSE(runs(1)) << world.safety.account();
}

TEST_F(BridgeEnding, WhatIsLongOverCostsNothingWhenTheBridgeStarts) {
  add_nodes(1);
  put_pod("p");
  world.pass(seconds(30));
  world.kubelet.end_soon();
  world.pass(minutes(2));
  ASSERT_FALSE(runs(1)) << world.safety.account();
  ASSERT_TRUE(find("p"));
  world.kill();
  world.slurm.model().restart_without_state(world.executor.clock().wall_now());
  world.safety.job_reads = 0;
  world.start();
  world.pass(minutes(2));
  EXPECT_EQ(world.safety.job_reads, 0);
}

}  // namespace
}  // namespace mainspring::sim
