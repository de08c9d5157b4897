// operator/webhook/webhooks_test.cc
#include "operator/webhook/webhooks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>

#include "control/scripted_api.h"
#include "json/merge_patch.h"
#include "kube/status.h"

namespace mainspring::op {
namespace {

using json::Value;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *std::move(value) : Value();
}

const std::map<std::string, std::string_view> kObjects = {
    {"Controller", R"({"kind":"Controller","metadata":{"name":"main","namespace":"slurm"},"spec":{
       "clusterName":"main","slurmKeyRef":{"name":"k","key":"slurm.key"},
       "jwtKeyRef":{"name":"j","key":"jwt.key"}}})"},
    {"NodeSet", R"({"kind":"NodeSet","metadata":{"name":"gpu","namespace":"slurm"},"spec":{
       "controllerRef":{"name":"main"},"partition":{"enabled":true,"config":"Default=YES"}}})"},
    {"LoginSet", R"({"kind":"LoginSet","metadata":{"name":"login","namespace":"slurm"},"spec":{
       "controllerRef":{"name":"main"},"sssdConfRef":{"name":"sssd","key":"sssd.conf"}}})"},
    {"RestApi", R"({"kind":"RestApi","metadata":{"name":"rest","namespace":"slurm"},"spec":{
       "controllerRef":{"name":"main"}}})"},
    {"Accounting", R"({"kind":"Accounting","metadata":{"name":"db","namespace":"slurm"},"spec":{
       "slurmKeyRef":{"name":"k","key":"slurm.key"},"jwtKeyRef":{"name":"j","key":"jwt.key"},
       "storageConfig":{"host":"mariadb","username":"slurm","passwordKeyRef":{"name":"p","key":"p"}}}})"},
    {"Token", R"({"kind":"Token","metadata":{"name":"ann","namespace":"slurm"},"spec":{
       "username":"ann","jwtKeyRef":{"name":"j","key":"jwt.key"}}})"},
    {"ConfigMap", R"({"kind":"ConfigMap","metadata":{"name":"files","namespace":"slurm"},
       "data":{"gres.conf":"AutoDetect=off\n"}})"},
};

Value object(const std::string& kind, std::string_view change = "{}") {
  Value made = parsed(kObjects.at(kind));
  made = json::apply_merge_patch(std::move(made), parsed(change));
  return made;
}

struct Webhooks : ::testing::Test {
  Webhooks() {
    add_webhooks(router, {.client = kube.client, .metrics = &metrics});
    kube.api.otherwise = [this](const http::Request& request) { return serve(request); };
  }

  // The API server: what is there by path, 404 for the rest; lists are those below a path.
  http::Response serve(const http::Request& request) {
    if (down) return http::error_response(503, "down");
    const std::string& path = request.url.path;
    if (const auto found = there.find(path); found != there.end()) {
      return http::json_response(200, json::to_text(found->second));
    }
    if (!path.ends_with("s")) return kube::status_response(Error(Code::kNotFound, path));
    Value items = Value::array();
    for (const auto& [name, each] : there) {
      if (name.starts_with(path + "/")) items.push_back(each);
    }
    return http::json_response(200, json::to_text(Value::object({{"items", std::move(items)}})));
  }
  void put(const Value& made) {
    const std::string kind(*made.find("kind")->as_string());
    const bool core = kind == "ConfigMap" || kind == "Pod" || kind == "PersistentVolumeClaim";
    std::string plural = kind + "s";
    for (char& c : plural) c = static_cast<char>(std::tolower(c));
    there[(core ? "/api/v1/namespaces/slurm/"
                : "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/") +
          plural + "/" + std::string(*made.at_pointer("/metadata/name")->as_string())] = made;
  }

