// tests/sim/bridge_scene.h
//
// What a test of the bridge's controllers needs: an API server and a Slurm in memory, and a process
// of the bridge between them that can be killed at any moment and started again. `Parts` are the
// controllers: a struct made from the World. Every write to either side is noted. Owned by the
// test; virtual time.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bridge/sync/world.h"
#include "json/yaml.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "sim/faults.h"
#include "sim/kube_api.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {

template <class Parts>
class BridgeScene {
 public:
  // Without options nothing goes wrong on the way.
  explicit BridgeScene(Faults::Options kube_way = {}, Faults::Options slurm_way = {})
      : kube_faults(server, kube_way), slurm_faults(slurm, slurm_way) {
    for (const char* const ns : {"kube-system", "default"}) {
      if (!server.find(kube::Resource{"", "v1", "namespaces", "Namespace", false}, "", ns)) {
        EXPECT_TRUE(server.add_namespace(ns).has_value());
      }
    }
  }

  void start() {
    process_.emplace(executor, kube_wire_, slurm_wire_, options);
    settle();
  }
  void kill() { process_.reset(); }
  bool alive() const { return process_.has_value(); }
  void settle(Duration time = seconds(5)) { executor.advance(time); }
  Parts& parts() { return process_->parts; }
  bridge::World& world() { return process_->world; }

  // A node that is labelled and sound.
  void add_node(const std::string& name, std::string_view address = "10.0.0.1") {
    add(fmt::format(
        "{{apiVersion: v1, kind: Node, metadata: {{name: {}, labels: "
        "{{scheduler.slinky.slurm.net/external-node: 'true'}}}}, spec: {{podCIDR: 10.1.0.0/24}}}}",
        name));
    change(kube::Node::kResource, "", name,
           fmt::format("{{status: {{capacity: {{cpu: '8', memory: 16Gi}}, allocatable: {{cpu: '8', "
                       "memory: 16Gi}}, addresses: [{{type: InternalIP, address: {}}}], "
                       "conditions: [{{type: Ready, status: 'True', reason: Sound}}]}}}}",
                       address),
           "status");
  }
  void add(const std::string& yaml) {
    const auto object = json::parse_yaml(yaml);
    ASSERT_TRUE(object.has_value()) << yaml;
    const auto added = server.add(*object);
    ASSERT_TRUE(added.has_value()) << added.error().to_string();
  }
  // A strategic merge patch, as kubectl and the kubelet send them.
  void change(const kube::Resource& resource, const std::string& ns, const std::string& name,
              std::string_view yaml, std::string subresource = {}) {
    const kube::RawApi api(direct_, resource, ns);
    const auto done =
        executor.run(api.patch(name, {kube::PatchKind::kStrategic, *json::parse_yaml(yaml)},
                               {.field_manager = "person", .subresource = std::move(subresource)}));
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
  }
  void change_node(const std::string& name, std::string_view yaml, std::string subresource = {}) {
    change(kube::Node::kResource, "", name, yaml, std::move(subresource));
  }
  void remove_node(const std::string& name) {
    const kube::RawApi api(direct_, kube::Node::kResource, "");
    ASSERT_TRUE(executor.run(api.remove(name, {})).has_value());
  }

