// tests/sim/operator_world.h
//
// The whole operator in a world of its own: an API server, a Slurm, kubelets, a Controller with its
// RestApi, Kubernetes nodes in two pools, and unreliable ways between them, all by a seed. A test
// plays the people in it. The operator can be killed at any moment and started again; the world
// goes on. Owned by the test; virtual time.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/base64.h"
#include "json/yaml.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "operator/operator.h"
#include "sim/faults.h"
#include "sim/kubelet.h"
#include "sim/meta.h"
#include "sim/operator_kinds.h"
#include "sim/safety.h"
#include "slurm/conf_file.h"

namespace mainspring::sim {

class OperatorWorld {
 public:
  explicit OperatorWorld(std::uint64_t seed) : seed_(seed), chance(seed) {
    serve_our_kinds(api);
    EXPECT_TRUE(api.add_namespace("slurm").has_value());
    for (const auto& [name, key] :
         {std::pair("auth-slurm", "slurm.key"), std::pair("auth-jwt", "jwt.key")}) {
      put(
          fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: {}, namespace: slurm}}, "
                      "data: {{{}: {}}}}}",
                      name, key, base64_encode("0123456789abcdef0123456789abcdef")));
    }
    put(R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c, namespace: slurm}
spec:
  slurmKeyRef: {name: auth-slurm, key: slurm.key}
  jwtKeyRef: {name: auth-jwt, key: jwt.key}
  slurmctld: {image: slurmctld}
)");
    put(R"(
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: rest, namespace: slurm}
spec: {controllerRef: {name: c}, slurmrestd: {image: slurmrestd}}
)");
    for (const char pool : {'a', 'b'}) {
      for (int i = 0; i < 4; ++i) add_node(pool, i);
    }
    slurm.model().set_files([this] { return partitions(); });
  }

  void put(const std::string& yaml) {
    const auto object = json::parse_yaml(yaml);
    ASSERT_TRUE(object.has_value()) << object.error().to_string();
    const auto added = api.add(*object);
    ASSERT_TRUE(added.has_value()) << added.error().to_string();
  }
  void add_node(char pool, int number) {
    put(fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {0}{1}, labels: {{pool: {0}}}}}}}", pool,
        number));
  }

  // The operator's process.
  bool alive() const { return process_.has_value(); }
  void start() {
    if (process_) return;
    safety.note("the operator starts");
    safety.process_started();
    process_.emplace(executor, faults, slurm_faults, chance.next(), metrics);
  }
  void kill() {
    if (process_) safety.note("the operator dies");
    process_.reset();
  }
  void heal() {
    faults.heal();
    slurm_faults.heal();
    safety.trouble = {};
    slurm.start_rest();
    if (!slurm.controller_up()) slurm.start_controller();
    start();
  }

  // Lets everybody act for a while; ends early when a rule is broken.
  template <class EachMoment>
  void pass(Duration time, EachMoment&& look) {
    constexpr Duration kMoment = milliseconds(250);
    for (; time > Duration::zero() && safety.violation().empty(); time -= kMoment) {
      executor.advance(std::min(time, kMoment));
      kubelet.tick();
      static_cast<void>(slurm.model());
      look();
    }
  }

  http::Response kubectl(http::Method method, const std::string& path,
                         const std::string& body = "") {
    safety.note(fmt::format("person: {} {} {}", http::to_string(method), path, body));
    return ask_kube(api, method, path, body);
  }
  Object nodeset(const std::string& name) const {
    return api.find(api::NodeSet::kResource, "slurm", name);
  }
  std::vector<Object> pods_of(const json::Value& set) {
    std::vector<Object> all;
    for (const auto& [key, pod] : api.storage().all("pods")) {
      if (text_at(*pod, "/metadata/ownerReferences/0/uid") == uid_of(set)) all.push_back(pod);
    }
    return all;
  }
  Object any(std::string_view collection) {
    const Objects& all = api.storage().all(collection);
    if (all.empty()) return nullptr;
    return std::next(all.begin(), static_cast<std::ptrdiff_t>(chance.below(all.size())))->second;
  }
  std::string any_slurm_node() {
    const auto& all = slurm.model().nodes();
    return all.empty() ? "" : all[chance.below(all.size())].name;
  }
  bool one_in(std::uint64_t n) { return chance.below(n) == 0; }

 private:
  // Those of the slurm.conf that slurmctld reads now. It would not survive one without a partition
  // that a job on its record names.
  std::vector<SlurmPartition> partitions() {
    const Object map = api.storage().get("configmaps", "slurm/c-config");
    if (!map) return {};
    std::vector<SlurmPartition> found;
    const auto none = [](std::string_view) { return std::optional<std::string_view>(); };
    const auto conf = slurm::read_conf("slurm.conf", text_at(*map, "/data/slurm.conf"), none);
    for (const slurm::ConfLine& line : conf.lines) {
      if (line.key() != "PartitionName" || line.value() == "DEFAULT") continue;
      const slurm::ConfPair* const state = line.find("State");
      // No worker has a feature here, so each is on all nodes.
      found.push_back({.name = line.value(),
                       .feature = "",
                       .closed = state != nullptr && state->value == "DRAIN"});
    }
    for (const auto& [id, job] : slurm.model().jobs()) {
      const bool known = job.partition == "all" || job.partition == "external" ||
                         std::any_of(found.begin(), found.end(), [&](const SlurmPartition& one) {
                           return one.name == job.partition;
                         });
      if (known) continue;
      safety.violate(
          fmt::format("slurmctld is to read a slurm.conf without the partition {}, "
                      "which job {} names",
                      job.partition, id));
    }
    return found;
  }

  // Dies where it stands.
  struct Process {
    Process(net::Executor& executor, http::Transport& kube, http::Transport& slurm,
            std::uint64_t seed, Metrics& metrics)
        : random(seed),
          client(kube, executor.clock(), random, {.server = *http::Url::parse("https://sim")}),
          manager(executor, client, random, {.name = "mainspring", .instance = "one"}),
          all(manager, slurm, {.metrics = &metrics}),
          life(executor) {
      life.spawn(manager.run());
    }
    Random random;
    kube::Client client;
    control::Manager manager;
    op::Operator all;
    net::TaskGroup life;
  };
  static Faults::Options kube_faults(std::uint64_t seed) {
    return {.seed = seed,
            .delay_max = milliseconds(200),
            .refuse = 0.03,
            .lose_request = 0.02,
            .lose_answer = 0.03,
            .duplicate = 0.01,
            .stale_list = 0.2,
            .break_watch = 0.02,
            .cut_line = 0.01};
  }
  static Faults::Options rest_faults(std::uint64_t seed) {
    return {.seed = seed,
            .delay_max = milliseconds(200),
            .refuse = 0.02,
            .lose_request = 0.02,
            .lose_answer = 0.02};
  }

  const std::uint64_t seed_;

 public:
  Random chance;
  net::VirtualExecutor executor;
  KubeApi api{executor, {.seed = seed_, .garbage_delay = seconds(1)}};
  SlurmApi slurm{executor, {}};
  Kubelet kubelet{executor, api, slurm, seed_ + 1};
  Safety safety{executor, api, slurm, kubelet};
  Faults faults{safety.kube(), kube_faults(seed_ + 2)};
  Faults slurm_faults{safety.slurm(), rest_faults(seed_ + 3)};
  Metrics metrics;  // Of all its processes.

 private:
  std::optional<Process> process_;
};

}  // namespace mainspring::sim
