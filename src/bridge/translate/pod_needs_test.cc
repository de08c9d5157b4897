#include "bridge/translate/pod_needs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

kube::PodSpec spec(const std::string& members) {
  json::Reader reader;
  auto pod = json::decode<kube::Pod>(reader, R"({"spec":{)" + members + "}}");
  EXPECT_TRUE(pod) << pod.error().to_string();
  return pod ? *pod->spec : kube::PodSpec();
}

// One container with these resources: R"("requests":{"cpu":"1"})".
kube::PodSpec container(const std::string& resources) {
  return spec(R"("containers":[{"name":"c","resources":{)" + resources + "}}]");
}

PodNeeds needs(const kube::PodSpec& spec) {
  auto needs = needs_of(spec);
  EXPECT_TRUE(needs) << needs.error().to_string();
  return needs.value_or(PodNeeds());
}

std::string gres(const kube::PodSpec& spec, std::int64_t times = 1) {
  const auto text = to_gres(needs(spec).devices, times);
  return text ? *text : "error: " + text.error().to_string();
}

TEST(PodNeeds, OfAPodThatAsksForNothingAreNone) {
  EXPECT_EQ(needs(spec(R"("containers":[{"name":"c"}])")), PodNeeds());
}

TEST(PodNeeds, CpusAreWholeAndNeverFewerThanAskedFor) {
  EXPECT_EQ(needs(container(R"("requests":{"cpu":"100m"})")).cpus, 1);
  EXPECT_EQ(needs(container(R"("requests":{"cpu":"1001m"})")).cpus, 2);
  EXPECT_EQ(needs(container(R"("requests":{"cpu":"4"})")).cpus, 4);
}

TEST(PodNeeds, CpusOfSeveralContainersAreAddedBeforeTheyAreRounded) {
  EXPECT_EQ(needs(spec(R"("containers":[
      {"name":"a","resources":{"requests":{"cpu":"500m"}}},
      {"name":"b","resources":{"requests":{"cpu":"500m"}}}])"))
                .cpus,
            1);
}

TEST(PodNeeds, AreTheLimitsWhereThoseAreMore) {
  const PodNeeds burst = needs(
      container(R"("requests":{"cpu":"2","memory":"1Gi"},"limits":{"cpu":"8","memory":"4Gi"})"));
  EXPECT_EQ(burst.cpus, 8);
  EXPECT_EQ(burst.memory_mb, 4096);
  EXPECT_EQ(burst.requested_cpus, 2);
  EXPECT_EQ(burst.requested_memory_mb, 1024);
}

TEST(PodNeeds, MemoryIsNeverBelowWhatWasAskedForAndNeverAllOfTheNode) {
  EXPECT_EQ(needs(container(R"("requests":{"memory":"100Mi"})")).memory_mb, 100);
  EXPECT_EQ(needs(container(R"("requests":{"memory":"1G"})")).memory_mb, 954);
  EXPECT_EQ(needs(container(R"("requests":{"memory":"1"})")).memory_mb, 1);
}

TEST(PodNeeds, CountWhatRunsAtTheSameTime) {
  const PodNeeds pod = needs(spec(R"(
      "overhead":{"cpu":"1"},
      "initContainers":[
        {"name":"fetch","resources":{"requests":{"cpu":"6"}}},
        {"name":"proxy","restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}],
      "containers":[{"name":"c","resources":{"requests":{"cpu":"2"}}}])"));
  EXPECT_EQ(pod.cpus, 7);
}

TEST(PodNeeds, OfTheWholePodStandInForThoseOfItsContainers) {
  const PodNeeds pod = needs(spec(R"(
      "resources":{"requests":{"cpu":"3","memory":"2Gi"}},
      "containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}])"));
  EXPECT_EQ(pod.cpus, 3);
  EXPECT_EQ(pod.memory_mb, 2048);
}

TEST(PodNeeds, CpusOfDynamicResourceAllocationAreCpus) {
  const PodNeeds pod =
      needs(container(R"("requests":{"deviceclass.resource.kubernetes.io/dra.cpu":"2"})"));
  EXPECT_EQ(pod.cpus, 2);
  EXPECT_THAT(pod.devices, IsEmpty());
}

TEST(PodNeeds, GpusOfDevicePluginsAreCountedFromRequestsOrLimits) {
  EXPECT_EQ(gres(container(R"("limits":{"nvidia.com/gpu":"2"})")), "gres/gpu=2");
  EXPECT_EQ(gres(container(R"("requests":{"nvidia.com/gpu":"2"})")), "gres/gpu=2");
  EXPECT_EQ(gres(container(R"("limits":{"amd.com/gpu":"1"})")), "gres/gpu=1");
  EXPECT_EQ(gres(container(R"("limits":{"nvidia.com/gpu":"0"})")), "");
}

TEST(PodNeeds, DevicesOfAClassAreGpusOfThatType) {
  const auto pod =
      container(R"("limits":{"deviceclass.resource.kubernetes.io/gpu.example.com":"1"})");
  EXPECT_EQ(gres(pod), "gres/gpu:gpu.example.com=1");
  EXPECT_THAT(needs(pod).devices,
              ElementsAre(Pair("deviceclass.resource.kubernetes.io/gpu.example.com", 1)));
}

TEST(PodNeeds, DevicesOfSeveralClassesAreListedByName) {
  EXPECT_EQ(gres(container(R"("limits":{
      "deviceclass.resource.kubernetes.io/mig.example.com":"3",
      "deviceclass.resource.kubernetes.io/gpu.example.com":"1"})"),
                 2),
            "gres/gpu:gpu.example.com=2,gres/gpu:mig.example.com=6");
}

TEST(PodNeeds, DevicesThatSlurmCannotCountTogetherAreRefusedWithWhatToDo) {
  EXPECT_THAT(gres(container(R"("limits":{"nvidia.com/gpu":"1","amd.com/gpu":"1"})")),
              HasSubstr("ask for one kind of device"));
  EXPECT_THAT(gres(container(R"("limits":{
      "nvidia.com/gpu":"1","deviceclass.resource.kubernetes.io/gpu.example.com":"1"})")),
              HasSubstr("nvidia.com/gpu cannot be counted by Slurm together"));
}

TEST(PodNeeds, OtherResourcesAreTheKubeletsBusiness) {
  EXPECT_EQ(needs(container(R"("limits":{"ephemeral-storage":"5Gi","example.com/fpga":"1"})")),
            PodNeeds());
}

TEST(PodNeeds, BeyondAllBoundsAreRefusedByName) {
  const auto result = needs_of(container(R"("requests":{"memory":"9000P"})"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kInvalid);
  EXPECT_THAT(result.error().to_string(), HasSubstr("memory"));
  EXPECT_FALSE(needs_of(container(R"("requests":{"cpu":"-1"})")));
  EXPECT_FALSE(needs_of(container(R"("requests":{"cpu":"many"})")));
}

TEST(PodNeeds, RaisedToAnotherPodsAreEnoughForBoth) {
  PodNeeds leader = needs(container(R"("requests":{"cpu":"8"},"limits":{"nvidia.com/gpu":"1"})"));
  leader.raise_to(
      needs(container(R"("requests":{"memory":"2Gi"},"limits":{"nvidia.com/gpu":"4"})")));
  EXPECT_EQ(leader.cpus, 8);
  EXPECT_EQ(leader.memory_mb, 2048);
  EXPECT_THAT(leader.devices, ElementsAre(Pair("nvidia.com/gpu", 4)));
}

}  // namespace
}  // namespace mainspring::bridge
