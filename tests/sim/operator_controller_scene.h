// sim/operator_controller_scene.h
//
// The scene of the tests of ControllerSync: the API server and slurmrestd in memory, and the test
// as the StatefulSet controller and the kubelet.
#pragma once

#include "operator/sync/controller_sync.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <optional>
#include <sstream>

#include "api/crds.h"
#include "api/names.h"
#include "json/yaml.h"
#include "kube/status.h"
#include "net/virtual_executor.h"
#include "operator/build/login_names.h"
#include "operator/build/metadata.h"
#include "sim/kube_api.h"
#include "sim/slurm_api.h"
#include "slurm/conf_hash.h"

namespace mainspring::op {

using json::Value;

// Counts what is written, and lets it through.
struct Wire final : http::Transport {
  explicit Wire(http::Transport& target) : to(target) {}
  net::Task<Result<http::Response>> send(http::Request request) override {
    const std::string line =
        fmt::format("{} {}", http::to_string(request.method), request.url.path);
    if (request.method != http::Method::kGet) writes.push_back(line);
    all.push_back(line);
    if (refuses(request)) {
      co_return kube::status_response(Error(Code::kInvalid, "somebody's webhook says no"));
    }
    if (!pings.empty() && request.url.path.find("/ping") != std::string::npos) {
      co_return http::json_response(200, pings);
    }
    if (line.find("/reconfigure") != std::string::npos) ++runs;
    if (read_hash && request.url.path.find("/conf") != std::string::npos) {
      co_return http::json_response(
          200, fmt::format(
                   R"({{"slurm_conf":{{}},"slurm_conf_meta":{{"BOOT_TIME":{},"HashValue":{}}}}})",
                   runs, *read_hash));
    }
    co_return co_await to.send(std::move(request));
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    return to.open(std::move(request));
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return to.upgrade(std::move(request));
  }
  http::Transport& to;
  std::function<bool(const http::Request&)> refuses = [](const auto&) { return false; };
  std::string pings;  // What to say to a ping, if not what is true.
  // Of the slurm.conf that slurmctld says it has read; unset: it does not say.
  std::optional<std::uint32_t> read_hash;
  int runs = 1;
  std::vector<std::string> writes;
  std::vector<std::string> all;
};

struct AnyToken final : slurm::TokenSource {
  net::Task<Result<Secret>> token(std::string) override { co_return Secret("t"); }
  bool needs_user_header() const override { return false; }
  bool refused(const std::string&) override { return false; }
  std::optional<WallTime> expires(const std::string&) const override { return std::nullopt; }
};

class ControllerSyncTest : public testing::Test {
 protected:
  ControllerSyncTest() {
    EXPECT_TRUE(kube_.add_namespace("hpc"));
    for (const Value& crd : api::crds()) EXPECT_TRUE(kube_.add(crd)) << json::to_text(crd);
    add(R"({apiVersion: v1, kind: Secret, metadata: {name: slurm-keys, namespace: hpc},
            data: {slurm.key: c2VzYW1l, jwt.key: b3Blbg==}})");
  }

