// bridge/config_test.cc
#include "bridge/config.h"

#include <gmock/gmock.h>

#include <string>

namespace mainspring::bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kUrl = "slurmRestApi: http://slurm-restapi.slurm:6820\n";

BridgeConfig read(const std::string& yaml) {
  auto config = parse_bridge_config(std::string(kUrl) + yaml);
  EXPECT_TRUE(config) << config.error().to_string();
  return config ? *std::move(config) : BridgeConfig();
}

std::string refusal(const std::string& yaml) {
  const auto config = parse_bridge_config(std::string(kUrl) + yaml);
  EXPECT_FALSE(config) << yaml;
  if (config) return "";
  EXPECT_EQ(config.error().code(), Code::kInvalid);
  return config.error().to_string();
}

TEST(BridgeConfig, ReadsWhatSlurmBridgeHas) {
  const auto config = parse_bridge_config(R"(
schedulerName: slurm-bridge-scheduler
slurmRestApi: http://slurm-restapi.slurm:6820
managedNamespaces:
  - slurm-bridge
  - research
mcsLabel: kubernetes
partition: gpu
)");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->scheduler_name, "slurm-bridge-scheduler");
  EXPECT_EQ(config->slurm_rest_api, "http://slurm-restapi.slurm:6820");
  EXPECT_THAT(config->managed_namespaces, ElementsAre("slurm-bridge", "research"));
  EXPECT_FALSE(config->managed_namespace_selector);
  EXPECT_EQ(config->mcs_label, "kubernetes");
  EXPECT_EQ(config->partition, "gpu");
}

TEST(BridgeConfig, HasDefaultsForAllButTheServer) {
  const BridgeConfig config = read("");
  EXPECT_EQ(config.scheduler_name, "slurm-bridge-scheduler");
  EXPECT_EQ(config.partition, "slurm-bridge");
  EXPECT_EQ(config.mcs_label, "");
  EXPECT_TRUE(config.exclusive_by_default);
  EXPECT_TRUE(config.taint_nodes);
  EXPECT_FALSE(config.cordon_nodes);

  const auto without = parse_bridge_config("partition: gpu");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().to_string(), HasSubstr("slurmRestApi is missing"));
}

TEST(BridgeConfig, AClusterMayTakeTheServersPlace) {
  const auto config = parse_bridge_config("slurmCluster: {namespace: slurm, name: campus.a}");
  ASSERT_TRUE(config) << config.error().to_string();
  EXPECT_EQ(config->slurm_cluster, ObjectKey("slurm", "campus.a"));
  EXPECT_EQ(config->slurm_rest_api, "");
  EXPECT_FALSE(read("slurmCluster:").slurm_cluster);
}

TEST(BridgeConfig, WhereSlurmIsIsSaidOnce) {
  EXPECT_THAT(refusal("slurmCluster: {namespace: slurm, name: campus}"),
              AllOf(HasSubstr("slurmRestApi is"), HasSubstr("slurm-restapi.slurm"),
                    HasSubstr("slurm/campus"), HasSubstr("expected one of the two")));
  const auto neither = parse_bridge_config("slurmRestApi:\nslurmCluster:\n");
  ASSERT_FALSE(neither);
  EXPECT_THAT(neither.error().to_string(),
              AllOf(HasSubstr("slurmRestApi is missing"), HasSubstr("slurmCluster")));
}

TEST(BridgeConfig, AClusterHasANamespaceAndAName) {
  const auto wrong = [](const std::string& value) {
    const auto config = parse_bridge_config("slurmCluster: " + value);
    EXPECT_FALSE(config) << value;
    return config ? "" : config.error().to_string();
  };
  for (const char* const value :
       {"campus", "[campus]", "{}", "{name: campus}", "{namespace: slurm}"}) {
    EXPECT_THAT(wrong(value),
                AllOf(HasSubstr("slurmCluster is"), HasSubstr("namespace and name of a Cluster")));
  }
  EXPECT_THAT(wrong("{namespace: 'a/b', name: c}"), HasSubstr("slurmCluster.namespace is"));
  EXPECT_THAT(wrong("{namespace: '', name: c}"), HasSubstr("slurmCluster.namespace is"));
  EXPECT_THAT(wrong("{namespace: a, name: 'b c'}"), HasSubstr("slurmCluster.name is"));
  EXPECT_THAT(wrong("{namespace: a, name: c, secret: s}"),
              AllOf(HasSubstr("slurmCluster.secret"), HasSubstr("there are namespace, name")));
}

TEST(BridgeConfig, AKeyWithoutAValueIsNotSet) {
  EXPECT_EQ(read("partition:\nmanagedNamespaces:\nmanagedNamespaceSelector:\n").partition,
            "slurm-bridge");
}

TEST(BridgeConfig, ReadsASelectorOfNamespaces) {
  const BridgeConfig config = read("managedNamespaceSelector: {matchLabels: {slurm: 'yes'}}");
  ASSERT_TRUE(config.managed_namespace_selector);
  EXPECT_EQ(config.managed_namespace_selector->to_string(), "slurm=yes");
}

