// bridge/gang/plan.h
//
// What to do next with the pods of one Slurm job. Pure: no clock, no calls. The life of a gang,
// forming -> submitted -> allocated -> bound -> ending -> gone, is never stored: it follows from
// what the pods and the job show, so a bridge that was killed anywhere goes on from there.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/gang/pod_stage.h"
#include "slurm/job.h"

namespace mainspring::bridge {

struct Member {
  PodPtr pod;
  PodStage stage = PodStage::kWaiting;
};

// What is known of a job right now.
struct JobKnowledge {
  enum class Kind : std::uint8_t {
    kUnknown,    // Slurm did not answer, or has not yet: nothing is decided on that.
    kPresent,    // `job` is it.
    kForgotten,  // Slurm answered that it does not know it.
  };
  Kind kind = Kind::kUnknown;
  std::shared_ptr<const slurm::Job> job;
};

struct JobPlan {
  // Have a node coming: the job runs, these are not bound.
  std::vector<PodPtr> bind;
  // Told to end: Slurm has ended their job, or gave their place to another.
  std::vector<PodPtr> remove;
  // Have nothing to do with the job any more: its mark is taken off them, and they form anew.
  std::vector<PodPtr> detach;
  // Nothing of them is left on a node; the finalizer is taken off after `cancel` is done.
  std::vector<PodPtr> let_go;
  bool cancel = false;   // The job has nobody left, or not enough.
  bool waiting = false;  // For Slurm to start it.
  bool over = false;     // The job has ended, whatever its pods do.
};

// `members` are the pods that carry the job's id. `min_members`: with fewer that want to run, a job
// that waits is withdrawn.
JobPlan plan_job(const std::vector<Member>& members, const JobKnowledge& known,
                 std::int32_t min_members);

// Whether a gang whose job runs must not begin: none of it has, and fewer are left than it takes.
bool is_too_few_to_begin(const std::vector<Member>& members, std::int32_t min_members);

// How many pods it takes to go on with a gang: of one of which some are at work in other jobs, the
// rest makes it whole.
std::int32_t least_of(std::int32_t min_members, std::size_t elsewhere);

}  // namespace mainspring::bridge
