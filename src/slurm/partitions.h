// slurm/partitions.h
//
// Partitions: what can be done with partitions. A light handle; the client must outlive it and its
// calls. What is written here lasts until slurmctld is reconfigured or restarted, unless
// ReconfigFlags=KeepPartInfo: the place for partitions is slurm.conf.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "slurm/admin_request.h"
#include "slurm/calls.h"
#include "slurm/partition.h"

namespace mainspring::slurm {

class Partitions {
 public:
  explicit Partitions(Client& client, CallOptions options = {})
      : calls_(client, std::move(options)) {}

  Task<Result<Partition>> get(std::string name) const;
  Task<Result<Listed>> list(Source::OnRecord<Partition> on_record, std::int64_t since = 0) const;
  // Makes it, or changes it where it exists (v0.0.45), and gives it as it is then.
  Task<Result<Partition>> write(PartitionSpec spec) const;
  Task<Result<void>> remove(std::string name) const;  // v0.0.45

 private:
  Calls calls_;
};

}  // namespace mainspring::slurm
