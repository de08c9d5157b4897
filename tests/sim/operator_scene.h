// tests/sim/operator_scene.h
//
// What a test of the operator's reconcilers needs: an API server in memory that serves our kinds, a
// manager and the World on it, and an account of every write. Reconcilers are added by the test,
// then start() lets them run in virtual time. No kubelet, no Deployment controller and no Slurm:
// the test plays them. Owned by the test; lives on one VirtualExecutor.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "json/yaml.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "operator/sync/world.h"
#include "sim/kube_api.h"
#include "sim/operator_kinds.h"

namespace mainspring::sim {

class OperatorScene {
 public:
  explicit OperatorScene(op::OperatorOptions options = {}) : options_(std::move(options)) {
    serve_our_kinds(server);
    EXPECT_TRUE(server.add_namespace("slurm").has_value());
  }

  void start() {
    life_.spawn(run());
    settle();
  }
  void settle(Duration time = seconds(2)) { executor.advance(time); }

  // Creates, or where there is one of that name, lays over it as `kubectl apply` would.
  void put(std::string_view yaml) {
    auto object = json::parse_yaml(yaml);
    ASSERT_TRUE(object.has_value()) << object.error().to_string();
    const auto text = [&](std::string_view at) {
      const json::Value* const found = object->at_pointer(at);
      return found == nullptr ? std::string() : std::string(found->as_string().value_or(""));
    };
    const std::string version = text("/apiVersion");
    const std::shared_ptr<const Kind> kind = server.kinds().find_kind(version, text("/kind"));
    ASSERT_NE(kind, nullptr) << text("/kind");
    if (text("/metadata/namespace").empty()) (*object)["metadata"]["namespace"] = "slurm";
    const kube::Resource& resource = kind->resource;
    if (server.find(resource, "slurm", text("/metadata/name"))) {
      lay_over(resource, text("/metadata/name"), *object, {});
      return;
    }
    const auto added = server.add(*object);
    ASSERT_TRUE(added.has_value()) << added.error().to_string();
  }
  // A merge patch; of the status where named.
  void change(const kube::Resource& resource, std::string name, std::string_view yaml,
              std::string subresource = {}) {
    lay_over(resource, std::move(name), *json::parse_yaml(yaml), std::move(subresource));
  }

  // As kubectl would, without waiting for it to be gone.
  bool remove(const kube::Resource& resource, std::string name) {
    const kube::RawApi api(direct_, resource, "slurm");
    return executor.run(api.remove(std::move(name), {})).has_value();
  }

  // What is at `pointer` in an object, as text; "(no object)" or "(absent)".
  std::string at(const kube::Resource& resource, std::string_view name, std::string_view pointer) {
    const Object object = server.find(resource, "slurm", name);
    if (!object) return "(no object)";
    const json::Value* const found = object->at_pointer(pointer);
    if (found == nullptr) return "(absent)";
    return found->is_string() ? std::string(*found->as_string())
                              : json::to_text(*found, {.sort_keys = true});
  }
  // "True AllReplicasReady": status and reason of a condition.
  std::string condition(const kube::Resource& resource, std::string_view name,
                        std::string_view type) {
    const Object object = server.find(resource, "slurm", name);
    const json::Value* const all = object ? object->at_pointer("/status/conditions") : nullptr;
    if (all == nullptr) return "(none)";
    for (const json::Value& one : *all) {
      if (one.find("type")->as_string() != type) continue;
      return fmt::format("{} {}", one.find("status")->as_string().value_or(""),
                         one.find("reason")->as_string().value_or(""));
    }
    return "(none)";
  }
  // Reasons of all events so far, each once.
  std::vector<std::string> events() {
    std::vector<std::string> reasons;
    for (const std::string& line : writes) {
      if (line.starts_with("event ")) reasons.push_back(line.substr(6));
    }
    return reasons;
  }

  net::VirtualExecutor executor;
  KubeApi server{executor, {}};
  // All that the operator wrote: "PATCH /path", and "event REASON".
  std::vector<std::string> writes;

 private:
  struct Wire final : http::Transport {
    Wire(KubeApi& to, std::vector<std::string>& account) : server(to), writes(account) {}
    net::Task<Result<http::Response>> send(http::Request request) override {
      if (request.url.path.find("/events.k8s.io/") != std::string::npos) {
        const auto event = json::parse(request.body);
        const json::Value* const reason = event ? event->find("reason") : nullptr;
        if (reason != nullptr) writes.push_back("event " + std::string(*reason->as_string()));
      } else if (request.method != http::Method::kGet) {
        writes.push_back(fmt::format("{} {}", http::to_string(request.method), request.url.path));
      }
      co_return co_await server.send(std::move(request));
    }
    net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(
        http::Request request) override {
      return server.open(std::move(request));
    }
    net::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
      return server.upgrade(std::move(request));
    }
    KubeApi& server;
    std::vector<std::string>& writes;
  };
  struct NoSlurm final : http::Transport {
    net::Task<Result<http::Response>> send(http::Request) override {
      co_return fail(Code::kTransient, "connection refused");
    }
    net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request) override {
      co_return fail(Code::kTransient, "connection refused");
    }
    net::Task<Result<http::Upgraded>> upgrade(http::Request) override {
      co_return fail(Code::kTransient, "connection refused");
    }
  };

  void lay_over(const kube::Resource& resource, std::string name, json::Value patch,
                std::string subresource) {
    const kube::RawApi api(direct_, resource, "slurm");
    const auto done =
        executor.run(api.patch(std::move(name), {kube::PatchKind::kMerge, std::move(patch)},
                               {.subresource = std::move(subresource)}));
    ASSERT_TRUE(done.has_value()) << done.error().to_string();
  }
  net::Task<Result<void>> run() { co_return co_await manager.run(); }

  op::OperatorOptions options_;
  Random random_{7};
  Wire wire_{server, writes};
  NoSlurm no_slurm_;
  kube::Client client_{
      wire_, executor.clock(), random_, {.server = *http::Url::parse("https://sim")}};
  kube::Client direct_{
      server, executor.clock(), random_, {.server = *http::Url::parse("https://sim")}};

 public:
  control::Manager manager{executor, client_, random_, {.name = "test", .instance = "one"}};
  op::World world{manager, no_slurm_, options_};

 private:
  net::TaskGroup life_{executor};
};

}  // namespace mainspring::sim
