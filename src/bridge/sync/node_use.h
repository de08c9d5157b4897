// bridge/sync/node_use.h
//
// NodeUse: what the pods on a node, whosever they are, take of it and Slurm knows nothing of: by
// our pods, by those of other schedulers (nodes/lodgers), and by the DaemonSets whose pods are
// there or will be. Lives on the control loop; Submission's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bridge/sync/world.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

class NodeUse {
 public:
  // Must outlive it.
  explicit NodeUse(World& world);
  NodeUse(const NodeUse&) = delete;
  NodeUse& operator=(const NodeUse&) = delete;

  // Of each place what others than these pods have. Where there is room for all of them in any
  // case, the pods of the gang that are there already may be among the others. Gives how many
  // pods may come, to whichever places, before one of them could be too full for the gang.
  std::size_t fill(std::vector<Place>& places, const std::vector<PodPtr>& gang) const;

 private:
  struct ByDaemons {
    std::string node_version;
    std::uint64_t daemons = 0;
    Taken taken;
  };
  using Spec = kube::Shared<kube::PodSpec>;

  const Taken& by_daemons(const kube::Node& node) const;

  World& world_;
  std::uint64_t changes_ = 1;  // Of DaemonSets.
  // All of them as they were at that change, and what they take of nodes, by the nodes' names.
  mutable std::uint64_t read_ = 0;
  mutable std::vector<std::pair<std::shared_ptr<const Daemon>, Spec>> daemons_;
  mutable std::map<std::string, ByDaemons, std::less<>> known_;
};

}  // namespace mainspring::bridge