  Value review(const std::string& path, const std::string& version, const Value& request) {
    http::Request call;
    call.method = http::Method::kPost;
    call.url.path = path;
    call.headers.set("Content-Type", "application/json");
    call.body = json::to_text(Value::object({{"apiVersion", "admission.k8s.io/" + version},
                                             {"kind", "AdmissionReview"},
                                             {"request", request}}));
    const auto done = kube.executor.run(router.handle(std::move(call)));
    EXPECT_TRUE(done && done->status == 200) << path << (done ? done->body : "");
    const Value answer = done ? parsed(done->body) : Value();
    EXPECT_EQ(*answer.find("apiVersion"), Value("admission.k8s.io/" + version));
    return *answer.find("response");
  }
  // Asked in both versions of the review; the answer is the same.
  Value ask(const Value& after, const Value& before = {}, std::string_view operation = {}) {
    const Value& named = after.is_null() ? before : after;
    const std::string kind(*named.find("kind")->as_string());
    std::string word = kind;
    for (char& c : word) c = static_cast<char>(std::tolower(c));
    const std::string path =
        kind == "ConfigMap" ? "/validate-config" : "/validate-slinky-slurm-net-v1beta1-" + word;
    const char* const usual = after.is_null() ? "DELETE" : before.is_null() ? "CREATE" : "UPDATE";
    const Value request = Value::object({{"uid", "u-1"},
                                         {"kind", Value::object({{"kind", kind}})},
                                         {"name", *named.at_pointer("/metadata/name")},
                                         {"namespace", "slurm"},
                                         {"operation", operation.empty() ? usual : operation},
                                         {"object", after},
                                         {"oldObject", before}});
    const Value older = review(path, "v1beta1", request);
    const Value newer = review(path, "v1", request);
    EXPECT_EQ(older, newer);
    return newer;
  }

  static bool allowed(const Value& response) { return *response.find("allowed") == Value(true); }
  // "field: message" of each cause.
  static std::vector<std::string> causes(const Value& response) {
    std::vector<std::string> all;
    const Value* const list = response.at_pointer("/status/details/causes");
    if (list == nullptr) return all;
    for (const Value& cause : *list) {
      all.push_back(std::string(*cause.find("field")->as_string()) + ": " +
                    std::string(*cause.find("message")->as_string()));
    }
    return all;
  }
  static std::vector<std::string> warnings(const Value& response) {
    std::vector<std::string> all;
    const Value* const list = response.find("warnings");
    if (list == nullptr) return all;
    for (const Value& each : *list) all.emplace_back(*each.as_string());
    return all;
  }

  control::ScriptedClient kube;
  Metrics metrics;
  http::Router router;
  std::map<std::string, Value> there;
  bool down = false;
};

TEST_F(Webhooks, WhatIsRightIsAllowedInSilence) {
  put(object("Controller"));
  put(object("NodeSet"));
  for (const auto& [kind, text] : kObjects) {
    const Value response = ask(object(kind));
    EXPECT_TRUE(allowed(response)) << kind << json::to_text(response);
    EXPECT_THAT(warnings(response), IsEmpty()) << kind;
  }
}

struct Row {
  const char* kind;
  const char* change;
  const char* field;  // Of the refusal.
};

TEST_F(Webhooks, EveryRuleForNewObjectsRefusesWithItsField) {
  put(object("Controller"));
  put(object("ConfigMap", R"({"metadata":{"name":"bad"},"data":{"slurm.conf":"x"}})"));
  put(parsed(R"({"kind":"PersistentVolumeClaim","metadata":{"name":"rwo"},
                 "spec":{"accessModes":["ReadWriteOnce"]}})"));
  for (const Row& row : std::initializer_list<Row>{
           {"Controller", R"({"spec":{"clusterName":"a2345678901234567890123456789012345678901"}})",
            "spec.clusterName"},
           {"Controller", R"({"spec":{"configFileRefs":[{"name":"none"}]}})",
            "spec.configFileRefs[0].name"},
           {"Controller", R"({"spec":{"configFileRefs":[{"name":"bad"}]}})",
            "spec.configFileRefs[0].name"},
           {"Controller", R"({"spec":{"ha":{"enabled":true},
                              "persistence":{"enabled":true,"existingClaim":"rwo"}}})",
            "spec.persistence.existingClaim"},
           {"Controller", R"({"spec":{"extraConf":"KilWait=5"}})", "spec.extraConf"},
           {"NodeSet", R"({"spec":{"controllerRef":{"name":""}}})", "spec.controllerRef.name"},
           {"NodeSet", R"({"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":0}}}})",
            "spec.updateStrategy.rollingUpdate.maxUnavailable"},
           {"NodeSet", R"({"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":"0%"}}}})",
            "spec.updateStrategy.rollingUpdate.maxUnavailable"},
           {"NodeSet", R"({"spec":{"updateStrategy":{"scheduledUpdate":{"duration":"30s"}}}})",
            "spec.updateStrategy.scheduledUpdate.duration"},
           {"NodeSet", R"({"spec":{"ssh":{"enabled":true}}})", "spec.ssh.sssdConfRef.name"},
           {"NodeSet", R"({"spec":{"template":{"spec":{"hostname":"No_Way-"}}}})",
            "spec.template.spec.hostname"},
           {"NodeSet", R"({"spec":{"extraConf":"Gres"}})", "spec.extraConf"},
           {"NodeSet", R"({"spec":{"extraConf":"CPUs=many"}})", "spec.extraConf"},
           {"NodeSet", R"({"spec":{"partition":{"config":"MaxTme=5"}}})", "spec.partition.config"},
           {"LoginSet", R"({"spec":{"controllerRef":{"name":""}}})", "spec.controllerRef.name"},
           {"LoginSet", R"({"spec":{"sssdConfRef":{"name":""}}})", "spec.sssdConfRef.name"},
           {"Accounting", R"({"spec":{"extraConf":"PurgJobAfter=1"}})", "spec.extraConf"},
       }) {
    const Value response = ask(object(row.kind, row.change));
    EXPECT_THAT(causes(response), Contains(StartsWith(row.field))) << row.kind << row.change;
    EXPECT_FALSE(allowed(response)) << row.kind << row.change;
  }
}

