// Controllers kept by ControllerSync against the API server and slurmrestd in memory. The test
// plays the StatefulSet controller and the kubelet.
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
namespace {

using json::Value;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

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

TEST_F(ControllerSyncTest, MakesEverythingOnceAndThenIsSilent) {
  add_controller();
  start();
  roll_out();
  EXPECT_THAT(slurm_conf(), HasSubstr("ClusterName=hpc_slurm"));
  object(kube::Service::kResource, "slurm-controller");
  object(kube::Service::kResource, "slurm-controller-internal");
  EXPECT_EQ(condition("Ready"), "True AllReplicasReady: 1 of 1 slurmctld ready");
  EXPECT_EQ(condition("Degraded"), "False AsExpected: ");
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
  wire_.writes.clear();
  executor_.advance(minutes(10));
  EXPECT_THAT(wire_.writes, IsEmpty());
}

TEST_F(ControllerSyncTest, StartsSlurmctldWithTheNodeSetsThatAreInstalledWithIt) {
  start();
  add_controller();
  executor_.advance(milliseconds(500));
  EXPECT_FALSE(kube_.find(kube::StatefulSet::kResource, "hpc", "slurm-controller"));
  add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet,
          metadata: {name: gpu, namespace: hpc}, spec: {controllerRef: {name: slurm}}})");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("NodeSet=gpu"));
  roll_out();
  EXPECT_EQ(object(kube::StatefulSet::kResource, "slurm-controller")
                ->at_pointer("/metadata/generation")
                ->as_int(),
            1);
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
}

TEST_F(ControllerSyncTest, WritesNoConfigurationWhilePartOfItIsMissing) {
  add_controller(", prologScriptRefs: [{name: scripts}]");
  start();
  EXPECT_THAT(condition("Degraded"), HasSubstr("True MissingReference: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigMap hpc/scripts does not exist"));
  EXPECT_FALSE(kube_.find(kube::ConfigMap::kResource, "hpc", "slurm-config"));
  add_map("scripts", "{check.sh: run}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("Prolog=check.sh"));
  EXPECT_THAT(condition("Degraded"), HasSubstr("False"));
  EXPECT_EQ(text_at(*object(kube::ConfigMap::kResource, "scripts"),
                    "/metadata/labels/mainspring.slurm.net~1config-of"),
            "slurm");
}

TEST_F(ControllerSyncTest, LeavesWhatRunsAloneWhereSlurmctldWouldStop) {
  add_controller();
  start();
  roll_out();
  const std::string before = slurm_conf();
  const std::string annotation = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'SchedulerTyp=sched/backfill'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr("slurm.conf:"));
  EXPECT_EQ(slurm_conf(), before);
  EXPECT_EQ(config_annotation(), annotation);
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: null}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Applied");
}

TEST_F(ControllerSyncTest, LeavesItsFilesAloneWhileWorkersWithAndWithoutPrivilegeAreMixed) {
  const auto nodeset = [](std::string_view name, bool privileged) {
    return fmt::format(
        "{{apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {{name: {}, namespace: "
        "hpc}}, spec: {{controllerRef: {{name: slurm}}, slurmd: {{securityContext: {{privileged: "
        "{}}}}}}}}}",
        name, privileged);
  };
  add(nodeset("cpu", false));
  add_controller();
  start();
  roll_out();
  const std::string before = slurm_conf();
  EXPECT_THAT(before, HasSubstr("ProctrackType=proctrack/linuxproc"));
  add(nodeset("gpu", true));
  executor_.advance(seconds(2));
  EXPECT_EQ(slurm_conf(), before);
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: cgroup.conf: "));
  EXPECT_THAT(condition("Degraded"), HasSubstr(R"(NodeSet "gpu" has not)"));
  patch(api::NodeSet::kResource, "gpu", "{spec: {slurmd: {securityContext: {privileged: false}}}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("NodeSet=gpu"));
  EXPECT_THAT(slurm_conf(), HasSubstr("ProctrackType=proctrack/linuxproc"));
  EXPECT_THAT(condition("Degraded"), HasSubstr("False"));
}

TEST_F(ControllerSyncTest, GivesTheSidecarLeaveForGoodFilesAndForNoOthers) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", inplaceReconfigure: true, configFileRefs: [{name: files}]");
  start();
  roll_out();
  const auto approved = [&] {
    return text_at(*object(kube::Pod::kResource, "slurm-controller-0"),
                   "/metadata/annotations/mainspring.slurm.net~1config-sync");
  };
  const std::string good = approved();
  EXPECT_NE(good, "");
  EXPECT_EQ(good, config("hash"));
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: 'Nam=gpu'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("state"), "Rejected");
  EXPECT_EQ(approved(), good);
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(approved(), good);
  EXPECT_EQ(approved(), config("hash"));
  EXPECT_THAT(config("message"), HasSubstr("sidecar"));
}

