// tests/sim/bridge_submission_scene.h
//
// What tests of how gangs become jobs share: the whole bridge with everything as it should be, pods
// and gangs in pools of nodes, and a look at what Slurm has of them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "sim/bridge_world.h"

namespace mainspring::sim {

struct BridgeSubmission : ::testing::Test {
  BridgeSubmission() {
    world.heal();
    world.kubelet.run_on();
  }

  Object pod(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*pod(name), "/spec/nodeName"));
  }
  std::uint32_t job_of(const std::string& name) { return job_of_pod(*pod(name)); }
  const SlurmJob& job(std::uint32_t id) { return *world.slurm.model().job(id); }
  std::string waits_for(const std::string& name) {
    const json::Value* const all = pod(name)->at_pointer("/status/conditions");
    if (all == nullptr) return "";
    for (const json::Value& one : *all) {
      if (text_at(one, "/type") == "PodScheduled") return std::string(text_at(one, "/message"));
    }
    return "";
  }
  void add_nodes(int count, const std::string& pool) {
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("{}{}", pool, i);
      world.add_node(name);
      world.patch("/api/v1/nodes/" + name,
                  fmt::format(R"({{"metadata":{{"labels":{{"pool":"{}"}}}}}})", pool));
    }
    world.pass(seconds(10));
  }
  void put(const std::string& name, const std::string& meta = "", const std::string& spec = "",
           int cpus = 8) {
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default, {}}}, spec: "
        "{{schedulerName: slurm-bridge-scheduler, {} containers: [{{name: main, image: i, "
        "resources: {{requests: {{cpu: '{}', memory: 1Gi}}}}}}]}}}}",
        name, meta, spec, cpus));
  }
  // Of a PodGroup whose pods say which pool they need.
  void put_gang(const std::string& name, int least, const std::vector<std::string>& pools,
                const std::string& annotations = "") {
    world.put(
        fmt::format("{{apiVersion: scheduling.k8s.io/v1alpha3, kind: PodGroup, metadata: "
                    "{{name: {}, namespace: default, annotations: {{{}}}}}, spec: "
                    "{{schedulingPolicy: {{gang: {{minCount: {}}}}}}}}}",
                    name, annotations, least));
    for (std::size_t i = 0; i < pools.size(); ++i) {
      const std::string where =
          pools[i].empty() ? "" : fmt::format("nodeSelector: {{pool: {}}},", pools[i]);
      put(fmt::format("{}-{}", name, i), "",
          fmt::format("schedulingGroup: {{podGroupName: {}}}, {}", name, where),
          pools[i].empty() && i > 0 ? 2 : 8);
    }
  }
  void remove(const std::string& name) {
    ask_kube(world.api, http::Method::kDelete, "/api/v1/namespaces/default/pods/" + name, "");
  }

  // How often the bridge wrote something there.
  std::size_t writes_to(std::string_view path) {
    const std::string account = world.safety.account();
    const auto lines = split(account, '\n');
    return static_cast<std::size_t>(
        std::count_if(lines.begin(), lines.end(), [&](std::string_view line) {
          return line.find("bridge: ") != std::string_view::npos &&
                 line.find(path) != std::string_view::npos;
        }));
  }
  // How many were asked for, granted or not.
  std::size_t allocations() { return writes_to("job/allocate"); }

  BridgeWorld world{1};
};

}  // namespace mainspring::sim
