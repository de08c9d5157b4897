// How our kinds are read, and what is derived from them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/controller.h"
#include "api/names.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"

namespace mainspring::api {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class Kind>
Kind read_kind(std::string_view text) {
  json::Reader reader;
  auto out = json::decode<Kind>(reader, text);
  EXPECT_TRUE(out) << out.error().message();
  return out ? *out : Kind{};
}

NodeSet nodeset(std::string_view spec) {
  return read_kind<NodeSet>(R"({"metadata":{"name":"gpu","namespace":"slurm"},"spec":)" +
                            std::string(spec) + "}");
}
Controller controller(std::string_view spec) {
  return read_kind<Controller>(R"({"metadata":{"name":"main","namespace":"slurm"},"spec":)" +
                               std::string(spec) + "}");
}
Token token(std::string_view spec) {
  return read_kind<Token>(R"({"metadata":{"name":"t","namespace":"slurm"},"spec":)" +
                          std::string(spec) + "}");
}

TEST(Controller, IsCalledByItsNamespaceAndNameUnlessTold) {
  EXPECT_EQ(controller("{}").cluster_name(), "slurm_main");
  EXPECT_EQ(controller(R"({"clusterName":"mars"})").cluster_name(), "mars");
}

TEST(Controller, RunsOneSlurmctldAndItsBackups) {
  EXPECT_EQ(controller("{}").replicas(), 1);
  EXPECT_EQ(controller(R"({"ha":{"enabled":false,"backups":3}})").replicas(), 1);
  EXPECT_EQ(controller(R"({"ha":{"enabled":true}})").replicas(), 2);
  EXPECT_EQ(controller(R"({"ha":{"enabled":true,"backups":2}})").replicas(), 3);
  EXPECT_EQ(controller(R"({"ha":{"enabled":true,"backups":2147483647}})").replicas(), 1001);
  EXPECT_EQ(controller(R"({"external":true,"ha":{"enabled":true}})").replicas(), 0);
}

TEST(Controller, NamesEachConfigMapOnce) {
  EXPECT_THAT(controller(R"({
    "configFileRefs":[{"name":"b"},{"name":"a"},{"name":""}],
    "prologScriptRefs":[{"name":"b"}], "epilogScriptRefs":[{"name":"c"}],
    "prologSlurmctldScriptRefs":[{"name":"d"}], "epilogSlurmctldScriptRefs":[{"name":"e"}]})")
                  .config_map_names(),
              ElementsAre("a", "b", "c", "d", "e"));
}

TEST(Controller, KeepsTheClaimAsWritten) {
  const auto kept = controller(R"({"persistence":{"existingClaim":"state","volumeMode":"Block"}})");
  ASSERT_TRUE(kept.spec.persistence);
  EXPECT_TRUE(kept.spec.persistence->enabled);
  EXPECT_EQ(kept.spec.persistence->existing_claim, "state");
  EXPECT_EQ(*kept.spec.persistence->claim.find("volumeMode"), json::Value("Block"));
  EXPECT_FALSE(controller(R"({"persistence":{"enabled":false}})").spec.persistence->enabled);
  EXPECT_FALSE(controller("{}").spec.persistence);
}

TEST(NodeSet, IsCalledInSlurmByTheFirstPartOfItsHostname) {
  const auto name = [](std::string_view hostname) {
    return nodeset(R"({"template":{"spec":{"hostname":")" + std::string(hostname) + R"("}}})")
        .slurm_name();
  };
  EXPECT_EQ(nodeset("{}").slurm_name(), "gpu");
  EXPECT_EQ(name("a100-"), "a100");
  EXPECT_EQ(name("-a-b-."), "a-b");
  EXPECT_EQ(name("rack.cold"), "rack");
  EXPECT_EQ(name("one two"), "one");
  EXPECT_EQ(name("--"), "gpu");
  EXPECT_EQ(nodeset(R"({"template":{"spec":{"hostname":5}}})").slurm_name(), "gpu");
}

TEST(NodeSet, RoundsPercentagesUp) {
  EXPECT_EQ((IntOrPercent{25, true}.of(10)), 3);
  EXPECT_EQ((IntOrPercent{25, true}.of(0)), 0);
  EXPECT_EQ((IntOrPercent{3, false}.of(10)), 3);
  EXPECT_EQ((IntOrPercent{2147483647, true}.of(2147483647)), 2147483647);
  EXPECT_EQ((IntOrPercent{-3, false}.of(10)), 0);
}

