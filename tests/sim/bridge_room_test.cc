// What a kubelet counts and Slurm does not: pods, ports of the host, ephemeral storage. The whole
// bridge with everything as it should be, and pods that it did not put there.
#include <map>

#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

class BridgeRoom : public ::testing::Test {
 protected:
  BridgeRoom() {
    world.options.config.exclusive_by_default = false;
    world.heal();
    world.kubelet.run_on();
  }
  void TearDown() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  void add_node(const std::string& name, const std::string& more) {
    world.add_node(name);
    world.patch(
        fmt::format("/api/v1/nodes/{}/status", name),
        fmt::format(R"({{"status":{{"allocatable":{{"cpu":"8","memory":"16Gi",{}}}}}}})", more));
  }
  void put_pod(const std::string& name, const std::string& container = "", int cpus = 1) {
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: "
        "{{schedulerName: slurm-bridge-scheduler, containers: [{{name: main, image: i, {} "
        "resources: {{requests: {{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, container, cpus));
  }
  // Of another scheduler, or of a DaemonSet's controller.
  void put_stranger(const std::string& name, const std::string& node,
                    const std::string& container = "") {
    world.put(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, "
                    "spec: {{schedulerName: default-scheduler, nodeName: {}, containers: [{{name: "
                    "main, image: i, {}}}]}}}}",
                    name, node, container));
  }
  static std::string listens(int port) {
    return fmt::format("ports: [{{containerPort: 80, hostPort: {}, protocol: TCP}}],", port);
  }
  Object pod(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*pod(name), "/spec/nodeName"));
  }
  std::string waits_for(const std::string& name) {
    const json::Value* const all = pod(name)->at_pointer("/status/conditions");
    if (all == nullptr) return "";
    for (const json::Value& one : *all) {
      if (text_at(one, "/type") == "PodScheduled") return std::string(text_at(one, "/message"));
    }
    return "";
  }
  void remove(const std::string& name) {
    ask_kube(world.api, http::Method::kDelete, "/api/v1/namespaces/default/pods/" + name, "");
  }

  BridgeWorld world{1};
};

TEST_F(BridgeRoom, APodWaitsWhereTheKubeletsTakeNoMoreAndSaysSo) {
  add_node("n0", R"("pods":"2")");
  world.pass(seconds(10));
  put_pod("a");
  put_pod("b");
  world.pass(seconds(20));
  ASSERT_EQ(node_of("a"), "n0") << world.safety.account();
  ASSERT_EQ(node_of("b"), "n0") << world.safety.account();
  put_pod("c");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("c"), "") << world.safety.account();
  EXPECT_NE(waits_for("c").find("the kubelet takes 2 pods and has 2"), std::string::npos)
      << waits_for("c");
  remove("a");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("c"), "n0") << waits_for("c") << world.safety.account();
}

TEST_F(BridgeRoom, PodsThatAreAskedForTogetherDoNotOverfillANode) {
  add_node("n0", R"("pods":"3")");
  add_node("n1", R"("pods":"3")");
  world.pass(seconds(10));
  for (int i = 0; i < 8; ++i) put_pod(fmt::format("p{}", i));
  world.pass(minutes(3));
  std::map<std::string, int> on;
  for (int i = 0; i < 8; ++i) ++on[node_of(fmt::format("p{}", i))];
  EXPECT_LE(on["n0"], 3) << world.safety.account();
  EXPECT_LE(on["n1"], 3) << world.safety.account();
  EXPECT_EQ(on["n0"] + on["n1"], 6) << world.safety.account();
}

TEST_F(BridgeRoom, APortThatAnotherSchedulersPodHasIsTaken) {
  add_node("n0", R"("pods":"110")");
  add_node("n1", R"("pods":"110")");
  world.pass(seconds(10));
  put_stranger("stranger", "n0", listens(8080));
  world.pass(seconds(5));
  put_pod("p", listens(8080));
  world.pass(seconds(30));
  EXPECT_EQ(node_of("p"), "n1") << world.safety.account();
  put_pod("q", listens(8080));
  world.pass(seconds(30));
  EXPECT_EQ(node_of("q"), "") << world.safety.account();
  EXPECT_NE(waits_for("q").find("host port 8080 is taken"), std::string::npos) << waits_for("q");
  remove("stranger");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("q"), "n0") << waits_for("q") << world.safety.account();
}

TEST_F(BridgeRoom, APortOfADaemonSetIsTakenWhereItRuns) {
  add_node("n0", R"("pods":"110")");
  add_node("n1", R"("pods":"110")");
  world.patch("/api/v1/nodes/n0", R"({"metadata":{"labels":{"monitored":"yes"}}})");
  world.put(
      "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: kube-system}, spec: "
      "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
      "{nodeSelector: {monitored: 'yes'}, tolerations: [{operator: Exists}], containers: [{name: "
      "c, image: i, ports: [{containerPort: 9100, hostPort: 9100, protocol: TCP}]}]}}}}");
  world.pass(seconds(10));
  for (const char* const name : {"p", "q"}) put_pod(name, listens(9100));
  world.pass(minutes(1));
  EXPECT_EQ((node_of("p") == "n1") + (node_of("q") == "n1"), 1) << world.safety.account();
  EXPECT_EQ((node_of("p") == "n0") + (node_of("q") == "n0"), 0) << world.safety.account();
}

TEST_F(BridgeRoom, WhatOthersTakeOfTheDiskCounts) {
  add_node("n0", R"("pods":"110","ephemeral-storage":"10Gi")");
  world.pass(seconds(10));
  const std::string disk = "resources: {requests: {ephemeral-storage: 8Gi}}";
  put_stranger("stranger", "n0", disk);
  world.pass(seconds(5));
  world.put(
      "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {schedulerName: "
      "slurm-bridge-scheduler, containers: [{name: main, image: i, resources: {requests: {cpu: "
      "'1', memory: 1Gi, ephemeral-storage: 4Gi}}}]}}");
  world.pass(seconds(30));
  EXPECT_EQ(node_of("p"), "") << world.safety.account();
  EXPECT_NE(waits_for("p").find("ephemeral-storage"), std::string::npos) << waits_for("p");
  remove("stranger");
  world.pass(minutes(1));
  EXPECT_EQ(node_of("p"), "n0") << waits_for("p") << world.safety.account();
}

}  // namespace
}  // namespace mainspring::sim
