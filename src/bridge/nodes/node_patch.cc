// What is written to Kubernetes nodes: the taint, the condition and, where asked for, the cordon.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/names.h"
#include "bridge/nodes/node_plan.h"
#include "control/conditions.h"

namespace mainspring::bridge {
namespace {

using json::Value;
using slurm::NodeState;

bool is_our_taint(const kube::Taint& taint, const BridgeConfig& config) {
  return taint.key == kManagedTaint && taint.value == config.scheduler_name &&
         taint.effect == kube::TaintEffect::kNoExecute;
}

// Taints are one list to every kind of patch, so it is edited in place, in the version seen: with
// another the server answers that there is a conflict.
kube::Patch at_version(const kube::Node& node, Value operation) {
  Value seen = Value::object({{"op", "replace"},
                              {"path", "/metadata/resourceVersion"},
                              {"value", node.meta.resource_version}});
  return {kube::PatchKind::kJson, Value::array({std::move(seen), std::move(operation)})};
}

std::optional<kube::Patch> taint_patch(const NodeView& view, const BridgeConfig& config) {
  const kube::Node& node = *view.node;
  const auto* const it = std::find_if(node.taints.begin(), node.taints.end(),
                                      [&](const auto& one) { return is_our_taint(one, config); });
  const bool has = it != node.taints.end();
  // While a node is being made anew Slurm does not have it for a moment.
  const bool stays = has && node.meta.labels.contains(kExternalNodeLabel);
  const bool wanted = config.taint_nodes && (view.slurm || stays);
  if (has == wanted) return std::nullopt;
  if (!wanted) {
    return at_version(
        node, Value::object({{"op", "remove"},
                             {"path", fmt::format("/spec/taints/{}", it - node.taints.begin())}}));
  }
  Value taint = Value::object(
      {{"key", kManagedTaint}, {"value", config.scheduler_name}, {"effect", "NoExecute"}});
  const bool first = node.taints.empty();
  return at_version(node, Value::object({{"op", "add"},
                                         {"path", first ? "/spec/taints" : "/spec/taints/-"},
                                         {"value", first ? Value::array({taint}) : taint}}));
}

// None: as it is.
std::optional<kube::Condition> wanted_condition(const NodeView& view, const NodeRules& rules) {
  kube::Condition wanted;
  wanted.type = kSlurmReadyCondition;
  wanted.status = kube::ConditionStatus::kFalse;
  if (!view.slurm) {
    const SlurmStep next = slurm_step(view, rules);
    if (next.why.empty()) return std::nullopt;  // It is being made.
    wanted.reason = "NotRegistered";
    wanted.message = next.why;
    return wanted;
  }
  const NodeState& state = view.slurm->state;
  wanted.message = view.slurm->reason.view();
  if (state.can_take_jobs()) {
    wanted.status = kube::ConditionStatus::kTrue;
    wanted.reason = "TakesJobs";
    wanted.message = "Slurm gives this node to jobs";
  } else if (state.is_down()) {
    wanted.reason = "Down";
  } else if (state.is_draining()) {
    wanted.reason = "Draining";
  } else if (state.is_drained()) {
    wanted.reason = "Drained";
  } else {
    wanted.reason = "TakesNoJobs";
    wanted.message = "Slurm says " + state.to_string();
  }
  return wanted;
}

kube::Patch conditions_patch(Value conditions) {
  Value status = Value::object();
  status.set("conditions", std::move(conditions));
  return {kube::PatchKind::kStrategic, Value::object({{"status", std::move(status)}})};
}

std::optional<kube::Patch> condition_patch(const NodeView& view, const NodeRules& rules,
                                           WallTime now) {
  const kube::Node& node = *view.node;
  if (!view.slurm && !node.meta.labels.contains(kExternalNodeLabel)) {
    if (kube::find_condition(node.conditions, kSlurmReadyCondition) == nullptr) return std::nullopt;
    return conditions_patch(
        Value::array({Value::object({{"type", kSlurmReadyCondition}, {"$patch", "delete"}})}));
  }
  const auto wanted = wanted_condition(view, rules);
  if (!wanted) return std::nullopt;
  control::ConditionList conditions = control::edit(node.conditions);
  if (!control::set_condition(conditions, *wanted, now)) return std::nullopt;
  std::erase_if(conditions, [](const auto& one) { return one.type != kSlurmReadyCondition; });
  return conditions_patch(control::to_json(conditions));
}

// A person who lifts our cordon is right until Slurm has taken the node back and given it up again.
std::optional<kube::Patch> cordon_patch(const NodeView& view, const BridgeConfig& config) {
  const kube::Node& node = *view.node;
  const bool ours = node.meta.annotations.contains(kCordonAnnotation);
  const bool closed =
      view.slurm && !view.slurm->state.can_take_jobs() &&
      (view.slurm->state.has(NodeState::Flag::kDrain) || view.slurm->state.is_down()) &&
      !is_our_reason(view.slurm->reason);
  const bool wanted = config.cordon_nodes && closed;
  if (ours == wanted || (wanted && node.unschedulable)) return std::nullopt;
  Value annotations = Value::object();
  annotations.set(kCordonAnnotation,
                  wanted ? Value(fmt::format("Slurm: {}", view.slurm->reason.view())) : Value());
  Value body = Value::object();
  body["metadata"]["resourceVersion"] = node.meta.resource_version;
  body["metadata"]["annotations"] = std::move(annotations);
  body["spec"]["unschedulable"] = wanted ? Value(true) : Value();
  return kube::Patch{kube::PatchKind::kMerge, std::move(body)};
}

}  // namespace

KubeStep kube_step(const NodeView& view, const NodeRules& rules, WallTime now) {
  return {taint_patch(view, rules.config), cordon_patch(view, rules.config),
          condition_patch(view, rules, now)};
}

}  // namespace mainspring::bridge
