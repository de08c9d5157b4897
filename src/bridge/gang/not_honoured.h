// bridge/gang/not_honoured.h
//
// What a built-in PodGroup asks for and the bridge cannot give, in words for its owner; nobody is
// to find out by himself. What is honoured: the policy, its minimum, the PriorityClass, topology
// constraints. That all pods of a group are disrupted together is so whatever it says, since Slurm
// preempts jobs. Pure.
#pragma once

#include <string>
#include <vector>

#include "kube/gangs.h"

namespace mainspring::bridge {

std::vector<std::string> not_honoured(const kube::PodGroup& group);

}  // namespace mainspring::bridge