TEST(BridgeConfig, ASelectorThatTakesTheWholeClusterIsAMistake) {
  EXPECT_THAT(refusal("managedNamespaceSelector: {}"), HasSubstr("kube-system"));
  EXPECT_THAT(refusal("managedNamespaceSelector: {matchLabel: {a: b}}"),
              HasSubstr("expected matchLabels or matchExpressions"));
  EXPECT_THAT(refusal("managedNamespaceSelector: {matchExpressions: [{key: a, operator: Near}]}"),
              HasSubstr("managedNamespaceSelector"));
}

TEST(BridgeConfig, ReadsOurOwnKeys) {
  const BridgeConfig config = read(R"(
exclusiveByDefault: false
taintNodes: false
cordonNodes: true
identities:
  physics: {user: ann, group: 1000, account: phys, qos: high, partition: big}
  "*": {user: 65534}
priorityClasses:
  urgent: {qos: urgent, priority: 9000}
)");
  EXPECT_FALSE(config.exclusive_by_default);
  EXPECT_FALSE(config.taint_nodes);
  EXPECT_TRUE(config.cordon_nodes);
  EXPECT_EQ(config.identity_of("physics"), (Identity{"ann", "1000", "phys", "high", "big"}));
  EXPECT_EQ(config.priority_classes.at("urgent"), (SlurmPriority{"urgent", 9000}));
}

TEST(BridgeConfig, ANamespaceWithoutAnIdentityHasThatOfAllOthers) {
  const BridgeConfig config = read(R"(identities: {a: {account: one}, "*": {user: nobody}})");
  EXPECT_EQ(config.identity_of("a"), (Identity{.account = "one"}));
  EXPECT_EQ(config.identity_of("b"), (Identity{.user = "nobody"}));
  EXPECT_EQ(read("identities: {a: {account: one}}").identity_of("b"), Identity());
}

TEST(BridgeConfig, AMistakeIsNamedWithItsValueAndWhatIsExpected) {
  EXPECT_THAT(refusal("partitoin: gpu"), AllOf(HasSubstr("partitoin"), HasSubstr("partition,")));
  EXPECT_THAT(refusal("partition: 5"), AllOf(HasSubstr("partition is"), HasSubstr("5"),
                                             HasSubstr("expected the name of a partition")));
  EXPECT_THAT(refusal("managedNamespaces: research"), HasSubstr("a list of namespaces"));
  EXPECT_THAT(refusal("managedNamespaces: [A_b]"), HasSubstr("A_b"));
  EXPECT_THAT(refusal("taintNodes: maybe"), HasSubstr("true or false"));
  EXPECT_THAT(refusal("identities: {a: {usr: ann}}"), HasSubstr("identities.a.usr"));
  EXPECT_THAT(refusal("identities: {A_b: {user: ann}}"), HasSubstr("A_b"));
  EXPECT_THAT(refusal("identities: {a: {user: ''}}"), HasSubstr("identities.a.user"));
  EXPECT_THAT(refusal("priorityClasses: {a: {priority: 0}}"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("priorityClasses: {a: {priority: 4294967294}}"), HasSubstr("from 1 to"));
  EXPECT_THAT(refusal("schedulerName: [a"), HasSubstr("line"));
  EXPECT_FALSE(parse_bridge_config("slurmRestApi: slurm-restapi:6820"));
  EXPECT_FALSE(parse_bridge_config("- a"));
  EXPECT_FALSE(parse_bridge_config(""));
}

TEST(BridgeConfig, TheClustersOwnSchedulerIsNotOurs) {
  EXPECT_THAT(refusal("schedulerName: default-scheduler"), HasSubstr("a name of its own"));
  EXPECT_THAT(refusal("schedulerName: Not A Name"), HasSubstr("Not A Name"));
}

TEST(BridgeConfig, AFileThatCannotBeReadIsNamed) {
  const auto config = read_bridge_config("/no/such/file.yaml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code(), Code::kNotFound);
  EXPECT_THAT(config.error().to_string(), HasSubstr("/no/such/file.yaml"));
}

TEST(BridgeConfig, DeviceClassesAreAddedToThoseThatAreKnown) {
  const BridgeConfig config = read(R"(
deviceClasses:
  mig.example.com: {driver: gpu.example.com, prefix: mig-}
  nic.example.com: {attribute: index}
)");
  EXPECT_EQ(config.device_classes.size(), 4U);
  EXPECT_EQ(config.device_classes.at("mig.example.com"),
            (DeviceClassRule{"gpu.example.com", "mig-", ""}));
  EXPECT_EQ(config.device_classes.at("nic.example.com"),
            (DeviceClassRule{"nic.example.com", "", "index"}));
  EXPECT_THAT(refusal("deviceClasses: {x.example.com: {driver: x}}"),
              HasSubstr("either prefix or attribute"));
  EXPECT_THAT(refusal("deviceClasses: {dra.cpu: {prefix: cpu}}"), HasSubstr("other than dra.cpu"));
  EXPECT_THAT(refusal("deviceClasses: {x.example.com: {index: x}}"), HasSubstr("no such key"));
}

}  // namespace
}  // namespace mainspring::bridge
