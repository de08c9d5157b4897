// slurm/cluster.h
//
// ClusterControl: what can be asked of slurmctld as a whole. A light handle; the client must
// outlive it and its calls.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "slurm/calls.h"
#include "slurm/controller.h"

namespace mainspring::slurm {

// The configuration that slurmctld runs with, and since when.
struct RunningConf {
  ClusterConf conf;
  std::int64_t boot_time = 0;    // When this slurmctld started or was last reconfigured.
  std::int64_t last_update = 0;  // When its configuration changed.
  std::int64_t file_hash = 0;    // conf_hash() of the slurm.conf that it read.
  std::string path;              // Its slurm.conf.
  std::string release;           // "26.05.5"
};

class ClusterControl {
 public:
  explicit ClusterControl(Client& client, CallOptions options = {})
      : calls_(client, std::move(options)) {}

  // Every slurmctld, the primary first. Answers at once, also while none of them responds.
  Task<Result<std::vector<Ping>>> ping() const;
  Task<Result<Diag>> diag() const;
  Task<Result<RunningConf>> conf() const;  // v0.0.45
  Task<Result<std::vector<License>>> licenses() const;
  // All, or those of these accounts and users.
  Task<Result<std::vector<Share>>> shares(std::vector<std::string> accounts = {},
                                          std::vector<std::string> users = {}) const;
  // Reads slurm.conf again. Takes from milliseconds to seconds, during which slurmctld answers
  // nothing; partitions that were made by REST are gone afterwards, unless KeepPartInfo is set.
  // Done means asked: slurmctld answers before it reads, and conf() shows what came of it.
  Task<Result<void>> reconfigure() const;

  // Whether any slurmctld responds, and which run of it this is. Before v0.0.45 the time of the run
  // is when its counters began, which also changes at midnight, and is not known after a
  // reconfigure.
  Task<Result<ControllerHealth>> health() const;

 private:
  Calls calls_;
};

}  // namespace mainspring::slurm