TEST_F(Webhooks, WhatMayNotChangeIsRefused) {
  for (const Row& row : std::initializer_list<Row>{
           {"Controller", R"({"spec":{"clusterName":"other"}})", "spec.clusterName"},
           {"Controller", R"({"spec":{"slurmKeyRef":{"name":"other"}}})", "spec.slurmKeyRef"},
           {"Controller", R"({"spec":{"jwtKeyRef":{"name":"other"}}})", "spec.jwtKeyRef"},
           {"Controller", R"({"spec":{"persistence":{"enabled":false}}})", "spec.persistence"},
           {"Controller", R"({"spec":{"persistence":{"enabled":true,"existingClaim":"c"}}})",
            "spec.persistence.existingClaim"},
           {"NodeSet", R"({"spec":{"controllerRef":{"name":"other"}}})", "spec.controllerRef"},
           {"NodeSet", R"({"spec":{"volumeClaimTemplates":[{"metadata":{"name":"x"}}]}})",
            "spec.volumeClaimTemplates"},
           {"LoginSet", R"({"spec":{"controllerRef":{"name":"other"}}})", "spec.controllerRef"},
           {"Accounting", R"({"spec":{"jwtKeyRef":{"name":"other"}}})", "spec.jwtKeyRef"},
           {"Token", R"({"spec":{"jwtKeyRef":{"name":"other"}}})", "spec.jwtKeyRef"},
       }) {
    const Value response = ask(object(row.kind, row.change), object(row.kind));
    EXPECT_FALSE(allowed(response)) << row.kind << row.change;
    EXPECT_THAT(causes(response), Contains(StartsWith(row.field))) << row.kind << row.change;
  }
  // The same key by its older name is no change, and a RestApi may move to another Controller.
  EXPECT_TRUE(allowed(ask(object("Token", R"({"spec":{"jwtKeyRef":null,
                                  "jwtHs256KeyRef":{"name":"j","key":"jwt.key"}}})"),
                          object("Token"))));
  EXPECT_TRUE(allowed(
      ask(object("RestApi", R"({"spec":{"controllerRef":{"name":"other"}}})"), object("RestApi"))));
}