TEST_F(ControllerSyncTest, HasSlurmctldTakeUpNewKeysForTokensAndWhatIsBinary) {
  add_map("keys", R"({jwks.json: '{"keys": []}'})");
  add(R"({apiVersion: v1, kind: ConfigMap, metadata: {name: tools, namespace: hpc},
          binaryData: {check: AAEC}})");
  add_controller(", jwksKeyRef: {name: keys, key: jwks.json}, prologScriptRefs: [{name: tools}]");
  start();
  roll_out();
  connect_slurm();
  EXPECT_THAT(slurm_conf(), HasSubstr("Prolog=check\n"));
  const auto changes = [&](std::string_view map, std::string_view to) {
    const std::string before = config("hash");
    patch(kube::ConfigMap::kResource, map, to);
    executor_.advance(seconds(10));
    return config("hash") != before && config("state") == "Applied";
  };
  EXPECT_TRUE(changes("keys", R"({data: {jwks.json: '{"keys": [{"kid": "a", "alg": "X"}]}'}})"));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_TRUE(changes("tools", "{binaryData: {check: AAED}}"));
  EXPECT_EQ(reconfigures(), 2);
  EXPECT_FALSE(changes("keys", "{data: {jwks.json: '{'}}"));  // slurmctld would end at it.
  EXPECT_EQ(reconfigures(), 2);
  EXPECT_THAT(condition("Degraded"), HasSubstr("ConfigurationRejected: jwks.json: "));
}

TEST_F(ControllerSyncTest, HasSlurmctldTakeUpAnEditedConfigMapWithoutARestart) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_THAT(condition("SlurmReachable"), HasSubstr("True"));
  const auto generation =
      *object(kube::StatefulSet::kResource, "slurm-controller")->at_pointer("/metadata/generation");
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(2));
  EXPECT_EQ(config("method") + " " + config("state"), "Reconfigure Pending");
  EXPECT_EQ(text_at(*object(kube::Pod::kResource, "slurm-controller-0"),
                    "/metadata/annotations/mainspring.slurm.net~1config-sync"),
            config("hash"));
  EXPECT_EQ(reconfigures(), 0);
  executor_.advance(seconds(8));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_THAT(config("message"), HasSubstr("shows only where slurm.conf itself changed"));
  EXPECT_EQ(
      *object(kube::StatefulSet::kResource, "slurm-controller")->at_pointer("/metadata/generation"),
      generation);
  executor_.advance(minutes(5));
  EXPECT_EQ(reconfigures(), 1);
}

TEST_F(ControllerSyncTest, KeepsTheClaimOfItsStateAndTakesUpTheRestOfAChange) {
  add_controller(", persistence: {enabled: true, resources: {requests: {storage: 1Gi}}}");
  start();
  roll_out();
  connect_slurm();
  patch(api::Controller::kResource, "slurm",
        "{spec: {persistence: {resources: {requests: {storage: 2Gi}}}, "
        "slurmctld: {image: new}, extraConf: MaxJobCount=77}}");
  executor_.advance(seconds(20));
  roll_out();
  executor_.advance(seconds(20));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxJobCount=77"));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Applied");
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(set, "/spec/volumeClaimTemplates/0/spec/resources/requests/storage"), "1Gi");
  EXPECT_EQ(text_at(set, "/spec/template/spec/containers/0/image"), "new");
  EXPECT_EQ(condition("Degraded"), "False AsExpected: ");
  EXPECT_EQ(events("PersistenceNotChanged"), 1);
  wire_.writes.clear();
  executor_.advance(minutes(10));
  EXPECT_THAT(wire_.writes, IsEmpty());
}

