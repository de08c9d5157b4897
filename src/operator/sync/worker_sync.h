// operator/sync/worker_sync.h
//
// The queue "worker", one key a pod: shows Slurm's state of a worker on its pod as conditions,
// labels and annotations. While Slurm is not known the pod keeps what it shows. Owned by the app;
// lives on the control loop.
#pragma once

#include "control/controller.h"
#include "operator/sync/nodeset_world.h"

namespace mainspring::op {

class WorkerSync {
 public:
  explicit WorkerSync(NodeSetWorld& shared);

 private:
  void watch(control::Controller& queue);
  void watch_jobs(control::Controller& queue, control::Controller& slurm_queue);
  net::Task<Result<control::Requeue>> reconcile(control::Key key);
  net::Task<Result<control::Requeue>> look(control::Key key);

  NodeSetWorld& shared_;
  World& world_;
  control::Controller* queue_ = nullptr;  // The manager's.
};

}  // namespace mainspring::op
