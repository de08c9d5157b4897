// bridge/nodes/daemons.h
//
// What of a node is not for Slurm to give out: the pods of DaemonSets, which are on it whatever
// Slurm says, and what its annotation kReservedAnnotation sets aside for pods of which nobody else
// knows. Told less by that much, Slurm never fills a node with more than its kubelet takes.
// Values and pure functions.
//
// DaemonSets are read, not their pods: how many of those are there just now changes with every
// roll-out, and a node of another size has to be made anew.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "bridge/config.h"
#include "kube/node.h"
#include "kube/pod.h"

namespace mainspring::bridge {

// A DaemonSet, by what its pods are like.
struct Daemon {
  inline static const kube::Resource kResource{"apps", "v1", "daemonsets", "DaemonSet", true};

  kube::Meta meta;
  kube::PodSpec spec;

  bool operator==(const Daemon&) const = default;
};

constexpr auto json_fields(json::Tag<Daemon>) {
  return json::fields(
      json::field("metadata", &Daemon::meta),
      json::group("spec", json::group("template", json::field("spec", &Daemon::spec))));
}

// Rounded up, so that small changes are none: to tenths of a CPU, and to steps of 128 MiB.
struct Reserve {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mb = 0;

  bool operator==(const Reserve&) const = default;
};

// Whether the DaemonSet has, or will have, a pod on a node that is ours: with our taint, where we
// set it.
bool runs_on(const Daemon& daemon, const kube::Node& node, const BridgeConfig& config);

// What the pods of these DaemonSets ask for on such a node.
Reserve reserve_of(const std::vector<std::shared_ptr<const Daemon>>& daemons,
                   const kube::Node& node, const BridgeConfig& config);

// What the node's annotation says; nothing where it has none. kInvalid says what is expected.
struct SetAside {
  Quantity cpu, memory;
};
Result<SetAside> set_aside_on(const kube::Node& node);

}  // namespace mainspring::bridge
