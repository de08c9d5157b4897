// slurm/jobs.h
//
// Jobs: what can be done with jobs. A light handle, made where it is needed; the client must
// outlive it and its calls.
//
//   Jobs jobs(client, {.user = "alice"});
//   MS_CO_TRY(Submitted made, co_await jobs.submit(request));
//   MS_CO_TRY(Job job, co_await jobs.get(made.job));
//
// What it does not let anybody do, because it hurts: allocate without `immediate` (the call and a
// thread of slurmrestd hang until nodes are free), send an external job any signal but KILL
// (slurmctld then waits for a slurmd that is not there and the node is lost for good), cancel by a
// filter that matches everything, and cancel or signal for one user the job of another: slurmctld
// 26.05 does not refuse that: it hangs and answers nobody until it is killed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slurm/calls.h"
#include "slurm/job.h"
#include "slurm/job_pulse.h"
#include "slurm/job_request.h"
#include "slurm/resources.h"

namespace mainspring::slurm {

struct Submitted {
  JobId job;                          // Of an array or a het job, that of the whole.
  std::string message;                // What the site's job_submit plugin said to the user.
  std::vector<std::string> warnings;  // "Job is in held state, pending scheduler release"
};

// A job of several that could not be canceled, and why.
struct NotCanceled {
  std::string job;  // As Slurm names it.
  Error error;
};

struct RequeueOptions {
  bool hold = false;  // Put back into the queue, held.
};

class Jobs {
 public:
  explicit Jobs(Client& client, CallOptions options = {}) : calls_(client, std::move(options)) {}

  // kNotFound once slurmctld has forgotten it.
  Task<Result<Job>> get(JobId id) const;
  // By the id of a het job's first part all of its parts, by that of an array all its tasks.
  Task<Result<std::vector<Job>>> family(JobId id) const;
  // Dear: 8 KB for each job. With `since`, none where nothing changed.
  Task<Result<Listed>> list(Source::OnRecord<Job> on_record, std::int64_t since = 0) const;
  // The state of all jobs, or of `ids`. One that slurmctld does not know is left out.
  Task<Result<std::vector<JobPulse>>> states(std::vector<JobId> ids = {}) const;
  // Which cores, memory and devices a running job holds on each node; kConflict where it does not
  // run.
  Task<Result<std::vector<NodeAllocation>>> resources(JobId id) const;

  // Takes its place in the queue.
  Task<Result<Submitted>> submit(JobRequest request) const;
  // One job of several parts that start together. A batch script is that of the first part.
  Task<Result<Submitted>> submit_het(std::vector<JobRequest> parts) const;
  // Running when this returns, or refused and not queued: kThrottled where it could start later.
  // Belongs to the user of the call, whatever the request says, so one that names another is
  // refused.
  Task<Result<Submitted>> allocate_now(JobRequest request) const;

  // The job as it is afterwards.
  Task<Result<Job>> update(JobId id, JobRequest changes) const;
  Task<Result<Job>> hold(JobId id) const;
  Task<Result<Job>> release(JobId id) const;

  // Ends it by KILL. Good also where it had ended already; kNotFound where it is not known. For
  // CallOptions::user only what is that user's; kForbidden otherwise.
  Task<Result<void>> cancel(JobId id) const;
  // The same for many in few calls; those that were not known or refused.
  Task<Result<std::vector<NotCanceled>>> cancel_many(std::vector<JobId> ids) const;
  // Those that fit all that is set, in one call. A selection that names nothing, or a signal other
  // than KILL, is refused. For CallOptions::user it takes that user's jobs only.
  Task<Result<std::vector<NotCanceled>>> cancel_matching(JobSelection which) const;
  // A signal to a job with processes, "TERM" or "SIGUSR1"; kInvalid for an external job, and where
  // it is not certain that it is none.
  Task<Result<void>> signal(JobId id, std::string signal) const;
  // Batch jobs only (v0.0.45).
  Task<Result<void>> requeue(JobId id, RequeueOptions options = {}) const;
  // The same for many in few calls. The error of one that Slurm refuses says which; it goes on with
  // the others of a call.
  Task<Result<void>> requeue_many(std::vector<JobId> ids, RequeueOptions options = {}) const;

 private:
  Task<Result<Submitted>> send_request(Call call, bool external) const;
  Task<Result<bool>> may_be_external(JobId id) const;
  Task<Result<void>> check_owner(JobId id) const;
  Task<Result<std::vector<NotCanceled>>> cancel_by(JobSelection which) const;

  Calls calls_;
};

}  // namespace mainspring::slurm
