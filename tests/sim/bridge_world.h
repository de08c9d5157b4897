// tests/sim/bridge_world.h
//
// Everything that the whole bridge lives in: an API server and a Slurm in memory, kubelets, calls
// that go wrong, and a process of the bridge that can be killed at any moment and started again.
// What the bridge does is judged where it arrives (bridge_safety.h). Owned by the test; virtual
// time.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bridge/bridge.h"
#include "bridge/sync/cluster_follower.h"
#include "bridge/translate/ownership.h"
#include "json/yaml.h"
#include "kube/gangs.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "sim/bridge_kubelet.h"
#include "sim/bridge_safety.h"
#include "sim/custom_kind.h"
#include "sim/faults.h"
#include "sim/interceptor.h"
#include "sim/kube_api.h"
#include "sim/kubelet.h"
#include "sim/meta.h"
#include "sim/meter.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {

class BridgeWorld {
 public:
  // `groups`: the version of scheduling.k8s.io that is served.
  explicit BridgeWorld(std::uint64_t seed, const std::string& groups = "v1alpha3")
      : seed_(seed), chance(seed) {
    serve_kind(api, kube::CoschedulingPodGroup::kResource);
    kube::Resource pod_groups = kube::PodGroup::kResource;
    kube::Resource workloads = kube::Workload::kResource;
    pod_groups.version = workloads.version = groups;
    serve_kind(api, pod_groups);
    serve_kind(api, workloads);
    for (const char* const ns : {"kube-system", "default"}) {
      if (!api.find({"", "v1", "namespaces", "Namespace", false}, "", ns)) {
        EXPECT_TRUE(api.add_namespace(ns).has_value());
      }
    }
  }

  // A node that is given to Slurm and sound: 8 CPUs.
  void add_node(const std::string& name) {
    put(fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {}, labels: "
        "{{scheduler.slinky.slurm.net/external-node: 'true'}}}}, spec: {{podCIDR: 10.1.0.0/24}}}}",
        name));
    patch(fmt::format("/api/v1/nodes/{}/status", name),
          R"({"status":{"capacity":{"cpu":"8","memory":"16Gi"},)"
          R"("allocatable":{"cpu":"8","memory":"16Gi"},)"
          R"("addresses":[{"type":"InternalIP","address":"10.0.0.1"}],)"
          R"("conditions":[{"type":"Ready","status":"True","reason":"Sound"}]}})");
  }
  void put(const std::string& yaml) {
    const auto object = json::parse_yaml(yaml);
    ASSERT_TRUE(object.has_value()) << yaml;
    const auto added = api.add(*object);
    ASSERT_TRUE(added.has_value()) << added.error().to_string();
  }
  void patch(const std::string& path, const std::string& body) {
    const http::Response answer = ask_kube(api, http::Method::kPatch, path, body);
    ASSERT_EQ(answer.status, 200) << path << answer.body;
  }

  bool alive() const { return process_.has_value(); }
  void start() {
    if (process_) return;
    safety.note("the bridge starts");
    process_.emplace(executor, kube_faults, slurm_faults, chance.next(), options, health);
  }
  void kill() {
    if (process_) safety.note("the bridge dies");
    process_.reset();
  }
  void heal() {
    kube_faults.heal();
    slurm_faults.heal();
    start_rest();
    if (!slurm.controller_up()) slurm.start_controller();
    start();
  }

  // Lets everybody act for a while; ends early when a rule is broken.
  void pass(Duration time) {
    constexpr Duration kMoment = milliseconds(250);
    for (; time > Duration::zero() && safety.violation().empty(); time -= kMoment) {
      executor.advance(std::min(time, kMoment));
      kubelet.tick();
      if (process_ && process_->life.running() == 0) safety.violate("the bridge ended by itself");
      safety.look(process_.has_value(), slurm.controller_up() && rest_up);
    }
  }
  void stop_rest() {
    slurm.stop_rest();
    rest_up = false;
  }
  void start_rest() {
    slurm.start_rest();
    rest_up = true;
  }

  std::vector<Object> pods() {
    std::vector<Object> all;
    for (const auto& [key, pod] : api.storage().all("pods")) all.push_back(pod);
    return all;
  }
  bool one_in(std::uint64_t n) { return chance.below(n) == 0; }

  bridge::BridgeOptions options;  // Of the next process.

  static slurm::Client::Options slurm_options(const bridge::BridgeOptions& options,
                                              std::shared_ptr<slurm::TokenSource> tokens) {
    slurm::Client::Options made;
    if (!options.config.slurm_cluster) made.server = *http::Url::parse("http://sim");
    made.tokens = std::move(tokens);
    return made;
  }

 private:
  // Dies where it stands.
  struct Process {
    Process(net::Executor& executor, http::Transport& kube, http::Transport& slurm,
            std::uint64_t seed, const bridge::BridgeOptions& options, control::Health& health)
        : random(seed),
          tokens(std::make_shared<slurm::ReplaceableTokens>(slurm::static_token(Secret("any")),
                                                            executor.clock())),
          client(kube, executor.clock(), random, {.server = *http::Url::parse("https://sim")}),
          manager(executor, client, random, {.name = "mainspring-bridge", .instance = "one"}),
          connection(slurm, executor, random, slurm_options(options, tokens),
                     bridge::slurm_following(), bridge::slurm_budget()),
          all(manager, connection, options),
          life(executor) {
      if (options.config.slurm_cluster) {
        follower.emplace(manager, connection,
                         bridge::ClusterFollower::Options{
                             .cluster = *options.config.slurm_cluster,
                             .tokens = tokens,
                             .check = health.add("slurm cluster", control::HealthKind::kReady)});
      }
      life.spawn(manager.run());
    }
    Random random;
    std::shared_ptr<slurm::ReplaceableTokens> tokens;
    kube::Client client;
    control::Manager manager;
    slurm::Connection connection;
    bridge::Bridge all;
    std::optional<bridge::ClusterFollower> follower;
    net::TaskGroup life;
  };
  static Faults::Options kube_way(std::uint64_t seed) {
    return {.seed = seed,
            .delay_max = milliseconds(200),
            .refuse = 0.03,
            .lose_request = 0.02,
            .lose_answer = 0.03,
            .duplicate = 0.01,
            .stale_list = 0.2,
            .break_watch = 0.02,
            .late_watch = 0.05,
            .cut_line = 0.01};
  }
  static Faults::Options slurm_way(std::uint64_t seed) {
    return {.seed = seed,
            .delay_max = milliseconds(200),
            .refuse = 0.03,
            .lose_request = 0.03,
            .lose_answer = 0.05};
  }
  static SlurmApi::Options slurm_setup() {
    SlurmApi::Options made;
    made.model.partitions = {{.name = "slurm-bridge", .feature = "slurm-bridge"}};
    return made;
  }

  const std::uint64_t seed_;

 public:
  Random chance;
  net::VirtualExecutor executor;
  KubeApi api{executor, {.seed = seed_ + 3}};
  SlurmApi slurm{executor, slurm_setup()};
  bool rest_up = true;
  BridgeKubelet kubelet{executor, api, seed_ + 4};
  BridgeSafety safety{executor, api, slurm, kubelet};
  // Between the bridge and the two.
  Interceptor kube_door{safety.kube()};
  Faults kube_faults{kube_door, kube_way(seed_ + 1)};
  Interceptor slurm_door{safety.slurm()};
  Meter slurm_meter{slurm_door};
  Faults slurm_faults{slurm_meter, slurm_way(seed_ + 2)};
  control::Health health{executor.clock()};

 private:
  std::optional<Process> process_;
};

}  // namespace mainspring::sim
