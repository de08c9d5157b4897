#include "bridge/sync/submission.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/devices/claim_plan.h"
#include "bridge/names.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/job.h"
#include "slurm/errors.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {
namespace {

using slurm::Errno;

// What nobody could claim afterwards must not get a job.
Result<DeviceNeeds> check_devices(const kube::Pod& pod, const DeviceClasses& classes) {
  if (!pod.spec->resource_claims.empty()) {
    return fail(Code::kUnsupported,
                fmt::format("spec.resourceClaims: devices are claimed for the pod when Slurm has "
                            "chosen them; ask for them in the limits of a container, as in "
                            "{}gpu.nvidia.com: 1",
                            kDeviceClassPrefix));
  }
  return device_needs_of(*pod.spec, classes);
}

// What of a request a job that waits can be changed to; the rest is decided when it is submitted.
slurm::JobRequest changeable(slurm::JobRequest request) {
  request.flags.clear();
  request.shared.clear();
  request.user_id.reset();
  request.group_id.reset();
  request.current_working_directory.reset();
  request.mcs_label.reset();
  request.requeue.reset();
  request.tasks_per_node.reset();
  return request;
}

// Nobody's answer: it could start later, so it takes its place in the queue.
bool must_queue(const Error& error) {
  return error.code() == Code::kThrottled || slurm::refused_with(error, Errno::kCannotStartNow) ||
         slurm::refused_with(error, Errno::kNodesBusy) ||
         slurm::refused_with(error, Errno::kNotImmediately);
}

// A user may not write the admin comment; `extra` is theirs and says the same until it is written.
std::string_view comment_of(const slurm::Job& job) {
  return job.admin_comment.empty() ? job.extra.view() : job.admin_comment.view();
}

void keys_of(const slurm::Job& job, std::vector<std::string>& keys) {
  if (!job.is_external() || job.state.has_ended()) return;
  admin_comment_keys(comment_of(job), keys);
}

}  // namespace

std::optional<JobOwners> owners_in(const slurm::Job& job) {
  if (!job.is_external()) return std::nullopt;
  return parse_admin_comment(comment_of(job));
}

Claim::Claim(const slurm::Job& job)
    : job_(job.id), external_(job.is_external()), owners_(owners_in(job)) {
  if (!owners_) return;
  std::sort(owners_->uids.begin(), owners_->uids.end());
  std::sort(owners_->pods.begin(), owners_->pods.end());
}

bool Claim::denies(const kube::Pod& pod) const {
  if (job_of(pod) != job_) return false;
  if (!external_ || !owners_) return !external_;
  const bool by_uid = !owners_->uids.empty();
  const auto& list = by_uid ? owners_->uids : owners_->pods;
  return !std::binary_search(list.begin(), list.end(),
                             by_uid ? pod.meta.uid : pod.meta.ns + "/" + pod.meta.name);
}

bool is_uncertain(const Error& error) {
  return error.code() == Code::kTimeout || error.code() == Code::kTransient ||
         error.code() == Code::kCancelled || error.code() == Code::kInternal;
}

Submission::Submission(World& world)
    : world_(world),
      by_pod_(world.cache.jobs().add_index(&keys_of)),
      waiting_in_(world.cache.jobs().add_index(
          [](const slurm::Job& job, std::vector<std::string>& partitions) {
            if (job.state.is_pending() && !job.hold) partitions.push_back(job.partition.str());
          })) {}

std::vector<Place> Submission::places(const std::vector<std::string>& slurm_nodes) const {
  std::vector<Place> out;
  out.reserve(slurm_nodes.size());
  for (const std::string& name : slurm_nodes) out.push_back({name, world_.kube_node(name)});
  return out;
}

std::vector<Place> Submission::candidates(std::string_view partition) const {
  std::vector<Place> out;
  for (const auto& node : world_.cache.nodes_in_partition(partition)) {
    out.push_back({std::string(node->name), world_.kube_node(node->name)});
  }
  return out;
}

// To Slurm the CPUs of all nodes are alike; as devices only some nodes have theirs.
void Submission::leave_out_without_cpus(std::vector<Place>& places) const {
  for (Place& place : places) {
    if (!place.node) continue;
    const auto& slices = world_.slices_of(place.node->meta.name);
    if (std::none_of(slices.begin(), slices.end(),
                     [](const auto& slice) { return slice->driver == kCpuClass; })) {
      place.lacks = fmt::format("no CPUs are published there as devices ({})", kCpuClass);
    }
  }
}