  void add(std::string_view yaml) {
    auto parsed = json::parse_yaml(yaml);
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    const auto added = kube_.add(*std::move(parsed));
    ASSERT_TRUE(added) << added.error().to_string();
  }
  void add_controller(std::string_view more = "") {
    add(fmt::format(R"({{apiVersion: slinky.slurm.net/v1beta1, kind: Controller,
        metadata: {{name: slurm, namespace: hpc}},
        spec: {{slurmKeyRef: {{name: slurm-keys, key: slurm.key}}, jwtKeyRef: {{name: slurm-keys, key: jwt.key}},
               slurmctld: {{image: i}}, logfile: {{image: i}}{}}}}})",
                    more));
  }
  void add_map(std::string_view name, std::string_view data) {
    add(fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: hpc}}, data: {}}}",
        name, data));
  }
  void patch(const kube::Resource& resource, std::string_view name, std::string_view yaml,
             std::string_view subresource = "") {
    http::Request request;
    request.method = http::Method::kPatch;
    request.url = *http::Url::parse("https://x" + resource.path("hpc", name, subresource));
    request.headers.set("Content-Type", "application/merge-patch+json");
    request.body = json::to_text(*json::parse_yaml(yaml));
    const http::Response response = kube_.answer(request);
    ASSERT_LT(response.status, 300) << response.body;
  }

  void remove(const kube::Resource& resource, std::string_view name) {
    http::Request request;
    request.method = http::Method::kDelete;
    request.url = *http::Url::parse("https://x" + resource.path("hpc", name));
    ASSERT_EQ(kube_.answer(request).status, 200);
  }

  static std::string found(const std::string& name) {
    std::ifstream file(MAINSPRING_TEST_DATA "/operator/controller/taken-over/" + name);
    EXPECT_TRUE(file) << name;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // What another operator left: the contract's objects, with a script of its own.
  void add_found_objects(std::string_view service_name) {
    const std::string uid = text_at(*object(api::Controller::kResource, "slurm"), "/metadata/uid");
    Value config = *json::parse_yaml(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: slurm-config, namespace: hpc}}");
    for (const char* name : {"slurm.conf", "cgroup.conf"}) config["data"].set(name, found(name));
    ASSERT_TRUE(kube_.add(std::move(config)));
    const std::string keys =
        build::hash_of(build::Labels{{"jwt.key", "open"}, {"slurm.key", "sesame"}});
    const auto documents = json::parse_yaml_documents(found("objects.yaml"));
    ASSERT_TRUE(documents);
    for (Value made : *documents) {
      if (text_at(made, "/kind") != "StatefulSet") continue;
      made["metadata"]["ownerReferences"].at(0).set("uid", uid);
      made["metadata"].erase("annotations");
      made["spec"].set("serviceName", service_name);
      Value& pod = made["spec"]["template"]["spec"];
      pod["initContainers"].at(0).set("command", Value::array({"theirs"}));
      pod["initContainers"].at(0).set("image", "i");
      pod["containers"].at(0).set("image", "i");
      Value& notes = made["spec"]["template"]["metadata"]["annotations"];
      notes.set(api::annotation::kSlurmKeyHash, keys);
      notes.set(api::annotation::kJwtKeyHash, keys);
      const auto added = kube_.add(made);
      ASSERT_TRUE(added) << added.error().to_string();
    }
  }

  void start() {
    world_.emplace(manager_, slurm_wire_, OperatorOptions{});
    sync_.emplace(*world_);
    life_.spawn(manager_.run());
    executor_.advance(seconds(2));
  }
  void add_pod(int index) {
    const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
    add(fmt::format(R"({{apiVersion: v1, kind: Pod, metadata: {{name: slurm-controller-{},
        namespace: hpc, labels: {{app.kubernetes.io/name: slurmctld,
        app.kubernetes.io/instance: slurm}}, ownerReferences: [{{apiVersion: apps/v1,
        kind: StatefulSet, name: slurm-controller, uid: {}, controller: true}}]}},
        spec: {{containers: [{{name: slurmctld, image: i}}]}}}})",
                    index, text_at(set, "/metadata/uid")));
  }
  // slurmctld's pod comes up with the newest template.
  void roll_out() {
    const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
    if (!kube_.find(kube::Pod::kResource, "hpc", "slurm-controller-0")) add_pod(0);
    patch(kube::StatefulSet::kResource, "slurm-controller",
          fmt::format("{{status: {{observedGeneration: {}, replicas: 1, readyReplicas: 1, "
                      "updatedReplicas: 1, availableReplicas: 1}}}}",
                      set.at_pointer("/metadata/generation")->as_int().value_or(0)),
          "status");
    executor_.advance(seconds(1));
  }
  void connect_slurm() {
    add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: RestApi,
            metadata: {name: rest, namespace: hpc}, spec: {controllerRef: {name: slurm}}})");
    world_->slurm.set({"hpc", "slurm"}, "http://rest.hpc:6820", std::make_shared<AnyToken>());
    executor_.advance(seconds(5));
  }

  sim::Object object(const kube::Resource& resource, std::string_view name) const {
    sim::Object found = kube_.find(resource, "hpc", name);
    EXPECT_TRUE(found) << name;
    return found ? found : std::make_shared<const Value>(Value::object());
  }
  static std::string text_at(const Value& value, std::string_view pointer) {
    const Value* const found = value.at_pointer(pointer);
    return found == nullptr ? "" : std::string(found->as_string().value_or("?"));
  }
  std::string config(std::string_view field) const {
    return text_at(*object(api::Controller::kResource, "slurm"),
                   fmt::format("/status/config/{}", field));
  }
  // "True MissingReference: ..."
  std::string condition(std::string_view type) const {
    const Value controller = *object(api::Controller::kResource, "slurm");
    const Value* const all = controller.at_pointer("/status/conditions");
    for (const Value& one : all == nullptr ? Value::array() : *all) {
      if (text_at(one, "/type") != type) continue;
      return fmt::format("{} {}: {}", text_at(one, "/status"), text_at(one, "/reason"),
                         text_at(one, "/message"));
    }
    return "none";
  }
  std::string config_annotation() const {
    return text_at(*object(kube::StatefulSet::kResource, "slurm-controller"),
                   "/spec/template/metadata/annotations/slinky.slurm.net~1slurm-config-hash");
  }
  std::string slurm_conf() const {
    return text_at(*object(kube::ConfigMap::kResource, "slurm-config"), "/data/slurm.conf");
  }
  long events(std::string_view reason) {
    const auto& all = kube_.storage().all("events.events.k8s.io");
    return std::count_if(all.begin(), all.end(), [&](const auto& each) {
      return text_at(*each.second, "/reason") == reason;
    });
  }
  long reconfigures() const {
    return std::count_if(
        slurm_wire_.all.begin(), slurm_wire_.all.end(),
        [](const std::string& line) { return line.find("/reconfigure") != std::string::npos; });
  }

  net::VirtualExecutor executor_;
  sim::KubeApi kube_{executor_, {}};
  sim::SlurmApi slurm_{executor_, {}};
  Wire wire_{kube_};
  Wire slurm_wire_{slurm_};
  Random random_{5};
  kube::Client client_{
      wire_, executor_.clock(), random_, {.server = *http::Url::parse("https://x")}};
  control::Manager manager_{executor_, client_, random_, {.name = "operator"}};
  std::optional<World> world_;
  std::optional<ControllerSync> sync_;
  net::TaskGroup life_{executor_};
};

}  // namespace mainspring::op
