// bridge/nodes/node_plan.h
//
// What is to be done about one node, on either side, so that Kubernetes and Slurm say the same of
// it. Pure: values in, the next step out. The step is taken, both sides are read again, and asked
// again; so something that takes several steps, like making a node anew with another size (drain,
// wait, remove, create), is nowhere remembered and goes on after a restart.
//
// Which nodes: one with the label kExternalNodeLabel is made in Slurm, as EXTERNAL, and is ours:
// its mark says so (node_shape.h). One that Slurm has by itself under the same name (a slurmd runs
// there, or slurm.conf names it) is drained and undrained, tainted and told about, never changed or
// removed. All others are left alone.
//
// Whose drain: only one whose reason begins with kReasonPrefix is ours to lift or to explain anew.
// An administrator's stays, also over a change of size, and so does a node that was put down.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/config.h"
#include "bridge/nodes/node_shape.h"
#include "kube/api.h"
#include "kube/node.h"
#include "slurm/node.h"
#include "slurm/node_request.h"

namespace mainspring::bridge {

struct NodeView {
  std::string name;                          // Slurm's.
  std::shared_ptr<const kube::Node> node;    // Null: Kubernetes has none, as a synced store says.
  std::shared_ptr<const slurm::Node> slurm;  // Null: Slurm has none, as a fresh list says.
  std::string hold;                          // Why its cores are in use though Slurm sees it free.
  Inventory devices = {};                    // Of the Kubernetes node.
  Reserve daemons = {};                      // What DaemonSets have of it now.
};

struct NodeRules {
  const BridgeConfig& config;
  std::string cluster;  // NodeMark::cluster
  std::function<bool(std::string_view)> has_partition;
  WallTime now{};
};

// For an event on the node.
struct NodeProblem {
  std::string_view reason;
  std::string note;
  bool operator==(const NodeProblem&) const = default;
};

// One thing at a time: the most pressing.
struct SlurmStep {
  enum class Kind : std::uint8_t {
    kNone,
    kCreate,
    kUpdate,
    kDrain,  // Or: the same drain with another reason.
    kUndrain,
    kRemove,
  };
  Kind kind = Kind::kNone;
  std::string why;  // kDrain: the reason. kRemove: for people. kNone: what is waited for, if known.
  slurm::NodeSpec spec;      // kCreate
  std::string comment;       // kCreate: the mark, which cannot be given with it.
  slurm::NodeUpdate update;  // kUpdate
  std::vector<NodeProblem> problems;
  std::optional<Duration> again;  // kNone: when time alone may bring another step.
};
// Only to be asked while both sides are known: the store synced, the lists fresh.
SlurmStep slurm_step(const NodeView& view, const NodeRules& rules);

// What is to be written to the Kubernetes node; each unset where it is so already. They carry the
// version of the node that was looked at, where a list would be overwritten: kConflict means look
// again.
struct KubeStep {
  std::optional<kube::Patch> taint;
  std::optional<kube::Patch> cordon;
  std::optional<kube::Patch> condition;  // Of the subresource "status".
};
// The same holds. `view.node` is there.
KubeStep kube_step(const NodeView& view, const NodeRules& rules, WallTime now);

// Why Slurm should start nothing on it; "" where it may. Taints that a pod could tolerate are no
// such cause: they are looked at pod by pod. Those that mean trouble, or the node's end, are.
std::string drain_cause(const kube::Node& node);
// Whether the drain or down is by one of us.
bool is_our_reason(std::string_view reason);

}  // namespace mainspring::bridge
