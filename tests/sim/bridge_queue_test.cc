// What a long queue does to pods that are not in it: nothing. Neither what it costs to schedule one
// nor when it starts depends on how many others wait. The whole bridge with everything as it should
// be.
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

class BridgeQueueAtScale : public ::testing::Test {
 protected:
  // One node, which somebody has, and three.
  BridgeQueueAtScale() {
    world.heal();
    world.kubelet.run_on();
    add_node("taken", "taken");
    for (const char* const name : {"n0", "n1", "n2"}) add_node(name, "free");
    world.pass(seconds(10));
    SlurmJob holder = somebodys();
    EXPECT_FALSE(world.slurm.model().submit(holder));
    world.pass(seconds(10));
  }
  ~BridgeQueueAtScale() override {
    EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
  }

  void add_node(const std::string& name, const std::string& pool) {
    world.add_node(name);
    world.patch("/api/v1/nodes/" + name,
                fmt::format(R"({{"metadata":{{"labels":{{"pool":"{}"}}}}}})", pool));
  }
  // Needs all of the node that is taken.
  static SlurmJob somebodys() {
    SlurmJob job;
    job.user = "somebody";
    job.partition = "slurm-bridge";
    job.required = {"taken"};
    job.cpus_per_node = 8;
    return job;
  }
  void queue(int jobs) {
    for (int i = 0; i < jobs; ++i) {
      SlurmJob one = somebodys();
      ASSERT_FALSE(world.slurm.model().submit(one));
    }
    world.pass(minutes(2));
  }
  void put(const std::string& name, const std::string& pool, int cpus, int priority = 0) {
    const std::string urgent =
        priority == 0 ? "" : fmt::format("slurmjob.slinky.slurm.net/priority: '{}', ", priority);
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, annotations: {{{}"
        "slurmjob.slinky.slurm.net/exclusive: 'false'}}}}, spec: {{schedulerName: "
        "slurm-bridge-scheduler, nodeSelector: {{pool: {}}}, containers: [{{name: main, image: i, "
        "resources: {{requests: {{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, urgent, pool, cpus));
  }
  Object pod(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*pod(name), "/spec/nodeName"));
  }

  BridgeWorld world{1};
};

// What ten pods that start and ten that wait cost beside `jobs` others that wait.
class CostOfPods : public BridgeQueueAtScale {
 public:
  explicit CostOfPods(int jobs) {
    queue(jobs);
    world.slurm_meter.take();
    for (int i = 0; i < 10; ++i) {
      put(fmt::format("starts-{}", i), "free", 2);
      put(fmt::format("waits-{}", i), "taken", 2);
      world.pass(seconds(3));
    }
    for (int i = 0; i < 10; ++i) {
      EXPECT_NE(node_of(fmt::format("starts-{}", i)), "") << world.safety.account();
      EXPECT_NE(job_of_pod(*pod(fmt::format("waits-{}", i))), 0U) << world.safety.account();
    }
    cost = world.slurm_meter.take();
  }
  void TestBody() override {}

  Meter::Account cost;
};

TEST(BridgeCostAtScale, APodCostsTheSameWhateverElseIsInTheQueue) {
  const Meter::Account few = CostOfPods(9).cost;
  const Meter::Account many = CostOfPods(900).cost;
  // How all jobs are is asked for now and then, by nobody's attempt.
  constexpr std::string_view kPulse = "GET jobs/state";
  for (const auto& [what, use] : many) {
    ASSERT_TRUE(few.contains(what)) << what;
    const Meter::Use& before = few.at(what);
    EXPECT_LE(use.calls, before.calls) << what;
    // Numbers of jobs are longer.
    if (what != kPulse) EXPECT_LE(use.bytes, before.bytes * 101 / 100) << what;
  }
  EXPECT_FALSE(many.contains("GET jobs")) << "all jobs were listed";
}

TEST_F(BridgeQueueAtScale, TwoHundredPodsThatCannotStartDelayNoneThatCan) {
  for (int i = 0; i < 200; ++i) put(fmt::format("blocked-{}", i), "taken", 8, 90'000);
  world.pass(minutes(1));
  for (int i = 0; i < 200; ++i) {
    const std::string name = fmt::format("blocked-{}", i);
    ASSERT_NE(job_of_pod(*pod(name)), 0U) << name << world.safety.account();
    ASSERT_EQ(node_of(name), "");
  }
  put("small", "free", 1);
  world.pass(seconds(2));
  EXPECT_NE(node_of("small"), "") << world.safety.account();
}

TEST_F(BridgeQueueAtScale, ManyPodsAtOnceAreBoundAsFastAsSlurmAnswers) {
  for (int i = 0; i < 36; ++i) add_node(fmt::format("more-{}", i), "free");
  world.pass(seconds(30));
  for (int i = 0; i < 300; ++i) put(fmt::format("pod-{}", i), "free", 1);
  world.pass(milliseconds(1500));  // Two hundred a second.
  int bound = 0;
  for (int i = 0; i < 300; ++i) bound += node_of(fmt::format("pod-{}", i)).empty() ? 0 : 1;
  EXPECT_EQ(bound, 300) << world.safety.account();
}

}  // namespace
}  // namespace mainspring::sim
