// operator/sync/nodeset_sync.h
//
// The queue "nodeset": keeps a NodeSet's pods, claims, revisions, shared objects and status as they
// should be, from caches alone. It never waits for Slurm, so pods are made while slurmrestd is
// dead. It deletes only pods that never ran or have ended; the others are nodeset_slurm.h's to
// delete. Owned by the app; lives on the control loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/controller.h"
#include "control/revisions.h"
#include "operator/build/worker.h"
#include "operator/sync/ensure.h"
#include "operator/sync/nodeset_world.h"

namespace mainspring::op {

class NodeSetSync {
 public:
  explicit NodeSetSync(NodeSetWorld& shared);

 private:
  using NodeSetPtr = std::shared_ptr<const api::NodeSet>;
  using ControllerPtr = std::shared_ptr<const api::Controller>;

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  // While it is wanted, and while it goes.
  Task<Result<control::Requeue>> keep(NodeSetPtr nodeset, ControllerPtr controller);
  Task<Result<control::Requeue>> hold(NodeSetPtr nodeset, std::string reason, Error why);
  Task<Result<std::optional<control::Requeue>>> release(NodeSetPtr nodeset,
                                                        ControllerPtr controller);
  Task<Result<void>> guard(NodeSetPtr nodeset);
  tl::unexpected<Error> finalizer_failed(const api::NodeSet& nodeset, Error why);
  // What a NodeSet without workers has to wait for before it goes: slurmctld may still hold jobs
  // that name its partition, or its reservation.
  struct Wait {
    const char* reason;
    std::string message;
  };
  std::optional<Wait> slurm_needs(const api::NodeSet& nodeset) const;
  // The same of one that goes at once.
  bool awaits_reservation(const api::NodeSet& nodeset) const;

  Task<Result<void>> shared_objects(NodeSetPtr nodeset, ControllerPtr controller);
  Task<Result<void>> disruption_budget(NodeSetPtr nodeset, json::Value desired, std::string name);
  Task<Result<void>> remove_upstream_budget(std::string ns, std::string name);
  Task<Result<void>> adopt(NodeSetPtr nodeset);
  Task<Result<control::CurrentRevision>> revision(NodeSetPtr nodeset);
  Task<Result<void>> drop_old_revisions(NodeSetPtr nodeset, std::string in_use);

  Task<Result<void>> act(NodeSetPtr nodeset, ControllerPtr controller, NodeSetView* view,
                         const Plan* plan);
  Task<Result<void>> let_go(NodeSetPtr nodeset, const NodeSetView* view, const Plan* plan);
  Task<Result<void>> create_pods(NodeSetPtr nodeset, ControllerPtr controller, NodeSetView* view,
                                 const Plan* plan);
  // What came of the creations of one pass.
  struct Made {
    std::vector<std::string> names;
    std::optional<Error> waits;  // For which reason some are made later.
  };
  Task<Result<void>> make_claims(NodeSetPtr nodeset, build::WorkerIdentity identity);
  Task<Result<void>> create_pod(NodeSetPtr nodeset, std::shared_ptr<const json::Value> pod_template,
                                std::string revision_hash, Creation creation, Made* made_pods);
  void say_created(const api::NodeSet& nodeset, std::vector<std::string> names);
  Task<Result<void>> cordon_pods(const NodeSetView* view, const Plan* plan);
  struct PodChange {
    std::string ns;
    std::string name;
    json::Value patch;
    const char* event = nullptr;  // What people are told; null: nothing.
  };
  Task<Result<void>> patch_pods(std::vector<PodChange> changes);
  Task<Result<void>> renew_claims(NodeSetPtr nodeset, const NodeSetView* view, const Plan* plan);
  Task<Result<void>> own_claims(NodeSetPtr nodeset, const NodeSetView* view, const Plan* plan);
  Task<Result<void>> give_claim(std::shared_ptr<const kube::PersistentVolumeClaim> claim,
                                kube::Seq<kube::OwnerReference> owners);
  Task<Result<void>> remove_all(NodeSetPtr nodeset, const NodeSetView* view);
  Task<Result<void>> remove_pods(NodeSetPtr nodeset, const NodeSetView* view, const Plan* plan);

  Task<Result<void>> write_status(NodeSetPtr nodeset, const NodeSetView* view, const Plan* plan,
                                  std::int32_t collisions, const Error* failure);
  void set_remarks(control::ConditionList& conditions, const NodeSetView& view,
                   SlurmCluster* slurm);
  control::Requeue look_again(const NodeSetView& view, const Plan& plan) const;

  NodeSetWorld& shared_;
  World& world_;
};

}  // namespace mainspring::op
