// Accounting, RestApi, LoginSet and Token against the API in memory.
#include <gmock/gmock.h>

#include "base/base64.h"
#include "operator/build/login_names.h"
#include "operator/sync/accounting_sync.h"
#include "operator/sync/loginset_sync.h"
#include "operator/sync/restapi_sync.h"
#include "operator/sync/token_sync.h"
#include "sim/operator_scene.h"

namespace mainspring::sim {
namespace {

using api::Accounting;
using api::LoginSet;
using api::RestApi;
using api::Token;
using kube::Deployment;
using kube::SecretObject;
using kube::Service;
using kube::StatefulSet;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kController = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c}
spec:
  slurmKeyRef: {name: auth-slurm, key: slurm.key}
  jwtKeyRef: {name: auth-jwt, key: jwt.key}
)";
constexpr std::string_view kConfig = R"(
apiVersion: v1
kind: ConfigMap
metadata:
  name: NAME
  annotations: {mainspring.slurm.net/restart-hash: abc}
  ownerReferences:
  - {apiVersion: slinky.slurm.net/v1beta1, kind: Controller, name: c, uid: UID, controller: true}
data: {FILE: "ClusterName=c\n"}
)";
constexpr std::string_view kRestApi = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: rest}
spec: {controllerRef: {name: c}, slurmrestd: {image: slurmrestd}}
)";
constexpr std::string_view kLoginSet = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: LoginSet
metadata: {name: login}
spec:
  controllerRef: {name: c}
  sssdConfRef: {name: sssd, key: sssd.conf}
  login: {image: login}
  initconf: {image: login}
)";
constexpr std::string_view kAccounting = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Accounting
metadata: {name: acct}
spec:
  slurmKeyRef: {name: auth-slurm, key: slurm.key}
  jwtKeyRef: {name: auth-jwt, key: jwt.key}
  storageConfig: {host: db, username: slurm, passwordKeyRef: {name: db, key: password}}
  slurmdbd: {image: slurmdbd}
)";
constexpr std::string_view kToken = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Token
metadata: {name: robot}
spec: {username: alice, jwtKeyRef: {name: auth-jwt, key: jwt.key}}
)";
constexpr std::string_view kKeyHash =
    "/spec/template/metadata/annotations/slinky.slurm.net~1slurm-key-hash";

class OperatorDaemons : public ::testing::Test {
 protected:
  void put_secret(std::string_view name, std::string_view key, std::string_view value) {
    scene.put(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: {}}}, data: {{{}: {}}}}}",
                    name, key, base64_encode(value)));
  }
  void put_keys() {
    put_secret("auth-slurm", "slurm.key", "shared");
    put_secret("auth-jwt", "jwt.key", "signing");
    put_secret("sssd", "sssd.conf", "[sssd]");
  }
  // What the Controller's reconciler writes.
  void put_config(std::string_view name = "c-config", std::string_view file = "slurm.conf") {
    std::string config(kConfig);
    const auto set = [&](std::string_view what, std::string_view to) {
      config.replace(config.find(what), what.size(), to);
    };
    set("UID", scene.at(api::Controller::kResource, "c", "/metadata/uid"));
    set("NAME", name);
    set("FILE", file);
    scene.put(config);
  }
  // As kube-controller-manager does when all pods are up.
  void roll_out(const kube::Resource& resource, const std::string& name) {
    scene.change(resource, name,
                 fmt::format("{{status: {{observedGeneration: {}, replicas: 1, updatedReplicas: 1, "
                             "readyReplicas: 1, availableReplicas: 1}}}}",
                             scene.at(resource, name, "/metadata/generation")),
                 "status");
    scene.settle();
  }
  // Also when it is made to look again.
  void expect_silence() {
    scene.settle(seconds(10));
    scene.writes.clear();
    for (const char* const secret : {"auth-slurm", "auth-jwt", "sssd"}) {
      if (scene.at(SecretObject::kResource, secret, "") == "(no object)") continue;
      scene.change(SecretObject::kResource, secret, "{metadata: {annotations: {looked: at}}}");
    }
    scene.settle(minutes(5));
    EXPECT_THAT(scene.writes, IsEmpty());
  }
  std::string jwt(std::string_view secret = "robot-jwt-alice") {
    return scene.at(SecretObject::kResource, secret, "/data/SLURM_JWT");
  }

  OperatorScene scene;
};

