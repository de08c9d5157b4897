#include "bridge/nodes/tenants.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "bridge/devices/claim_plan.h"
#include "bridge/gang/pod_stage.h"
#include "bridge/names.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/sync/submission.h"
#include "bridge/translate/pod_needs.h"

namespace mainspring::bridge {
namespace {

bool is_tenant(const kube::Pod& pod) { return pod.meta.labels.contains(kJobIdLabel); }

// The job is for this pod. Looking for the UID is quick; a comment may name hundreds.
bool is_for(const slurm::Job& job, const kube::Pod& pod) {
  const bool named = job.admin_comment.view().find(pod.meta.uid) != std::string_view::npos;
  return (named && job.is_external()) || !Claim(job).denies(pod);
}

bool wants_devices(const kube::Pod& pod, const DeviceClasses& classes) {
  const auto needs = device_needs_of(*pod.spec, classes);
  return !needs || !needs->none();
}

}  // namespace

bool has_nodes(const slurm::Job& job) {
  const slurm::JobState state = job.state;
  return !state.has_ended() && !state.is_pending() && !state.will_come_back() &&
         !state.is_suspended();
}

bool has_node(const slurm::Job& job, std::string_view slurm_node) {
  if (!has_nodes(job)) return false;
  if (job.nodes == slurm_node) return true;
  const auto names = expand_hostlist(job.nodes);
  return names && std::find(names->begin(), names->end(), slurm_node) != names->end();
}

bool is_too_much(const std::vector<PodPtr>& pods, const kube::Node& node) {
  PodNeeds sum;
  for (const PodPtr& pod : pods) {
    const auto needs = needs_of(*pod->spec);
    if (!needs) return true;
    sum.cpus += needs->cpus;
    sum.memory_mb += needs->memory_mb;
    for (const auto& [name, count] : needs->devices) sum.devices[name] += count;
  }
  const auto has = [&](std::string_view resource, std::int64_t wanted) {
    const auto amount = node.allocatable.amount(resource);
    return amount && !(*amount < Quantity::of_units(wanted));
  };
  return !has("cpu", sum.cpus) || !has("memory", sum.memory_mb << 20) ||
         std::any_of(sum.devices.begin(), sum.devices.end(),
                     [&](const auto& one) { return !has(one.first, one.second); });
}

Tenants::Tenants(World& world) : world_(world) {}

Tenants::Pods Tenants::on(const kube::Node& node) const {
  Pods live;
  for (const PodPtr& pod : world_.pods_on(node.meta.name)) {
    if (is_tenant(*pod) && stage_of(*pod, is_out_of_service(node)) != PodStage::kOver)
      live.push_back(pod);
  }
  return live;
}

Tenants::JobPtr Tenants::record(slurm::JobId job) const {
  return world_.cache.jobs().get({}, job.text());
}

// The pods of all parts of a het job have the number of its first, and each part may end alone.
slurm::JobId Tenants::part_for(slurm::JobId job, const kube::Pod& pod) const {
  const JobPtr first = record(job);
  if (!first || !is_het(*first)) return job;
  const auto owners = owners_in(*first);
  const auto part = owners ? part_of(*owners, pod.meta.uid) : std::nullopt;
  if (!part) return job;
  return slurm::JobId(leader_of(*first).number() + static_cast<std::uint32_t>(*part));
}

bool Tenants::has_its_node(slurm::JobId job, const kube::Pod& pod,
                           std::string_view slurm_node) const {
  const JobPtr first = record(job);
  if (!first || !is_for(*first, pod)) return false;
  const JobPtr part = record(part_for(job, pod));
  return part && has_node(*part, slurm_node);
}

slurm::JobId Tenants::overdue(const kube::Node& node) const {
  const std::string name = World::slurm_name(node);
  slurm::JobId first;
  for (const PodPtr& pod : on(node)) {
    const slurm::JobId job = job_of(*pod);
    if ((!first || job < first) && !has_its_node(job, *pod, name)) first = job;
  }
  return first;
}

Task<Result<void>> Tenants::confirm_overdue(NodePtr node) {
  const std::string name = World::slurm_name(*node);
  std::set<slurm::JobId> unsure;
  for (const PodPtr& pod : on(*node)) {
    const slurm::JobId id = part_for(job_of(*pod), *pod);
    const JobPtr job = record(id);
    const bool ended = job && job->state.has_ended();
    if (!ended && !has_its_node(job_of(*pod), *pod, name)) unsure.insert(id);
  }
  for (const slurm::JobId job : unsure) MS_CO_CHECK(co_await world_.cache.refresh_job(job));
  co_return Result<void>();
}

// As one that shares its nodes with nobody.
bool Tenants::is_whole_node(const slurm::Job& job, std::string_view slurm_node) const {
  const auto node = world_.cache.nodes().get({}, slurm_node);
  if (!node) return true;
  const std::int64_t nodes = std::max<std::int64_t>(job.node_count.value_or(1), 1);
  return job.cpus.value_or(0) / nodes >= node->cpus;
}

bool Tenants::is_crowded(const Arrival& arrival) const {
  if (is_whole_node(*arrival.job, World::slurm_name(*arrival.node))) return true;
  Pods all = on(*arrival.node);
  for (const auto& one : arrival.unseen) {
    // Which device of several it is matters, not only how many there are.
    if (one.job == arrival.job->id && wants_devices(*one.pod, world_.config.device_classes)) {
      return true;
    }
    all.push_back(one.pod);
  }
  return is_too_much(all, *arrival.node);
}

// That a neighbour's job has its node may be what it was a moment ago. Where there is room for all
// in any case that does no harm, and Slurm need not be asked about everybody on a shared node.
Task<Result<slurm::JobId>> Tenants::in_the_way(Arrival arrival) {
  Pods others = on(*arrival.node);
  std::erase_if(others, [&](const PodPtr& pod) {
    return job_of(*pod) == arrival.job->id && is_for(*arrival.job, *pod);
  });
  const bool crowded = is_crowded(arrival);
  std::erase_if(arrival.unseen,
                [&](const auto& one) { return one.job == arrival.job->id || !one.maybe_there; });
  const std::string name = World::slurm_name(*arrival.node);
  std::set<slurm::JobId> asked;
  for (const PodPtr& pod : others) {
    const slurm::JobId id = part_for(job_of(*pod), *pod);
    const JobPtr job = record(id);
    const bool has_it = has_its_node(job_of(*pod), *pod, name);
    const bool sure = has_it ? !crowded : job && job->state.has_ended();
    if (!sure && asked.insert(id).second) MS_CO_CHECK(co_await world_.cache.refresh_job(id));
    if (!has_its_node(job_of(*pod), *pod, name)) co_return id;
  }
  for (const auto& one : arrival.unseen) {
    const slurm::JobId id = part_for(one.job, *one.pod);
    if (crowded && asked.insert(id).second) {
      MS_CO_CHECK(co_await world_.cache.refresh_job(id));
    }
    const JobPtr job = record(id);
    if (!job || !has_node(*job, name)) co_return id;
  }
  co_return slurm::JobId();
}

}  // namespace mainspring::bridge
