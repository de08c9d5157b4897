// Kubernetes nodes and Slurm nodes kept in step, over an API server and a Slurm in memory.
#include <gmock/gmock.h>

#include "bridge/nodes/node_sync.h"
#include "sim/bridge_scene.h"

namespace mainspring::sim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

struct Nodes {
  explicit Nodes(bridge::World& world) : tenants(world), sync(world, tenants) {}
  bridge::Tenants tenants;
  bridge::NodeSync sync;
};

struct BridgeNodes : ::testing::Test {
  bool drained(std::string_view name) {
    const SlurmNode* const node = scene.slurm_node(name);
    return node != nullptr && node->drain;
  }
  std::string reason(std::string_view name) {
    const SlurmNode* const node = scene.slurm_node(name);
    return node == nullptr ? "(none)" : node->reason;
  }
  // As `scontrol update` does.
  void update(const std::string& name, const char* state, const char* reason = "") {
    EXPECT_FALSE(scene.slurm.model().update_node(name, {.state = state, .reason = reason}));
  }

  // One that runs, with the mark of a job.
  void add_pod(const std::string& name, std::uint32_t job, const std::string& node = "n1") {
    scene.add(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, labels: "
        "{{scheduler.slinky.slurm.net/slurm-jobid: '{}'}}}}, spec: {{schedulerName: "
        "slurm-bridge-scheduler, nodeName: {}, containers: [{{name: c, image: i}}]}}}}",
        name, job, node));
  }
  void end_pod(const std::string& name) {
    scene.change(kube::Pod::kResource, "default", name, "{status: {phase: Succeeded}}", "status");
  }

  BridgeScene<Nodes> scene;
};

TEST_F(BridgeNodes, ALabelledNodeBecomesOneOfSlurms) {
  scene.add_node("n1", "10.0.0.7");
  scene.start();
  const SlurmNode* const node = scene.slurm_node("n1");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->address, "10.0.0.7");
  EXPECT_EQ(node->cpus, 8);
  EXPECT_EQ(node->memory, 16384);
  EXPECT_THAT(node->comment, StartsWith(R"({"kubernetes":{"cluster":")"));
  EXPECT_EQ(scene.node_at("n1", "/spec/taints/0/key"), "slinky.slurm.net/managed-node");
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "True TakesJobs");
  EXPECT_EQ(scene.node_condition("n1", "Ready"), "True Sound");
  EXPECT_THAT(scene.kube_writes, Contains("event SlurmNodeCreated"));
}

TEST_F(BridgeNodes, AtRestNothingIsWritten) {
  for (const char* const name : {"n1", "n2", "n3"}) scene.add_node(name);
  scene.start();
  scene.settle(minutes(1));
  scene.kube_writes.clear();
  scene.slurm_writes.clear();
  scene.settle(minutes(30));
  EXPECT_THAT(scene.kube_writes, IsEmpty());
  EXPECT_THAT(scene.slurm_writes, IsEmpty());
  scene.kill();
  scene.start();
  scene.settle(minutes(1));
  EXPECT_THAT(scene.kube_writes, IsEmpty());
  EXPECT_THAT(scene.slurm_writes, IsEmpty());
}

TEST_F(BridgeNodes, ACordonIsADrainForAsLongAsItLasts) {
  scene.add_node("n1");
  scene.start();
  scene.change_node("n1", "{spec: {unschedulable: true}}");
  scene.settle();
  EXPECT_TRUE(drained("n1"));
  EXPECT_EQ(reason("n1"), "slurm-bridge: Corresponding Kubernetes node (n1) is unschedulable");
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "False Drained");
  scene.change_node("n1", "{spec: {unschedulable: null}}");
  scene.settle();
  EXPECT_FALSE(drained("n1"));
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "True TakesJobs");
}

TEST_F(BridgeNodes, AnAdministratorsDrainIsShownAndStays) {
  scene.options.config.cordon_nodes = true;
  scene.add_node("n1");
  scene.start();
  update("n1", "DRAIN", "bad fan");
  scene.settle(minutes(1));
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "False Drained");
  EXPECT_EQ(scene.node_at("n1", "/spec/unschedulable"), "true");
  EXPECT_EQ(reason("n1"), "bad fan");
  update("n1", "RESUME");
  scene.settle(minutes(1));
  EXPECT_EQ(scene.node_at("n1", "/spec/unschedulable"), "(absent)");
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "True TakesJobs");
}

