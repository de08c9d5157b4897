// The queue "controller-slurm": what a Controller needs slurmctld's answer for.
#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "base/text.h"
#include "net/wait.h"
#include "operator/sync/controller_sync.h"
#include "slurm/cluster.h"
#include "slurm/conf_hash.h"
#include "slurm/jobs.h"
#include "slurm/partitions.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

// From the change of a pod to its files: the kubelet acts at once, and this is ample. Whether it
// was enough is seen afterwards, see confirm().
constexpr Duration kFilesArrive = seconds(5);
// After a reconfigure that failed. The other queue, which shows that in the status, wakes this one.
constexpr Duration kRetry = seconds(5);
constexpr int kDoublings = 6;  // Five minutes: a reconfigure is no small thing to slurmctld.
// slurmctld starts anew with the new files, which takes it from milliseconds to seconds.
constexpr Duration kComesBack = seconds(15);
constexpr Duration kLookEvery = milliseconds(500);
// For the last job of a closed partition, which slurmctld forgets minutes after its end.
constexpr Duration kLookForJobs = seconds(10);
// A standby that takes over is to be seen soon, and a ping costs slurmctld next to nothing.
constexpr Duration kFollow = seconds(10);

// What slurmctld runs with, before and after; unset where its API cannot say it.
Task<Result<std::optional<slurm::RunningConf>>> running_conf(slurm::ClusterControl control) {
  Result<slurm::RunningConf> now = co_await control.conf();
  if (now) co_return *std::move(now);
  if (now.error().code() == Code::kUnsupported) co_return std::nullopt;
  co_return fail(std::move(now).error());
}

// A reconfigure is answered before it is done, and slurmctld reads whatever files the kubelet has
// brought by then. So it has taken them up when another run of it shows the hash of the slurm.conf
// that we wrote. Nothing shows which text of the other files it has; they come into the pod
// together with slurm.conf, and where they alone changed the kubelet's promptness is trusted.
Task<Result<void>> confirm(slurm::ClusterControl control, const Clock* clock, std::int64_t before,
                           std::optional<std::uint32_t> hash) {
  const TimePoint end = clock->now() + kComesBack;
  Error last(Code::kTransient, "slurmctld has not come back from its reconfigure");
  while (clock->now() < end) {
    MS_CO_CHECK(co_await net::sleep(kLookEvery));
    const auto now = co_await control.conf();
    if (!now) last = now.error();
    if (!now || now->boot_time == before) continue;
    if (!hash || now->file_hash == 0 || now->file_hash == *hash) co_return Result<void>();
    co_return fail(Code::kTransient, "the new files have not arrived in its pod yet");
  }
  co_return fail(std::move(last));
}

}  // namespace

Task<Result<Requeue>> ControllerSync::reconcile_slurm(Key key) {
  const ControllerPtr controller = world_.controllers.get(key.view());
  if (!controller || controller->meta.deleting() || controller->spec.external) co_return Requeue{};
  const std::shared_ptr<SlurmCluster> cluster = world_.slurm.find(key.view());
  if (!cluster) co_return Requeue{};
  // First, since nobody reaches a slurmctld that has just taken over before this.
  const bool several = controller->replicas() > 1;
  if (several) {
    MS_CO_CHECK(co_await follow_active(controller, cluster));
  }
  MS_CO_TRY(Requeue again, co_await take_up(controller, cluster));
  MS_CO_TRY(const Requeue look, co_await look_at_closed(controller, cluster));
  if (!again.after) again = look;
  if (several) again.after = std::min(again.after.value_or(kFollow), kFollow);
  co_return again;
}

Task<Result<Requeue>> ControllerSync::take_up(ControllerPtr controller,
                                              std::shared_ptr<SlurmCluster> cluster) {
  const api::ConfigStatus wanted = controller->status.config;
  if (wanted.state != kPending || wanted.method != kByReconfigure) co_return Requeue{};
  const auto it = memory_.find(controller->meta.key());
  // The other queue brings the files in first, and comes back to us.
  if (it == memory_.end() || it->second.brought != wanted.hash) co_return Requeue{};
  if (it->second.taken_up == wanted.hash) co_return Requeue{};
  const TimePoint due = std::max(it->second.brought_at + kFilesArrive, it->second.try_again);
  if (world_.clock.now() < due) co_return Requeue{due - world_.clock.now()};

  const slurm::ClusterControl control(cluster->client());
  const auto map = world_.config_maps.get(controller->meta.ns,
                                          api::controller_config_name(controller->meta.name));
  const auto text = map ? map->data.find("slurm.conf") : std::nullopt;
  const auto hash = text ? slurm::conf_hash(*text) : std::nullopt;
  const auto before = co_await running_conf(control);
  if (before && *before) {
    std::int64_t& read_before = memory_[ObjectKey(controller->meta.key())].read_before;
    if (read_before == 0) read_before = (*before)->file_hash;
  }
  Result<void> done;
  if (!before) done = fail(before.error());
  if (before) done = co_await control.reconfigure();
  if (done && *before) {
    done = co_await confirm(control, &world_.clock, (*before)->boot_time, hash);
  }
  // The map may have changed meanwhile.
  Memory& memory = memory_[ObjectKey(controller->meta.key())];
  if (!done) {
    memory.trouble = fmt::format("slurmctld has not taken it up yet: {}", done.error().to_string());
    memory.try_again = world_.clock.now() + kRetry * (1 << std::min(memory.failures, kDoublings));
    ++memory.failures;
    queue_.enqueue(controller->meta.key());
    co_return fail(done.error());
  }
  if (memory.brought == wanted.hash) {
    memory.taken_up = wanted.hash;
    memory.taken_up_at = world_.clock.wall_now();
    memory.proven = hash && memory.read_before != 0 && memory.read_before != *hash;
    memory.trouble.clear();
    memory.failures = 0;
  }
  queue_.enqueue(controller->meta.key());
  co_return Requeue{};
}

