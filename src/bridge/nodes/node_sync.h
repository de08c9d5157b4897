// bridge/nodes/node_sync.h
//
// NodeSync: keeps Kubernetes nodes and Slurm nodes in step, by two queues, so that neither side
// waits for the other: "node" writes taint, condition and cordon to Kubernetes nodes; "node-slurm"
// makes, changes, drains and removes Slurm nodes. What is to be done is decided by node_plan.h;
// here it is done, and both sides are read again. Owned by the app; lives on the control loop.
//
// Nothing is done before everything has been seen once, nor while Slurm's lists are stale. Before
// Slurm is told anything about a node, the node is read again, and the jobs of pods that seem to
// have no right to it; what was written by an administrator since the last list must not be lost.
#pragma once

#include <string>

#include "bridge/nodes/node_plan.h"
#include "bridge/nodes/node_registrar.h"
#include "bridge/nodes/removal_limit.h"
#include "bridge/nodes/tenants.h"
#include "bridge/sync/world.h"
#include "control/controller.h"
#include "kube/core_objects.h"

namespace mainspring::bridge {

class NodeSync {
 public:
  // Both must outlive it.
  NodeSync(World& world, Tenants& tenants);
  NodeSync(const NodeSync&) = delete;
  NodeSync& operator=(const NodeSync&) = delete;

 private:
  void watch_kube(control::Controller& queue);
  void watch_slurm(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile_kube(control::Key key);
  Task<Result<control::Requeue>> reconcile_slurm(control::Key key);

  void enqueue_all(control::Controller& to) const;
  void enqueue_nodes(const slurm::Job& job, control::Controller& to) const;
  bool is_fresh() const;
  NodeRules rules() const;
  NodeView view_of(const std::string& slurm_name) const;
  bool may_remove(const NodeView& view);
  Task<Result<void>> write(std::string name, std::optional<kube::Patch> patch,
                           std::string subresource);
  Task<Result<void>> take(NodeView view, SlurmStep next);
  Task<Result<void>> create(NodeView view, SlurmStep next);
  void tell(const NodeView& view, control::EventType type, std::string_view reason,
            std::string_view action, std::string note) const;

  World& world_;
  Tenants& tenants_;
  NodeRegistrar registrar_;
  RemovalLimit limit_;
};

}  // namespace mainspring::bridge
