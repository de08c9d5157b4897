// A NodeSet's status: counters, conditions, and where pinned pods belong.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/names.h"
#include "operator/build/worker.h"
#include "operator/nodeset/projection.h"
#include "operator/nodeset/reservation.h"
#include "operator/nodeset/topology.h"
#include "operator/sync/nodeset_sync.h"

namespace mainspring::op {
namespace {

constexpr std::string_view kReservationCreated = "ReservationCreated";  // Part of the contract.
constexpr std::string_view kWaitingForJobs = "WaitingForJobs";

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

// The same of workers that Slurm may know under another name.
std::string about_strangers(const NodeSetView& view, const Plan& plan) {
  constexpr std::size_t kNamed = 5;
  if (plan.strangers.empty()) return {};
  std::vector<std::string> names;
  for (const std::size_t index : plan.strangers) {
    const WorkerView& worker = view.workers[index];
    const std::string& other = worker.slurm.elsewhere;
    names.push_back(other.empty() ? worker.pod->meta.name
                                  : fmt::format("{} as {}", worker.pod->meta.name, other));
  }
  std::sort(names.begin(), names.end());
  const std::size_t more = names.size() - std::min(names.size(), kNamed);
  names.resize(names.size() - more);
  return fmt::format(
      "{} workers are not in Slurm under the name that is expected, and may have jobs under "
      "another, so their pods are left alone ({}{}): let slurmd take the expected name (no -N, no "
      "setHostnameAsFQDN; with hostNetwork the name of the Kubernetes node), or delete the pods "
      "when no job runs there",
      plan.strangers.size(), fmt::join(names, ", "), more > 0 ? ", ..." : "");
}

Situation situation_of(const NodeSetView& view, const Plan& plan, const Counters& now,
                       const SlurmCluster* slurm, std::string_view freshness,
                       std::string_view held_back, const Error* failure) {
  Situation all;
  const bool complete = now.available >= plan.desired && now.updated >= plan.desired &&
                        plan.condemned.empty() && failure == nullptr;
  all.ready = complete && plan.waiting == 0;
  all.ready_reason = all.ready ? "AllAvailable" : complete ? "WaitingForSlurm" : "NotAllAvailable";
  all.ready_message = fmt::format("{} of {} workers are available, {} are up to date",
                                  now.available, plan.desired, now.updated);
  const std::size_t going = plan.condemned.size() + static_cast<std::size_t>(plan.waiting);
  all.progressing = !plan.create.empty() || going > 0;
  if (all.progressing) {
    all.progress_message =
        fmt::format("{} to create, {} to drain and delete", plan.create.size(), going);
  }
  all.slurm_reachable = slurm != nullptr && freshness.empty();
  all.slurm_message = slurm == nullptr ? "no RestApi of this Controller can be spoken to yet"
                                       : std::string(freshness);
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
  } else if (!plan.strangers.empty()) {
    all.degraded_reason = "WorkersUnderAnotherName";
    all.degraded_message = about_strangers(view, plan);
  } else if (!plan.unregistered.empty()) {
    all.degraded_reason = "WorkersNotRegistered";
    all.degraded_message =
        fmt::format("Slurm does not know {} ready workers", plan.unregistered.size());
  } else if (plan.held > 0) {
    all.degraded_reason = "DeletionsLimited";
    all.degraded_message = fmt::format(
        "the nodes of {} more workers do not fit them any more, or their scaling mode does not; "
        "they go after others, a quarter of the workers a minute. If that is a mistake, correct "
        "the nodeSelector, the scalingMode, or the labels, taints or hostname-override of the "
        "nodes",
        plan.held);
  } else if (!held_back.empty()) {
    all.degraded_reason = "DeletionsLimited";
    all.degraded_message = held_back;
  } else if (plan.waiting > 0 || (going > 0 && !*all.slurm_reachable)) {
    all.degraded_reason = "WaitingForSlurm";
    all.degraded_message =
        fmt::format("{} workers are to go, and nobody can say whether jobs run on them", going);
  }
  return all;
}

// Conditions that are there only while there is something to say.
struct Remark {
  kube::ConditionStatus status = kube::ConditionStatus::kFalse;
  const char* reason;
  std::string message;
};

void set_remark(control::ConditionList& conditions, const NodeSetView& view, std::string_view type,
                std::optional<Remark> remark) {
  if (!remark) {
    control::remove_condition(conditions, type);
    return;
  }
  kube::Condition wanted;
  wanted.type = kube::Text(type);
  wanted.status = remark->status;
  wanted.reason = kube::Text(remark->reason);
  wanted.message = kube::Text(remark->message);
  wanted.observed_generation = view.nodeset.meta.generation;
  control::set_condition(conditions, std::move(wanted), view.now);
}

// What the user's wish for workers without privilege costs.
std::optional<Remark> about_confinement(const NodeSetView& view, bool mixed) {
  if (!build::is_unprivileged(view.nodeset)) return std::nullopt;
  if (mixed) {
    return Remark{.reason = "MixedPrivilege",
                  .message =
                      "other NodeSets of this Controller are privileged, and slurmd without "
                      "privilege does not start with their cgroups: make all of them alike"};
  }
  return Remark{.reason = "Unprivileged",
                .message =
                    "without privilege Slurm has no cgroups: cores, memory and devices of a "
                    "job are bounded by the pod alone"};
}

// What a Kubernetes node says of its place and no worker is told; and of a Slurm that cannot be
// told.
std::optional<Remark> about_topology(const NodeSetView& view,
                                     std::optional<slurm::Version> spoken) {
  std::set<std::string> refused;
  for (const WorkerView& worker : view.workers) {
    const std::string said = worker.node ? refused_topology(*worker.node) : std::string();
    if (!said.empty()) refused.insert(fmt::format("Node {} has {}", worker.node->meta.name, said));
  }
  if (!refused.empty()) {
    return Remark{.reason = "InvalidTopology",
                  .message = fmt::format(
                      "annotation {} of {} nodes is left out ({}): use NAME:UNIT, or several with "
                      "commas, of letters, digits and _-./",
                      api::annotation::kTopology, refused.size(), *refused.begin())};
  }
  const auto with = std::count_if(view.workers.begin(), view.workers.end(), has_topology);
  const auto able =
      spoken ? slurm::require(*spoken, slurm::Feature::kNodeTopology) : Result<void>();
  if (with == 0 || able) return std::nullopt;
  return Remark{.reason = "SlurmTooOld",
                .message = fmt::format("the topology of {} workers is left out: {}", with,
                                       able.error().message())};
}

// What a Kubernetes node is to be called in Slurm and nobody can be called.
std::optional<Remark> about_hostnames(const NodeSetView& view) {
  std::set<std::string> refused;
  for (const Place& place : view.places) {
    const std::string said =
        place.should_run || place.should_continue ? build::refused_hostname(*place.node) : "";
    if (!said.empty()) refused.insert(fmt::format("Node {} has {}", place.node->meta.name, said));
  }
  if (refused.empty()) return std::nullopt;
  return Remark{.reason = "InvalidHostname",
                .message = fmt::format(
                    "annotation {} of {} nodes is left out ({}): use lower case letters, digits "
                    "and dashes, no more than 63, with a letter or digit at both ends",
                    api::annotation::kHostnameOverride, refused.size(), *refused.begin())};
}

// Whether Slurm has the reservation of a ScheduledUpdate. While that is not known, what was said
// last stays.
std::optional<Remark> about_reservation(const api::NodeSet& nodeset, SlurmCluster* slurm) {
  const auto* const before = kube::find_condition(nodeset.status.conditions, kReservationCreated);
  const bool scheduled = nodeset.spec.update_type == api::UpdateType::kScheduledUpdate;
  if (before == nullptr && !scheduled) return std::nullopt;
  if (slurm == nullptr || !slurm->cache().reservations_freshness().fresh()) {
    if (before == nullptr) return std::nullopt;
    const bool created = before->status == kube::ConditionStatus::kTrue;
    return Remark{before->status, created ? "Created" : "NotExists", before->message.str()};
  }
  const std::string name = reservation_name(nodeset.meta.name);
  if (slurm->cache().reservations().get({}, name)) {
    return Remark{kube::ConditionStatus::kTrue, "Created",
                  fmt::format("Slurm has the reservation {}", name)};
  }
  return Remark{kube::ConditionStatus::kFalse, "NotExists",
                fmt::format("Slurm has no reservation {}", name)};
}

}  // namespace

