#include "slurm/rest_source.h"

#include <utility>

#include "slurm/cluster.h"
#include "slurm/jobs.h"
#include "slurm/nodes.h"
#include "slurm/partitions.h"
#include "slurm/reservations.h"

namespace mainspring::slurm {
namespace {

CallOptions in(Lane lane) {
  CallOptions options;
  options.lane = lane;
  return options;
}

}  // namespace

Task<Result<Listed>> RestSource::nodes(std::int64_t since, OnRecord<Node> on_record) {
  co_return co_await Nodes(client_, in(Lane::kBackground)).list(std::move(on_record), since);
}

Task<Result<Listed>> RestSource::jobs(std::int64_t since, OnRecord<Job> on_record) {
  co_return co_await Jobs(client_, in(Lane::kBackground)).list(std::move(on_record), since);
}

Task<Result<Listed>> RestSource::partitions(std::int64_t since, OnRecord<Partition> on_record) {
  co_return co_await Partitions(client_, in(Lane::kBackground)).list(std::move(on_record), since);
}

Task<Result<Listed>> RestSource::reservations(std::int64_t since, OnRecord<Reservation> on_record) {
  co_return co_await Reservations(client_, in(Lane::kBackground)).list(std::move(on_record), since);
}

Task<Result<std::vector<JobPulse>>> RestSource::job_states(std::vector<JobId> ids, Lane lane) {
  co_return co_await Jobs(client_, in(lane)).states(std::move(ids));
}

Task<Result<std::shared_ptr<const Job>>> RestSource::job(JobId id, Lane lane) {
  MS_CO_TRY(Job job, co_await Jobs(client_, in(lane)).get(id));
  co_return std::make_shared<const Job>(std::move(job));
}

Task<Result<std::shared_ptr<const Node>>> RestSource::node(std::string name, Lane lane) {
  MS_CO_TRY(Node node, co_await Nodes(client_, in(lane)).get(std::move(name)));
  co_return std::make_shared<const Node>(std::move(node));
}

Task<Result<ControllerHealth>> RestSource::health() {
  co_return co_await ClusterControl(client_, in(Lane::kNormal)).health();
}

}  // namespace mainspring::slurm
