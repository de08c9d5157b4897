// operator/sync/nodeset_slurm.h
//
// The queue "nodeset-slurm": everything about a NodeSet that needs Slurm's answer. Drains workers
// that are cordoned, lifts drains that are ours, deletes condemned pods once Slurm itself has just
// said that their node is drained, keeps comments, topology and features, reservations, and prunes
// records of workers that are gone for good. A Slurm that does not answer stops this queue and no
// other. Owned by the app; lives on the control loop.
#pragma once

#include "control/controller.h"
#include "operator/nodeset/cordon.h"
#include "operator/sync/ensure.h"
#include "operator/sync/nodeset_world.h"

namespace mainspring::op {

class NodeSetSlurmSync {
 public:
  explicit NodeSetSlurmSync(NodeSetWorld& shared);

 private:
  using NodeSetPtr = std::shared_ptr<const api::NodeSet>;
  using SlurmPtr = std::shared_ptr<SlurmCluster>;

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  Task<Result<void>> tell_slurm(NodeSetPtr nodeset, SlurmPtr slurm, const NodeSetView* view);
  Task<Result<void>> tell_one(NodeSetPtr nodeset, SlurmPtr slurm, WorkerView worker);
  Task<Result<void>> describe(NodeSetPtr nodeset, SlurmPtr slurm, WorkerView worker);
  Task<Result<void>> remove_drained(NodeSetPtr nodeset, SlurmPtr slurm, const NodeSetView* view,
                                    const Plan* plan);
  Task<Result<void>> remove_one(NodeSetPtr nodeset, SlurmPtr slurm, WorkerView worker,
                                Removal::Evidence evidence, std::size_t size);
  Task<Result<void>> reservation(NodeSetPtr nodeset, SlurmPtr slurm, const NodeSetView* view);
  Task<Result<void>> prune(NodeSetPtr nodeset, SlurmPtr slurm);

  NodeSetWorld& shared_;
  World& world_;
};

}  // namespace mainspring::op