TEST(NodeSet, ReadsHowManyMayBeAwayInEveryWayTheyAreWritten) {
  const auto read = [](std::string_view text) {
    return nodeset(R"({"updateStrategy":{"rollingUpdate":{"maxUnavailable":)" + std::string(text) +
                   "}}}")
        .spec.max_unavailable;
  };
  EXPECT_EQ(read("3"), (IntOrPercent{3, false}));
  EXPECT_EQ(read("\"3\""), (IntOrPercent{3, false}));
  EXPECT_EQ(read("\"40%\""), (IntOrPercent{40, true}));
  EXPECT_EQ(read("null"), (IntOrPercent{25, true}));
}

// One such object must not stop the watch of all others.
TEST(NodeSet, IsReadWhateverTheSchemaLetsThrough) {
  const auto odd = nodeset(R"({
    "ordinalPadding": -1, "volumeClaimTemplates": "none",
    "deletion": {"deadline": "99999999999h"},
    "updateStrategy": {"type": "Later", "rollingUpdate": {"maxUnavailable": "lots"},
                       "scheduledUpdate": {"startTime": "2026-11-16T10:00:00+99:99"}}})");
  EXPECT_EQ(odd.spec.ordinal_padding, 0);
  EXPECT_THAT(odd.spec.volume_claim_templates, SizeIs(1));
  EXPECT_EQ(odd.spec.deletion_deadline, Duration{});
  EXPECT_EQ(odd.spec.update_type, UpdateType::kOnDelete);
  EXPECT_EQ(odd.spec.max_unavailable, (IntOrPercent{0, false}));
  EXPECT_FALSE(odd.spec.scheduled_update->start_time);

  const auto port =
      read_kind<RestApi>(R"({"spec":{"service":{"port":9999999999,"nodePort":-9999999999}}})");
  EXPECT_EQ(port.spec.service.port, 2147483647);
  EXPECT_LT(port.spec.service.node_port, 0);
  EXPECT_EQ(token(R"({"lifetime":"a while"})").spec.lifetime, Duration{});
}

TEST(NodeSet, HasTheDefaultsOfTheSchema) {
  const NodeSetSpec spec = nodeset("{}").spec;
  EXPECT_EQ(spec.replicas, 1);
  EXPECT_EQ(spec.scaling_mode, ScalingMode::kStatefulSet);
  EXPECT_EQ(to_string(spec.scaling_mode), "StatefulSet");
  EXPECT_EQ(to_string(ScalingMode::kDaemonSet), "DaemonSet");
  EXPECT_EQ(spec.update_type, UpdateType::kRollingUpdate);
  EXPECT_TRUE(spec.workload_disruption_protection);
  EXPECT_EQ(spec.deletion_policy, DeletionPolicy::kDrain);
  EXPECT_THAT(nodeset(R"({"volumeClaimTemplates":null})").spec.volume_claim_templates, IsEmpty());
}

TEST(NodeSet, WaitsForJobsAsLongAsItsDeadlineSays) {
  const auto spec = nodeset(R"({"deletion":{"policy":"Immediate","deadline":"1h30m"}})").spec;
  EXPECT_EQ(spec.deletion_policy, DeletionPolicy::kImmediate);
  EXPECT_EQ(spec.deletion_deadline, minutes(90));
}

TEST(Token, IsKeptInASecretNamedAfterTheUser) {
  EXPECT_EQ(token(R"({"username":"alice"})").secret(), (KeyRef{"t-jwt-alice", "SLURM_JWT", false}));
  EXPECT_EQ(token(R"({"username":"alice","secretRef":{"name":"mine","key":"jwt"}})").secret(),
            (KeyRef{"mine", "jwt", false}));
  EXPECT_EQ(token(R"({"username":"alice","lifetime":"1h"})").spec.lifetime, hours(1));
  EXPECT_EQ(token(R"({"username":"alice"})").spec.lifetime, minutes(15));
}

TEST(Names, AreThoseThatUsersKnow) {
  EXPECT_EQ(controller_name("x"), "x-controller");
  EXPECT_EQ(controller_internal_name("x"), "x-controller-internal");
  EXPECT_EQ(controller_config_name("x"), "x-config");
  EXPECT_EQ(accounting_name("x"), "x-accounting");
  EXPECT_EQ(restapi_name("x"), "x-restapi");
  EXPECT_EQ(ssh_config_name("x"), "x-ssh-config");
  EXPECT_EQ(ssh_host_keys_name("x"), "x-ssh-host-keys");
  EXPECT_EQ(workers_service_name("x"), "slurm-workers-x");
  EXPECT_EQ(workers_pdb_name("x"), "slurm-workers-pdb-x");
  EXPECT_EQ(json::to_text(object_labels("slurmd", "worker", "gpu")),
            R"({"app.kubernetes.io/name":"slurmd","app.kubernetes.io/instance":"gpu",)"
            R"("app.kubernetes.io/component":"worker"})");
}

}  // namespace
}  // namespace mainspring::api