TEST_F(Webhooks, WhatIsOddIsAllowedWithAWarning) {
  put(object("ConfigMap",
             R"({"metadata":{"name":"odd"},"data":{"gres.conf":null,"notes.txt":""}})"));
  constexpr const char* kAddress = R"({"spec":{"service":{"spec":{"externalIPs":["10.0.0.1"]}}}})";
  for (const char* kind : {"Controller", "LoginSet", "RestApi", "Accounting"}) {
    const Value response = ask(object(kind, kAddress));
    EXPECT_TRUE(allowed(response)) << kind;
    EXPECT_THAT(warnings(response), ElementsAre(HasSubstr("externalIPs"))) << kind;
  }
  const Value file = ask(object("Controller", R"({"spec":{"configFileRefs":[{"name":"odd"}]}})"));
  EXPECT_TRUE(allowed(file));
  EXPECT_THAT(warnings(file), ElementsAre(HasSubstr("\"notes.txt\"")));
  const Value script =
      ask(object("Controller", R"({"spec":{"prologScriptRefs":[{"name":"no"}]}})"));
  EXPECT_TRUE(allowed(script));
  EXPECT_THAT(warnings(script), ElementsAre(HasSubstr("no ConfigMap \"no\" yet")));
  const Value early = ask(object("NodeSet"));
  EXPECT_TRUE(allowed(early));
  EXPECT_THAT(warnings(early), ElementsAre(HasSubstr("no Controller \"main\" yet")));
}

TEST_F(Webhooks, APartitionMayComeBeforeTheNodeSetsThatItNames) {
  const Value controller =
      object("Controller", R"({"spec":{"extraConf":"PartitionName=p Default=YES Nodes=cpu,gpu"}})");
  const Value first = ask(controller);
  EXPECT_TRUE(allowed(first));
  EXPECT_THAT(warnings(first),
              ElementsAre(AllOf(HasSubstr("spec.extraConf: "), HasSubstr("NodeSet \"cpu\" yet"),
                                HasSubstr("stays as it is"))));
  EXPECT_TRUE(allowed(ask(controller, object("Controller"))));
  put(controller);
  const auto nodeset = [](std::string_view name) {
    return object("NodeSet", fmt::format(R"({{"metadata":{{"name":"{}"}},
                                 "spec":{{"partition":{{"enabled":false}}}}}})",
                                         name));
  };
  const Value second = ask(nodeset("cpu"));
  EXPECT_TRUE(allowed(second));
  EXPECT_THAT(warnings(second), ElementsAre(HasSubstr("NodeSet \"gpu\" yet")));
  put(nodeset("cpu"));
  const Value third = ask(nodeset("gpu"));
  EXPECT_TRUE(allowed(third));
  EXPECT_THAT(warnings(third), IsEmpty());
  // Who takes away what a partition needs is refused.
  put(nodeset("gpu"));
  const Value renamed = json::apply_merge_patch(
      nodeset("gpu"), parsed(R"({"spec":{"template":{"spec":{"hostname":"new-"}}}})"));
  EXPECT_THAT(causes(ask(renamed, nodeset("gpu"))),
              ElementsAre(HasSubstr("\"gpu\" is neither a node nor a node set")));
}

TEST_F(Webhooks, ABrokenLineIsNamedInTheFileAndInTheField) {
  const Value response =
      ask(object("Controller", R"({"spec":{"extraConf":"KillWait=30\nKilWait=5\n"}})"));
  EXPECT_THAT(causes(response), ElementsAre(::testing::MatchesRegex(
                                    "spec.extraConf: slurm.conf:[0-9]+: error: KilWait: .*"
                                    "did you mean KillWait\\? \\(line 2 of it\\)")));
}

TEST_F(Webhooks, HostileTextIsRefused) {
  put(object("Controller"));
  for (const Row& row : std::initializer_list<Row>{
           {"NodeSet", R"({"spec":{"partition":{"config":"Default=YES\nSlurmUser=root"}}})", ""},
           {"NodeSet", R"({"spec":{"extraConf":"CPUs=1\nSlurmUser=root"}})", ""},
           {"NodeSet", R"({"spec":{"extraConf":"CPUs=1 Reason='; rm -rf /'"}})", ""},
           {"NodeSet", R"({"spec":{"template":{"spec":{"hostname":"a\nSlurmUser=root"}}}})", ""},
           {"Controller", R"({"spec":{"clusterName":"a\nSlurmUser=root"}})", ""},
           {"Controller", R"({"spec":{"extraConf":"KillWait=5\u0007"}})", ""},
       }) {
    EXPECT_FALSE(allowed(ask(object(row.kind, row.change)))) << row.kind << row.change;
  }
  // Names in the files of ConfigMaps, whichever way they come.
  constexpr const char* kWith = R"({"spec":{"configFileRefs":[{"name":"files"}]}})";
  const auto tree = [](std::string_view name) {
    const std::string file = fmt::format(
        "- topology: t\n  tree:\n    switches:\n    - switch: \"{}\"\n      nodes: n1\n", name);
    Value map = object("ConfigMap");
    map["data"].set("topology.yaml", file);
    return map;
  };
  put(object("Controller", kWith));
  put(object("ConfigMap"));
  EXPECT_TRUE(allowed(ask(tree("rack-1"), object("ConfigMap"))));
  for (const char* name :
       {R"(x\nSlurmctldHost=evil)", R"(x\u001b[31m)", "a b", "a,b", "s[1-2]", "a=b", "$(reboot)"}) {
    EXPECT_THAT(
        causes(ask(tree(name), object("ConfigMap"))),
        Contains(AllOf(HasSubstr("topology.yaml:4: error: switch: "), HasSubstr("is no name"))))
        << name;
  }
  const Value gres = object("ConfigMap", R"({"data":{"gres.conf":"Name=gpu Type=\"a b\"\n"}})");
  EXPECT_FALSE(allowed(ask(gres, object("ConfigMap"))));
  put(tree("a b"));
  EXPECT_THAT(causes(ask(object("Controller", kWith))), ElementsAre(HasSubstr("\"a b\"")));
}

