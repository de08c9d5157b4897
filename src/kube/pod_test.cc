#include "kube/pod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "base/rfc3339.h"

namespace mainspring::kube {
namespace {

using testing::ElementsAre;
using testing::Field;

std::string recorded(const std::string& name) {
  std::ifstream file(MAINSPRING_TEST_DATA "/kube/" + name + ".json");
  EXPECT_TRUE(file) << name;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <class T>
T from(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(T());
}

TEST(Pod, FromTheApiServerKeepsWhatWeRead) {
  const Pod pod = from<Pod>(recorded("pod"));
  EXPECT_EQ(pod.meta.controller()->kind, "ReplicaSet");
  EXPECT_EQ(pod.node_name, "gpu-node-17");
  EXPECT_EQ(pod.spec->scheduler_name, "default-scheduler");
  EXPECT_EQ(pod.spec->priority, 0);
  EXPECT_TRUE(pod.spec->preempts);
  EXPECT_EQ(pod.spec->tolerations.size(), 2U);
  EXPECT_EQ(pod.spec->tolerations[0].seconds, 300);
  ASSERT_EQ(pod.spec->containers.size(), 1U);
  const Container& trainer = pod.spec->containers[0];
  EXPECT_EQ(trainer.image, "registry.example.com/ml/llm-train:2026.11.3");
  EXPECT_EQ(trainer.limits.amount("nvidia.com/gpu"), Quantity::of_units(1));
  EXPECT_THAT(trainer.ports, ElementsAre(Field(&ContainerPort::port, 9090)));
  EXPECT_EQ(pod.spec->volumes[0].source, "train-config");
  EXPECT_EQ(pod.spec->volumes[1].claim_name(pod.meta.name), "train-data");

  EXPECT_EQ(pod.status.phase, PodPhase::kRunning);
  EXPECT_TRUE(pod.ready());
  EXPECT_FALSE(pod.terminal());
  EXPECT_EQ(find_condition(pod.status.conditions, "Ready")->transition,
            *parse_rfc3339("2026-11-15T09:00:15Z"));
  EXPECT_EQ(pod.status.started, *parse_rfc3339("2026-11-15T09:00:01Z"));
  ASSERT_EQ(pod.status.containers.size(), 1U);
  const ContainerStatus& status = pod.status.containers[0];
  EXPECT_EQ(status.state, ContainerState::kRunning);
  EXPECT_EQ(status.restarts, 1);
  EXPECT_TRUE(status.ready && status.started && status.has_id);
  EXPECT_EQ(pod.status.pod_ip, "10.244.17.23");
}

TEST(Pod, EqualsItselfDecodedAgainAndNotOneThatChanged) {
  std::string text = recorded("pod");
  const Pod pod = from<Pod>(text);
  EXPECT_EQ(pod, from<Pod>(text));
  const Pod copy = pod;
  EXPECT_EQ(copy, pod);
  text.replace(text.find("\"restartCount\":1"), 16, "\"restartCount\":2");
  EXPECT_NE(pod, from<Pod>(text));
}

TEST(Pod, TakesLessThanASixthOfItsTextInMemory) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "sanitizers have an allocator of their own, which keeps no such account";
#endif
#endif
  const std::string text = recorded("pod");
  json::Reader reader;
  constexpr std::size_t kPods = 500;
  std::vector<std::shared_ptr<const Pod>> pods(kPods);
  reader.open(text);  // The reader's own buffers are not the pods'.
  const std::size_t before = mallinfo2().uordblks;
  for (auto& pod : pods) {
    reader.open(text);
    json::read(reader, pod);
    ASSERT_TRUE(reader.finish());
  }
  const std::size_t each = (mallinfo2().uordblks - before) / kPods;
  RecordProperty("bytes", static_cast<int>(each));
  EXPECT_LT(each, text.size() / 6) << "sizeof(Pod) is " << sizeof(Pod);
}

TEST(Pod, KeepsTheRarePartsToo) {
  const PodSpec spec = from<PodSpec>(R"({
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]}},
      "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}, "podAffinity": {}},
    "nodeSelector": {"pool": "gpu"},
    "resourceClaims": [{"name": "g", "resourceClaimTemplateName": "two"}],
    "schedulingGates": [{"name": "wait"}],
    "schedulingGroup": {"podGroupName": "ring"},
    "workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "3"},
    "topologySpreadConstraints": [{"maxSkew": 1}],
    "tolerations": [{"operator": "Exists"}],
    "priority": 7, "preemptionPolicy": "Never", "hostNetwork": true, "restartPolicy": "Never",
    "terminationGracePeriodSeconds": 5, "activeDeadlineSeconds": 60,
    "overhead": {"cpu": "1"}, "resources": {"limits": {"cpu": "2"}},
    "containers": [{"name": "c", "resources": {"claims": [{"name": "g", "request": "r"}]}}],
    "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}],
    "volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}},
                {"name": "tmp", "emptyDir": {}},
                {"name": "key", "secret": {"secretName": "k", "optional": true}},
                {"name": "all", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}},
                   {"configMap": {"name": "kube-root-ca.crt"}}, {"secret": {"name": "s"}}]}}]})");
  EXPECT_TRUE(spec.affinity->has_pod_anti_affinity);
  EXPECT_FALSE(spec.affinity->has_pod_affinity);
  EXPECT_TRUE(spec.selects(from<Meta>(R"({"name":"n","labels":{"pool":"gpu","rack":"1"}})")));
  EXPECT_FALSE(spec.selects(from<Meta>(R"({"name":"n","labels":{"pool":"gpu"}})")));
  EXPECT_FALSE(spec.selects(from<Meta>(R"({"name":"n","labels":{"rack":"1"}})")));
  EXPECT_EQ(spec.resource_claims[0].claim_template, "two");
  EXPECT_THAT(spec.scheduling_gates, ElementsAre(Text("wait")));
  EXPECT_EQ(*spec.group, (SchedulingGroup{"ring", "w", "g", "3"}));
  EXPECT_TRUE(spec.has_topology_spread);
  EXPECT_EQ(spec.tolerations.size(), 1U);
  EXPECT_EQ(spec.priority, 7);
  EXPECT_FALSE(spec.preempts);
  EXPECT_TRUE(spec.host_network);
  EXPECT_EQ(spec.restart_policy, RestartPolicy::kNever);
  EXPECT_EQ(spec.grace_seconds, 5);
  EXPECT_EQ(spec.active_deadline_seconds, 60);
  EXPECT_TRUE(spec.overhead->contains("cpu"));
  EXPECT_TRUE(spec.resources->limits.contains("cpu"));
  EXPECT_EQ((*spec.containers[0].claims)[0], (ContainerClaim{"g", "r"}));
  EXPECT_TRUE(spec.init_containers[0].sidecar);
  EXPECT_FALSE(spec.init_containers[1].sidecar);
  using Kind = Volume::Kind;
  EXPECT_THAT(spec.volumes, ElementsAre(Volume{"scratch", "", Kind::kEphemeralClaim},
                                        Volume{"tmp", ""}, Volume{"key", "k", Kind::kSecret, true},
                                        Volume{"all", "kube-root-ca.crt", Kind::kConfigMap},
                                        Volume{"all", "s", Kind::kSecret}));
  EXPECT_EQ(spec.volumes[0].claim_name("pod"), "pod-scratch");
}

