// A bridge that knows Slurm only by a Cluster object and its Secret, with everything else as it
// should be: both are missing, wrong, changed and back again. Whatever they are, no pod and no job
// ends for it, which is judged where it would happen (bridge_safety.h).
#include <gmock/gmock.h>

#include "base/base64.h"
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class BridgeCluster : public testing::Test {
 protected:
  BridgeCluster() {
    serve_kind(world.api, kube::SlurmCluster::kResource);
    EXPECT_TRUE(world.api.add_namespace("slurm").has_value());
    world.options.config.slurm_cluster = ObjectKey("slurm", "campus");
    world.slurm.set_key(Secret("first"));
    world.slurm_door.only_host = "campus";
    world.kubelet.run_on();
    for (const char* const name : {"n0", "n1", "n2", "n3"}) world.add_node(name);
  }
  void TearDown() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  void put_cluster(const std::string& server = "http://campus:6820") {
    world.put(
        fmt::format("{{apiVersion: slinky.slurm.net/v1alpha1, kind: Cluster, metadata: {{name: "
                    "campus, namespace: slurm}}, spec: {{server: '{}', token: {{secretRef: "
                    "campus-token}}}}}}",
                    server));
  }
  void change_server(const std::string& server) {
    world.patch(kCluster, fmt::format(R"({{"spec":{{"server":"{}"}}}})", server));
  }
  std::string token(const std::string& key, Duration lifetime = hours(1000)) {
    return slurm::mint_token(Secret(key), "slurm", world.executor.clock().wall_now(), lifetime)
        ->reveal();
  }
  void put_secret(const std::string& text, const std::string& key = "auth-token") {
    world.put(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: campus-token, namespace: "
                    "slurm}}, data: {{{}: {}}}}}",
                    key, base64_encode(text)));
  }
  void change_secret(const std::string& text) {
    world.patch(kSecret, fmt::format(R"({{"data":{{"auth-token":"{}"}}}})", base64_encode(text)));
  }
  void remove(const std::string& path) {
    const http::Response answer = ask_kube(world.api, http::Method::kDelete, path);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
  }
  // All as it should be, and a pod at work.
  void set_scene() {
    put_secret(token("first"));
    put_cluster();
    world.heal();
    world.pass(seconds(10));
    put_pod("runs");
    world.pass(seconds(10));
    ASSERT_NE(node_of("runs"), "") << world.safety.account();
    job = job_of_pod(*pod("runs"));
  }

  // As large as a node.
  void put_pod(const std::string& name) {
    world.put(fmt::format(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: "
        "{{schedulerName: slurm-bridge-scheduler, containers: [{{name: main, image: i, "
        "resources: {{requests: {{cpu: '8', memory: 1Gi}}}}}}]}}}}",
        name));
  }
  Object pod(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*pod(name), "/spec/nodeName"));
  }
  void expect_at_work() {
    ASSERT_TRUE(pod("runs")) << world.safety.account();
    EXPECT_EQ(pod("runs")->at_pointer("/metadata/deletionTimestamp"), nullptr);
    EXPECT_EQ(job_of_pod(*pod("runs")), job);
    EXPECT_EQ(world.slurm.model().job(job)->state, SlurmJob::State::kRunning);
  }
  void expect_bound_soon(const std::string& name) {
    put_pod(name);
    world.pass(seconds(10));
    EXPECT_NE(node_of(name), "") << world.safety.account();
  }
  std::string health() { return world.health.report(control::HealthKind::kReady).to_text(); }
  bool is_ready() { return world.health.report(control::HealthKind::kReady).ok; }
  // The notes of events on the Cluster with this reason.
  std::string told(std::string_view reason) {
    std::string notes;
    for (const auto& [key, event] : world.api.storage().all("events.events.k8s.io")) {
      if (text_at(*event, "/reason") != reason) continue;
      if (text_at(*event, "/regarding/kind") == "Cluster") notes += text_at(*event, "/note");
    }
    return notes;
  }

  static constexpr const char* kCluster =
      "/apis/slinky.slurm.net/v1alpha1/namespaces/slurm/clusters/campus";
  static constexpr const char* kSecret = "/api/v1/namespaces/slurm/secrets/campus-token";
  BridgeWorld world{1};
  std::uint32_t job = 0;
};

TEST_F(BridgeCluster, IsEnoughToScheduleAPod) {
  set_scene();
  EXPECT_EQ(health(), "[+]slurm cluster ok\ncheck passed\n");
}

TEST_F(BridgeCluster, SaysStepByStepWhatIsMissing) {
  world.heal();
  put_pod("waits");
  world.pass(seconds(20));
  EXPECT_THAT(health(), AllOf(HasSubstr("[!]slurm cluster"), HasSubstr("Cluster slurm/campus"),
                              HasSubstr("is not there"), HasSubstr("cannot be asked yet")));
  EXPECT_TRUE(is_ready()) << "pods may be made meanwhile";
  put_cluster();
  world.pass(seconds(2));
  EXPECT_THAT(health(), AllOf(HasSubstr("campus-token"), HasSubstr("is not there")));
  EXPECT_THAT(told("SecretMissing"), HasSubstr("spec.token.secretRef"));
  put_secret(token("first"), "SLURM_JWT");
  world.pass(seconds(12));
  EXPECT_THAT(health(), AllOf(HasSubstr("auth-token"), HasSubstr("lacks this key")));
  change_secret("no token");
  world.pass(seconds(12));
  EXPECT_THAT(health(), HasSubstr("is no token"));
  EXPECT_THAT(told("InvalidToken"), HasSubstr("campus-token"));
  EXPECT_EQ(world.slurm.requests(), 0U);
  EXPECT_EQ(node_of("waits"), "");
  change_secret(token("first") + "\n");
  world.pass(minutes(1));
  EXPECT_THAT(health(), HasSubstr("[+]slurm cluster ok"));
  EXPECT_NE(node_of("waits"), "") << world.safety.account();
}