TEST_F(Webhooks, TwoNodeSetsOfAControllerMayNotHaveWorkersOfTheSameName) {
  put(object("Controller"));
  put(object("NodeSet"));
  const auto other = [](std::string_view hostname) {
    return object("NodeSet", fmt::format(R"({{"metadata":{{"name":"other"}},"spec":{{
        "partition":{{"enabled":false}},"template":{{"spec":{{"hostname":"{}"}}}}}}}})",
                                         hostname));
  };
  EXPECT_THAT(causes(ask(other("gpu-"))),
              ElementsAre(AllOf(StartsWith("spec.template.spec.hostname: "), HasSubstr("gpu-0"),
                                HasSubstr("NodeSet \"gpu\""))));
  EXPECT_FALSE(allowed(ask(other("gpu-"), other("cpu-"))));
  EXPECT_FALSE(allowed(ask(other("gpu-1"))));  // Its gpu-10 is the other's eleventh.
  EXPECT_TRUE(allowed(ask(other("gpu-a"))));
  EXPECT_TRUE(allowed(ask(other("cpu-"))));
  // One that is there already can be changed in other ways.
  const Value later =
      json::apply_merge_patch(other("gpu-"), parsed(R"({"spec":{"extraConf":"CPUs=2"}})"));
  EXPECT_TRUE(allowed(ask(later, other("gpu-"))));
  const Value daemons =
      json::apply_merge_patch(other("gpu-"), parsed(R"({"spec":{"scalingMode":"DaemonSet"}})"));
  EXPECT_TRUE(allowed(ask(daemons)));
  EXPECT_FALSE(allowed(ask(other("gpu-"), daemons)));
}

TEST_F(Webhooks, ANodeSetIsJudgedTogetherWithItsController) {
  const Value with_gpus = object("NodeSet", R"({"spec":{"extraConf":"CPUs=8\nGres=gpu:4"}})");
  put(object("Controller"));
  EXPECT_THAT(warnings(ask(with_gpus)), ElementsAre(HasSubstr("add gpu to GresTypes")));
  put(object("Controller", R"({"spec":{"extraConf":"GresTypes=gpu"}})"));
  EXPECT_THAT(warnings(ask(with_gpus)), IsEmpty());
  put(object("Controller", R"({"spec":{"extraConf":"PartitionName=gpu Nodes=ALL"}})"));
  EXPECT_THAT(causes(ask(object("NodeSet"))),
              ElementsAre(AllOf(StartsWith("spec.partition.config: slurm.conf:"),
                                HasSubstr("\"gpu\" is defined twice"))));
}

