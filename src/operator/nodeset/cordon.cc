#include "operator/nodeset/cordon.h"

#include <fmt/format.h>

#include "api/names.h"

namespace mainspring::op {

namespace {

using Flag = slurm::NodeState::Flag;
using Kind = SlurmAction::Kind;

// What the preStop hook of our worker pods writes.
constexpr std::string_view kPutDown = "slurm-operator: Pod is terminating";
constexpr std::string_view kPendingTermination = "is pending termination for ";

bool is_drained(const slurm::Node& node) {
  return node.state.has(Flag::kDrain) && !node.state.has(Flag::kUndrain);
}
bool is_ours(const slurm::Node& node) { return node.reason.view().starts_with(api::kReasonPrefix); }
bool is_foreign(const slurm::Node& node) { return !node.reason.empty() && !is_ours(node); }
bool is_lost(const slurm::Node& node) {
  return node.state.is_down() &&
         node.reason.view().find("Not responding") != std::string_view::npos;
}
bool was_put_down(const slurm::Node& node) {
  return node.state.base() == slurm::NodeState::Base::kDown && node.reason == kPutDown;
}
// No slurmd of ours is behind an EXTERNAL node, and nothing at all behind a FUTURE one.
bool is_ours_to_touch(const slurm::Node& node) {
  return !node.state.is_external() && node.state.base() != slurm::NodeState::Base::kFuture &&
         !node.state.has(Flag::kDynamicFuture);
}

bool is_left_alone(const SlurmFacts& slurm) {
  return !slurm.present() || !is_ours_to_touch(*slurm.node) || is_foreign(*slurm.node) ||
         is_lost(*slurm.node);
}

std::string about(const kube::Pod& pod, std::string_view what) {
  return reason_text(fmt::format("Pod ({}/{}) {}", pod.meta.ns, pod.meta.name, what));
}

SlurmAction drain(std::string reason) {
  return {.kind = Kind::kDrain, .reason = std::move(reason)};
}

// Another's reason, but the drain is ours, and the pod says so.
bool is_borrowed(const kube::Pod& pod, const slurm::Node& node) {
  return is_foreign(node) && is_drained(node) &&
         pod.meta.annotations.find(api::annotation::kDrainedUnder) == node.reason.view();
}

SlurmAction drain_condemned(const kube::Pod& pod, const slurm::Node& node, Cause cause) {
  // Whoever wrote the reason may still need it: another owner to find his drain again, and we to
  // know which node we have put down. Without a reason it is somebody's all the same.
  if (is_foreign(node) || was_put_down(node) || node.reason.empty()) {
    if (is_drained(node)) return {};
    // That it does not respond is what slurmctld says, and nobody who would lift a drain later.
    if (!node.reason.empty() && !is_lost(node)) {
      SlurmAction action = drain(node.reason.str());
      action.borrowed = is_foreign(node);
      return action;
    }
  }
  std::string reason = about(pod, fmt::format("{}{}", kPendingTermination, to_string(cause)));
  if (is_drained(node) && node.reason == reason) return {};
  return drain(std::move(reason));
}

SlurmAction drain_cordoned(const WorkerView& worker, Cause cordon, const CordonOptions& options) {
  const slurm::Node& node = *worker.slurm.node;
  // The first reason stays, whatever is found out later; but not one that has become untrue.
  const bool outdated = node.reason.view().find(kPendingTermination) != std::string_view::npos;
  if (is_drained(node) && !outdated) return {};
  if (was_put_down(node)) return drain(node.reason.str());
  if (cordon == Cause::kNode && worker.node) {
    return drain(node_cordon_reason(*worker.node, *worker.pod, options));
  }
  return drain(about(*worker.pod, "was cordoned"));
}

// preStop also runs where the kubelet restarts a container; either way the pod becomes Ready after
// it. One that was Ready long before is the pod that goes, and the news of that is still on its
// way. The clocks of two machines are compared, so "long" is what Slurm's own messages may differ
// by.
bool is_back(const kube::Pod& pod, const slurm::Node& node) {
  constexpr Duration kClockSkew = minutes(5);
  if (pod.status.phase != kube::PodPhase::kRunning || !pod.ready()) return false;
  if (!node.reason_changed_at.set()) return true;
  const WallTime down{seconds(node.reason_changed_at.value_or(0))};
  return kube::find_condition(pod.status.conditions, "Ready")->transition + kClockSkew >= down;
}

SlurmAction lift(const kube::Pod& pod, const slurm::Node& node) {
  if (was_put_down(node)) {
    return is_back(pod, node) ? SlurmAction{.kind = Kind::kResume, .reason = {}} : SlurmAction{};
  }
  // Where no slurmd runs, an open node would only swallow jobs.
  const bool runs = pod.status.phase == kube::PodPhase::kRunning;
  if (!is_ours(node) || !is_drained(node) || !runs) return {};
  if (node.state.base() == slurm::NodeState::Base::kDown) {
    // It stopped answering while it was drained by us. Because of our reason slurmctld does not
    // take it back by itself, and UNDRAIN leaves a node down.
    const bool answers = pod.ready() && !node.state.has(Flag::kNotResponding);
    return answers ? SlurmAction{.kind = Kind::kResume, .reason = {}} : SlurmAction{};
  }
  return {.kind = Kind::kUndrain, .reason = {}};
}

}  // namespace

bool condemns(Cause cause) {
  return cause != Cause::kNone && cause != Cause::kNode && cause != Cause::kPerson;
}

Cause wanted_cordon(const WorkerView& worker, Cause condemned) {
  const Cause now = cordon_cause(worker);
  if (now == Cause::kPerson) return Cause::kPerson;
  if (condemned != Cause::kNone) return condemned;
  // A node that is gone does not say that it has been uncordoned.
  const bool keeps = now == Cause::kNode && (is_left_alone(worker.slurm) || !worker.node);
  if (keeps) return Cause::kNode;
  const bool node_cordoned = worker.node && worker.node->unschedulable;
  return node_cordoned && !is_left_alone(worker.slurm) ? Cause::kNode : Cause::kNone;
}

bool has_outdated_note(const WorkerView& worker, Cause cordon) {
  return worker.slurm.present() && !condemns(cordon) &&
         worker.pod->meta.annotations.contains(api::annotation::kDrainedUnder) &&
         !is_borrowed(*worker.pod, *worker.slurm.node);
}

SlurmAction slurm_action(const WorkerView& worker, Cause cordon, const CordonOptions& options) {
  const kube::Pod& pod = *worker.pod;
  if (!worker.slurm.present() || !is_ours_to_touch(*worker.slurm.node)) return {};
  if (pod.node_name.empty() || pod.meta.deleting() || pod.terminal()) return {};
  const slurm::Node& node = *worker.slurm.node;
  if (condemns(cordon)) return drain_condemned(pod, node, cordon);
  if (cordon == Cause::kNone && is_borrowed(pod, node)) return {.kind = Kind::kUndrain};
  if (is_left_alone(worker.slurm)) return {};
  if (cordon == Cause::kNone) return lift(pod, node);
  return drain_cordoned(worker, cordon, options);
}

}  // namespace mainspring::op
