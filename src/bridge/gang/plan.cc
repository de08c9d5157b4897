#include "bridge/gang/plan.h"

#include <algorithm>

namespace mainspring::bridge {
namespace {

std::size_t count(const std::vector<Member>& members, PodStage stage) {
  return static_cast<std::size_t>(std::count_if(
      members.begin(), members.end(), [&](const Member& one) { return one.stage == stage; }));
}

bool is_done(PodStage stage) { return stage == PodStage::kOver || stage == PodStage::kGone; }

// The job holds its nodes for these pods.
JobPlan plan_running(const std::vector<Member>& members) {
  JobPlan plan;
  for (const Member& one : members) {
    if (one.stage == PodStage::kWaiting) plan.bind.push_back(one.pod);
    if (is_done(one.stage)) plan.let_go.push_back(one.pod);
  }
  // Until the last container is gone, Slurm must not give away what it uses.
  plan.cancel = plan.let_go.size() == members.size();
  return plan;
}

JobPlan plan_pending(const std::vector<Member>& members, std::int32_t min_members) {
  JobPlan plan;
  const std::size_t waiting = count(members, PodStage::kWaiting);
  const bool enough = waiting >= static_cast<std::size_t>(std::max(min_members, 1));
  for (const Member& one : members) {
    if (is_done(one.stage)) plan.let_go.push_back(one.pod);
    if (one.stage == PodStage::kWaiting && !enough) plan.detach.push_back(one.pod);
    // It ran and was put back into the queue: what still runs has no place any more.
    if (one.stage == PodStage::kRunning) plan.remove.push_back(one.pod);
  }
  plan.cancel = !enough;
  plan.waiting = enough;
  return plan;
}

JobPlan plan_ended(const std::vector<Member>& members) {
  JobPlan plan;
  plan.over = true;
  for (const Member& one : members) {
    if (is_done(one.stage)) plan.let_go.push_back(one.pod);
    // Whoever ended the job meant its pods.
    if (one.stage == PodStage::kWaiting || one.stage == PodStage::kRunning) {
      plan.remove.push_back(one.pod);
    }
  }
  return plan;
}

// slurmctld forgets a job some minutes after its end, and all of them where it lost its state. That
// is no order to end anybody's work: what runs goes on, on a node that is kept for it.
JobPlan plan_forgotten(const std::vector<Member>& members) {
  JobPlan plan;
  for (const Member& one : members) {
    if (is_done(one.stage)) plan.let_go.push_back(one.pod);
    if (one.stage == PodStage::kWaiting) plan.detach.push_back(one.pod);
  }
  return plan;
}

}  // namespace

JobPlan plan_job(const std::vector<Member>& members, const JobKnowledge& known,
                 std::int32_t min_members) {
  if (known.kind == JobKnowledge::Kind::kUnknown) return {};
  if (known.kind == JobKnowledge::Kind::kForgotten) return plan_forgotten(members);
  const slurm::JobState state = known.job->state;
  // One of a newer Slurm's that we have no word for.
  if (state.base() == slurm::JobState::Base::kNone) return {};
  if (state.has_ended()) return plan_ended(members);
  if (state.is_pending() || state.will_come_back()) return plan_pending(members, min_members);
  if (state.is_suspended()) {
    // Its nodes are given to others, and containers cannot be stopped half-way.
    JobPlan plan = plan_ended(members);
    plan.over = false;
    plan.cancel = plan.let_go.size() == members.size();
    return plan;
  }
  return plan_running(members);
}

bool is_too_few_to_begin(const std::vector<Member>& members, std::int32_t min_members) {
  const std::size_t waiting = count(members, PodStage::kWaiting);
  const bool has_begun = waiting + count(members, PodStage::kGone) < members.size();
  return !has_begun && waiting < static_cast<std::size_t>(std::max(min_members, 1));
}

std::int32_t least_of(std::int32_t min_members, std::size_t elsewhere) {
  return static_cast<std::int32_t>(
      std::max<std::int64_t>(std::int64_t{min_members} - static_cast<std::int64_t>(elsewhere), 1));
}

}  // namespace mainspring::bridge
