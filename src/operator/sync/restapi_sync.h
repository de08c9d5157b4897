// operator/sync/restapi_sync.h
//
// The queue "restapi": keeps slurmrestd's Service and Deployment, and the RestApi's status. It
// waits until the Controller's configuration is written, since pods made before would roll at once.
// Owned by the app; lives on the control loop. It does not speak to Slurm: it only reads how fresh
// the cluster's cache is.
#pragma once

#include "operator/sync/daemon_sync.h"

namespace mainspring::op {

class RestApiSync {
 public:
  explicit RestApiSync(World& world);

 private:
  using RestApiPtr = std::shared_ptr<const api::RestApi>;

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  Task<Result<Situation>> keep(RestApiPtr restapi);

  World& world_;
};

}  // namespace mainspring::op
