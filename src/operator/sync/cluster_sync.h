// operator/sync/cluster_sync.h
//
// The queue "cluster": Slurms outside Kubernetes, known by a Cluster object. Keeps a client for
// each and shows in its status whether it answers, what it is and how much there is in it. Owned by
// the app; lives on the control loop.
#pragma once

#include <map>
#include <string>

#include "base/digest.h"
#include "control/controller.h"
#include "operator/sync/ensure.h"

namespace mainspring::op {

class ClusterSync {
 public:
  explicit ClusterSync(World& world);

 private:
  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  // What is wrong with the object; empty where there is a client for it now.
  std::string connect(const api::Cluster& cluster);
  Task<Result<void>> write_status(std::shared_ptr<const api::Cluster> cluster, std::string problem);

  World& world_;
  std::map<std::string, Sha256Digest> in_use_;  // Address and token, by Cluster.
};

}  // namespace mainspring::op
