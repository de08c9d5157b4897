#include "bridge/devices/claim_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "bridge/devices/devices_testing.h"

namespace mainspring::bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kOneGpu = R"({deviceclass.resource.kubernetes.io/gpu.example.com: "1"})";
constexpr std::string_view kTwoGpus =
    R"({deviceclass.resource.kubernetes.io/gpu.example.com: "2"})";
constexpr std::string_view kOneCpu = R"({deviceclass.resource.kubernetes.io/dra.cpu: "1"})";

class ClaimPlanTest : public ::testing::Test {
 protected:
  ClaimPlanTest() {
    view_.job = "7";
    view_.node = "n1";
    view_.inventory = inventory_of(SliceList{two_gpus(), two_cores()}, classes_);
    view_.gres = "gpu:gpu.example.com:2";
    view_.allocation.sockets_per_node = 1;
    view_.allocation.cores_per_socket = 2;
    view_.allocation.core_bitmap = "0x3";
    view_.allocation.gres = {{"gpu", "gpu.example.com", "0-1", 2}};
    view_.holder = [this](const DeviceId& id) {
      const auto at = held_.find(id.name);
      return at == held_.end() ? std::string() : at->second;
    };
    view_.is_own = [this](const DeviceId& id) { return own_.contains(id.name); };
  }

  Result<ClaimPlan> plan(std::string_view limits) {
    pod_ = pod_with(limits);
    MS_TRY(const DeviceNeeds needs, device_needs_of(*pod_->spec, classes_));
    return plan_claim(*pod_, needs, view_, classes_);
  }
  std::vector<std::string> devices(std::string_view limits) {
    const auto made = plan(limits);
    EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().to_string());
    std::vector<std::string> out;
    if (made) {
      for (const DeviceId& id : made->devices()) out.push_back(id.name);
    }
    return out;
  }
  std::string refusal(std::string_view limits) {
    const auto made = plan(limits);
    return made ? "" : made.error().to_string();
  }

  const DeviceClasses classes_ = BridgeConfig().device_classes;
  DeviceView view_;
  std::map<std::string, std::string> held_;
  std::set<std::string> own_;
  std::shared_ptr<const kube::Pod> pod_;
};

TEST_F(ClaimPlanTest, IsTheDeviceAtSlurmsIndex) {
  view_.allocation.gres[0].index = "1";
  EXPECT_THAT(devices(kOneGpu), ElementsAre("gpu-1"));
}

TEST_F(ClaimPlanTest, OfAWholeNodeAPodGetsNoMoreDevicesThanItAskedFor) {
  EXPECT_THAT(devices(kOneGpu), ElementsAre("gpu-0"));
}

TEST_F(ClaimPlanTest, TakesNoneThatAnotherHas) {
  held_["gpu-0"] = "ResourceClaim ns/other";
  EXPECT_THAT(devices(kOneGpu), ElementsAre("gpu-1"));
  EXPECT_THAT(refusal(kTwoGpus), AllOf(HasSubstr("gpu-0 is ResourceClaim ns/other's"),
                                       HasSubstr("needs 2 devices of class gpu.example.com")));
}

TEST_F(ClaimPlanTest, KeepsWhatThePodHasAlready) {
  own_ = {"gpu-1"};
  EXPECT_THAT(devices(kOneGpu), ElementsAre("gpu-1"));
}

TEST_F(ClaimPlanTest, ADeviceThatNoSliceHasIsAnErrorThatSaysSo) {
  view_.inventory.classes.clear();
  EXPECT_EQ(refusal(kOneGpu),
            "Slurm counts 2 devices gpu:gpu.example.com on node n1, whose ResourceSlices have 0: "
            "which of them Slurm means is not known. See that the DRA driver runs there");
}

TEST_F(ClaimPlanTest, GresWithoutNumbersIsAnError) {
  view_.allocation.gres[0].index = "";
  EXPECT_THAT(refusal(kOneGpu), HasSubstr("only 0 can be claimed"));
}

TEST_F(ClaimPlanTest, WaitsForAPoolThatIsNotWhole) {
  view_.inventory.incomplete = "gpu.example.com/n1";
  EXPECT_THAT(refusal(kOneGpu), HasSubstr("not all there yet"));
}

TEST_F(ClaimPlanTest, CpusAreAllThoseOfTheCores) {
  view_.allocation.core_bitmap = "0x2";
  EXPECT_THAT(devices(kOneCpu), ElementsAre("cpu1", "cpu3"));
}

TEST_F(ClaimPlanTest, AWholeNodeIsAllItsCpus) {
  EXPECT_THAT(devices(kOneCpu), ElementsAre("cpu0", "cpu1", "cpu2", "cpu3"));
}

