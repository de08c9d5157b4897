// A NodeSet's status: counters, conditions, and where pinned pods belong.
#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "operator/build/worker.h"
#include "operator/nodeset/projection.h"
#include "operator/sync/nodeset_sync.h"

namespace mainspring::op {
namespace {

std::string selector_text(const api::NodeSet& nodeset) {
  return fmt::format("{}={},{}={}", api::label::kInstance, nodeset.meta.name, api::label::kName,
                     api::app::kWorker);
}

// Which node each ordinal is pinned to: where its pod is, else where it was, while that node exists
// and still fits.
json::Value pinned_nodes(const NodeSetWorld& shared, const NodeSetView& view) {
  json::Value pins = json::Value::object();
  if (!view.nodeset.spec.pin_to_node) return pins;
  for (const auto& [ordinal, node] : view.nodeset.status.ordinal_to_node) {
    const auto known = shared.world.nodes.get({}, node);
    const bool lasts = known ? shared.fits(view.nodeset, known) : !shared.world.nodes.synced();
    if (lasts) pins.set(ordinal, node);
  }
  for (const WorkerView& worker : view.workers) {
    const auto ordinal = ordinal_of(view.nodeset, *worker.pod);
    if (ordinal && !worker.pod->node_name.empty() && !worker.pod->meta.deleting()) {
      pins.set(std::to_string(*ordinal), worker.pod->node_name.view());
    }
  }
  return pins;
}

json::Value pins_as_seen(const api::NodeSet& nodeset) {
  json::Value pins = json::Value::object();
  for (const auto& [ordinal, node] : nodeset.status.ordinal_to_node) pins.set(ordinal, node);
  return pins;
}

// What is to be said of workers that Slurm has lost with jobs on them; empty where there is none.
std::string about_unseen(const NodeSetView& view, const Plan& plan) {
  constexpr std::size_t kNamed = 5;
  if (plan.unseen.empty()) return {};
  std::vector<std::string_view> names;
  names.reserve(plan.unseen.size());
  for (const std::size_t index : plan.unseen) names.push_back(view.workers[index].pod->meta.name);
  std::sort(names.begin(), names.end());
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return fmt::format(
      "{} workers had jobs when Slurm last knew them, which may still run, so their pods are left "
      "alone ({}{}): bring slurmctld's state back, or delete the pods when the jobs may end",
      plan.unseen.size(), fmt::join(names, ", "), more > 0 ? ", ..." : "");
}

Situation situation_of(const NodeSetView& view, const Plan& plan, const Counters& now,
                       const SlurmCluster* slurm, std::string_view freshness,
                       const Error* failure) {
  Situation all;
  all.ready = now.available >= plan.desired && now.updated >= plan.desired &&
              plan.condemned.empty() && failure == nullptr;
  all.ready_reason = all.ready ? "AllAvailable" : "NotAllAvailable";
  all.ready_message = fmt::format("{} of {} workers are available, {} are up to date",
                                  now.available, plan.desired, now.updated);
  all.progressing = !plan.create.empty() || !plan.condemned.empty();
  if (all.progressing) {
    all.progress_message = fmt::format("{} to create, {} to drain and delete", plan.create.size(),
                                       plan.condemned.size());
  }
  all.slurm_reachable = slurm != nullptr && freshness.empty();
  all.slurm_message = slurm == nullptr ? "no RestApi of this Controller can be spoken to yet"
                                       : std::string(freshness);
  const std::size_t waiting = plan.condemned.size();
  const std::string unseen = about_unseen(view, plan);
  if (failure != nullptr) {
    all.degraded_reason = "SyncFailed";
    all.degraded_message = failure->to_string();
  } else if (plan.lost > 0) {
    all.degraded_reason = "SlurmHasNoNodes";
    all.degraded_message = fmt::format(
        "slurmctld knows no node at all, though {} workers are ready; its state is lost, or this "
        "is another Slurm{}{}",
        plan.lost, unseen.empty() ? "" : ". ", unseen);
  } else if (!unseen.empty()) {
    all.degraded_reason = "BusyWorkersUnknown";
    all.degraded_message = unseen;
  } else if (!plan.unregistered.empty()) {
    all.degraded_reason = "WorkersNotRegistered";
    all.degraded_message =
        fmt::format("Slurm does not know {} ready workers", plan.unregistered.size());
  } else if (waiting > 0 && !*all.slurm_reachable) {
    all.degraded_reason = "WaitingForSlurm";
    all.degraded_message =
        fmt::format("{} workers are to go, and nobody can say whether jobs run on them", waiting);
  }
  return all;
}

// What the user's wish for workers without privilege costs; no such condition where there is none.
void set_confinement(control::ConditionList& conditions, const NodeSetView& view, bool mixed) {
  constexpr std::string_view kType = "JobsConfined";
  if (!build::is_unprivileged(view.nodeset)) {
    control::remove_condition(conditions, kType);
    return;
  }
  kube::Condition wanted;
  wanted.type = kube::Text(kType);
  wanted.status = kube::ConditionStatus::kFalse;
  wanted.reason = kube::Text(mixed ? "MixedPrivilege" : "Unprivileged");
  wanted.message = kube::Text(
      mixed ? "other NodeSets of this Controller are privileged, so cgroups stay on, and slurmd "
              "without privilege cannot start with them: make all of them alike"
            : "without privilege Slurm has no cgroups: cores, memory and devices of a job are "
              "bounded by the pod alone");
  wanted.observed_generation = view.nodeset.meta.generation;
  control::set_condition(conditions, std::move(wanted), view.now);
}

// Of a Slurm that cannot be told the topology of workers; no such condition where it can, or where
// there is none to tell.
void set_topology(control::ConditionList& conditions, const NodeSetView& view,
                  std::optional<slurm::Version> spoken) {
  constexpr std::string_view kType = "TopologyInSlurm";
  const auto with = std::count_if(view.workers.begin(), view.workers.end(), has_topology);
  const auto able =
      spoken ? slurm::require(*spoken, slurm::Feature::kNodeTopology) : Result<void>();
  if (with == 0 || able) {
    control::remove_condition(conditions, kType);
    return;
  }
  kube::Condition wanted;
  wanted.type = kube::Text(kType);
  wanted.status = kube::ConditionStatus::kFalse;
  wanted.reason = kube::Text("SlurmTooOld");
  wanted.message = kube::Text(
      fmt::format("the topology of {} workers is left out: {}", with, able.error().message()));
  wanted.observed_generation = view.nodeset.meta.generation;
  control::set_condition(conditions, std::move(wanted), view.now);
}

}  // namespace

Task<Result<void>> NodeSetSync::write_status(NodeSetPtr nodeset, const NodeSetView* view,
                                             const Plan* plan, std::int32_t collisions,
                                             const Error* failure) {
  const Counters now =
      count(*nodeset, view->workers, view->revision_hash, plan->desired, view->now);
  const auto slurm = shared_.slurm_of(*nodeset);
  std::string stale;
  if (slurm) {
    const slurm::Freshness freshness = slurm->cache().nodes_freshness();
    // Not how old it is: that would change all the time.
    if (!freshness.fresh()) stale = freshness.why.empty() ? "no list of nodes yet" : freshness.why;
  }
  control::ConditionList conditions = conditions_of(
      nodeset->status.conditions, situation_of(*view, *plan, now, slurm.get(), stale, failure),
      nodeset->meta.generation, view->now);
  const auto& family = world_.nodesets_of({nodeset->meta.ns, nodeset->spec.controller_ref.name});
  set_confinement(conditions, *view, std::any_of(family.begin(), family.end(), [](const auto& one) {
                    return !build::is_unprivileged(*one);
                  }));
  set_topology(conditions, *view, slurm ? slurm->client().known_version() : std::nullopt);

  api::NodeSetStatus wanted = nodeset->status;
  wanted.replicas = now.replicas;
  wanted.updated_replicas = now.updated;
  wanted.ready_replicas = now.ready;
  wanted.available_replicas = now.available;
  wanted.unavailable_replicas = now.unavailable;
  wanted.desired = plan->desired;
  wanted.slurm_idle = now.slurm_idle;
  wanted.slurm_allocated = now.slurm_allocated;
  wanted.slurm_down = now.slurm_down;
  wanted.slurm_drain = now.slurm_drain;
  wanted.observed_generation = nodeset->meta.generation;
  if (!view->revision_hash.empty()) wanted.node_set_hash = view->revision_hash;
  wanted.collision_count = collisions;
  wanted.selector = selector_text(*nodeset);
  json::Value pins = pinned_nodes(shared_, *view);
  if (wanted == nodeset->status && pins == pins_as_seen(*nodeset) &&
      same_conditions(nodeset->status.conditions, conditions)) {
    co_return Result<void>();
  }
  json::Value status = json::Value::object({
      {"replicas", wanted.replicas},
      {"updatedReplicas", wanted.updated_replicas},
      {"readyReplicas", wanted.ready_replicas},
      {"availableReplicas", wanted.available_replicas},
      {"unavailableReplicas", wanted.unavailable_replicas},
      {"desired", wanted.desired},
      {"slurmIdle", wanted.slurm_idle},
      {"slurmAllocated", wanted.slurm_allocated},
      {"slurmDown", wanted.slurm_down},
      {"slurmDrain", wanted.slurm_drain},
      {"observedGeneration", wanted.observed_generation},
      {"nodeSetHash", wanted.node_set_hash},
      {"collisionCount", wanted.collision_count},
      {"selector", wanted.selector},
      {"conditions", control::to_json(conditions)},
  });
  // A merge patch keeps members that it does not name: those that are to go are named.
  for (const auto& [ordinal, node] : nodeset->status.ordinal_to_node) {
    if (pins.find(ordinal) == nullptr) pins.set(ordinal, nullptr);
  }
  if (!pins.empty()) status.set("ordinalToNode", std::move(pins));
  co_return co_await patch_status(&world_, api::NodeSet::kResource, nodeset->meta,
                                  std::move(status));
}

}  // namespace mainspring::op
