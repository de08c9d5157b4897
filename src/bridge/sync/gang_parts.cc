// Gangs whose pods differ and whose job is a het job: which pods are of which part, what becomes of
// them, and where they go. The part of GangSync that knows that a job may be several.
#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "bridge/gang/parts_plan.h"
#include "bridge/sync/gang_sync.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {
namespace {

// All are of the first part where the job has but one.
std::size_t part_of_pod(const std::optional<JobOwners>& owners, std::size_t parts,
                        const kube::Pod& pod) {
  if (parts == 1) return 0;
  const auto part = owners ? part_of(*owners, pod.meta.uid) : std::nullopt;
  const auto index = static_cast<std::size_t>(part.value_or(0));
  return index < parts ? index : 0;
}

}  // namespace

JobPlan GangSync::plan_of(const std::vector<Member>& members, const JobKnowledge& known,
                          std::int32_t min_members) const {
  if (!known.job || !is_het(*known.job)) return plan_job(members, known, min_members);
  const auto owners = owners_in(*known.job);
  std::vector<PartMembers> parts;
  for (const JobPtr& job : submission_.parts_of(*known.job)) parts.push_back({job, {}});
  const bool waits = known.job->state.is_pending();
  for (const Member& one : members) {
    // One that has come since is not the job's, until it is in its comment.
    if (!waits && owners && !part_of(*owners, one.pod->meta.uid)) continue;
    parts[part_of_pod(owners, parts.size(), *one.pod)].members.push_back(one);
  }
  return plan_parts(parts, min_members);
}

void GangSync::leave_out_others(const slurm::Job& job, Pods& pods) {
  const auto owners = owners_in(job);
  std::erase_if(pods, [&](const PodPtr& pod) {
    return owners && !part_of(*owners, pod->meta.uid).has_value();
  });
}

std::vector<std::vector<std::size_t>> GangSync::by_part(const slurm::Job& job,
                                                        const Pods& pods) const {
  const auto owners = owners_in(job);
  std::vector<std::vector<std::size_t>> out(submission_.parts_of(job).size());
  for (std::size_t i = 0; i < pods.size(); ++i) {
    out[part_of_pod(owners, out.size(), *pods[i])].push_back(i);
  }
  return out;
}

// Nobody would use their nodes, and whoever was in them waits for such nodes now. With the first
// part all would end.
Task<Result<void>> GangSync::end_empty_parts(slurm::JobId job) {
  const JobPtr record = world_.cache.jobs().get({}, job.text());
  const auto owners = record && is_het(*record) ? owners_in(*record) : std::nullopt;
  if (!owners || owners->parts.empty()) co_return Result<void>();
  const auto parts = submission_.parts_of(*record);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto at =
        std::find(owners->parts.begin(), owners->parts.end(), static_cast<std::int32_t>(i));
    if (at != owners->parts.end() || parts[i]->state.has_ended()) continue;
    auto cancelled = co_await slurm::Jobs(world_.slurm).cancel(parts[i]->id);
    if (!cancelled && cancelled.error().code() != Code::kNotFound) {
      co_return fail(std::move(cancelled).error());
    }
  }
  co_return Result<void>();
}

// Pods of others that are on their way there and do not show it yet.
void GangSync::add_expected(Place& place, const Pods& own) const {
  const TimePoint now = world_.manager.executor().now();
  for (const PodPtr& other : recent_.expected_on(place.node->meta.name, now)) {
    const bool is_own = std::any_of(own.begin(), own.end(), [&](const PodPtr& pod) {
      return pod->meta.uid == other->meta.uid;
    });
    if (!is_own) place.taken.add(other->spec);
  }
}

Result<GangSync::NodeOf> GangSync::choose_nodes(const slurm::Job& job, const Pods& all,
                                                const std::vector<VolumeNodes>& volumes) const {
  const auto parts = submission_.parts_of(job);
  const auto members = by_part(job, all);
  NodeOf node_of;
  // Two parts may share a node, and what there is of it.
  std::multimap<std::string, PodPtr> there;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    Pods pods;
    std::vector<VolumeNodes> own;
    std::vector<std::string> given;
    for (const std::size_t pod : members[i]) {
      pods.push_back(all[pod]);
      own.push_back(volumes[pod]);
      given.emplace_back(recent_.given(all[pod]->meta.uid, job.id));
    }
    MS_TRY(const auto names, expand_hostlist(parts[i]->nodes));
    std::vector<Place> nodes = submission_.places(names, all);
    for (Place& node : nodes) {
      const auto [begin, end] = there.equal_range(node.slurm_name);
      for (auto at = begin; at != end; ++at) node.taken.add(at->second->spec);
      if (node.node) add_expected(node, all);
    }
    MS_TRY(const auto chosen, assign(pods, own, nodes, world_.config.scheduler_name, given));
    for (std::size_t pod = 0; pod < pods.size(); ++pod) {
      const Place& node = nodes[chosen[pod]];
      node_of.emplace(pods[pod]->meta.uid, node.node->meta.name);
      there.emplace(node.slurm_name, pods[pod]);
    }
  }
  return node_of;
}

}  // namespace mainspring::bridge
