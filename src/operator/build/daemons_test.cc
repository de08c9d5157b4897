// What an Accounting, a RestApi and a LoginSet become. The files under tests/data/operator show the
// objects whole; the tests here say what changes them and what must not.
#include "operator/build/daemons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "api/names.h"
#include "json/yaml.h"
#include "operator/build/login_names.h"
#include "operator/build/slurm_conf.h"
#include "operator/build/ssh_keys.h"
#include "operator/build/takeover.h"

namespace mainspring::op::build {
namespace {

using json::Value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string read_data(const std::string& name) {
  std::ifstream file(std::string(MAINSPRING_TEST_DATA) + "/operator/" + name);
  EXPECT_TRUE(file.good()) << "cannot read " << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<Value> documents(const std::string& name) {
  auto parsed = json::parse_yaml_documents(read_data(name));
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().to_string());
  return parsed.value_or(std::vector<Value>());
}

template <class T>
T decoded(const Value& value) {
  json::Reader reader;
  auto object = json::decode<T>(reader, json::to_text(value));
  EXPECT_TRUE(object.has_value()) << (object ? "" : object.error().to_string());
  return object.value_or(T());
}

void expect_golden(const Result<Value>& actual, const std::string& name) {
  ASSERT_TRUE(actual.has_value()) << actual.error().to_string();
  const auto wanted = documents(name);
  ASSERT_EQ(wanted.size(), 1U) << name;
  EXPECT_EQ(json::to_text(*actual, {.indent = 1, .sort_keys = true}),
            json::to_text(wanted.front(), {.indent = 1, .sort_keys = true}))
      << "as tests/data/operator/" << name << " has it";
}

kube::SecretObject secret_of(const char* key, const char* value) {
  kube::SecretObject secret;
  secret.data.emplace(key, Secret(value));
  return secret;
}

std::string at(const Value& object, std::string_view pointer) {
  const Value* const found = object.at_pointer(pointer);
  if (found == nullptr) return "(absent)";
  return found->is_string() ? std::string(*found->as_string()) : json::to_text(*found);
}

// A workload as the operator before us left it, with the annotations of the last apply where there
// was one.
json::StringMap annotations_of(const Value& workload) {
  const Value* const found = workload.at_pointer("/metadata/annotations");
  return found == nullptr
             ? json::StringMap()
             : decoded<api::TemplateMeta>(Value::object({{"annotations", *found}})).annotations;
}

std::string template_of(const Result<Value>& workload) {
  return json::to_text(*workload->at_pointer("/spec/template"), {.sort_keys = true});
}

class AccountingBuild : public ::testing::Test {
 protected:
  AccountingInputs inputs() {
    return {.accounting = accounting,
            .slurm_key = &slurm_key,
            .jwt_key = &jwt_key,
            .jwks = jwks,
            .slurmdbd_conf = slurmdbd_conf(accounting, Secret(password)).value_or("none"),
            .live_annotations = live ? &*live : nullptr};
  }
  api::Accounting accounting = decoded<api::Accounting>(documents("accounting/input.yaml").front());
  kube::SecretObject slurm_key = secret_of("slurm.key", "shared");
  kube::SecretObject jwt_key = secret_of("jwt.key", "signing");
  std::optional<std::string> jwks;
  std::string password = "secret";
  std::optional<json::StringMap> live;
};

TEST_F(AccountingBuild, WritesTheConfigurationOfSlurmdbd) {
  EXPECT_EQ(slurmdbd_conf(accounting, Secret("secret")).value_or(""),
            read_data("accounting/slurmdbd.conf"));
}

TEST_F(AccountingBuild, APasswordCannotBecomeAnotherSetting) {
  const auto hostile = slurmdbd_conf(accounting, Secret("pw\nStorageHost=elsewhere"));
  ASSERT_FALSE(hostile.has_value());
  EXPECT_THAT(hostile.error().to_string(), Not(HasSubstr("elsewhere")));
  EXPECT_THAT(slurmdbd_conf(accounting, Secret("half#half")).value_or(""),
              HasSubstr("StoragePass=half\\#half\n"));
  // The newline that `kubectl create secret --from-file` brings along.
  EXPECT_THAT(slurmdbd_conf(accounting, Secret("pw\n")).value_or(""),
              HasSubstr("StoragePass=pw\n"));
}

TEST_F(AccountingBuild, MakesServiceAndStatefulSet) {
  expect_golden(accounting_service(inputs()), "accounting/service.yaml");
  expect_golden(accounting_stateful_set(inputs()), "accounting/statefulset.yaml");
}

TEST_F(AccountingBuild, ANewPasswordRollsSlurmdbd) {
  const auto before = template_of(accounting_stateful_set(inputs()));
  password = "changed";
  EXPECT_NE(template_of(accounting_stateful_set(inputs())), before);
}

TEST_F(AccountingBuild, TheTemplatesMetadataWaitsForTheFirstChangeAfterATakeOver) {
  live.emplace();
  auto found = accounting_stateful_set(inputs());
  EXPECT_EQ(at(*found, "/spec/template/metadata/annotations/example.com~1scrape"), "(absent)");
  const auto as_found = template_of(found);
  live = annotations_of(*found);
  EXPECT_EQ(template_of(accounting_stateful_set(inputs())), as_found) << "at rest";

  slurm_key = secret_of("slurm.key", "rotated");
  found = accounting_stateful_set(inputs());
  EXPECT_EQ(at(*found, "/spec/template/metadata/annotations/example.com~1scrape"), "true");
  live = annotations_of(*found);
  slurm_key = secret_of("slurm.key", "shared");
  EXPECT_EQ(at(*accounting_stateful_set(inputs()),
               "/spec/template/metadata/annotations/example.com~1scrape"),
            "true")
      << "what is complete stays complete";
}

TEST_F(AccountingBuild, SlurmdbdHasACopyOfTheJwks) {
  accounting.spec.jwks_key_ref = api::KeyRef{.name = "idp", .key = "keys.json"};
  jwks = R"({"keys": []})";
  EXPECT_EQ(at(accounting_secret(inputs()), "/data/jwks.json"), "eyJrZXlzIjogW119");
  const auto before = template_of(accounting_stateful_set(inputs()));
  EXPECT_THAT(before, Not(HasSubstr("idp")));
  EXPECT_THAT(before, HasSubstr(R"({"key":"jwks.json","path":"jwks.json"})"));
  jwks = R"({"keys": [{"kid": "a", "alg": "X"}]})";
  EXPECT_NE(template_of(accounting_stateful_set(inputs())), before);

  live.emplace();
  EXPECT_THAT(
      template_of(accounting_stateful_set(inputs())),
      HasSubstr(R"("configMap":{"items":[{"key":"keys.json","path":"jwks.json"}],"name":"idp"})"))
      << "one that another operator made stays as it is";
}

class RestApiBuild : public ::testing::Test {
 protected:
  RestApiInputs inputs() {
    config.data = decoded<kube::ConfigMap>(
                      Value::object({{"data", Value::object({{"slurm.conf", slurm_conf}})}}))
                      .data;
    return {.restapi = restapi,
            .controller = controller,
            .config = &config,
            .approved = approved,
            .slurm_key = &slurm_key,
            .live_annotations = live ? &*live : nullptr};
  }
  std::vector<Value> given = documents("restapi/input.yaml");
  api::RestApi restapi = decoded<api::RestApi>(given.at(0));
  api::Controller controller = decoded<api::Controller>(given.at(1));
  std::string slurm_conf = "ClusterName=c\nAuthType=auth/slurm\nSlurmctldPort=6817\n";
  kube::ConfigMap config;
  ConfigMaps approved;
  kube::SecretObject slurm_key = secret_of("slurm.key", "shared");
  std::optional<json::StringMap> live;
};

TEST_F(RestApiBuild, MakesServiceAndDeployment) {
  expect_golden(restapi_service(inputs()), "restapi/service.yaml");
  expect_golden(restapi_deployment(inputs()), "restapi/deployment.yaml");
}

TEST_F(RestApiBuild, ServesAccountingOnlyWhereThereIsSome) {
  constexpr std::string_view kArgs = "/spec/template/spec/containers/0/args";
  EXPECT_EQ(at(*restapi_deployment(inputs()), kArgs),
            R"(["-s","openapi/slurmctld","-vv","0.0.0.0:6820"])");
  controller.spec.accounting_ref.name = "acct";
  EXPECT_EQ(at(*restapi_deployment(inputs()), kArgs), R"(["-vv","0.0.0.0:6820"])");
}

TEST_F(RestApiBuild, RollsForAKeyOrAPortAndNotForAPartition) {
  const auto before = template_of(restapi_deployment(inputs()));
  slurm_conf += "PartitionName=all Nodes=ALL\n";
  EXPECT_EQ(template_of(restapi_deployment(inputs())), before);
  slurm_conf += "SlurmctldPort=6999\n";
  const auto other_port = template_of(restapi_deployment(inputs()));
  EXPECT_NE(other_port, before);
  slurm_key = secret_of("slurm.key", "rotated");
  EXPECT_NE(template_of(restapi_deployment(inputs())), other_port);
}

TEST_F(RestApiBuild, GivesSlurmrestdTheFilesThatSlurmConfIncludesAndNoOthers) {
  const auto add = [&](std::string_view name, const Value& data) {
    approved.push_back(std::make_shared<kube::ConfigMap>(decoded<kube::ConfigMap>(
        Value::object({{"metadata", Value::object({{"name", name}})}, {"data", data}}))));
  };
  add("c-approved-a", Value::object({{"more.conf", "# theirs"}, {"gres.conf", "# none"}}));
  add("c-approved-b", Value::object({{"more.conf", "Include /etc/slurm/last.conf\n"}}));
  add("c-approved-c", Value::object({{"last.conf", "AccountingStorageHost=here\n"}}));
  const auto sources = [&] {
    return at(*restapi_deployment(inputs()), "/spec/template/spec/volumes/0/projected/sources");
  };
  const std::string before = sources();
  slurm_conf += "Include more.conf\n";
  EXPECT_THAT(sources(), HasSubstr(before.substr(0, before.size() - 1)));
  EXPECT_THAT(
      sources(),
      HasSubstr(
          R"({"configMap":{"name":"c-approved-c","items":[{"key":"last.conf","path":"last.conf"}]}},)"
          R"({"configMap":{"name":"c-approved-b","items":[{"key":"more.conf","path":"more.conf"}]}}])"));
  EXPECT_THAT(sources(), Not(HasSubstr("gres.conf")));
  const std::string here = template_of(restapi_deployment(inputs()));
  approved.pop_back();
  add("c-approved-c", Value::object({{"last.conf", "AccountingStorageHost=there\n"}}));
  EXPECT_NE(template_of(restapi_deployment(inputs())), here);
  live.emplace();
  EXPECT_EQ(sources(), before) << "of a take-over";
}

TEST_F(RestApiBuild, ATakeOverAddsNoHashUntilSomethingChanges) {
  constexpr std::string_view kHash =
      "/spec/template/metadata/annotations/slinky.slurm.net~1slurm-key-hash";
  live.emplace();
  auto found = restapi_deployment(inputs());
  EXPECT_EQ(at(*found, kHash), "(absent)");
  live = annotations_of(*found);
  restapi.spec.replicas = 5;
  EXPECT_EQ(at(*restapi_deployment(inputs()), kHash), "(absent)") << "scaling rolls nothing";
  slurm_key = secret_of("slurm.key", "rotated");
  EXPECT_NE(at(*restapi_deployment(inputs()), kHash), "(absent)");
}

class LoginSetBuild : public ::testing::Test {
 protected:
  LoginSetInputs inputs() {
    return {.loginset = loginset,
            .controller = controller,
            .ssh_host_keys = &host_keys,
            .sssd_conf = &sssd,
            .slurm_key = &slurm_key,
            .live_annotations = live ? &*live : nullptr};
  }
  std::string sackd_options() {
    return at(*loginset_deployment(inputs()), "/spec/template/spec/containers/0/env/0/value");
  }
  std::vector<Value> given = documents("loginset/input.yaml");
  api::LoginSet loginset = decoded<api::LoginSet>(given.at(0));
  api::Controller controller = decoded<api::Controller>(given.at(1));
  kube::SecretObject host_keys = secret_of("ssh_host_rsa_key", "host");
  kube::SecretObject sssd = secret_of("sssd.conf", "[sssd]");
  kube::SecretObject slurm_key = secret_of("slurm.key", "shared");
  std::optional<json::StringMap> live;
};

TEST_F(LoginSetBuild, MakesConfigMapServiceAndDeployment) {
  expect_golden(loginset_ssh_config(inputs()), "loginset/ssh-config.yaml");
  expect_golden(loginset_service(inputs()), "loginset/service.yaml");
  expect_golden(loginset_deployment(inputs()), "loginset/deployment.yaml");
}

TEST_F(LoginSetBuild, SackdKeepsItsServerWhateverOptionsTheUserAdds) {
  EXPECT_EQ(sackd_options(), "--conf-server c-controller.slurm:6817 --disable-reconfig");
  loginset.spec.login["env"].at(0)["value"] = "--conf-server elsewhere:1";
  EXPECT_EQ(sackd_options(), "--conf-server elsewhere:1");
  loginset.spec.login.erase("env");
  EXPECT_EQ(sackd_options(), "--conf-server c-controller.slurm:6817");
  controller.spec.external = true;
  controller.spec.external_config = api::ExternalAddress{"head.example.com", 7000};
  EXPECT_EQ(sackd_options(), "--conf-server head.example.com:7000");
}

TEST_F(LoginSetBuild, RollsForEverythingThatAPodReadsOnlyAtItsStart) {
  std::vector<std::string> seen{template_of(loginset_deployment(inputs()))};
  const auto is_new = [&] {
    seen.push_back(template_of(loginset_deployment(inputs())));
    return seen.back() != seen.at(seen.size() - 2);
  };
  slurm_key = secret_of("slurm.key", "rotated");
  EXPECT_TRUE(is_new());
  sssd = secret_of("sssd.conf", "[sssd]\nservices = nss");
  EXPECT_TRUE(is_new());
  loginset.spec.root_ssh_authorized_keys = "ssh-ed25519 BBBB other";
  EXPECT_TRUE(is_new());
  loginset.spec.extra_sshd_config = "PermitRootLogin yes";
  EXPECT_TRUE(is_new());
  loginset.spec.replicas = 7;
  EXPECT_FALSE(is_new());
}

TEST_F(LoginSetBuild, ATakeOverLeavesScriptAndOptionsAsTheyAreUntilSomethingChanges) {
  live.emplace();
  auto found = loginset_deployment(inputs());
  EXPECT_EQ(at(*found, "/spec/template/spec/initContainers/0/command"), "(absent)");
  EXPECT_EQ(at(*found, "/spec/template/spec/containers/0/env/0/value"), "--disable-reconfig");
  live = annotations_of(*found);
  loginset.spec.login["image"] = "login:26.11";
  found = loginset_deployment(inputs());
  EXPECT_NE(at(*found, "/spec/template/spec/initContainers/0/command"), "(absent)");
  EXPECT_THAT(at(*found, "/spec/template/spec/containers/0/env/0/value"),
              StartsWith("--conf-server"));
  // Where the options were that operator's own, they are not named at all.
  live.emplace();
  loginset.spec.login.erase("env");
  EXPECT_EQ(at(*loginset_deployment(inputs()), "/spec/template/spec/containers/0/env"), "(absent)");
}

TEST_F(LoginSetBuild, TheUsersSourceOfOptionsStandsAlone) {
  loginset.spec.login["env"] = Value::array({Value::object(
      {{"name", "SACKD_OPTIONS"},
       {"valueFrom", Value::object({{"configMapKeyRef", Value::object({{"name", "x"}})}})}})});
  const auto found = loginset_deployment(inputs());
  EXPECT_EQ(at(*found, "/spec/template/spec/containers/0/env/0/value"), "(absent)");
}

std::shared_ptr<kube::Pod> login_pod(std::string name, const char* ip) {
  auto pod = std::make_shared<kube::Pod>();
  pod->meta.name = std::move(name);
  pod->meta.ns = "slurm";
  pod->status.pod_ip = kube::Text(ip);
  return pod;
}

TEST_F(LoginSetBuild, EveryLoginPodHasANameOfItsOwn) {
  const auto going = login_pod("login-6d4f-ccccc", "10.0.0.3");
  going->meta.deletion = WallTime();
  const Pods pods = {login_pod("login-6d4f-bbbbb", "10.0.0.2"), going,
                     login_pod("login-6d4f-ddddd", ""), login_pod("login-6d4f-aaaaa", "10.0.0.1")};
  expect_golden(login_names(loginset, pods, false), "loginset/names.yaml");
  EXPECT_EQ(at(login_names(loginset, pods, true), "/endpoints"), "[]");
}

TEST_F(LoginSetBuild, NamesFollowTheHostnameThatThePodReallyHas) {
  EXPECT_EQ(pod_hostname(*login_pod(std::string(62, 'a') + "-b", "")), std::string(62, 'a'));
  const auto pod = login_pod("login-x", "");
  pod->hostname = kube::Text("front");
  EXPECT_EQ(pod_hostname(*pod), "front");
  kube::PodSpec spec;
  spec.host_network = true;
  pod->spec = spec;
  pod->node_name = kube::Text("kn1.example.com");
  EXPECT_EQ(pod_hostname(*pod), "kn1");
}

TEST(SshHostKeys, AreSixFilesThatOpenSshReads) {
  const auto files = make_ssh_host_keys({.rsa_bits = 2048});
  ASSERT_TRUE(files.has_value()) << files.error().to_string();
  std::vector<std::string> names;
  for (const auto& [name, text] : *files) names.push_back(name);
  EXPECT_THAT(names,
              ElementsAre("ssh_host_ecdsa_key", "ssh_host_ecdsa_key.pub", "ssh_host_ed25519_key",
                          "ssh_host_ed25519_key.pub", "ssh_host_rsa_key", "ssh_host_rsa_key.pub"));
  for (const std::string kind : {"rsa", "ecdsa", "ed25519"}) {
    const std::string path = ::testing::TempDir() + "mainspring_" + kind;
    const std::string name = "ssh_host_" + kind + "_key";
    std::ofstream(path) << files->at(name).reveal();
    const std::string command =
        "chmod 600 " + path + " && ssh-keygen -y -P '' -f " + path + " > " + path + ".out";
    ASSERT_EQ(std::system(command.c_str()), 0) << kind;
    std::ostringstream out;
    out << std::ifstream(path + ".out").rdbuf();
    EXPECT_EQ(out.str(), files->at(name + ".pub").reveal()) << kind;
    EXPECT_EQ(std::remove(path.c_str()) + std::remove((path + ".out").c_str()), 0);
  }
}

}  // namespace
}  // namespace mainspring::op::build
