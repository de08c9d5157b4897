// operator/nodeset/projection.cc
#include "operator/nodeset/projection.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <utility>

#include "api/names.h"
#include "base/rfc3339.h"
#include "control/conditions.h"
#include "operator/nodeset/plan.h"
#include "operator/nodeset/topology.h"

namespace mainspring::op {
namespace {

using json::Value;
using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;
using Knowledge = SlurmFacts::Knowledge;

std::string_view suffix_of(Base base) {
  switch (base) {
    case Base::kAllocated:
      return "Allocated";
    case Base::kDown:
      return "Down";
    case Base::kError:
      return "Error";
    case Base::kFuture:
      return "Future";
    case Base::kIdle:
      return "Idle";
    case Base::kMixed:
      return "Mixed";
    case Base::kUnknown:
      return "Unknown";
    case Base::kInvalid:
      return "Invalid";
    case Base::kNone:
      break;
  }
  return {};
}

constexpr auto kFlags = std::to_array<std::pair<Flag, std::string_view>>({
    {Flag::kCompleting, "Completing"},
    {Flag::kDrain, "Drain"},
    {Flag::kFail, "Fail"},
    {Flag::kInvalidReg, "InvalidReg"},
    {Flag::kMaintenance, "Maintenance"},
    {Flag::kNotResponding, "NotResponding"},
    {Flag::kUndrain, "Undrain"},
});

kube::Condition state_condition(std::string_view suffix, const slurm::Node& node) {
  kube::Condition condition;
  condition.type = std::string(kStatePrefix) + std::string(suffix);
  // The API wants a reason in CamelCase; Slurm's own is free text and goes into the message.
  condition.reason = suffix;
  condition.message = node.reason.view();
  condition.status = kube::ConditionStatus::kTrue;
  return condition;
}

// What is left of those of a node that Slurm had: that it had it (was_known).
kube::Condition gone_condition() {
  kube::Condition condition;
  condition.type = std::string(kStatePrefix) + "Gone";
  condition.reason = "Gone";
  condition.message = "Slurm had this node and does not list it any more";
  condition.status = kube::ConditionStatus::kTrue;
  return condition;
}

bool is_state_condition(const kube::Condition& condition) {
  return condition.type.view().starts_with(kStatePrefix);
}

Value patch_of(const kube::Pod& pod) {
  return Value::object({{"metadata", Value::object({{"uid", pod.meta.uid}})}});
}

// When the job must have ended by its time limit; without one, never.
WallTime deadline_of(const slurm::Job& job) {
  // Whole seconds, and what our own reader of RFC 3339 still takes.
  constexpr auto kNever = std::chrono::floor<seconds>(WallTime::max());
  const std::int64_t start = job.start_time.value_or(0);
  const std::int64_t limit = job.time_limit.value_or(std::numeric_limits<std::int64_t>::max());
  const std::int64_t room = kNever.time_since_epoch().count();
  if (start < 0 || start > room || limit > (room - start) / 60) return kNever;
  return WallTime(seconds(start) + minutes(std::max<std::int64_t>(limit, 0)));
}

std::optional<std::string> last_deadline(std::span<const std::shared_ptr<const slurm::Job>> jobs) {
  std::optional<WallTime> last;
  for (const auto& job : jobs) {
    if (job->state.base() != slurm::JobState::Base::kRunning || job->state.is_completing())
      continue;
    const WallTime deadline = deadline_of(*job);
    if (!last || *last < deadline) last = deadline;
  }
  if (!last) return std::nullopt;
  return format_rfc3339(*last);
}

std::optional<std::string> text_of(std::optional<std::string_view> text) {
  if (!text) return std::nullopt;
  return std::string(*text);
}

// Adds `key` to `changes` where it is not `wanted` already; unset: it should not be there.
void want(Value& changes, const json::StringMap& has, std::string_view key,
          const std::optional<std::string>& wanted) {
  if (text_of(has.find(key)) == wanted) return;
  changes.set(key, wanted ? Value(*wanted) : Value());
}

void want_cordon(Value& changes, const json::StringMap& has, Cause cordon) {
  if (cordon == Cause::kPerson) return;
  if (cordon == Cause::kNone) {
    if (has.find(api::annotation::kPodCordon) == "true") {
      changes.set(api::annotation::kPodCordon, Value());
    }
    want(changes, has, api::annotation::kCordonedFor, std::nullopt);
    return;
  }
  want(changes, has, api::annotation::kPodCordon, "true");
  want(changes, has, api::annotation::kCordonedFor, std::string(to_string(cordon)));
}

bool keeps_what_it_shows(const WorkerView& worker) {
  return worker.slurm.knowledge == Knowledge::kUnknown || works_unseen(worker);
}

void count_slurm(Counters& counters, const slurm::NodeState& state) {
  switch (state.base()) {
    case Base::kIdle:
      ++counters.slurm_idle;
      break;
    case Base::kAllocated:
    case Base::kMixed:
      ++counters.slurm_allocated;
      break;
    case Base::kDown:
      ++counters.slurm_down;
      break;
    default:
      break;
  }
  if (state.has(Flag::kDrain) && !state.has(Flag::kUndrain)) ++counters.slurm_drain;
}

}  // namespace

std::vector<kube::Condition> state_conditions(const slurm::Node& node) {
  std::vector<kube::Condition> conditions;
  if (const std::string_view base = suffix_of(node.state.base()); !base.empty()) {
    conditions.push_back(state_condition(base, node));
  }
  for (const auto& [flag, suffix] : kFlags) {
    if (node.state.has(flag)) conditions.push_back(state_condition(suffix, node));
  }
  return conditions;
}

PodProjection project(const api::NodeSet& nodeset, const WorkerView& worker,
                      std::span<const std::shared_ptr<const slurm::Job>> jobs) {
  const kube::Meta& meta = worker.pod->meta;
  PodProjection projection;
  if (keeps_what_it_shows(worker)) {
    projection.protect = meta.labels.find(api::label::kPodProtect) == "true";
    projection.deadline = text_of(meta.annotations.find(api::annotation::kPodDeadline));
  } else {
    projection.protect = worker.slurm.has_jobs();
    projection.deadline = last_deadline(jobs);
    if (!worker.slurm.jobs) {
      projection.protect |= meta.labels.find(api::label::kPodProtect) == "true";
      projection.deadline = text_of(meta.annotations.find(api::annotation::kPodDeadline));
    }
  }
  if (!nodeset.spec.workload_disruption_protection) projection.protect = false;
  if (worker.node) {
    const std::string_view topology = topology_of(*worker.node);
    // Absent and empty are the same to slurmd; saying so would cost a write for every pod.
    const bool shown = meta.annotations.find(api::annotation::kTopology).has_value();
    if (!topology.empty() || shown) projection.topology = std::string(topology);
  }
  return projection;
}

Value metadata_patch(const kube::Pod& pod, const PodProjection& projection, Cause cordon) {
  Value labels = Value::object();
  Value annotations = Value::object();
  want(labels, pod.meta.labels, api::label::kPodProtect,
       projection.protect ? std::optional<std::string>("true") : std::nullopt);
  want(annotations, pod.meta.annotations, api::annotation::kPodDeadline, projection.deadline);
  if (projection.topology) {
    want(annotations, pod.meta.annotations, api::annotation::kTopology, projection.topology);
  }
  want_cordon(annotations, pod.meta.annotations, cordon);
  if (labels.empty() && annotations.empty()) return {};
  Value patch = patch_of(pod);
  if (!labels.empty()) patch["metadata"]["labels"] = std::move(labels);
  if (!annotations.empty()) patch["metadata"]["annotations"] = std::move(annotations);
  return patch;
}

Value conditions_patch(const WorkerView& worker, WallTime now) {
  const kube::Pod& pod = *worker.pod;
  const SlurmFacts& facts = worker.slurm;
  if (keeps_what_it_shows(worker)) return {};
  std::vector<kube::Condition> wanted;
  if (facts.present()) {
    wanted = state_conditions(*facts.node);
  } else if (was_known(pod)) {
    wanted.push_back(gone_condition());
  }
  control::ConditionList list = control::edit(pod.status.conditions);
  control::ConditionList changed;
  for (const kube::Condition& condition : wanted) {
    if (!control::set_condition(list, condition, now)) continue;
    changed.push_back(*std::find_if(list.begin(), list.end(),
                                    [&](const auto& each) { return each.type == condition.type; }));
  }
  Value conditions = control::to_json(changed);
  for (const kube::Condition& has : pod.status.conditions) {
    const bool stays = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const auto& each) { return each.type == has.type; });
    if (stays || !is_state_condition(has)) continue;
    conditions.push_back(Value::object({{"$patch", "delete"}, {"type", has.type.view()}}));
  }
  if (conditions.empty()) return {};
  Value patch = patch_of(pod);
  patch["status"]["conditions"] = std::move(conditions);
  return patch;
}

