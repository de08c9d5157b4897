// operator/sync/worker_sync.h
//
// The queue "worker", one key a pod: shows Slurm's state of a worker on its pod as conditions,
// labels and annotations. While Slurm is not known the pod keeps what it shows. The queue
// "worker-slurm" looks at single nodes sooner than a list would show them: of jobs that began or
// ended, and of workers that have just started. Owned by the app; lives on the control loop.
#pragma once

#include "control/controller.h"
#include "operator/sync/nodeset_world.h"

namespace mainspring::op {

class WorkerSync {
 public:
  explicit WorkerSync(NodeSetWorld& shared);

 private:
  void watch(control::Controller& queue);
  void watch_slurm(control::Controller& queue, control::Controller& slurm_queue);
  WorkerView view(const std::shared_ptr<const kube::Pod>& pod, const api::NodeSet& nodeset) const;
  net::Task<Result<control::Requeue>> reconcile(control::Key key);
  net::Task<Result<control::Requeue>> look(control::Key key);

  NodeSetWorld& shared_;
  World& world_;
  // The manager's.
  control::Controller* queue_ = nullptr;
  control::Controller* slurm_queue_ = nullptr;
};

}  // namespace mainspring::op