TEST_F(OperatorDaemons, RestApiWaitsForKeysAndConfigurationAndThenRests) {
  op::RestApiSync sync(scene.world);
  scene.put(kRestApi);
  scene.start();
  EXPECT_THAT(scene.events(), Contains("ControllerRefFailed"));
  EXPECT_EQ(scene.condition(RestApi::kResource, "rest", "Degraded"), "True ControllerRefFailed");
  scene.put(kController);
  scene.settle();
  EXPECT_THAT(scene.events(), Contains("SyncFailed"));
  put_keys();
  scene.settle();
  EXPECT_EQ(scene.condition(RestApi::kResource, "rest", "Ready"), "False WaitingForConfig");
  EXPECT_EQ(scene.at(Service::kResource, "rest-restapi", ""), "(no object)");
  put_config();
  scene.settle();
  EXPECT_EQ(scene.at(Deployment::kResource, "rest-restapi", "/spec/replicas"), "1");
  EXPECT_EQ(scene.condition(RestApi::kResource, "rest", "Progressing"), "True Progressing");
  roll_out(Deployment::kResource, "rest-restapi");
  EXPECT_EQ(scene.condition(RestApi::kResource, "rest", "Ready"), "True Available");
  EXPECT_EQ(scene.condition(RestApi::kResource, "rest", "Degraded"), "False AsExpected");
  EXPECT_EQ(scene.at(RestApi::kResource, "rest", "/status/observedGeneration"), "1");
  expect_silence();

  const std::string before = scene.at(Deployment::kResource, "rest-restapi", kKeyHash);
  put_secret("auth-slurm", "slurm.key", "rotated");
  scene.settle();
  EXPECT_NE(scene.at(Deployment::kResource, "rest-restapi", kKeyHash), before);
}

TEST_F(OperatorDaemons, RestApiFollowsItsSlurmdbdAndNotEveryChange) {
  op::RestApiSync sync(scene.world);
  put_keys();
  scene.put(kController);
  put_config();
  scene.put(kRestApi);
  scene.start();
  const auto with = [&](std::string_view conf) {
    scene.change(kube::ConfigMap::kResource, "c-config",
                 fmt::format("{{data: {{slurm.conf: \"ClusterName=c\\n{}\\n\"}}}}", conf));
    scene.settle();
    return scene.at(Deployment::kResource, "rest-restapi", "/spec/template");
  };
  const std::string before = with("AccountingStorageHost=here");
  EXPECT_EQ(with("AccountingStorageHost=here\\nKillWait=7"), before);
  EXPECT_NE(with("AccountingStorageHost=there"), before);
}

TEST_F(OperatorDaemons, RestApiHasTheFilesThatSlurmConfIncludes) {
  op::RestApiSync sync(scene.world);
  put_keys();
  scene.put(kController);
  put_config();
  put_config("c-approved-mine", "more.conf");
  scene.put(kRestApi);
  scene.start();
  const auto sources = [&] {
    return scene.at(Deployment::kResource, "rest-restapi",
                    "/spec/template/spec/volumes/0/projected/sources");
  };
  EXPECT_THAT(sources(), Not(HasSubstr("more.conf")));
  scene.change(kube::ConfigMap::kResource, "c-config",
               R"({data: {slurm.conf: "ClusterName=c\nInclude more.conf\n"}})");
  scene.settle();
  EXPECT_THAT(sources(), HasSubstr("c-approved-mine"));
}