Counters count(const api::NodeSet& nodeset, std::span<const WorkerView> workers,
               std::string_view revision_hash, std::int32_t desired, WallTime now) {
  Counters counters;
  bool slurm_known = true;
  for (const WorkerView& worker : workers) {
    const kube::Pod& pod = *worker.pod;
    if (worker.slurm.knowledge == Knowledge::kUnknown) slurm_known = false;
    if (worker.slurm.present()) count_slurm(counters, worker.slurm.node->state);
    if (pod.status.phase == kube::PodPhase::kNone) continue;
    ++counters.replicas;
    if (pod.meta.labels.find(api::label::kRevision) == revision_hash) ++counters.updated;
    if (pod.status.phase == kube::PodPhase::kRunning && pod.ready()) ++counters.ready;
    if (is_available(nodeset, pod, now)) ++counters.available;
  }
  if (!slurm_known) {
    counters.slurm_idle = nodeset.status.slurm_idle;
    counters.slurm_allocated = nodeset.status.slurm_allocated;
    counters.slurm_down = nodeset.status.slurm_down;
    counters.slurm_drain = nodeset.status.slurm_drain;
  }
  const bool daemons = nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet;
  const std::int32_t total = daemons ? desired : counters.replicas;
  counters.unavailable = std::max(0, total - counters.available);
  return counters;
}

}  // namespace mainspring::op