TEST_F(BridgeNodes, ANodeThatAnAdministratorPutDownKeepsItsReasonAndItsCordon) {
  scene.options.config.cordon_nodes = true;
  scene.add_node("n1");
  scene.start();
  update("n1", "DOWN", "burnt");
  scene.settle(minutes(1));
  scene.change_node("n1", "{status: {conditions: [{type: Ready, status: 'False'}]}}", "status");
  scene.settle(minutes(1));
  EXPECT_EQ(reason("n1"), "burnt");
  EXPECT_FALSE(drained("n1"));
  EXPECT_EQ(scene.node_at("n1", "/spec/unschedulable"), "true");
  scene.remove_node("n1");
  scene.settle(minutes(1));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr) << "of a node that is gone nothing stays";
}

TEST_F(BridgeNodes, AnAdministratorsDrainThatWeHaveNotSeenYetStaysToo) {
  scene.add_node("n1");
  scene.start();
  update("n1", "DRAIN", "bad fan");
  scene.change_node("n1", "{spec: {unschedulable: true}}");
  scene.settle();
  EXPECT_EQ(reason("n1"), "bad fan");
}

TEST_F(BridgeNodes, ANodeThatGoesLeavesSlurmOnceItsJobsAreDone) {
  scene.add_node("n1");
  scene.start();
  const std::uint32_t job = scene.run_job("n1");
  scene.remove_node("n1");
  scene.settle(minutes(5));
  EXPECT_EQ(reason("n1"), "slurm-bridge: its Kubernetes node is gone");
  EXPECT_FALSE(scene.slurm.model().job(job)->over());
  scene.slurm.model().cancel(job);
  scene.settle(minutes(1));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
}

TEST_F(BridgeNodes, ANodeWithoutTheLabelLosesAllThatWasOurs) {
  scene.add_node("n1");
  scene.start();
  scene.change_node("n1", "{metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}}");
  scene.settle(minutes(1));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
  EXPECT_EQ(scene.node_at("n1", "/spec/taints/0/key"), "(absent)");
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "(none)");
  EXPECT_EQ(scene.node_condition("n1", "Ready"), "True Sound");
}

TEST_F(BridgeNodes, OthersExternalNodesStay) {
  EXPECT_FALSE(scene.slurm.model().create_node("NodeName=lab NodeAddr=127.0.0.1 State=External"));
  scene.start();
  scene.settle(minutes(5));
  EXPECT_NE(scene.slurm_node("lab"), nullptr);
  EXPECT_FALSE(drained("lab"));
}

TEST_F(BridgeNodes, NothingIsRemovedWhileSlurmDoesNotAnswer) {
  scene.add_node("n1");
  scene.start();
  scene.slurm.stop_controller();
  scene.settle(minutes(3));
  scene.remove_node("n1");
  scene.settle(minutes(10));
  EXPECT_FALSE(drained("n1"));
  scene.slurm.start_controller();
  scene.settle(minutes(5));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
}

TEST_F(BridgeNodes, NothingIsDoneOnAListThatIsStale) {
  scene.add_node("n1");
  scene.start();
  scene.slurm_cut = "/nodes/";
  scene.settle(minutes(10));
  scene.slurm_writes.clear();
  scene.remove_node("n1");
  scene.add_node("n2");
  scene.settle(minutes(10));
  EXPECT_THAT(scene.slurm_writes, IsEmpty());
  scene.slurm_cut.clear();
  scene.settle(minutes(10));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
  EXPECT_NE(scene.slurm_node("n2"), nullptr);
}

TEST_F(BridgeNodes, WhatIsRemovedWhileWeAreAwayIsRemovedWhenWeAreBack) {
  scene.add_node("n1");
  scene.start();
  scene.kill();
  scene.remove_node("n1");
  scene.start();
  scene.settle(minutes(1));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
}

TEST_F(BridgeNodes, ANodeThatSlurmLostIsNotMadeWhilePodsOfItsJobsRun) {
  scene.add_node("n1");
  scene.start();
  add_pod("p", 7);
  EXPECT_FALSE(scene.slurm.model().delete_node("n1"));
  scene.settle(minutes(5));
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "False NotRegistered");
  end_pod("p");
  scene.settle(minutes(1));
  EXPECT_NE(scene.slurm_node("n1"), nullptr);
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "True TakesJobs");
}

TEST_F(BridgeNodes, ManyAtOnceGoSlowlyAndLoudly) {
  for (int i = 0; i < 30; ++i) scene.add_node(fmt::format("n{}", i));
  scene.start();
  ASSERT_EQ(scene.slurm.model().nodes().size(), 30);
  for (int i = 0; i < 30; ++i) {
    scene.change_node(fmt::format("n{}", i),
                      "{metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}}");
  }
  scene.settle(seconds(20));
  EXPECT_EQ(scene.slurm.model().nodes().size(), 27);
  EXPECT_THAT(scene.kube_writes, Contains("event RemovalsLimited"));
  scene.settle(minutes(20));
  EXPECT_EQ(scene.slurm.model().nodes().size(), 0);
}

