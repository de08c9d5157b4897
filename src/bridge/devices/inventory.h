// bridge/devices/inventory.h
//
// The devices of one Kubernetes node that Slurm can give out, in Slurm's order, as the node's
// ResourceSlices tell. Slurm knows a device by its place among the others of its kind: core 3, GPU
// 1. Here that place is the index. Pure.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bridge/config.h"
#include "kube/devices.h"

namespace mainspring::bridge {

// What names a device in all of the cluster.
struct DeviceId {
  std::string driver, pool, name;

  std::string text() const { return driver + "/" + pool + "/" + name; }
  auto operator<=>(const DeviceId&) const = default;
};

struct NumberedDevice {
  std::int64_t number = 0;  // The CPU's, or by the rule of the class.
  DeviceId id;
  auto operator<=>(const NumberedDevice&) const = default;
};

// What Slurm gives out at least: nobody else gets the other threads of a core.
struct CpuCore {
  std::int64_t socket = 0, core = 0;
  std::vector<NumberedDevice> cpus;
  bool operator==(const CpuCore&) const = default;
};

struct Inventory {
  // Of the class dra.cpu, in the order in which a slurmd on this node counts them. Efficiency
  // cores, and those that lack a thread which others have, are left out: to Slurm all cores are
  // alike.
  std::vector<CpuCore> cores;
  std::map<std::string, std::vector<NumberedDevice>, std::less<>> classes;
  // A pool of which not all slices are there yet: the counts mean nothing. "": none.
  std::string incomplete;

  std::int64_t threads() const;  // Of every core.
  bool operator==(const Inventory&) const = default;
};

using Slices = std::span<const std::shared_ptr<const kube::ResourceSlice>>;

// Whether CPUs of the node are devices, one each. Groups of them, which the driver of dra.cpu can
// publish instead, mean nothing to Slurm.
bool publishes_cpus(Slices slices);

// `slices` are those of one node.
Inventory inventory_of(Slices slices, const DeviceClasses& classes);

}  // namespace mainspring::bridge