TEST_F(BridgeCluster, ANewTokenIsTakenUpWhileTheOldOneIsGood) {
  set_scene();
  change_secret(token("first", minutes(1)));
  world.pass(seconds(15));
  change_secret(token("first"));
  world.pass(seconds(15));
  // Were it not for the new one, the next look would be by way of a refusal.
  remove(kSecret);
  world.pass(minutes(2));
  expect_bound_soon("next");
  expect_at_work();
}

TEST_F(BridgeCluster, ATokenThatIsRefusedIsLookedForAtOnce) {
  set_scene();
  // The new token is there for three seconds, four times: the looks that have no reason, ten
  // seconds apart, miss some of them.
  for (const char* const key : {"second", "third", "fourth", "fifth"}) {
    world.slurm.set_key(Secret(key));
    change_secret(token(key));
    world.pass(seconds(3));
    change_secret("no token");
    world.pass(milliseconds(11500));
  }
  expect_bound_soon("next");
  expect_at_work();
}

using BridgeClusterAtScale = BridgeCluster;

TEST_F(BridgeClusterAtScale, WhatWasGoodIsUsedOnWhileSecretAndClusterAreAway) {
  set_scene();
  remove(kSecret);
  world.pass(seconds(12));
  EXPECT_THAT(health(), AllOf(HasSubstr("[!]slurm cluster"), HasSubstr("of before are used on")));
  EXPECT_NE(told("SecretMissing"), "");
  expect_bound_soon("without-secret");
  remove(kCluster);
  world.pass(seconds(2));
  EXPECT_THAT(health(), HasSubstr("is not there (clusters.slinky.slurm.net)"));
  world.pass(minutes(30));
  expect_bound_soon("without-cluster");
  expect_at_work();
  put_cluster();
  put_secret(token("first"));
  world.pass(seconds(12));
  EXPECT_THAT(health(), HasSubstr("[+]slurm cluster ok"));
  expect_at_work();
}

TEST_F(BridgeClusterAtScale, NothingEndsThoughTheTokenIsRefusedAndTheSecretAway) {
  set_scene();
  remove(kSecret);
  world.slurm.set_key(Secret("second"));
  put_pod("waits");
  world.pass(minutes(30));
  expect_at_work();
  EXPECT_EQ(node_of("waits"), "");
  put_secret(token("second"));
  world.pass(minutes(2));
  EXPECT_NE(node_of("waits"), "") << world.safety.account();
  expect_at_work();
}

TEST_F(BridgeCluster, ABridgeThatStartsWithoutThemEndsNothing) {
  set_scene();
  remove(kSecret);
  remove(kCluster);
  world.kill();
  world.pass(seconds(5));
  world.start();
  put_pod("waits");
  world.pass(minutes(30));
  expect_at_work();
  EXPECT_EQ(node_of("waits"), "");
  EXPECT_THAT(health(), HasSubstr("cannot be asked yet"));
  put_cluster();
  put_secret(token("first"));
  world.pass(minutes(2));
  EXPECT_NE(node_of("waits"), "") << world.safety.account();
  expect_at_work();
}

TEST_F(BridgeCluster, FollowsSlurmToAnotherAddress) {
  set_scene();
  change_server("not a URL");
  world.pass(seconds(2));
  EXPECT_THAT(health(), HasSubstr("spec.server: not a URL"));
  EXPECT_NE(told("InvalidServer"), "");
  expect_bound_soon("while-it-is-wrong");
  world.slurm_door.only_host = "elsewhere";
  world.pass(minutes(5));
  expect_at_work();
  change_server("http://elsewhere:6820");
  world.pass(seconds(2));
  EXPECT_THAT(health(), HasSubstr("[+]slurm cluster ok"));
  expect_bound_soon("next");
  expect_at_work();
}

TEST_F(BridgeClusterAtScale, AtRestItWritesNothing) {
  set_scene();
  world.pass(minutes(2));
  const int before = world.safety.writes;
  world.pass(minutes(10));
  EXPECT_EQ(world.safety.writes, before) << world.safety.account();
}

TEST_F(BridgeCluster, ASecretThatMayNotBeReadIsToldAndHarmsNothing) {
  set_scene();
  world.kube_door.close(http::Method::kGet, "/secrets/campus-token", 403);
  world.pass(seconds(12));
  EXPECT_THAT(health(), AllOf(HasSubstr("[!]slurm cluster"), HasSubstr("cannot be read")));
  EXPECT_NE(told("SecretUnreadable"), "");
  expect_bound_soon("next");
  expect_at_work();
  world.kube_door.open_again();
  world.pass(seconds(12));
  EXPECT_THAT(health(), HasSubstr("[+]slurm cluster ok"));
}

}  // namespace
}  // namespace mainspring::sim
