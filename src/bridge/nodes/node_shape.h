// bridge/nodes/node_shape.h
//
// What Slurm should know of a Kubernetes node that is given to it: its size and where it belongs;
// and the mark that we leave in Slurm on the nodes that are ours. Values and pure functions.
//
// The size is what pods of ours can have: allocatable, less what others have (daemons.h). Slurm
// gives out all of it, and the kubelet refuses what is beyond. CPUs are cores of one socket with
// one thread each, unless the annotation kCpuTopologyAnnotation says better and what is allocatable
// can be divided so: Slurm takes sockets times cores times threads for the number of CPUs, whatever
// else it is told. Where a DRA driver publishes the node's CPUs or GPUs, these are what Slurm gets,
// so that it can say which.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bridge/devices/inventory.h"
#include "bridge/nodes/daemons.h"
#include "kube/node.h"
#include "slurm/node.h"
#include "slurm/node_request.h"

namespace mainspring::bridge {

struct NodeShape {
  std::string name;      // Slurm's.
  std::string hostname;  // Kubernetes'.
  std::string address;
  std::int64_t cpus = 0, sockets = 1, cores = 0, threads = 1;
  bool published_cpus = false;  // They are devices: Slurm's numbers for cores are ours.
  std::int64_t memory_mb = 0;
  std::int64_t gpus = 0;                // Of a device plugin, or of the class below.
  std::string gpu_class;                // The DeviceClass that they are of; "": none.
  std::string gpu_files;                // What gres.conf wants to have: "/dev/nvidia[0-7]".
  std::vector<std::string> partitions;  // Its features. Sorted, each once.
  std::string topology;

  bool operator==(const NodeShape&) const = default;
};
// `partition`: where the node belongs if it does not say so itself. `daemons`: what DaemonSets have
// of it. kInvalid says what is missing.
Result<NodeShape> shape_of(const kube::Node& node, std::string name, std::string_view partition,
                           const Inventory& devices = {}, const Reserve& daemons = {});

slurm::NodeSpec spec_of(const NodeShape& shape);

// Stands in the comment of a Slurm node: that it is ours, and what it was made with. A Slurm may
// serve several Kubernetes clusters; nobody removes what is another's.
struct NodeMark {
  std::string cluster;  // UID of the namespace kube-system.
  // When it was made. Slurm puts a node into the partitions of its features then and at a
  // reconfigure, not when features change; and GPUs are dropped in silence where GresTypes has
  // none.
  std::vector<std::string> partitions;
  std::int64_t gpus = 0;
  std::string gpu_class;
  // As we asked for it; Slurm completes what it was given.
  std::string topology;
  Reserve daemons = {};         // That was left out of its size.
  bool published_cpus = false;  // Its CPUs were devices.

  bool operator==(const NodeMark&) const = default;
};
std::string to_comment(const NodeMark& mark);
// None where the comment is no mark.
std::optional<NodeMark> parse_mark(std::string_view comment);
NodeMark mark_of(const NodeShape& shape, std::string_view cluster, const Reserve& daemons);

// GPUs that Slurm shows, of whatever type.
std::int64_t gpus_of(const slurm::Node& node);

}  // namespace mainspring::bridge