Result<Prepared> Submission::prepare(const Gang& gang,
                                     const std::vector<VolumeNodes>& volumes) const {
  MS_TRY(Translation translation, translate(gang, world_.config));
  bool cpus = false;
  for (const PodPtr& pod : gang.pods) {
    MS_TRY(const DeviceNeeds needs, with_context(check_devices(*pod, world_.config.device_classes),
                                                 "pod " + pod->meta.name));
    cpus = cpus || needs.counts.contains(kCpuClass);
  }
  Prepared out{std::move(translation.request), std::move(translation.warnings), {}};
  out.request.admin_comment = comment_for(gang.pods);
  const std::string partition = out.request.partition.value_or(world_.config.partition);
  std::vector<Place> all = candidates(partition);
  if (cpus) leave_out_without_cpus(all);
  const Fit found = fit(gang.pods, volumes, all, world_.config.scheduler_name);
  if (!found.excluded.empty()) out.request.excluded_nodes = {found.excluded};
  const auto least = static_cast<std::size_t>(std::max(out.request.minimum_nodes.value_or(1), 1));
  if (all.empty()) {
    out.impossible = fmt::format("Slurm's partition {} has no nodes", partition);
  } else if (found.left < least) {
    out.impossible = fmt::format("{} of the {} nodes of Slurm's partition {} suit, {} needed: {}",
                                 found.left, all.size(), partition, least, found.why);
  }
  return out;
}

// Slurm decides; but each of its refusals is a failed job in its accounting, so it is not asked
// where others wait in the partition or no node there is free.
bool Submission::may_start_now(const slurm::JobRequest& request) const {
  const std::string partition = request.partition.value_or(world_.config.partition);
  if (!world_.cache.jobs().find(waiting_in_, partition).empty()) return false;
  using Base = slurm::NodeState::Base;
  const bool alone = !request.shared.empty();
  const auto& nodes = world_.cache.nodes_in_partition(partition);
  const auto free = std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) {
    return node->state.can_take_jobs() &&
           (node->state.base() == Base::kIdle || (!alone && node->state.base() == Base::kMixed));
  });
  return free >= request.minimum_nodes.value_or(1);
}

Task<Result<slurm::JobId>> Submission::start(slurm::JobRequest request) {
  slurm::JobRequest now = request;
  now.immediate = true;
  const std::string user = request.user_id.value_or("");
  if (!user.empty()) {
    // Belongs to whoever allocates it, who is not to write what is for administrators.
    now.extra = now.admin_comment;
    now.admin_comment.reset();
    now.user_id.reset();
    now.group_id.reset();
  }
  // A priority is an administrator's to give.
  if (may_start_now(request) && (user.empty() || !request.priority.set())) {
    auto allocated =
        co_await slurm::Jobs(world_.slurm, {.user = user}).allocate_now(std::move(now));
    if (allocated) {
      if (!user.empty()) {
        const auto noted = co_await slurm::Jobs(world_.slurm)
                               .update(allocated->job, {.admin_comment = request.admin_comment});
        // The job is there, and says the same in `extra`: a second one would be worse.
        if (!noted) {
          world_.log.warn("a job has no admin comment",
                          {{"job", allocated->job.text()}, {"error", noted.error()}});
        }
      }
      co_return allocated->job;
    }
    if (!must_queue(allocated.error())) co_return fail(std::move(allocated).error());
  }
  MS_CO_TRY(const slurm::Submitted submitted,
            co_await slurm::Jobs(world_.slurm).submit(std::move(request)));
  co_return submitted.job;
}

Task<Result<void>> Submission::change(slurm::JobId job, slurm::JobRequest request) {
  MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).update(job, changeable(std::move(request))));
  co_return Result<void>();
}

std::string Submission::comment_for(const std::vector<PodPtr>& pods) const {
  JobOwners owners = owners_of(pods);
  owners.cluster = world_.cluster_id();
  return to_admin_comment(owners);
}

Task<Result<void>> Submission::own(slurm::JobId job, std::vector<PodPtr> pods) {
  MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).update(job, {.admin_comment = comment_for(pods)}));
  MS_CO_CHECK(co_await world_.cache.refresh_job(job));
  co_return Result<void>();
}

std::shared_ptr<const slurm::Job> Submission::find(const std::vector<PodPtr>& pods) const {
  std::shared_ptr<const slurm::Job> first;
  for (const PodPtr& pod : pods) {
    const auto& user = world_.config.identity_of(pod->meta.ns).user;
    for (const auto& job : world_.cache.jobs().find(by_pod_, pod->meta.uid)) {
      // What a user wrote counts only where the pod is that user's.
      if (job->admin_comment.empty() && user && *user != job->user_name.view()) continue;
      if (!first || job->id < first->id) first = job;
    }
  }
  return first;
}

Task<Result<std::optional<slurm::JobId>>> Submission::find_lost(std::vector<PodPtr> pods) {
  std::optional<slurm::JobId> found;
  const auto look = [&](const std::shared_ptr<const slurm::Job>& job) {
    std::vector<std::string> keys;
    keys_of(*job, keys);
    const bool ours = std::any_of(pods.begin(), pods.end(), [&](const PodPtr& pod) {
      return std::find(keys.begin(), keys.end(), pod->meta.uid) != keys.end();
    });
    if (ours && (!found || job->id < *found)) found = job->id;
  };
  MS_CO_CHECK(co_await slurm::Jobs(world_.slurm).list(look));
  co_return found;
}

}  // namespace mainspring::bridge
