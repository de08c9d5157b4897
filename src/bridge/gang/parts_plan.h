// bridge/gang/parts_plan.h
//
// What to do next with the pods of a het job, which is several jobs to Slurm and one to its pods:
// its parts wait and start together, and each may end by itself. Pure.
#pragma once

#include <memory>
#include <vector>

#include "bridge/gang/plan.h"

namespace mainspring::bridge {

struct PartMembers {
  std::shared_ptr<const slurm::Job> job;
  std::vector<Member> members;
};

// The parts in their order, the first one first. While any of them may be in use none is given
// back: with the first all would be.
JobPlan plan_parts(const std::vector<PartMembers>& parts, std::int32_t min_members);

}  // namespace mainspring::bridge
