// bridge/sync/submission.h
//
// How a gang becomes a Slurm job, exactly once. At once where nothing waits ahead of it (allocate),
// else by its place in the queue (submit); as the user whom its namespace stands for. Whatever
// became of a call whose answer was lost, the job is found again by the UIDs that it carries.
// Lives on the control loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/sync/world.h"
#include "bridge/translate/ownership.h"
#include "bridge/translate/placement.h"
#include "slurm/job_request.h"

namespace mainspring::bridge {

using net::Task;

struct Prepared {
  slurm::JobRequest request;
  std::vector<std::string> warnings;
  // Set: no job can be asked for now, in words for the gang's owner.
  std::string impossible;
};

class Submission {
 public:
  explicit Submission(World& world);

  // Pure but for what the caches hold. kInvalid is the workload's fault.
  Result<Prepared> prepare(const Gang& gang, const std::vector<VolumeNodes>& volumes) const;

  // The id of the job, which may run already. After a failure that is_uncertain() there may be one
  // all the same, see find_lost(); after any other there is none.
  Task<Result<slurm::JobId>> start(slurm::JobRequest request);

  // Changes a job that waits to what is wanted now. kConflict where it waits no more.
  Task<Result<void>> change(slurm::JobId job, slurm::JobRequest request);

  // The job is for these pods from now on, and for no others.
  Task<Result<void>> own(slurm::JobId job, std::vector<PodPtr> pods);

  // The job that has one of these pods and is not over, as far as the cache knows; null: none.
  std::shared_ptr<const slurm::Job> find(const std::vector<PodPtr>& pods) const;
  // The same by asking for all jobs, for a call whose fate is unknown. Dear.
  Task<Result<std::optional<slurm::JobId>>> find_lost(std::vector<PodPtr> pods);

  // The nodes of the allocation and what they are here.
  std::vector<Place> places(const std::vector<std::string>& slurm_nodes) const;

 private:
  std::string comment_for(const std::vector<PodPtr>& pods) const;
  std::vector<Place> candidates(std::string_view partition) const;
  void leave_out_without_cpus(std::vector<Place>& places) const;
  bool may_start_now(const slurm::JobRequest& request) const;

  World& world_;
  Store<slurm::Job>::IndexId by_pod_;
  Store<slurm::Job>::IndexId waiting_in_;  // By partition: those that are not held.
};

// The pods that an external job is for, by its own word; none where it says nothing of pods.
std::optional<JobOwners> owners_in(const slurm::Job& job);

// Whose a job is. One of the number that a pod is marked with may be another's: a slurmctld that
// has lost its state begins to count anew.
class Claim {
 public:
  explicit Claim(const slurm::Job& job);
  // The pod has the job's mark, and the job is for others. A comment that is not ours says nothing:
  // sites have other uses for it.
  bool denies(const kube::Pod& pod) const;

 private:
  const slurm::JobId job_;
  const bool external_;
  std::optional<JobOwners> owners_;  // Sorted.
};

// A call after which it is not known whether Slurm did it.
bool is_uncertain(const Error& error);

}  // namespace mainspring::bridge
