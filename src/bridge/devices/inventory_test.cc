#include "bridge/devices/inventory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/devices/devices_testing.h"

namespace mainspring::bridge {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const std::vector<NumberedDevice>& devices) {
  std::vector<std::string> out;
  for (const NumberedDevice& one : devices) out.push_back(one.id.name);
  return out;
}

Inventory of(const SliceList& slices,
             const DeviceClasses& classes = BridgeConfig().device_classes) {
  return inventory_of(slices, classes);
}

TEST(Inventory, PutsDevicesInTheOrderOfTheirNumbers) {
  const Inventory found = of({two_gpus()});
  EXPECT_THAT(names(found.classes.at("gpu.example.com")), ElementsAre("gpu-0", "gpu-1"));
  EXPECT_EQ(found.classes.at("gpu.example.com")[1].id.text(), "gpu.example.com/n1/gpu-1");
}

TEST(Inventory, NumbersByNameCountAsNumbersAndLeaveOutOtherDevices) {
  const Inventory found = of({slice_of(
      "gpu.nvidia.com", "[{name: gpu-10}, {name: gpu-2}, {name: gpu-0-mig-9}, {name: imex-1}]")});
  EXPECT_THAT(names(found.classes.at("gpu.nvidia.com")), ElementsAre("gpu-2", "gpu-10"));
}

TEST(Inventory, KnowsTheClassesOfTheConfiguration) {
  const DeviceClasses classes{{"mig.example.com", {"gpu.example.com", "mig-", ""}}};
  const Inventory found =
      of({slice_of("gpu.example.com", "[{name: mig-0}, {name: gpu-0}]")}, classes);
  EXPECT_THAT(names(found.classes.at("mig.example.com")), ElementsAre("mig-0"));
}

TEST(Inventory, GathersTheThreadsOfACore) {
  const Inventory found = of({two_cores()});
  ASSERT_EQ(found.cores.size(), 2U);
  EXPECT_EQ(found.threads(), 2);
  EXPECT_THAT(names(found.cores[0].cpus), ElementsAre("cpu0", "cpu2"));
  EXPECT_THAT(names(found.cores[1].cpus), ElementsAre("cpu1", "cpu3"));
}

TEST(Inventory, LeavesOutCoresThatAreNotLikeTheOthers) {
  const Inventory found = of({slice_of(
      "dra.cpu",
      "[{name: a, attributes: {cpuID: {int: 0}, coreID: {int: 0}, socketID: {int: 0}}},"
      " {name: b, attributes: {cpuID: {int: 1}, coreID: {int: 0}, socketID: {int: 0}}},"
      " {name: lonely, attributes: {cpuID: {int: 2}, coreID: {int: 1}, socketID: {int: 0}}},"
      " {name: slow, attributes: {cpuID: {int: 3}, coreID: {int: 2}, coreType: {int: 3}}},"
      " {name: group, attributes: {numCPUs: {int: 8}}}]")});
  ASSERT_EQ(found.cores.size(), 1U);
  EXPECT_THAT(names(found.cores[0].cpus), ElementsAre("a", "b"));
}

TEST(Inventory, ANewGenerationOfAPoolReplacesTheOldOne) {
  const SliceList slices{slice_of("gpu.nvidia.com", "[{name: gpu-0}, {name: gpu-1}]", 1),
                         slice_of("gpu.nvidia.com", "[{name: gpu-1}]", 2)};
  const Inventory found = of(slices);
  EXPECT_THAT(names(found.classes.at("gpu.nvidia.com")), ElementsAre("gpu-1"));
  EXPECT_THAT(found.incomplete, IsEmpty());
}

TEST(Inventory, SaysThatAPoolIsNotWholeYet) {
  EXPECT_EQ(of({slice_of("gpu.nvidia.com", "[{name: gpu-0}]", 1, 2)}).incomplete,
            "gpu.nvidia.com/n1");
}

TEST(Inventory, OfNoSlicesIsEmpty) { EXPECT_EQ(of({}), Inventory()); }

}  // namespace
}  // namespace mainspring::bridge
