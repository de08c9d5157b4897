// Whether Slurm answers, as every kind says it: told to the whole operator, with a Slurm that goes
// and comes back. And that nothing is written while it stays away.
#include <gmock/gmock.h>

#include "sim/operator_world.h"

namespace mainspring::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class OperatorReach : public ::testing::Test {
 protected:
  OperatorReach() {
    put_secret("sssd", "sssd.conf");
    put_secret("db", "password");
    put_secret("login-ssh-host-keys", "ssh_host_rsa_key");  // Making them takes seconds.
    put_secret("campus-token", "auth-token");
    put("v1beta1", "LoginSet", "login",
        "{controllerRef: {name: c}, sssdConfRef: {name: sssd, key: sssd.conf}, login: {image: i}, "
        "initconf: {image: i}}");
    put("v1beta1", "Accounting", "acct",
        "{slurmKeyRef: {name: auth-slurm, key: slurm.key}, jwtKeyRef: {name: auth-jwt, key: "
        "jwt.key}, storageConfig: {host: db, passwordKeyRef: {name: db, key: password}}, slurmdbd: "
        "{image: i}}");
    put("v1beta1", "Token", "robot",
        "{username: alice, lifetime: 24h, jwtKeyRef: {name: auth-jwt, key: jwt.key}}");
    put("v1alpha1", "Cluster", "campus",
        "{server: 'http://campus:6820', token: {secretRef: campus-token}}");
    world.heal();
  }
  void put_secret(std::string_view name, std::string_view key) {
    world.put(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: {}, namespace: slurm}}, "
                    "data: {{{}: {}}}}}",
                    name, key, base64_encode("something")));
  }
  void put(std::string_view version, std::string_view kind, std::string_view name,
           std::string_view spec) {
    world.put(
        fmt::format("{{apiVersion: slinky.slurm.net/{}, kind: {}, metadata: {{name: {}, "
                    "namespace: slurm}}, spec: {}}}",
                    version, kind, name, spec));
  }
  void pass(Duration time) {
    world.pass(time, [] {});
    EXPECT_EQ(world.safety.violation(), "") << world.safety.account();
  }
  void account_in(const std::string& json) {
    const auto done = world.kubectl(http::Method::kPatch,
                                    "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/controllers/c",
                                    fmt::format(R"({{"spec":{{"accountingRef":{}}}}})", json));
    ASSERT_EQ(done.status, 200) << done.body;
  }

  // "True Answers": status and reason of a condition that is about the present generation.
  template <class T>
  std::string condition(std::string_view name, std::string_view type) {
    const Object object = world.api.find(T::kResource, "slurm", name);
    const json::Value* const all = object ? object->at_pointer("/status/conditions") : nullptr;
    for (const json::Value& one : all == nullptr ? json::Value::array() : *all) {
      if (text_at(one, "/type") != type) continue;
      EXPECT_EQ(*one.find("observedGeneration"), *object->at_pointer("/metadata/generation"));
      return fmt::format("{} {}", text_at(one, "/status"), text_at(one, "/reason"));
    }
    return "(none)";
  }
  void expect_all(const std::string& reach) {
    EXPECT_EQ(condition<api::Controller>("c", "SlurmReachable"), reach);
    EXPECT_EQ(condition<api::RestApi>("rest", "SlurmReachable"), reach);
    EXPECT_EQ(condition<api::LoginSet>("login", "SlurmReachable"), reach);
    EXPECT_EQ(condition<api::Accounting>("acct", "SlurmReachable"), reach);
    EXPECT_EQ(condition<api::Token>("robot", "SlurmReachable"), reach);
    EXPECT_EQ(condition<api::Cluster>("campus", "SlurmReachable"), reach);
  }
  void expect_silence() {
    const int before = world.safety.kube_writes;
    pass(minutes(10));
    EXPECT_EQ(world.safety.kube_writes, before) << world.safety.account();
  }
  std::string campus(std::string_view field) {
    const Object object = world.api.find(api::Cluster::kResource, "slurm", "campus");
    const json::Value* const found = object->at_pointer("/status/" + std::string(field));
    return found == nullptr ? "(absent)" : json::to_text(*found);
  }

  OperatorWorld world{3};
};

TEST_F(OperatorReach, EveryKindTellsWhenSlurmGoesAndWhenItIsBack) {
  account_in(R"({"name":"acct"})");
  pass(minutes(2));
  expect_all("True Answers");
  expect_silence();
  world.slurm.stop_rest();
  pass(minutes(2));
  expect_all("False NoAnswer");
  expect_silence();
  world.slurm.start_rest();
  pass(minutes(2));
  expect_all("True Answers");
}

TEST_F(OperatorReach, OneThatNeverAnsweredIsTold) {
  world.slurm.stop_rest();
  account_in(R"({"name":"acct"})");
  pass(minutes(2));
  expect_all("False NoAnswer");
  expect_silence();
}

TEST_F(OperatorReach, AnAccountingIsForTheControllersThatNameIt) {
  pass(minutes(2));
  EXPECT_EQ(condition<api::Accounting>("acct", "SlurmReachable"), "False NoAnswer");
  account_in(R"({"name":"acct"})");
  pass(minutes(1));
  EXPECT_EQ(condition<api::Accounting>("acct", "SlurmReachable"), "True Answers");
  account_in("null");
  pass(minutes(1));
  EXPECT_EQ(condition<api::Accounting>("acct", "SlurmReachable"), "False NoAnswer");
}

TEST_F(OperatorReach, AClusterShowsWhatItIsAndWhatIsWrongWithIt) {
  pass(minutes(1));
  EXPECT_EQ(campus("isReady"), "true");
  EXPECT_EQ(campus("slurmVersion"), R"("26.05.5")");
  EXPECT_EQ(campus("apiVersion"), R"("v0.0.45")");
  EXPECT_EQ(condition<api::Cluster>("campus", "Ready"), "True Answers");
  EXPECT_EQ(condition<api::Cluster>("campus", "Degraded"), "False AsExpected");
  EXPECT_EQ(condition<api::Cluster>("campus", "Progressing"), "False Settled");
  world.slurm.stop_rest();
  pass(minutes(2));
  EXPECT_EQ(campus("isReady"), "false");
  EXPECT_EQ(condition<api::Cluster>("campus", "Degraded"), "True NoAnswer");
  EXPECT_THAT(campus("freshness"), AllOf(HasSubstr("stale since"), HasSubstr("refused")));
  world.kubectl(http::Method::kDelete, "/api/v1/namespaces/slurm/secrets/campus-token");
  pass(minutes(1));
  EXPECT_EQ(condition<api::Cluster>("campus", "Degraded"), "True SecretMissing");
}

}  // namespace
}  // namespace mainspring::sim
