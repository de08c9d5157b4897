// Where pods may be is remembered until something changes (bridge/sync/known_fits). Whatever does,
// somebody who remembers must say the same as somebody who looks for the first time.
#include <deque>

#include "bridge/nodes/node_sync.h"
#include "bridge/sync/submission.h"
#include "sim/bridge_scene.h"
#include "sim/kubelet.h"

namespace mainspring::sim {
namespace {

struct Remembering {
  explicit Remembering(bridge::World& world)
      : tenants(world), nodes(world, tenants), submission(world) {}
  bridge::Tenants tenants;
  bridge::NodeSync nodes;
  bridge::Submission submission;
};

class BridgeKnownFits : public ::testing::Test {
 protected:
  BridgeKnownFits() {
    scene.options.config.exclusive_by_default = false;
    for (std::uint64_t i = 0; i < kNodes; ++i) scene.add_node(node(i));
    scene.start();
    put("plain", "", "");
    put("pool", "nodeSelector: {pool: blue},", "");
    put("tolerant", "tolerations: [{key: taken, operator: Exists}],", "");
    put("large", "", "", 6);
    put("listens", "", "ports: [{containerPort: 80, hostPort: 8080, protocol: TCP}],");
    scene.settle();
  }

  static std::string node(std::uint64_t i) { return fmt::format("n{}", i); }
  void put(const std::string& name, const std::string& spec, const std::string& container,
           int cpus = 1) {
    scene.add(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: "
        "{{schedulerName: slurm-bridge-scheduler, {} containers: [{{name: main, image: i, {} "
        "resources: {{requests: {{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, spec, container, cpus));
  }
  // One that is there already.
  void put_on(const std::string& name, const std::string& scheduler, const std::string& on) {
    scene.add(
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, "
                    "spec: {{schedulerName: {}, nodeName: {}, containers: [{{name: main, "
                    "image: i}}]}}}}",
                    name, scheduler, on));
  }
  void remove(const std::string& pod) {
    ask_kube(scene.server, http::Method::kDelete,
             "/api/v1/namespaces/default/pods/" + pod + "?gracePeriodSeconds=0", "");
  }

  std::string ask(const bridge::Submission& submission, const std::string& pod, std::size_t count) {
    bridge::Gang gang;
    gang.min_members = static_cast<std::int32_t>(count);
    gang.pods.assign(count, scene.world().pods.get("default", pod));
    const auto found = submission.prepare(gang, std::vector<bridge::VolumeNodes>(gang.pods.size()));
    if (!found) return found.error().to_string();
    const auto& excluded = found->parts.front().excluded_nodes;
    return fmt::format("{} times {}: without [{}] {} {} {}", count, pod,
                       excluded.empty() ? "" : excluded.front(), found->impossible,
                       found->too_large, found->crowded);
  }
  void compare(const std::string& after) {
    // It may not go while stores know of it.
    const bridge::Submission& anew = first_looks.emplace_back(scene.world());
    for (const char* const pod : {"plain", "pool", "tolerant", "large", "listens"}) {
      for (const std::size_t count : {1, 3}) {
        EXPECT_EQ(ask(scene.parts().submission, pod, count), ask(anew, pod, count)) << after;
      }
    }
  }

  // What people, kubelets and other schedulers do; gives it in words.
  std::string change() {
    const std::string on = node(random.below(kNodes));
    switch (random.below(7)) {
      case 0:
        scene.change_node(on, random.below(2) == 0
                                  ? "{spec: {taints: [{key: taken, effect: NoSchedule}]}}"
                                  : "{spec: {taints: [{key: taken, $patch: delete}]}}");
        return on + " is tainted, or not";
      case 1:
        scene.change_node(on, fmt::format("{{metadata: {{labels: {{pool: {}}}}}}}",
                                          random.below(2) == 0 ? "blue" : "green"));
        return on + " is in a pool";
      case 2:
        scene.change_node(on,
                          fmt::format("{{status: {{allocatable: {{pods: '{}'}}}}}}",
                                      random.below(2) == 0 ? 110 : 4 + random.below(4)),
                          "status");
        return on + " takes so many pods";
      case 3:
        scene.change_node(
            on, fmt::format("{{status: {{allocatable: {{cpu: '{}'}}}}}}", 4 + 4 * random.below(2)),
            "status");
        return on + " has so many cores";
      case 4:
        if (!there.empty()) {
          const std::string gone = there.front();
          there.pop_front();
          remove(gone);
          return gone + " goes";
        }
        [[fallthrough]];
      default:
        there.push_back(fmt::format("p{}", made++));
        put_on(there.back(), random.below(2) == 0 ? "default-scheduler" : "slurm-bridge-scheduler",
               on);
        return there.back() + " comes to " + on;
    }
  }

  static constexpr std::uint64_t kNodes = 4;
  BridgeScene<Remembering> scene;
  Random random{5};
  int made = 0;
  std::deque<std::string> there;
  std::deque<bridge::Submission> first_looks;
};

TEST_F(BridgeKnownFits, WhatIsRememberedIsWhatALookWouldFind) {
  compare("nothing");
  for (int i = 0; i < 150 && !HasFailure(); ++i) {
    const std::string what = change();
    scene.settle(seconds(10));
    compare(what);
  }
}

TEST_F(BridgeKnownFits, ADaemonSetIsSeenThatTakesTheLastPlace) {
  for (std::uint64_t i = 0; i < kNodes; ++i) {
    scene.change_node(node(i), "{status: {allocatable: {pods: '1'}}}", "status");
  }
  scene.settle();
  compare("one place each");
  scene.add(
      "{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: d, namespace: default}, spec: "
      "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: "
      "{tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}}}}");
  scene.settle();
  compare("a DaemonSet everywhere");
  EXPECT_NE(ask(scene.parts().submission, "plain", 1).find("the kubelet takes 1 pods and has 1"),
            std::string::npos);
}

}  // namespace
}  // namespace mainspring::sim
