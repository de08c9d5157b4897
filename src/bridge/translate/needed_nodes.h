// bridge/translate/needed_nodes.h
//
// Parts of one job that want nodes of their own, and suit some of the same: which nodes a part has
// to leave to the others. Slurm gives the parts of a het job their nodes one after the other and
// does not go back; where the first takes the only node that suits the second, the job waits for
// ever. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mainspring::bridge {

struct PartNodes {
  std::vector<bool> may;  // By node; as long for all parts.
  std::size_t least = 1;  // How many of them it needs.
};

// For each part the nodes that it may have and others cannot do without. Where some parts together
// suit just as many nodes as they need, those are theirs (Hall's theorem); of many parts, only one
// and two of them are looked at together. Nothing where it would leave the part too few.
std::vector<std::vector<std::size_t>> needed_by_others(std::span<const PartNodes> parts);

}  // namespace mainspring::bridge