TEST_F(Webhooks, WorkersWithAndWithoutPrivilegeDoNotShareAController) {
  constexpr const char* kWithout = R"({"metadata":{"name":"cpu"},"spec":{"partition":null,
      "slurmd":{"securityContext":{"privileged":false}}}})";
  put(object("Controller"));
  put(object("NodeSet"));
  const Value refused = ask(object("NodeSet", kWithout));
  EXPECT_THAT(causes(refused),
              ElementsAre(AllOf(StartsWith("spec.slurmd.securityContext.privileged: cgroup.conf: "),
                                HasSubstr("NodeSet \"cpu\" has slurmd.securityContext.privileged: "
                                          "false and NodeSet \"gpu\" has not"))));
  const Value was_alike = object("NodeSet", R"({"metadata":{"name":"cpu"}})");
  EXPECT_FALSE(allowed(ask(object("NodeSet", kWithout), was_alike)));
  EXPECT_TRUE(allowed(ask(object("NodeSet", R"({"metadata":{"name":"gpu"},"spec":{
      "slurmd":{"securityContext":{"privileged":false}}}})"))));

  // Nothing depends on it where the user says how jobs are confined.
  put(object("ConfigMap", R"({"data":{"cgroup.conf":"CgroupPlugin=disabled\n"}})"));
  put(object("Controller", R"({"spec":{"configFileRefs":[{"name":"files"}],"extraConf":
      "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSlurmdParameters=config_overrides\nJobAcctGatherType=jobacct_gather/linux\n"}})"));
  EXPECT_TRUE(allowed(ask(object("NodeSet", kWithout))));
  put(object("NodeSet", kWithout));
  const Value undecided = ask(object("ConfigMap"), object("ConfigMap", R"({"data":{
      "cgroup.conf":"CgroupPlugin=disabled\n"}})"));
  EXPECT_THAT(causes(undecided), ElementsAre(HasSubstr("data: Controller main: cgroup.conf: ")));
}