TEST_F(ControllerSyncTest, GoesOnWithTheFilesWhereAnObjectIsRefused) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  for (const char* const refused : {"/services/slurm-controller", "/statefulsets/"}) {
    wire_.refuses = [&](const http::Request& request) {
      return request.method == http::Method::kPatch &&
             request.url.path.find(refused) != std::string::npos;
    };
    const long before = reconfigures();
    patch(api::Controller::kResource, "slurm",
          fmt::format("{{spec: {{service: {{port: 1{0}}}, slurmctld: {{image: i{0}}}, "
                      "extraConf: MaxJobCount={0}}}}}",
                      1000 + before));
    executor_.advance(seconds(20));
    EXPECT_THAT(slurm_conf(), HasSubstr(fmt::format("MaxJobCount={}", 1000 + before))) << refused;
    EXPECT_EQ(reconfigures(), before + 1) << refused;
    EXPECT_THAT(condition("Degraded"), HasSubstr("somebody's webhook says no")) << refused;
  }
}

TEST_F(ControllerSyncTest, HasRoomForTwiceTheWorkersThatAreWantedAndNeverLessThanItHad) {
  add_controller();
  start();
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=1024\n"));
  add(R"({apiVersion: slinky.slurm.net/v1beta1, kind: NodeSet, metadata: {name: gpu, namespace: hpc},
          spec: {controllerRef: {name: slurm}, replicas: 1500}})");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=4096\n"));
  patch(api::NodeSet::kResource, "gpu", "{spec: {replicas: 1}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=4096\n"));
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: MaxNodeCount=99}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("MaxNodeCount=99"));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("MaxNodeCount=4096")));
}

TEST_F(ControllerSyncTest, CallsFilesAppliedOnlyWhenSlurmctldHasReadThem) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  slurm_wire_.read_hash = 7;  // Of the files before.
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: KillWait=31}}");
  executor_.advance(seconds(10));
  EXPECT_EQ(reconfigures(), 1);
  EXPECT_EQ(config("state"), "Pending");
  EXPECT_THAT(config("message"), HasSubstr("not arrived in its pod"));
  executor_.advance(seconds(5));
  EXPECT_EQ(reconfigures(), 2);  // The kubelet is slow.
  slurm_wire_.read_hash = slurm::conf_hash(
      text_at(*object(kube::ConfigMap::kResource, "slurm-config"), "/data/slurm.conf"));
  executor_.advance(seconds(15));
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_EQ(config("message"), "");
  EXPECT_EQ(reconfigures(), 3);
}

TEST_F(ControllerSyncTest, AsksASlurmctldThatDoesNotAnswerNowAndThenOnly) {
  add_map("files", "{gres.conf: 'AutoDetect=off'}");
  add_controller(", configFileRefs: [{name: files}]");
  start();
  roll_out();
  connect_slurm();
  slurm_.stop_rest();
  patch(kube::ConfigMap::kResource, "files", "{data: {gres.conf: '# none'}}");
  executor_.advance(seconds(65));
  EXPECT_LE(reconfigures(), 12);
  EXPECT_THAT(config("message"), HasSubstr("has not taken it up yet"));
  slurm_.start_rest();
  executor_.advance(minutes(2));
  EXPECT_EQ(config("state"), "Applied");
}

TEST_F(ControllerSyncTest, RollsSlurmctldForWhatOnlyARestartTakesUp) {
  add_controller();
  start();
  roll_out();
  connect_slurm();
  const std::string before = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'AuthInfo=ttl=60'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(config_annotation(), before);
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Pending");
  roll_out();
  EXPECT_EQ(config("state"), "Applied");
  EXPECT_EQ(reconfigures(), 0);
}

TEST_F(ControllerSyncTest, RollsSlurmctldWhereNobodyCanBeAskedToReconfigure) {
  add_controller();
  start();
  roll_out();
  const std::string before = config_annotation();
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: 'KillWait=60'}}");
  executor_.advance(seconds(2));
  EXPECT_NE(config_annotation(), before);
  roll_out();
  EXPECT_EQ(config("method") + " " + config("state"), "Rollout Applied");
}

TEST_F(ControllerSyncTest, MakesPodsWhileSlurmIsDead) {
  slurm_.stop_rest();
  add_controller();
  start();
  connect_slurm();
  object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_THAT(condition("SlurmReachable"), HasSubstr("False"));
}