  // What is at `pointer` in a node, as text; "(no object)" or "(absent)".
  std::string node_at(std::string_view name, std::string_view pointer) {
    const Object object = server.find(kube::Node::kResource, "", name);
    if (!object) return "(no object)";
    const json::Value* const found = object->at_pointer(pointer);
    if (found == nullptr) return "(absent)";
    return found->is_string() ? std::string(*found->as_string()) : json::to_text(*found);
  }
  // "True TakesJobs": status and reason of a condition of a node.
  std::string node_condition(std::string_view name, std::string_view type) {
    const Object object = server.find(kube::Node::kResource, "", name);
    const json::Value* const all = object ? object->at_pointer("/status/conditions") : nullptr;
    if (all == nullptr) return "(none)";
    for (const json::Value& one : *all) {
      if (one.find("type")->as_string() != type) continue;
      return fmt::format("{} {}", one.find("status")->as_string().value_or(""),
                         one.find("reason")->as_string().value_or(""));
    }
    return "(none)";
  }
  // Null where Slurm has none.
  const SlurmNode* slurm_node(std::string_view name) { return slurm.model().node(name); }
  std::uint32_t run_job(std::string_view on) {
    SlurmJob job;
    job.partition = "slurm-bridge";
    job.cpus_per_node = 1;
    job.memory_per_node = 100;
    job.required = {std::string(on)};
    const auto refused = slurm.model().submit(job);
    EXPECT_FALSE(refused.has_value());
    settle(seconds(1));
    return job.id;
  }

 private:
  // Notes writes: "PATCH /path", and "event REASON".
  struct Wire final : http::Transport {
    Wire(http::Transport& to, std::vector<std::string>& account, const std::string& cut)
        : next(to), writes(account), cut_path(cut) {}
    net::Task<Result<http::Response>> send(http::Request request) override {
      if (request.url.path.find("/events.k8s.io/") != std::string::npos) {
        const auto event = json::parse(request.body);
        const json::Value* const reason = event ? event->find("reason") : nullptr;
        if (reason != nullptr) writes.push_back("event " + std::string(*reason->as_string()));
      } else if (request.method != http::Method::kGet) {
        writes.push_back(fmt::format("{} {}", http::to_string(request.method), request.url.path));
      }
      co_return co_await next.send(std::move(request));
    }
    net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(
        http::Request request) override {
      if (!cut_path.empty() && request.url.path.ends_with(cut_path)) {
        co_return fail(Code::kTransient, "cut by the test");
      }
      co_return co_await next.open(std::move(request));
    }
    net::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
      return next.upgrade(std::move(request));
    }
    http::Transport& next;
    std::vector<std::string>& writes;
    const std::string& cut_path;
  };

  static slurm::Client::Options slurm_options() {
    slurm::Client::Options made;
    made.server = *http::Url::parse("http://sim");
    made.tokens = slurm::static_token(Secret("any"));
    return made;
  }
  struct Process {
    Process(net::Executor& executor, http::Transport& kube, http::Transport& slurm,
            const bridge::BridgeOptions& options)
        : client(kube, executor.clock(), random, {.server = *http::Url::parse("https://sim")}),
          manager(executor, client, random, {.name = "mainspring-bridge", .instance = "one"}),
          connection(slurm, executor, random, slurm_options(), {}),
          world(manager, connection, options),
          parts(world),
          life(executor) {
      life.spawn(connection.cache().run());
      life.spawn(manager.run());
    }
    Random random{7};
    kube::Client client;
    control::Manager manager;
    slurm::Connection connection;
    bridge::World world;
    Parts parts;
    net::TaskGroup life;
  };
  static SlurmApi::Options slurm_setup() {
    SlurmApi::Options made;
    made.model.partitions = {{.name = "slurm-bridge", .feature = "slurm-bridge"}};
    return made;
  }

 public:
  net::VirtualExecutor executor;
  KubeApi server{executor, {}};
  SlurmApi slurm{executor, slurm_setup()};
  Faults kube_faults, slurm_faults;  // Between the bridge and the two.
  bridge::BridgeOptions options;
  std::vector<std::string> kube_writes, slurm_writes;
  // Streamed answers of paths with this end do not come; "": all do.
  std::string kube_cut, slurm_cut;

 private:
  Random random_{11};
  kube::Client direct_{
      server, executor.clock(), random_, {.server = *http::Url::parse("https://sim")}};
  Wire kube_wire_{kube_faults, kube_writes, kube_cut};
  Wire slurm_wire_{slurm_faults, slurm_writes, slurm_cut};
  std::optional<Process> process_;
};

}  // namespace mainspring::sim