TEST_F(Webhooks, WhatWasWrongBeforeIsNoReasonToRefuseAChange) {
  const Value before = object("Controller", R"({"spec":{"extraConf":"KilWait=5"}})");
  const Value after = object(
      "Controller", R"({"spec":{"extraConf":"# moved\nKilWait=5","inplaceReconfigure":true}})");
  const Value response = ask(after, before);
  EXPECT_TRUE(allowed(response)) << json::to_text(response);
  EXPECT_THAT(warnings(response), ElementsAre(HasSubstr("KilWait")));
}

TEST_F(Webhooks, AnObjectThatGoesOrKeepsItsSpecIsNeverHeldUp) {
  const Value broken = object("NodeSet", R"({"spec":{"controllerRef":{"name":""}}})");
  Value labelled = broken;
  labelled["metadata"]["labels"]["a"] = "b";
  EXPECT_TRUE(allowed(ask(labelled, broken)));
  Value going = object("NodeSet", R"({"spec":{"controllerRef":{"name":"other"}}})");
  going["metadata"]["deletionTimestamp"] = "2026-11-16T09:00:00Z";
  EXPECT_TRUE(allowed(ask(going, object("NodeSet"))));
  EXPECT_TRUE(allowed(ask({}, broken)));
  EXPECT_THAT(kube.api.requests, IsEmpty());
}

TEST_F(Webhooks, AStoredObjectThatCannotBeReadCanBeRepaired) {
  EXPECT_FALSE(allowed(ask(object("NodeSet", R"({"spec":{"replicas":"three"}})"))));
  EXPECT_TRUE(
      allowed(ask(object("NodeSet"), object("NodeSet", R"({"spec":{"replicas":"three"}})"))));
}

TEST_F(Webhooks, AnApiThatDoesNotAnswerHoldsNobodyUpAndTheRulesThatNeedItNotStillHold) {
  down = true;
  for (const char* kind : {"Controller", "NodeSet", "ConfigMap"}) {
    const Value response = ask(object(kind));
    EXPECT_TRUE(allowed(response)) << kind;
    EXPECT_THAT(warnings(response), ElementsAre(HasSubstr("could not be checked"))) << kind;
  }
  EXPECT_FALSE(allowed(ask(object("NodeSet", R"({"spec":{"ssh":{"enabled":true}}})"))));
}

TEST_F(Webhooks, AChangeThatSlurmDoesNotSeeAsksNobody) {
  EXPECT_TRUE(allowed(ask(object("NodeSet", R"({"spec":{"replicas":7}})"), object("NodeSet"))));
  EXPECT_THAT(kube.api.requests, IsEmpty());
}

// All ConfigMaps that are referred to are put together in /etc/slurm, whichever field names them.
TEST_F(Webhooks, FilesThatComeWithScriptsAreLookedAtToo) {
  const auto scripts = [](const std::string& file, std::string_view text) {
    Value map = object("ConfigMap", R"({"metadata":{"name":"scripts"},"data":{"gres.conf":null}})");
    map["data"]["run.sh"] = "#!/bin/sh\n";
    map["data"][file] = text;
    return map;
  };
  constexpr const char* kRefers = R"({"spec":{"prologScriptRefs":[{"name":"scripts"}]}})";
  const Value good = scripts("gres.conf", "AutoDetect=off");
  const Value bad = scripts("gres.conf", "Nam=gpu");
  const Value ours = scripts("slurm.conf", "ClusterName=evil");
  put(good);
  const Value fine = ask(object("Controller", kRefers));
  EXPECT_TRUE(allowed(fine)) << json::to_text(fine);
  EXPECT_THAT(warnings(fine), IsEmpty()) << "scripts have any name";
  put(object("Controller", kRefers));
  EXPECT_THAT(causes(ask(bad, good)),
              ElementsAre(HasSubstr("data[gres.conf]: Controller main: gres.conf:1: error")));
  EXPECT_THAT(causes(ask(ours, good)), Contains(HasSubstr("is written by the operator")));
  put(bad);
  EXPECT_THAT(causes(ask(object("Controller", kRefers))),
              ElementsAre(HasSubstr("spec: gres.conf:1: error")));
  put(ours);
  EXPECT_THAT(causes(ask(object("Controller", kRefers))),
              Contains(HasSubstr("\"slurm.conf\" is written by the operator")));
  // It was let in before: that must not keep anybody from changing something else.
  EXPECT_THAT(causes(ask(object("Controller", R"({"spec":{"prologScriptRefs":[{"name":"scripts"}],)"
                                              R"("inplaceReconfigure":true}})"),
                         object("Controller", kRefers))),
              IsEmpty());
}

TEST_F(Webhooks, OfTwoFilesOfOneNameTheOneIsLookedAtThatSlurmctldGets) {
  put(object("ConfigMap", R"({"metadata":{"name":"a"},"data":{"gres.conf":"Nam=gpu"}})"));
  put(object("ConfigMap", R"({"metadata":{"name":"b"},"data":{"gres.conf":"AutoDetect=off"}})"));
  put(object("ConfigMap", R"({"metadata":{"name":"c"},"data":{"gres.conf":"Nam=gpu"}})"));
  const auto refers = [](const char* first, const char* second) {
    return object(
        "Controller",
        fmt::format(R"({{"spec":{{"configFileRefs":[{{"name":"{}"}},{{"name":"{}"}}]}}}})", first,
                    second));
  };
  EXPECT_TRUE(allowed(ask(refers("a", "b"))));
  EXPECT_TRUE(allowed(ask(refers("b", "a"))));
  EXPECT_FALSE(allowed(ask(refers("b", "c"))));
}

TEST_F(Webhooks, AConfigMapIsJudgedByEveryControllerThatRefersToIt) {
  put(object("Controller", R"({"spec":{"configFileRefs":[{"name":"files"}]}})"));
  put(object("Controller", R"({"metadata":{"name":"other"}})"));
  put(object("ConfigMap"));
  const Value good = object("ConfigMap", R"({"data":{"gres.conf":"AutoDetect=nvml\n"}})");
  EXPECT_TRUE(allowed(ask(good, object("ConfigMap"))));
  const Value bad = object("ConfigMap", R"({"data":{"gres.conf":"AutoDetect=off\nNam=gpu\n"}})");
  EXPECT_THAT(
      causes(ask(bad, object("ConfigMap"))),
      ElementsAre(AllOf(HasSubstr("data[gres.conf]: Controller main: gres.conf:2: error"))));
  EXPECT_THAT(
      causes(ask(object("ConfigMap", R"({"data":{"slurm.conf":""}})"), object("ConfigMap"))),
      Contains(HasSubstr("is written by the operator")));
  EXPECT_TRUE(allowed(ask(object("ConfigMap", R"({"metadata":{"name":"nobodys"},
                                                 "data":{"gres.conf":"Nam=gpu"}})"))));
  const Value gone = ask({}, object("ConfigMap"));
  EXPECT_TRUE(allowed(gone));
  EXPECT_THAT(warnings(gone), ElementsAre(HasSubstr("Controller main still refers")));
}

}  // namespace
}  // namespace mainspring::op