TEST_F(BridgeNodes, HundredsOfNodesTakeFewCalls) {
  for (int i = 0; i < 300; ++i) {
    scene.add_node(fmt::format("n{}", i), fmt::format("10.0.{}.{}", i / 250, i % 250 + 1));
  }
  scene.start();
  scene.settle(seconds(10));
  EXPECT_EQ(scene.slurm.model().nodes().size(), 300);
  EXPECT_EQ(scene.slurm_node("n277")->address, "10.0.1.28");
  EXPECT_LT(scene.slurm_writes.size(), 20);
  EXPECT_EQ(scene.node_condition("n277", "SlurmReady"), "True TakesJobs");
}

TEST_F(BridgeNodes, OneThatSlurmRefusesDoesNotKeepTheOthersOut) {
  scene.add_node("n1");
  scene.add_node("n3");
  scene.start();
  scene.add_node("n2");
  scene.add_node("n4");
  // Slurm has got it in the meantime, and not from us.
  EXPECT_FALSE(scene.slurm.model().create_node(
      "NodeName=n4 NodeAddr=127.0.0.1 CPUs=8 RealMemory=16384 Feature=slurm-bridge "
      "State=External"));
  scene.settle();
  EXPECT_NE(scene.slurm_node("n2"), nullptr);
  EXPECT_THAT(scene.slurm_node("n4")->comment, HasSubstr("kubernetes"));
}

TEST_F(BridgeNodes, ASmallerNodeIsMadeAnewWhenItsJobsAreDone) {
  scene.add_node("n1");
  scene.start();
  const std::uint32_t job = scene.run_job("n1");
  scene.change_node("n1", "{status: {allocatable: {cpu: '6'}}}", "status");
  scene.settle(minutes(1));
  EXPECT_EQ(reason("n1"), "slurm-bridge: only 6 of 8 CPUs can be given to pods");
  EXPECT_EQ(scene.slurm_node("n1")->cpus, 8);
  scene.slurm.model().cancel(job);
  scene.settle(minutes(1));
  ASSERT_NE(scene.slurm_node("n1"), nullptr);
  EXPECT_EQ(scene.slurm_node("n1")->cpus, 6);
  EXPECT_FALSE(drained("n1"));
}

TEST_F(BridgeNodes, WhatDaemonSetsTakeIsLeftOutOnceTheNodeIsIdle) {
  scene.add_node("n1");
  scene.start();
  ASSERT_EQ(scene.slurm_node("n1")->cpus, 8);
  const std::uint32_t job = scene.run_job("n1");
  scene.add(R"(
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: net, namespace: kube-system}
spec:
  selector: {matchLabels: {app: net}}
  template:
    metadata: {labels: {app: net}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: c, image: i, resources: {requests: {cpu: 250m, memory: 200Mi}}}]
)");
  scene.settle(minutes(1));
  EXPECT_EQ(scene.slurm_node("n1")->cpus, 8);
  EXPECT_FALSE(drained("n1")) << "all nodes would be drained at once";
  scene.slurm.model().cancel(job);
  scene.settle(minutes(1));
  ASSERT_NE(scene.slurm_node("n1"), nullptr);
  EXPECT_EQ(scene.slurm_node("n1")->cpus, 7);
  EXPECT_EQ(scene.slurm_node("n1")->memory, 16384 - 256);
  scene.slurm_writes.clear();
  scene.settle(minutes(10));
  EXPECT_THAT(scene.slurm_writes, IsEmpty());
}

TEST_F(BridgeNodes, ANodeIsDrainedFromTheEndOfAJobToTheEndOfItsContainers) {
  scene.add_node("n1");
  scene.start();
  const std::uint32_t job = scene.run_job("n1");
  add_pod("p", job);
  scene.settle(minutes(1));
  EXPECT_FALSE(drained("n1")) << "the job has its node";
  scene.slurm.model().cancel(job);
  scene.settle(minutes(1));
  EXPECT_EQ(reason("n1"), "slurm-bridge: pods of job 1 are still there");
  scene.settle(minutes(30));  // Slurm forgets the job.
  EXPECT_TRUE(drained("n1"));
  end_pod("p");
  scene.settle();
  EXPECT_FALSE(drained("n1"));
}

