#include "operator/nodeset/placement.h"

#include <utility>

#include "json/fields.h"

namespace mainspring::op {
namespace {

json::Value toleration(std::string_view key, std::string_view effect) {
  return json::Value::object({{"key", key}, {"operator", "Exists"}, {"effect", effect}});
}

}  // namespace

Result<PlacementRules> placement_rules(const json::Value& pod_template) {
  const json::Value* written = pod_template.find("spec");
  if (written == nullptr) return PlacementRules{};
  json::Reader reader;
  MS_TRY(
      const kube::PodSpec spec,
      with_context(json::decode<kube::PodSpec>(reader, json::to_text(*written)), "template.spec"));
  PlacementRules rules{.node_selector = spec.node_selector, .tolerations = spec.tolerations};
  if (spec.affinity) rules.affinity = spec.affinity->node;
  return rules;
}

Place place(const PlacementRules& rules, std::shared_ptr<const kube::Node> node) {
  Place out;
  const bool fits = kube::matches_node_selector(rules.node_selector, node->meta) &&
                    rules.affinity.allows(node->meta);
  out.should_continue = fits && kube::evicting_taint(node->taints, rules.tolerations) == nullptr;
  // A cordon is a field and, a moment later, a taint: the scheduler asks for both.
  const bool closed = node->unschedulable && !kube::tolerates_cordon(rules.tolerations);
  out.should_run = out.should_continue && !closed &&
                   kube::repelling_taint(node->taints, rules.tolerations) == nullptr;
  out.node = std::move(node);
  return out;
}

json::Value daemon_tolerations(bool host_network) {
  json::Value list = json::Value::array({
      toleration("node.kubernetes.io/not-ready", "NoExecute"),
      toleration("node.kubernetes.io/unreachable", "NoExecute"),
      toleration("node.kubernetes.io/disk-pressure", "NoSchedule"),
      toleration("node.kubernetes.io/memory-pressure", "NoSchedule"),
      toleration("node.kubernetes.io/pid-pressure", "NoSchedule"),
      toleration("node.kubernetes.io/unschedulable", "NoSchedule"),
  });
  if (host_network) {
    list.push_back(toleration("node.kubernetes.io/network-unavailable", "NoSchedule"));
  }
  return list;
}

}  // namespace mainspring::op