TEST_F(ControllerSyncTest, TakesOverAStatefulSetOfAnotherOperatorWithoutTouchingItsTemplate) {
  add_controller();
  add_found_objects("slurm-controller-internal");
  start();
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(set.at_pointer("/metadata/generation")->as_int(), 1)
      << json::to_text(set, {.indent = 2});
  EXPECT_EQ(text_at(set, "/spec/template/spec/initContainers/0/command/0"), "theirs");
  EXPECT_THAT(text_at(set, "/metadata/annotations/mainspring.slurm.net~1template"),
              HasSubstr("as-found"));
  EXPECT_EQ(config("state"), "Applied");
  // Once it rolls for another reason it is as we would have it.
  patch(api::Controller::kResource, "slurm", "{spec: {slurmctld: {image: j}}}");
  executor_.advance(seconds(2));
  const Value after = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(after, "/metadata/annotations/mainspring.slurm.net~1template"), "complete");
  EXPECT_EQ(text_at(after, "/spec/template/spec/initContainers/0/command/0"), "sh");
  // The same of what we have come to write into slurm.conf.
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("ReturnToService")));
  patch(api::Controller::kResource, "slurm", "{spec: {extraConf: KillWait=31}}");
  executor_.advance(seconds(2));
  EXPECT_THAT(slurm_conf(), HasSubstr("ReturnToService=1\n"));
}

TEST_F(ControllerSyncTest, MakesAStatefulSetWithAnOldServiceNameAgainAndKeepsItsPods) {
  add_controller();
  add_found_objects("slurm-controller");
  const std::string uid =
      text_at(*object(kube::StatefulSet::kResource, "slurm-controller"), "/metadata/uid");
  roll_out();
  start();
  executor_.advance(seconds(30));
  const Value set = *object(kube::StatefulSet::kResource, "slurm-controller");
  EXPECT_EQ(text_at(set, "/spec/serviceName"), "slurm-controller-internal");
  EXPECT_NE(text_at(set, "/metadata/uid"), uid);
  object(kube::Pod::kResource, "slurm-controller-0");
}

TEST_F(ControllerSyncTest, SendsClientsToTheSlurmctldThatIsInCharge) {
  add_controller(", ha: {enabled: true}, persistence: {enabled: true, existingClaim: shared}");
  start();
  add_pod(0);
  add_pod(1);
  executor_.advance(seconds(1));
  const auto active = [&](int index) {
    return text_at(*object(kube::Pod::kResource, fmt::format("slurm-controller-{}", index)),
                   "/metadata/labels/controller.slinky.slurm.net~1active");
  };
  // Kubernetes puts that label on whatever pod has the name, with or without us.
  const auto served = [&] {
    return text_at(*object(kube::Service::kResource, "slurm-controller"),
                   "/spec/selector/statefulset.kubernetes.io~1pod-name");
  };
  EXPECT_EQ(active(0) + "," + active(1), "true,");  // Nobody can be asked yet.
  EXPECT_EQ(served(), "slurm-controller-0");
  slurm_wire_.pings = R"({"pings":[{"hostname":"a","responding":false},
                                   {"hostname":"b","responding":true}],"errors":[]})";
  connect_slurm();
  executor_.advance(seconds(15));
  EXPECT_EQ(active(0) + "," + active(1), ",true");
  EXPECT_EQ(served(), "slurm-controller-1");
  slurm_wire_.pings = R"({"pings":[{"hostname":"a","responding":false},
                                   {"hostname":"b","responding":false}],"errors":[]})";
  executor_.advance(seconds(30));
  EXPECT_EQ(active(0) + "," + active(1), ",true");  // No answer is not an answer.
}

TEST_F(ControllerSyncTest, KeepsTheNamesOfSeveralSlurmctldResolvable) {
  add_controller(", ha: {enabled: true}, persistence: {enabled: true, existingClaim: shared}");
  start();
  for (const char* const name : {"slurm-controller-0", "slurm-controller-1"}) {
    patch(kube::Service::kResource, name, "{spec: {clusterIP: 10.0.0.7}}");
  }
  executor_.advance(seconds(1));
  EXPECT_EQ(
      text_at(*object(build::kEndpointSlices, "slurm-controller-names"), "/endpoints/1/hostname"),
      "slurm-controller-1");
  patch(api::Controller::kResource, "slurm", "{spec: {ha: null}}");
  executor_.advance(seconds(1));
  EXPECT_FALSE(kube_.find(kube::Service::kResource, "hpc", "slurm-controller-0"));
  EXPECT_FALSE(kube_.find(kube::Service::kResource, "hpc", "slurm-controller-1"));
  EXPECT_FALSE(kube_.find(build::kEndpointSlices, "hpc", "slurm-controller-names"));
}

}  // namespace
}  // namespace mainspring::op