TEST(Pod, RefusesARepeatedKeyOfItsSpec) {
  json::Reader reader;
  EXPECT_FALSE(json::decode<PodSpec>(reader, R"({"nodeName":"a","nodeName":"b"})"));
}

TEST(PodStatus, TellsHowAContainerEnded) {
  const auto status = from<PodStatus>(R"({"phase": "Failed", "podIP": "10.0.0.1",
    "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}],
    "containerStatuses": [
      {"name": "a", "state": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}},
      {"name": "b", "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}},
      {"name": "c", "containerID": "", "state": {"running": null}}],
    "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "pod-g-x"}],
    "extendedResourceClaimStatus": {"resourceClaimName": "pod-ext"}, "observedGeneration": 4})");
  EXPECT_EQ(status.containers[0].state, ContainerState::kTerminated);
  EXPECT_EQ(status.containers[0].exit_code, 137);
  EXPECT_EQ(status.containers[0].reason, "OOMKilled");
  EXPECT_EQ(status.containers[1].state, ContainerState::kWaiting);
  EXPECT_EQ(status.containers[1].message, "back-off");
  EXPECT_EQ(status.containers[2].state, ContainerState::kNone);
  EXPECT_FALSE(status.containers[2].has_id);
  EXPECT_EQ(status.second_pod_ip, "fd00::1");
  EXPECT_EQ(status.resource_claims[0].claim, "pod-g-x");
  EXPECT_EQ(status.extended_resource_claim, "pod-ext");
  EXPECT_EQ(status.observed_generation, 4);
  EXPECT_EQ(status.phase, PodPhase::kFailed);
}

TEST(PodStatus, OfAPhaseFromANewerApiIsNoneOfOurs) {
  EXPECT_EQ(from<PodStatus>(R"({"phase": "Dreaming"})").phase, PodPhase::kNone);
}

TEST(Pod, OfOneTemplateShareWhatTheyHaveInCommon) {
  const auto pod = [](const std::string& name) {
    json::Reader reader;
    return json::decode<Pod>(
        reader, R"({"metadata":{"name":")" + name +
                    R"(","labels":{"app":"a"}},"spec":{"nodeName":"node-of-)" + name +
                    R"(","hostname":")" + name + R"(","containers":[{"name":"c","image":"i"}],
      "volumes":[{"name":"conf","configMap":{"name":"x"}},
                 {"name":"kube-api-access-)" +
                    name + R"(","projected":{"sources":[{"configMap":{"name":"ca"}}]}}]}})");
  };
  const auto one = pod("one");
  const auto two = pod("two");
  ASSERT_TRUE(one && two);
  EXPECT_EQ(&*one->spec, &*two->spec);
  EXPECT_EQ(one->meta.labels.find("app")->data(), two->meta.labels.find("app")->data());
  // Without the token that the API server puts into each under another name.
  ASSERT_EQ(one->spec->volumes.size(), 1U);
  EXPECT_EQ(two->node_name, "node-of-two");
  EXPECT_EQ(two->hostname, "two");
}

TEST(Pod, SharesItsSpecWithItsEarlierVersion) {
  const std::string text = recorded("pod");
  const Pod earlier = from<Pod>(text);
  for (int i = 0; i < 8; ++i) {
    from<Pod>(R"({"spec":{"schedulerName":"of-another-template-)" + std::to_string(i) + "\"}}");
  }
  Pod pod = from<Pod>(text);
  EXPECT_NE(&*pod.spec, &*earlier.spec);
  pod.share_with(earlier);
  EXPECT_EQ(&*pod.spec, &*earlier.spec);

  Pod moved = from<Pod>(R"({"spec":{"schedulerName":"another"}})");
  moved.share_with(earlier);
  EXPECT_EQ(moved.spec->scheduler_name, "another");
}

}  // namespace
}  // namespace mainspring::kube