TEST_F(OperatorDaemons, ADeploymentOfTheOperatorBeforeUsRollsWithTheFirstNewKeyOnly) {
  op::RestApiSync sync(scene.world);
  put_keys();
  scene.put(kController);
  put_config();
  scene.put(kRestApi);
  scene.put(R"(
apiVersion: apps/v1
kind: Deployment
metadata:
  name: rest-restapi
  labels: {app.kubernetes.io/name: slurmrestd, app.kubernetes.io/instance: rest}
spec:
  replicas: 1
  revisionHistoryLimit: 0
  selector:
    matchLabels: {app.kubernetes.io/name: slurmrestd, app.kubernetes.io/instance: rest}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: slurmrestd
        app.kubernetes.io/instance: rest
        app.kubernetes.io/component: restapi
      annotations: {kubectl.kubernetes.io/default-container: slurmrestd}
    spec:
      automountServiceAccountToken: false
      securityContext: {runAsNonRoot: true, runAsUser: 65534, runAsGroup: 65534, fsGroup: 65534}
      containers:
      - name: slurmrestd
        image: slurmrestd
        args: [-s, openapi/slurmctld, "0.0.0.0:6820"]
        env:
        - {name: SLURM_JWT, value: daemon}
        - {name: SLURMRESTD_SECURITY, value: "disable_unshare_files,disable_unshare_sysv"}
        ports: [{name: slurmrestd, containerPort: 6820, protocol: TCP}]
        startupProbe: {tcpSocket: {port: 6820}, failureThreshold: 6, periodSeconds: 10}
        livenessProbe: {tcpSocket: {port: 6820}, failureThreshold: 6, periodSeconds: 10}
        readinessProbe: {tcpSocket: {port: 6820}}
        securityContext: {runAsNonRoot: true, runAsUser: 65534, runAsGroup: 65534}
        volumeMounts: [{name: slurm-etc, mountPath: /etc/slurm, readOnly: true}]
      volumes:
      - name: slurm-etc
        projected:
          defaultMode: 0o600
          sources:
          - configMap: {name: c-config, items: [{key: slurm.conf, path: slurm.conf}]}
          - secret: {name: auth-slurm, items: [{key: slurm.key, path: slurm.key}]}
)");
  const std::string before = scene.at(Deployment::kResource, "rest-restapi", "/spec/template");
  scene.start();
  EXPECT_EQ(scene.at(Deployment::kResource, "rest-restapi", "/spec/template"), before);
  EXPECT_THAT(scene.at(Deployment::kResource, "rest-restapi",
                       "/metadata/annotations/mainspring.slurm.net~1template"),
              HasSubstr("as-found-"));
  roll_out(Deployment::kResource, "rest-restapi");
  expect_silence();
  put_secret("auth-slurm", "slurm.key", "rotated");
  scene.settle();
  EXPECT_NE(scene.at(Deployment::kResource, "rest-restapi", kKeyHash), "(absent)");
}

TEST_F(OperatorDaemons, LoginSetMakesHostKeysOnceAndFollowsItsSssd) {
  op::LoginSetSync sync(scene.world, {.rsa_bits = 2048});  // 4096 take seconds.
  scene.put(kLoginSet);
  scene.start();
  EXPECT_THAT(scene.events(), Contains("ControllerRefFailed"));
  EXPECT_EQ(scene.at(SecretObject::kResource, "login-ssh-host-keys", ""), "(no object)");
  put_keys();
  scene.put(kController);
  scene.settle();
  const std::string keys = scene.at(SecretObject::kResource, "login-ssh-host-keys", "/data");
  EXPECT_THAT(keys, HasSubstr("ssh_host_ed25519_key.pub"));
  EXPECT_EQ(scene.at(SecretObject::kResource, "login-ssh-host-keys", "/immutable"), "true");
  EXPECT_EQ(scene.at(LoginSet::kResource, "login", "/status/selector"),
            "app.kubernetes.io/instance=login,app.kubernetes.io/name=login");
  roll_out(Deployment::kResource, "login");
  EXPECT_EQ(scene.at(LoginSet::kResource, "login", "/status/replicas"), "1");
  EXPECT_EQ(scene.condition(LoginSet::kResource, "login", "Ready"), "True Available");
  expect_silence();

  const auto sssd_hash = [&] {
    return scene.at(Deployment::kResource, "login",
                    "/spec/template/metadata/annotations/slinky.slurm.net~1sssd-conf-hash");
  };
  const std::string before = sssd_hash();
  put_secret("sssd", "sssd.conf", "[sssd]\nservices = nss");
  scene.settle();
  EXPECT_NE(sssd_hash(), before);
  EXPECT_EQ(scene.at(SecretObject::kResource, "login-ssh-host-keys", "/data"), keys);
}