void NodeSetSync::set_remarks(control::ConditionList& conditions, const NodeSetView& view,
                              SlurmCluster* slurm) {
  const api::NodeSet& nodeset = view.nodeset;
  const auto& family = world_.nodesets_of({nodeset.meta.ns, nodeset.spec.controller_ref.name});
  const bool mixed = std::any_of(family.begin(), family.end(),
                                 [](const auto& one) { return !build::is_unprivileged(*one); });
  set_remark(conditions, view, "JobsConfined", about_confinement(view, mixed));
  set_remark(
      conditions, view, "TopologyInSlurm",
      about_topology(view, slurm != nullptr ? slurm->client().known_version() : std::nullopt));
  set_remark(conditions, view, "HostnameOverrides", about_hostnames(view));
  set_remark(conditions, view, kReservationCreated, about_reservation(nodeset, slurm));
  std::optional<Remark> waiting;
  if (nodeset.meta.deleting() && view.workers.empty()) {
    if (auto wait = slurm_needs(nodeset)) {
      waiting = Remark{kube::ConditionStatus::kTrue, wait->reason, std::move(wait->message)};
    }
  }
  const auto* const before = kube::find_condition(nodeset.status.conditions, kWaitingForJobs);
  if (waiting && (before == nullptr || before->reason != waiting->reason)) {
    world_.events.event(control::ref_to(api::NodeSet::kResource, nodeset.meta),
                        control::EventType::kNormal, kWaitingForJobs, "Delete", waiting->message);
  }
  set_remark(conditions, view, kWaitingForJobs, std::move(waiting));
}

Task<Result<void>> NodeSetSync::write_status(NodeSetPtr nodeset, const NodeSetView* view,
                                             const Plan* plan, std::int32_t collisions,
                                             const Error* failure) {
  const Counters now =
      count(*nodeset, view->workers, view->revision_hash, plan->desired, view->now);
  shared_.metrics.count(*nodeset, now);
  const auto slurm = shared_.slurm_of(*nodeset);
  std::string stale;
  if (slurm) {
    const slurm::Freshness freshness = slurm->cache().nodes_freshness();
    // Not how old it is: that would change all the time.
    if (!freshness.fresh()) stale = freshness.why.empty() ? "no list of nodes yet" : freshness.why;
  }
  control::ConditionList conditions = conditions_of(
      nodeset->status.conditions,
      situation_of(*view, *plan, now, slurm.get(), stale, shared_.held_back(*nodeset), failure),
      nodeset->meta.generation, view->now);
  set_remarks(conditions, *view, slurm.get());

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
