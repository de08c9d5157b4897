// slurm/source.h
//
// Where the change cache gets its facts: REST today, a native event feed beside it later, an
// in-memory Slurm in simulations. Every call is bounded in time by whoever implements it, and gives
// what was asked or an Error; none decides what to believe. Owned by main; lives on the cache's
// loop and outlives the cache.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "net/task.h"
#include "slurm/governor.h"
#include "slurm/job.h"
#include "slurm/job_pulse.h"
#include "slurm/node.h"
#include "slurm/partition.h"
#include "slurm/reservation.h"

namespace mainspring::slurm {

using net::Task;

// How a list ended. `since` of the next call; the same as before where nothing changed.
struct Listed {
  bool not_modified = false;
  std::int64_t last_update = 0;
};

// What slurmctld says of itself: whether it answers, and which run of it this is.
struct ControllerHealth {
  bool responding = false;
  std::int64_t boot_time = 0;  // Changes when slurmctld was restarted. 0: not known.
};

class Source {
 public:
  virtual ~Source() = default;

  template <class T>
  using OnRecord = std::function<void(std::shared_ptr<const T>)>;

  // Full lists, streamed. With `since` (a last_update), nothing is streamed where nothing changed.
  virtual Task<Result<Listed>> nodes(std::int64_t since, OnRecord<Node> on_record) = 0;
  virtual Task<Result<Listed>> jobs(std::int64_t since, OnRecord<Job> on_record) = 0;
  virtual Task<Result<Listed>> partitions(std::int64_t since, OnRecord<Partition> on_record) = 0;
  virtual Task<Result<Listed>> reservations(std::int64_t since,
                                            OnRecord<Reservation> on_record) = 0;

  // State of all jobs, or of `ids` only. An id that slurmctld does not know is left out.
  virtual Task<Result<std::vector<JobPulse>>> job_states(std::vector<JobId> ids, Lane lane) = 0;

  // kNotFound where slurmctld says so, which is an answer and not a failure.
  virtual Task<Result<std::shared_ptr<const Job>>> job(JobId id, Lane lane) = 0;
  virtual Task<Result<std::shared_ptr<const Node>>> node(std::string name, Lane lane) = 0;

  virtual Task<Result<ControllerHealth>> health() = 0;
};

}  // namespace mainspring::slurm
