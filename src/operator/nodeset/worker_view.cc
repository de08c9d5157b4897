#include "operator/nodeset/worker_view.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "api/names.h"
#include "base/text.h"

namespace mainspring::op {

namespace {

constexpr std::array<std::pair<Cause, std::string_view>, 9> kCauses{{
    {Cause::kScaleIn, "scale-in"},
    {Cause::kUpdate, "update"},
    {Cause::kModeSwitch, "mode-switch"},
    {Cause::kMisplaced, "misplaced"},
    {Cause::kDuplicate, "duplicate"},
    {Cause::kHostname, "hostname"},
    {Cause::kDeletion, "deletion"},
    {Cause::kNode, "node"},
    {Cause::kPerson, "person"},
}};

// The ordinal at the end of "SET-0012". Names that the builder never gives (a sign, more digits
// than a number has) are no ordinals; the width is not judged, since the padding may have changed.
std::optional<std::uint32_t> ordinal_in_name(std::string_view set, std::string_view name) {
  if (!name.starts_with(set)) return std::nullopt;
  name.remove_prefix(set.size());
  if (!name.starts_with('-')) return std::nullopt;
  name.remove_prefix(1);
  if (name.empty() || !is_ascii_digit(name.front())) return std::nullopt;
  const auto ordinal = parse_integer<std::uint32_t>(name);
  if (!ordinal) return std::nullopt;
  return *ordinal;
}

std::string_view label_of(const kube::Pod& pod, std::string_view key) {
  return pod.meta.labels.find(key).value_or(std::string_view());
}

bool shows(const kube::Pod& pod, std::initializer_list<std::string_view> types) {
  return std::any_of(types.begin(), types.end(), [&](std::string_view type) {
    const auto* const condition = kube::find_condition(pod.status.conditions, type);
    return condition != nullptr && condition->status == kube::ConditionStatus::kTrue;
  });
}

}  // namespace

bool was_idle(const kube::Pod& pod) {
  return shows(pod, {"SlurmNodeStateIdle"}) && !was_at_work(pod);
}

// Unknown: after a restart of slurmctld its jobs may not have been looked for.
bool was_at_work(const kube::Pod& pod) {
  // With suspended jobs alone the node was idle, and the pod protected.
  if (label_of(pod, api::label::kPodProtect) == "true") return true;
  return shows(pod, {"SlurmNodeStateAllocated", "SlurmNodeStateMixed", "SlurmNodeStateCompleting",
                     "SlurmNodeStateUnknown"});
}

bool works_unseen(const WorkerView& worker) {
  return worker.slurm.knowledge == SlurmFacts::Knowledge::kAbsent && was_at_work(*worker.pod);
}

bool was_known(const kube::Pod& pod) {
  const auto& all = pod.status.conditions;
  return std::any_of(all.begin(), all.end(), [](const kube::Condition& condition) {
    return condition.type.view().starts_with(kStatePrefix) &&
           condition.status == kube::ConditionStatus::kTrue;
  });
}

bool may_have_another_name(const WorkerView& worker) {
  if (worker.slurm.knowledge != SlurmFacts::Knowledge::kAbsent) return false;
  return !worker.slurm.elsewhere.empty() || (worker.pod->ready() && !was_known(*worker.pod));
}

bool is_about_to_register(const WorkerView& worker, WallTime now) {
  constexpr Duration kJustNow = minutes(2);
  const kube::Pod& pod = *worker.pod;
  if (!pod.ready() || pod.meta.deleting()) return false;
  if (now - kube::find_condition(pod.status.conditions, "Ready")->transition > kJustNow) {
    return false;
  }
  if (!worker.slurm.present()) return worker.slurm.knowledge == SlurmFacts::Knowledge::kAbsent;
  const slurm::NodeState state = worker.slurm.node->state;
  return state.is_down() || !state.is_known() || state.has(slurm::NodeState::Flag::kNotResponding);
}

std::string slurm_node_name(const kube::Pod& pod) {
  // With the host's network slurmd takes the host's name. In DaemonSet mode the pod-hostname label
  // is that name, or its override; in StatefulSet mode no name is known before the pod is
  // scheduled.
  const bool daemon =
      label_of(pod, api::label::kScalingMode) == api::to_string(api::ScalingMode::kDaemonSet);
  if (pod.spec->host_network && !daemon) return pod.node_name.str();
  if (const auto label = label_of(pod, api::label::kPodHostname); !label.empty()) {
    return std::string(label);
  }
  return pod.hostname.empty() ? pod.meta.name : pod.hostname.str();
}

std::optional<std::uint32_t> ordinal_of(const api::NodeSet& nodeset, const kube::Pod& pod) {
  return ordinal_in_name(nodeset.meta.name, pod.meta.name);
}

api::ScalingMode scaling_mode_of(const api::NodeSet& nodeset, const kube::Pod& pod) {
  const auto label = label_of(pod, api::label::kScalingMode);
  for (const auto mode : {api::ScalingMode::kStatefulSet, api::ScalingMode::kDaemonSet}) {
    if (label == api::to_string(mode)) return mode;
  }
  return ordinal_of(nodeset, pod) ? api::ScalingMode::kStatefulSet : api::ScalingMode::kDaemonSet;
}

std::string_view to_string(Cause cause) {
  for (const auto& [known, text] : kCauses) {
    if (known == cause) return text;
  }
  return {};
}

Cause cause_of(std::string_view text) {
  if (text.empty()) return Cause::kNone;
  for (const auto& [cause, known] : kCauses) {
    if (known == text) return cause;
  }
  // A newer version's cause: not ours to lift.
  return Cause::kPerson;
}

Cause cordon_cause(const WorkerView& worker) {
  const auto& annotations = worker.pod->meta.annotations;
  if (annotations.find(api::annotation::kPodCordon) != "true") return Cause::kNone;
  if (const auto note = annotations.find(api::annotation::kCordonedFor); note && !note->empty()) {
    return cause_of(*note);
  }
  if (!worker.slurm.present()) return Cause::kPerson;
  const slurm::Node& node = *worker.slurm.node;
  const std::string_view reason = node.reason;
  if (!reason.starts_with(api::kReasonPrefix)) return Cause::kPerson;
  // Older than the pod, it is about an earlier one of the same name.
  if (node.reason_changed_at.set() &&
      WallTime(seconds(node.reason_changed_at.value_or(0))) < worker.pod->meta.created) {
    return Cause::kPerson;
  }
  // What upstream writes for a scale-in, an update and a switch of modes alike, and for a cordoned
  // node. "was cordoned" alone is what it writes for a person's annotation.
  if (reason.ends_with("is pending termination for scale-in")) return Cause::kScaleIn;
  if (reason.ends_with(") was cordoned")) return Cause::kPerson;
  if (worker.node && worker.node->unschedulable) return Cause::kNode;
  if (reason.find(") was cordoned, Pod (") != std::string_view::npos) return Cause::kNode;
  return Cause::kPerson;
}

}  // namespace mainspring::op