TEST_F(ClaimPlanTest, PodsThatShareANodeHaveCoresOfTheirOwn) {
  view_.pods_per_node = 2;
  EXPECT_THAT(devices(kOneCpu), ElementsAre("cpu0", "cpu2"));
  held_["cpu2"] = "ResourceClaim ns/first";
  EXPECT_THAT(devices(kOneCpu), ElementsAre("cpu1", "cpu3"));
}

TEST_F(ClaimPlanTest, CoresThatSlurmCountsOtherwiseAreNotGuessed) {
  view_.allocation.cores_per_socket = 4;
  EXPECT_THAT(refusal(kOneCpu), HasSubstr("Slurm counts 4 cores on node n1"));
}

TEST_F(ClaimPlanTest, AnotherJobOrOtherDevicesMakeAnotherName) {
  const std::string first = plan(kOneGpu)->name;
  EXPECT_THAT(first, StartsWith("p-extended-resources-"));
  EXPECT_EQ(plan(kOneGpu)->name, first);
  EXPECT_NE(plan(kTwoGpus)->name, first);
  view_.job = "8";
  EXPECT_NE(plan(kOneGpu)->name, first);
}

TEST_F(ClaimPlanTest, SaysItToTheKubelet) {
  auto made = plan(kTwoGpus);
  ASSERT_TRUE(made);
  made->name = "p-extended-resources-x";
  const json::WriteOptions style{.sort_keys = true};
  EXPECT_EQ(
      json::to_text(claim_of(*made, *pod_), style),
      R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"annotations":{)"
      R"("resource.kubernetes.io/extended-resource-claim":"true"},"name":"p-extended-resources-x",)"
      R"("namespace":"ns","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"Pod",)"
      R"("name":"p","uid":"u1"}]},"spec":{"devices":{"requests":[{"exactly":{"allocationMode":)"
      R"("ExactCount","count":2,"deviceClassName":"gpu.example.com","selectors":[{"cel":{)"
      R"("expression":"device.attributes['gpu.example.com'].index in [0, 1]"}}]},"name":"gpu"}]}}})");
  EXPECT_EQ(json::to_text(claim_status_of(*made, *pod_), style),
            R"({"allocation":{"devices":{"results":[{"device":"gpu-0","driver":"gpu.example.com",)"
            R"("pool":"n1","request":"gpu"},{"device":"gpu-1","driver":"gpu.example.com","pool":)"
            R"("n1","request":"gpu"}]},"nodeSelector":{"nodeSelectorTerms":[{"matchFields":[{)"
            R"("key":"metadata.name","operator":"In","values":["n1"]}]}]}},"reservedFor":[{)"
            R"("name":"p","resource":"pods","uid":"u1"}]})");
  EXPECT_EQ(json::to_text(pod_status_of(*made), style),
            R"({"extendedResourceClaimStatus":{"requestMappings":[{"containerName":"main",)"
            R"("requestName":"gpu","resourceName":"deviceclass.resource.kubernetes.io/)"
            R"(gpu.example.com"}],"resourceClaimName":"p-extended-resources-x"}})");
}

TEST(DeviceNeeds, KnowsOnlyTheClassesOfTheConfiguration) {
  DeviceClasses classes = BridgeConfig().device_classes;
  const auto pod = pod_with(R"({deviceclass.resource.kubernetes.io/tpu.example.com: "1"})");
  EXPECT_EQ(device_needs_of(*pod->spec, classes).error().to_string(),
            "deviceclass.resource.kubernetes.io/tpu.example.com: Slurm does not know devices of "
            "class tpu.example.com; it knows dra.cpu, gpu.example.com, gpu.nvidia.com, and what "
            "the administrator adds to deviceClasses");
  classes["tpu.example.com"] = {"tpu.example.com", "tpu-", ""};
  EXPECT_TRUE(device_needs_of(*pod->spec, classes));
}

TEST(DeviceNeeds, OneContainerHasTheGpusAndNoClaimIsTooLarge) {
  const DeviceClasses classes = BridgeConfig().device_classes;
  const auto two = from_yaml<kube::Pod>(R"(
metadata: {name: p, namespace: ns, uid: u1}
spec:
  containers:
  - {name: a, resources: {requests: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: "1"}}}
  - {name: b, resources: {requests: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: "1"}}}
)");
  EXPECT_THAT(device_needs_of(*two->spec, classes).error().to_string(),
              HasSubstr("2 containers ask for it"));
  const auto many = pod_with(R"({deviceclass.resource.kubernetes.io/dra.cpu: "33"})");
  EXPECT_THAT(device_needs_of(*many->spec, classes).error().to_string(), HasSubstr("more than 32"));
}

TEST(DeviceNeeds, OfDevicePluginsAreNone) {
  EXPECT_TRUE(device_needs_of(*pod_with(R"({nvidia.com/gpu: "1", cpu: "2"})")->spec, {})->none());
}

}  // namespace
}  // namespace mainspring::bridge
