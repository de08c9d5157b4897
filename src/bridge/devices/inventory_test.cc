#include "bridge/devices/inventory.h"

#include <fmt/format.h>
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

struct Cpu {
  int id = 0, socket = 0, node = 0, cache = 0, core = 0;
};

// The CPUs by their numbers, in the order of their cores.
std::vector<std::int64_t> order_of(const std::vector<Cpu>& cpus,
                                   const std::string& node_attribute) {
  std::string devices;
  for (const Cpu& cpu : cpus) {
    devices += fmt::format(
        "{}{{name: cpu{}, attributes: {{cpuID: {{int: {}}}, socketID: {{int: {}}}, "
        "{}: {{int: {}}}, cacheL3ID: {{int: {}}}, coreID: {{int: {}}}}}}}",
        devices.empty() ? "[" : ", ", cpu.id, cpu.id, cpu.socket, node_attribute, cpu.node,
        cpu.cache, cpu.core);
  }
  std::vector<std::int64_t> out;
  for (const CpuCore& core : of({slice_of("dra.cpu", devices + "]")}).cores) {
    for (const NumberedDevice& cpu : core.cpus) out.push_back(cpu.number);
  }
  return out;
}

TEST(Inventory, CoresStandWhereTheirLowestCpuStandsWhateverTheirNumbers) {
  EXPECT_THAT(
      order_of({{.id = 2, .core = 1}, {.id = 1, .core = 4}, {.id = 0, .core = 0}}, "numaNodeID"),
      ElementsAre(0, 1, 2));
}

TEST(Inventory, CoresOfASocketANodeOrACacheStandTogether) {
  const std::vector<Cpu> cpus{
      {.id = 0, .socket = 1, .node = 2, .core = 0},
      {.id = 1, .cache = 5, .core = 1},
      {.id = 2, .socket = 1, .node = 3, .core = 2},
      {.id = 3, .socket = 1, .node = 2, .core = 3},
      {.id = 4, .cache = 6, .core = 1},
      {.id = 5, .cache = 5, .core = 2},
  };
  for (const char* node : {"dra.cpu/numaNodeID", "resource.kubernetes.io/numaNode"}) {
    EXPECT_THAT(order_of(cpus, node), ElementsAre(0, 3, 2, 1, 5, 4)) << node;
  }
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

TEST(Inventory, GroupsOfCpusAreNotCpus) {
  const SliceList groups{
      slice_of("dra.cpu", "[{name: cpudevnuma000, attributes: {dra.cpu/numCPUs: {int: 8}}}]")};
  EXPECT_FALSE(publishes_cpus(groups));
  EXPECT_FALSE(publishes_cpus(SliceList{two_gpus()}));
  EXPECT_FALSE(publishes_cpus(SliceList{slice_of("dra.cpu", "[]")}));
  EXPECT_TRUE(publishes_cpus(SliceList{two_gpus(), two_cores()}));
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
