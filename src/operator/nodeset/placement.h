// operator/nodeset/placement.h
//
// On which Kubernetes nodes a worker belongs: where to make one in DaemonSet mode, and whether a
// node that a pod is pinned to still fits (should_continue). Pure; evaluated once for each version
// of the NodeSet's template and of the node.
#pragma once

#include "operator/nodeset/plan.h"

namespace mainspring::op {

// What of a pod template decides where it may run.
struct PlacementRules {
  json::StringMap node_selector;
  kube::NodeAffinity affinity;
  kube::Seq<kube::Toleration> tolerations;  // In DaemonSet mode with those that every daemon has.
};
// Of the template that build::worker_template made, whose tolerations are complete.
Result<PlacementRules> placement_rules(const json::Value& pod_template);

Place place(const PlacementRules& rules, std::shared_ptr<const kube::Node> node);

// What the DaemonSet controller of Kubernetes lets its pods tolerate, for the builder of pods: a
// cordoned or ailing node keeps its worker, and gets it back.
json::Value daemon_tolerations(bool host_network);

}  // namespace mainspring::op
