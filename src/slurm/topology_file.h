// slurm/topology_file.h
//
// topology.yaml as values, and back to text. Reading takes what Slurm takes and says where it
// cannot be understood; whether slurmctld would like what it says is for the linter (conf_lint.h).
// Keys that Slurm does not know are left out. Pure functions, safe against hostile text.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace mainspring::slurm {

// A switch, a block or a ring.
struct TopologyUnit {
  std::string name;
  std::string nodes;     // A hostlist; "": none are named.
  std::string children;  // Of a switch: a hostlist of other switches.
  bool operator==(const TopologyUnit&) const = default;
};

struct FlatTopology {
  bool operator==(const FlatTopology&) const = default;
};
struct TreeTopology {
  std::vector<TopologyUnit> switches;
  bool operator==(const TreeTopology&) const = default;
};
struct BlockTopology {
  std::vector<std::int64_t> sizes;
  std::vector<TopologyUnit> blocks;
  bool operator==(const BlockTopology&) const = default;
};
struct RingTopology {
  std::vector<TopologyUnit> rings;
  bool operator==(const RingTopology&) const = default;
};
// New in 26.05 and still changing, so it is kept as it stands.
struct TorusTopology {
  json::Value members;
  bool operator==(const TorusTopology&) const = default;
};

struct Topology {
  std::string name;
  bool cluster_default = false;
  std::variant<FlatTopology, TreeTopology, BlockTopology, RingTopology, TorusTopology> shape;
  bool operator==(const Topology&) const = default;
};

// The document alone, within the limits that all readers of this file keep.
Result<json::Value> parse_topology_yaml(std::string_view text);

// kInvalid names the topology and the key.
Result<std::vector<Topology>> read_topology(std::string_view text);

// For Slurm and for people. kInvalid for a text that is not printable ASCII: no name or hostlist of
// Slurm is, and a line break would begin another key. Reading the text gives the same topologies.
Result<std::string> render_topology(std::span<const Topology> topologies);

}  // namespace mainspring::slurm
