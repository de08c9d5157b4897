// slurm/rest_source.h
//
// What the change cache reads, by Slurm's REST API. Owned by main; lives on the cache's loop, over
// a client that must outlive it. Lists run in the background lane: nothing waits behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "slurm/client.h"
#include "slurm/source.h"

namespace mainspring::slurm {

class RestSource final : public Source {
 public:
  explicit RestSource(Client& client) : client_(client) {}

  Task<Result<Listed>> nodes(std::int64_t since, OnRecord<Node> on_record) override;
  Task<Result<Listed>> jobs(std::int64_t since, OnRecord<Job> on_record) override;
  Task<Result<Listed>> partitions(std::int64_t since, OnRecord<Partition> on_record) override;
  Task<Result<Listed>> reservations(std::int64_t since, OnRecord<Reservation> on_record) override;
  Task<Result<std::vector<JobPulse>>> job_states(std::vector<JobId> ids, Lane lane) override;
  Task<Result<std::shared_ptr<const Job>>> job(JobId id, Lane lane) override;
  Task<Result<std::shared_ptr<const Node>>> node(std::string name, Lane lane) override;
  Task<Result<ControllerHealth>> health() override;

 private:
  Client& client_;
};

}  // namespace mainspring::slurm
