// bridge/translate/domains.h
//
// Topology domains: nodes that agree in some labels, as in one zone or one rack. The pods of a
// PodGroup with topology constraints have to be in one of them. Slurm cannot be asked for "any one,
// but all in the same" by labels of which it knows nothing, so one is chosen here, the one where
// the job starts soonest, and the others are left out. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kube/node.h"

namespace mainspring::bridge {

struct Domain {
  std::vector<std::string> keys;
  std::vector<std::string> values;  // One for each key.

  bool has(const kube::Meta& node) const;
  // "topology.kubernetes.io/zone=a"
  std::string to_string() const;
  bool operator==(const Domain&) const = default;
};

// A node that may be one of the job's.
struct DomainNode {
  std::shared_ptr<const kube::Node> node;
  bool could_be = false;  // It is large enough,
  bool is_now = false;    // and has room.
};

// All that have at least `least` nodes that could be the job's, those first where it can start now,
// then larger ones. Nodes that lack one of the labels are in none. `near`: names of nodes where
// pods of the gang are already, if any; then only their domain counts.
std::vector<Domain> domains_for(std::span<const DomainNode> nodes,
                                const std::vector<std::string>& keys, std::size_t least,
                                const std::vector<std::string>& near);

}  // namespace mainspring::bridge
