// How a user's wishes lie over ours, and what becomes of labels and hashes.
#include "operator/build/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/yaml.h"
#include "operator/build/conf_text.h"
#include "operator/build/metadata.h"
#include "operator/build/sidecars.h"

namespace mainspring::op::build {
namespace {

using json::Value;
using testing::HasSubstr;

Value yaml(std::string_view text) {
  auto value = json::parse_yaml(text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(Value());
}

Value container(std::string_view ours, std::string_view users) {
  auto merged = merge_container(yaml(ours), yaml(users));
  EXPECT_TRUE(merged) << merged.error().to_string();
  return merged.value_or(Value());
}

Value pod(std::string_view ours, std::string_view users) {
  auto merged = merge_pod_spec(yaml(ours), yaml(users));
  EXPECT_TRUE(merged) << merged.error().to_string();
  return merged.value_or(Value());
}

TEST(MergeContainer, TakesAnExplicitFalseOrZeroForAnAnswer) {
  EXPECT_EQ(container("{securityContext: {privileged: true, runAsUser: 401}}",
                      "{securityContext: {privileged: false, runAsUser: 0}}"),
            yaml("{securityContext: {privileged: false, runAsUser: 0}}"));
}

TEST(MergeContainer, TakesNullAndEmptyObjectsForSilence) {
  const char* ours = "{name: a, command: [run], securityContext: {runAsUser: 401}}";
  EXPECT_EQ(container(ours, "{command: null, securityContext: {}, lifecycle: {preStop: null}}"),
            yaml(ours));
  EXPECT_EQ(container(ours, "null"), yaml(ours));
}

TEST(MergeContainer, JoinsArgsAndReplacesTheCommand) {
  EXPECT_EQ(container("{command: [a], args: [-Z]}", "{command: [b], args: [-v, -v]}"),
            yaml("{command: [b], args: [-Z, -v, -v]}"));
  EXPECT_EQ(container("{name: a}", "{args: []}"), yaml("{name: a}"));
}

TEST(MergeContainer, MergesListsByTheirKeys) {
  EXPECT_EQ(container("{env: [{name: A, value: ours}, {name: B, value: ours}]}",
                      "{env: [{name: B, value: users}]}"),
            yaml("{env: [{name: A, value: ours}, {name: B, value: users}]}"));
}

TEST(MergeContainer, KeepsTheProbeOfWhoeverOnlyWantsMorePatience) {
  EXPECT_EQ(container("{livenessProbe: {httpGet: {path: /livez, port: p}, periodSeconds: 10}}",
                      "{livenessProbe: {periodSeconds: 60}}"),
            yaml("{livenessProbe: {httpGet: {path: /livez, port: p}, periodSeconds: 60}}"));
}

TEST(MergeContainer, NeverLeavesAProbeOrHookWithTwoHandlers) {
  EXPECT_EQ(container("{livenessProbe: {httpGet: {path: /livez, port: p}, periodSeconds: 10}}",
                      "{livenessProbe: {exec: {command: [t]}}}"),
            yaml("{livenessProbe: {exec: {command: [t]}, periodSeconds: 10}}"));
  EXPECT_EQ(container("{lifecycle: {preStop: {exec: {command: [down]}}}}",
                      "{lifecycle: {preStop: {sleep: {seconds: 5}}}}"),
            yaml("{lifecycle: {preStop: {sleep: {seconds: 5}}}}"));
}

TEST(MergePodSpec, AppendsContainersAndReplacesAtomicLists) {
  EXPECT_EQ(pod("{containers: [{name: a}], tolerations: [{key: ours}], volumes: [{name: v}]}",
                "{containers: [{name: b}], initContainers: [{name: i}], tolerations: [{key: t}],"
                " volumes: [{name: w, emptyDir: {}}]}"),
            yaml("{containers: [{name: a}, {name: b}], initContainers: [{name: i}],"
                 " tolerations: [{key: t}], volumes: [{name: w, emptyDir: {}}, {name: v}]}"));
}

TEST(MergePodSpec, RefusesASecondContainerOfOurName) {
  const auto merged = merge_pod_spec(yaml("{containers: [{name: slurmd}]}"),
                                     yaml("{containers: [{name: slurmd}]}"));
  ASSERT_FALSE(merged);
  EXPECT_THAT(merged.error().message(), HasSubstr("\"slurmd\""));
}

Result<Value> service(std::string_view users, bool headless = false) {
  return build_service({.name = "s",
                        .ns = "n",
                        .labels = {},
                        .annotations = {},
                        .selector = yaml("{app: ours}"),
                        .ports = {{.name = "slurmctld", .port = 6817, .target = "slurmctld"}},
                        .headless = headless},
                       yaml(users));
}

TEST(BuildService, AddsOurPortAndSelectorAndDrawsNoForeignTraffic) {
  const auto made = service(
      "{type: NodePort, selector: {app: theirs, x: y}, externalIPs: [192.0.2.1],"
      " ports: [{name: ssh, port: 22}]}");
  ASSERT_TRUE(made);
  EXPECT_EQ(*made->find("spec"),
            yaml("{type: NodePort, selector: {app: ours, x: y}, ports: [{name: ssh, port: 22},"
                 " {name: slurmctld, protocol: TCP, port: 6817, targetPort: slurmctld}]}"));
}

TEST(BuildService, IsHeadlessWhereAsked) {
  const auto made = service("null", true);
  ASSERT_TRUE(made);
  EXPECT_EQ(*made->at_pointer("/spec/clusterIP"), Value("None"));
  EXPECT_EQ(*made->at_pointer("/spec/publishNotReadyAddresses"), Value(true));
}

TEST(BuildService, RefusesPortsThatCollide) {
  EXPECT_FALSE(service("{ports: [{name: other, port: 6817}]}"));
  EXPECT_FALSE(service("{ports: [{name: slurmctld, port: 1}]}"));
}

TEST(HashOf, IsOfTheValuesInTheOrderOfTheirKeys) {
  EXPECT_EQ(hash_of(Labels{}), "");
  EXPECT_EQ(hash_of(Labels{{"a", ""}}), "");
  EXPECT_EQ(hash_of(Labels{{"b", "c"}, {"a", "ab"}}),  // sha256("abc")
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Metadata, NeverHandsOnWhatKubectlRemembers) {
  json::StringMap::Member members[] = {{"kubectl.kubernetes.io/last-applied-configuration", "{}"},
                                       {"a", "b"}};
  Labels labels = {{"a", "old"}};
  add(labels, json::StringMap(members));
  EXPECT_EQ(labels, (Labels{{"a", "b"}}));
}

TEST(ConfText, MergesOnlyKeysThatTheUserSetsAloneOnALine) {
  ConfText conf;
  conf.extra("AuthInfo=ttl=5 Other=x\nauthinfo=Ttl=5\n", {{"AuthInfo", {"use_client_ids"}}});
  EXPECT_THAT(conf.text(), HasSubstr("### MERGED CONFIG ###\nAuthInfo=ttl=5,use_client_ids\n"));
  ConfText none;
  none.extra("AuthType=a\n", {{"AuthInfo", {"use_client_ids"}}});
  EXPECT_THAT(none.text(), Not(HasSubstr("MERGED")));
}

TEST(Sidecars, LeaveOutTheScriptThatIsNotTheirs) {
  EXPECT_EQ(logfile_container("/x", Value(), Script::kTheirs)->find("command"), nullptr);
  EXPECT_NE(logfile_container("/x", Value())->find("command"), nullptr);
  EXPECT_EQ(*logfile_container("/x", yaml("{command: [c]}"), Script::kTheirs)->find("command"),
            yaml("[c]"));
}

}  // namespace
}  // namespace mainspring::op::build
