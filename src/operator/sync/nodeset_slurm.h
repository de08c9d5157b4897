// operator/sync/nodeset_slurm.h
//
// The queue "nodeset-slurm": everything about a NodeSet that needs Slurm's answer. Drains workers
// that are cordoned, lifts drains that are ours, deletes condemned pods once Slurm itself has just
// said that their node is drained, keeps comments, topology and features, reservations, and prunes
// records of workers that are gone for good. A Slurm that does not answer stops this queue and no
// other. Owned by the app; lives on the control loop.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

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
  // A few workers are told, then those that may go are removed; and again until all are told.
  struct Pass {
    NodeSetPtr nodeset;  // As it is now: it may change while Slurm is asked and told.
    SlurmPtr slurm;
    slurm::Version spoken{};
    std::unordered_set<std::string> told;  // By UID of the pod.
    std::optional<Error> failure;          // What Slurm refused.
    control::Requeue next;
    bool over = false;
    bool held_back = false;  // By the limit of deletions, before the first round.

    // A failure where the pass must end.
    Result<void> note(const Result<void>& step);
  };
  Task<Result<void>> round(Pass* pass);
  std::vector<WorkerView> next_to_tell(Pass& pass, const NodeSetView& view) const;
  Task<Result<void>> tell_one(const Pass* pass, WorkerView worker);
  Task<Result<void>> act(SlurmPtr slurm, std::shared_ptr<const kube::Pod> pod, SlurmAction action);
  // Under whose reason we are about to drain its node; null: no longer.
  Task<Result<void>> note_drain(std::shared_ptr<const kube::Pod> pod, json::Value reason);
  Task<Result<void>> describe(const Pass* pass, WorkerView worker);
  Task<Result<void>> remove_drained(NodeSetPtr nodeset, SlurmPtr slurm, const NodeSetView* view,
                                    const Plan* plan);
  struct Candidate {
    WorkerView worker;
    Removal::Evidence evidence;
    NodeSetWorld::Ground ground;
  };
  Task<Result<void>> remove_one(NodeSetPtr nodeset, SlurmPtr slurm, Candidate one,
                                std::size_t size);
  Task<Result<void>> reservation(NodeSetPtr nodeset, SlurmPtr slurm, const NodeSetView* view);
  bool is_defunct(const api::NodeSet& nodeset, const slurm::Node& node) const;
  Task<Result<void>> prune(Pass* pass);
  Task<Result<void>> prune_one(NodeSetPtr nodeset, SlurmPtr slurm, std::string name);

  NodeSetWorld& shared_;
  World& world_;
};

}  // namespace mainspring::op