TEST_F(OperatorDaemons, EachLoginPodGetsAName) {
  op::LoginSetSync sync(scene.world);
  scene.put(kLoginSet);
  scene.put(R"(
apiVersion: v1
kind: Pod
metadata:
  name: login-6d4f-aaaaa
  labels: {app.kubernetes.io/name: login, app.kubernetes.io/instance: login}
spec: {containers: [{name: login, image: login}]}
)");
  scene.start();
  EXPECT_EQ(scene.at(op::build::kEndpointSlices, "login-login-names", ""), "(no object)");
  scene.change(kube::Pod::kResource, "login-6d4f-aaaaa",
               "{status: {podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}]}}", "status");
  scene.settle();
  EXPECT_EQ(scene.at(op::build::kEndpointSlices, "login-login-names", "/endpoints/0/hostname"),
            "login-6d4f-aaaaa");
  EXPECT_EQ(scene.at(op::build::kEndpointSlices, "login-login-names",
                     "/metadata/labels/kubernetes.io~1service-name"),
            "slurm-workers-c");
  expect_silence();
}

TEST_F(OperatorDaemons, AccountingWritesNothingWithoutItsPasswordAndRollsWithANewOne) {
  op::AccountingSync sync(scene.world);
  put_keys();
  scene.put(kAccounting);
  scene.start();
  EXPECT_THAT(scene.events(), Contains("SyncFailed"));
  EXPECT_EQ(scene.condition(Accounting::kResource, "acct", "Degraded"), "True SyncFailed");
  for (const auto& kind : {Service::kResource, SecretObject::kResource, StatefulSet::kResource}) {
    EXPECT_EQ(scene.at(kind, "acct-accounting", ""), "(no object)") << kind.kind;
  }
  put_secret("db", "password", "first");
  scene.settle();
  const auto conf_hash = [&] {
    return scene.at(StatefulSet::kResource, "acct-accounting",
                    "/spec/template/metadata/annotations/slinky.slurm.net~1slurmdbd-conf-hash");
  };
  const std::string before = conf_hash();
  EXPECT_EQ(before.size(), 64U);
  roll_out(StatefulSet::kResource, "acct-accounting");
  EXPECT_EQ(scene.condition(Accounting::kResource, "acct", "Ready"), "True Available");
  expect_silence();
  put_secret("db", "password", "second");
  scene.settle();
  EXPECT_NE(conf_hash(), before);

  scene.change(Accounting::kResource, "acct",
               "{spec: {external: true, externalConfig: {host: dbd.example.com, port: 6819}}}");
  scene.settle();
  EXPECT_EQ(scene.at(StatefulSet::kResource, "acct-accounting", ""), "(no object)");
  EXPECT_EQ(scene.condition(Accounting::kResource, "acct", "Ready"), "True External");
  expect_silence();
}

// slurmdbd ends at keys that it cannot read, whenever it is started.
TEST_F(OperatorDaemons, AccountingKeepsTheLastGoodJwks) {
  op::AccountingSync sync(scene.world);
  put_keys();
  put_secret("db", "password", "first");
  const auto put_jwks = [&](std::string_view text) {
    scene.put(fmt::format(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: idp}}, data: {{keys: '{}'}}}}",
        text));
  };
  const auto given = [&] {
    return scene.at(SecretObject::kResource, "acct-accounting", "/data/jwks.json");
  };
  put_jwks(R"({"keys": []})");
  scene.put(std::string(kAccounting) + "  jwksKeyRef: {name: idp, key: keys}\n");
  scene.start();
  EXPECT_EQ(given(), base64_encode(R"({"keys": []})"));
  const std::string generation =
      scene.at(StatefulSet::kResource, "acct-accounting", "/metadata/generation");

  put_jwks(R"({"keys": [{"alg": "RS256"}]})");
  scene.settle();
  EXPECT_EQ(given(), base64_encode(R"({"keys": []})"));
  EXPECT_EQ(scene.at(StatefulSet::kResource, "acct-accounting", "/metadata/generation"),
            generation);
  EXPECT_EQ(scene.condition(Accounting::kResource, "acct", "Degraded"), "True SyncFailed");

  put_jwks(R"({"keys": [{"kid": "a", "alg": "ES256"}]})");
  scene.settle();
  EXPECT_EQ(given(), base64_encode(R"({"keys": [{"kid": "a", "alg": "ES256"}]})"));
  EXPECT_NE(scene.at(StatefulSet::kResource, "acct-accounting", "/metadata/generation"),
            generation);
}

