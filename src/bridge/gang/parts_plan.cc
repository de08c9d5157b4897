#include "bridge/gang/parts_plan.h"

#include <algorithm>
#include <limits>

namespace mainspring::bridge {
namespace {

void add(JobPlan& to, const JobPlan& from) {
  for (auto list : {&JobPlan::bind, &JobPlan::remove, &JobPlan::detach, &JobPlan::let_go}) {
    (to.*list).insert((to.*list).end(), (from.*list).begin(), (from.*list).end());
  }
}

JobKnowledge known(const PartMembers& part) { return {JobKnowledge::Kind::kPresent, part.job}; }

}  // namespace

JobPlan plan_parts(const std::vector<PartMembers>& parts, std::int32_t min_members) {
  const auto waits = [](const PartMembers& part) {
    return part.job->state.is_pending() || part.job->state.will_come_back();
  };
  if (std::all_of(parts.begin(), parts.end(), waits)) {
    std::vector<Member> all;
    for (const PartMembers& part : parts) {
      all.insert(all.end(), part.members.begin(), part.members.end());
    }
    return plan_job(all, known(parts.front()), min_members);
  }
  JobPlan plan;
  plan.over = true;
  plan.cancel = true;
  for (const PartMembers& part : parts) {
    // One that waits for a part that was cancelled waits for ever.
    const bool in_vain = waits(part);
    const auto most = std::numeric_limits<std::int32_t>::max();
    const JobPlan own = plan_job(part.members, known(part), in_vain ? most : min_members);
    add(plan, own);
    plan.over = plan.over && own.over;
    plan.cancel = plan.cancel && (own.over || own.cancel);
  }
  plan.cancel = plan.cancel && !plan.over;
  return plan;
}

}  // namespace mainspring::bridge