TEST_F(BridgeNodes, ANodeThatIsKeptForContainersStaysSoOverARestart) {
  scene.add_node("n1");
  scene.add_node("n2");
  scene.start();
  for (const char* const node : {"n1", "n2"}) {
    const std::uint32_t job = scene.run_job(node);
    add_pod(fmt::format("p-{}", node), job, node);
    scene.slurm.model().cancel(job);
  }
  scene.settle(minutes(1));
  ASSERT_TRUE(drained("n1") && drained("n2"));
  scene.kill();
  scene.slurm_writes.clear();
  scene.change_node("n2", "{metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}}");
  scene.start();
  scene.settle(minutes(1));
  EXPECT_EQ(reason("n1"), "slurm-bridge: pods of job 1 are still there");
  EXPECT_NE(scene.slurm_node("n2"), nullptr) << "removed with containers on it";
  EXPECT_THAT(scene.slurm_writes, Not(Contains(HasSubstr("/node/n1"))));
  end_pod("p-n1");
  end_pod("p-n2");
  scene.settle(minutes(1));
  EXPECT_FALSE(drained("n1"));
  EXPECT_EQ(scene.slurm_node("n2"), nullptr);
}

TEST_F(BridgeNodes, NothingIsLiftedBeforeTheJobsAreKnown) {
  scene.add_node("n1");
  scene.start();
  const std::uint32_t job = scene.run_job("n1");
  add_pod("p", job);
  scene.slurm.model().cancel(job);
  scene.settle(minutes(1));
  ASSERT_TRUE(drained("n1"));
  scene.kill();
  scene.slurm_cut = "/jobs/";
  scene.start();
  end_pod("p");
  scene.settle(minutes(2));
  EXPECT_TRUE(drained("n1"));
  scene.slurm_cut.clear();
  scene.settle(minutes(2));
  EXPECT_FALSE(drained("n1"));
}

TEST_F(BridgeNodes, AJobOfTheSameNumberDoesNotFreeTheNodeOfPodsThatAreNotItsOwn) {
  scene.add_node("n1");
  scene.start();
  SlurmJob job;
  job.partition = "slurm-bridge";
  job.memory_per_node = 100;
  job.admin_comment = R"({"pods":["default/another"],"uids":["another"]})";
  ASSERT_FALSE(scene.slurm.model().submit(job));
  scene.settle();
  ASSERT_EQ(scene.slurm.model().job(job.id)->nodes, std::vector<std::string>{"n1"});
  add_pod("p", job.id);
  scene.settle();
  EXPECT_EQ(reason("n1"), "slurm-bridge: pods of job 1 are still there");
}

TEST_F(BridgeNodes, OfTwoGangsWithOneNumberTheLastKeepsTheNode) {
  scene.add_node("n1");
  scene.start();
  add_pod("a", 7);
  add_pod("b", 7);
  scene.settle();
  ASSERT_TRUE(drained("n1"));
  end_pod("a");
  scene.settle();
  EXPECT_TRUE(drained("n1"));
  end_pod("b");
  scene.settle();
  EXPECT_FALSE(drained("n1"));
}

TEST_F(BridgeNodes, AnUnknownPartitionIsToldAndWaitedFor) {
  scene.add_node("n1");
  scene.change_node("n1",
                    "{metadata: {annotations: "
                    "{scheduler.slinky.slurm.net/external-node-partitions: late}}}");
  scene.start();
  EXPECT_EQ(scene.slurm_node("n1"), nullptr);
  EXPECT_THAT(scene.kube_writes, Contains("event UnknownPartition"));
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "False NotRegistered");
  EXPECT_FALSE(scene.slurm.model().create_partition({.name = "late", .from_rest = true}));
  scene.settle(minutes(5));
  EXPECT_NE(scene.slurm_node("n1"), nullptr);
}

TEST_F(BridgeNodes, ANodeWithASlurmdIsDrainedAndNeverRemoved) {
  scene.add_node("n1");
  scene.slurm.model().register_slurmd({.name = "n1", .cpus = 64, .memory = 1000});
  scene.start();
  EXPECT_EQ(scene.node_condition("n1", "SlurmReady"), "True TakesJobs");
  EXPECT_EQ(scene.node_at("n1", "/spec/taints/0/key"), "slinky.slurm.net/managed-node");
  scene.change_node("n1", "{spec: {unschedulable: true}}");
  scene.settle();
  EXPECT_TRUE(drained("n1"));
  scene.remove_node("n1");
  scene.settle(minutes(5));
  EXPECT_EQ(scene.slurm_node("n1")->cpus, 64);
}

}  // namespace
}  // namespace mainspring::sim
