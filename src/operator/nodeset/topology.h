// operator/nodeset/topology.h
//
// Where a Kubernetes node stands in Slurm's topology, by its annotation. Whoever may annotate nodes
// writes that, and it goes to slurmd's command line and to slurmctld, which reads a list and a
// definition in it: so what is none of the names that Slurm's files could have is handed to nobody.
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "kube/node.h"

namespace mainspring::op {

// "NAME:UNIT" of one topology, a tree's with all switches above, or of several, with commas.
bool is_topology(std::string_view text);

// Empty where the node says nothing, or nothing that is one.
std::string_view topology_of(const kube::Node& node);
// What the node says instead, shortened for people; empty where nothing is wrong.
std::string refused_topology(const kube::Node& node);

}  // namespace mainspring::op