// Of a partition that is closed in the files that slurmctld has taken up. That it has is asked for
// too: ReconfigFlags may have it keep what it had. Once it lets no job in, a list of all jobs shows
// whether any is left; what the cache has may be older than the closing.
Task<Result<Requeue>> ControllerSync::look_at_closed(ControllerPtr controller,
                                                     std::shared_ptr<SlurmCluster> cluster) {
  const auto it = memory_.find(controller->meta.key());
  if (it == memory_.end() || it->second.closed.names.empty()) co_return Requeue{};
  const ClosedPartitions closed = it->second.closed;
  if (it->second.vacant.names == closed.names) co_return Requeue{};
  ClosedPartitions vacant{closed.files, {}};
  const slurm::Partitions partitions(cluster->client());
  for (const std::string& name : closed.names) {
    const auto jobs = cluster->jobs_naming(name);
    if (!jobs || jobs->all > 0) continue;
    const auto now = co_await partitions.get(name);
    if (!now && now.error().code() != Code::kNotFound) co_return fail(now.error());
    if (!now || now->is_closed()) vacant.names.insert(name);
  }
  if (vacant.names.empty()) co_return Requeue{kLookForJobs};
  MS_CO_CHECK(co_await slurm::Jobs(cluster->client()).list([&vacant](const auto& job) {
    for (const std::string_view name : split(std::string_view(job->partition), ',')) {
      vacant.names.erase(std::string(name));
    }
  }));
  // The map may have changed meanwhile.
  Memory& memory = memory_[ObjectKey(controller->meta.key())];
  if (memory.closed.files == closed.files && !vacant.names.empty()) {
    memory.vacant = std::move(vacant);
    queue_.enqueue(controller->meta.key());
  }
  co_return Requeue{kLookForJobs};
}

Task<Result<void>> ControllerSync::follow_active(ControllerPtr controller,
                                                 std::shared_ptr<SlurmCluster> cluster) {
  const slurm::ClusterControl control(cluster->pinger());
  MS_CO_TRY(const std::vector<slurm::Ping> pings, co_await control.ping());
  // In the order of SlurmctldHost. The first that responds is the one in charge; where none does
  // nothing is known, and the label stays where it is.
  const auto active = std::find_if(pings.begin(), pings.end(),
                                   [](const slurm::Ping& ping) { return ping.responding; });
  if (active == pings.end()) co_return Result<void>();
  co_return co_await mark_active(
      controller,
      fmt::format("{}-{}", api::controller_name(controller->meta.name), active - pings.begin()));
}

Task<Result<void>> ControllerSync::mark_active(ControllerPtr controller, std::string name) {
  const auto set =
      world_.stateful_sets.get(controller->meta.ns, api::controller_name(controller->meta.name));
  if (!set) co_return Result<void>();
  const auto pods = world_.pods_of(set->meta.uid);
  const kube::RawApi api(world_.client, kube::Pod::kResource, controller->meta.ns);
  for (const auto& pod : pods) {
    const bool is_active = pod->meta.name == name;
    const auto label = pod->meta.labels.find(api::label::kActive);
    if (is_active ? label == std::string_view("true") : !label.has_value()) continue;
    json::Value body = json::Value::object();
    body["metadata"]["labels"].set(api::label::kActive,
                                   is_active ? json::Value("true") : json::Value());
    const auto done =
        co_await api.patch(pod->meta.name, {kube::PatchKind::kMerge, std::move(body)}, {});
    if (!done && done.error().code() != Code::kNotFound) co_return fail(done.error());
  }
  co_return Result<void>();
}

}  // namespace mainspring::op
