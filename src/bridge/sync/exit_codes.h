// bridge/sync/exit_codes.h
//
// ExitCodes: how pods ended, for accounting, where users look for it (sacct -o DerivedExitCode,
// Comment). To slurmctld our jobs end by being cancelled, without an exit code. Ours is written
// once slurmdbd has heard of the end, so that nothing comes after it. The comment is slurmctld's to
// take as long as the job runs; of one that Slurm itself ended it is too late for that when its
// pods have ended, and it goes the same way. For people alone: nothing waits for it, and what was
// not written when the bridge ends is not written. Lives on the control loop.
#pragma once

#include <deque>
#include <string>

#include "bridge/sync/world.h"
#include "net/task.h"
#include "slurm/job_id.h"

namespace mainspring::bridge {

class ExitCodes {
 public:
  // Must outlive it. Its work is the manager's.
  explicit ExitCodes(World& world);

  // Of a job that has ended. 0 and "" are not worth a call.
  void add(slurm::JobId job, int exit_code, std::string comment = "");

 private:
  struct Ended {
    slurm::JobId job;
    int exit_code = 0;
    std::string comment;
    int tries = 0;
  };

  net::Task<Result<void>> run();
  // Whether it is done.
  net::Task<Result<bool>> write(Ended ended);

  World& world_;
  std::deque<Ended> ended_;
  TimePoint without_until_{};  // Slurm has no accounting for us, until it is asked again.
};

}  // namespace mainspring::bridge