TEST_F(OperatorDaemons, TokenIsRenewedInTimeAndWithItsKey) {
  op::TokenSync sync(scene.world);
  put_keys();
  scene.put(kToken);
  const TimePoint issued = scene.executor.clock().now();
  scene.start();
  const std::string first = jwt();
  EXPECT_NE(first, "(no object)");
  EXPECT_EQ(
      scene.at(SecretObject::kResource, "robot-jwt-alice", "/metadata/ownerReferences/0/kind"),
      "Token");
  EXPECT_NE(scene.at(Token::kResource, "robot", "/status/issuedAt"), "(absent)");
  EXPECT_EQ(scene.condition(Token::kResource, "robot", "Ready"), "True Issued");
  expect_silence();
  // At 80 % of its quarter of an hour.
  scene.settle(issued + minutes(12) - seconds(5) - scene.executor.clock().now());
  EXPECT_EQ(jwt(), first);
  scene.settle(seconds(10));
  const std::string second = jwt();
  EXPECT_NE(second, first);
  put_secret("auth-jwt", "jwt.key", "rotated");
  scene.settle();
  const std::string third = jwt();
  EXPECT_NE(third, second);
  scene.settle(minutes(1));
  EXPECT_EQ(jwt(), third);
}

TEST_F(OperatorDaemons, TokenWithoutRefreshIsWrittenOnce) {
  op::TokenSync sync(scene.world);
  put_keys();
  scene.put(kToken);
  scene.change(Token::kResource, "robot", "{spec: {refresh: false}}");
  scene.start();
  const std::string first = jwt();
  EXPECT_EQ(scene.at(SecretObject::kResource, "robot-jwt-alice", "/immutable"), "true");
  scene.settle(minutes(20));
  EXPECT_EQ(jwt(), first);
  EXPECT_EQ(scene.condition(Token::kResource, "robot", "Ready"), "False Expired");
  expect_silence();
  scene.change(Token::kResource, "robot", "{spec: {refresh: true}}");
  scene.settle();
  EXPECT_NE(jwt(), first);
  EXPECT_EQ(scene.condition(Token::kResource, "robot", "Ready"), "True Issued");
}

TEST_F(OperatorDaemons, TokenLeavesTheSecretsOfOthersAlone) {
  op::TokenSync sync(scene.world);
  put_keys();
  put_secret("robot-jwt-alice", "SLURM_JWT", "somebody's");
  scene.put(kToken);
  scene.start();
  EXPECT_EQ(jwt(), base64_encode("somebody's"));
  EXPECT_EQ(scene.condition(Token::kResource, "robot", "Degraded"), "True SecretNotOurs");
  expect_silence();
}

TEST_F(OperatorDaemons, TokenAdoptsTheSecretOfTheOperatorBeforeUs) {
  op::TokenSync sync(scene.world);
  put_keys();
  scene.put(kToken);
  const std::string uid = scene.at(SecretObject::kResource, "auth-jwt", "/metadata/uid");
  put_secret("robot-jwt-alice", "SLURM_JWT", "old");
  scene.change(SecretObject::kResource, "robot-jwt-alice",
               fmt::format("{{metadata: {{ownerReferences: [{{apiVersion: v1, kind: Secret, name: "
                           "auth-jwt, uid: {}, controller: true, blockOwnerDeletion: true}}]}}}}",
                           uid));
  scene.start();
  EXPECT_NE(jwt(), base64_encode("old"));
  const std::string owners =
      scene.at(SecretObject::kResource, "robot-jwt-alice", "/metadata/ownerReferences");
  EXPECT_THAT(owners, HasSubstr("\"Token\""));
  EXPECT_THAT(owners, Not(HasSubstr("auth-jwt")));
  EXPECT_EQ(scene.condition(Token::kResource, "robot", "Ready"), "True Issued");
}

}  // namespace
}  // namespace mainspring::sim
