// operator/sync/cluster_sync.h
//
// The queue "cluster": Slurms outside Kubernetes, known by a Cluster object. Keeps a client for
// each and shows in its status whether it answers, what it is and how much there is in it. What it
// is, it is asked again and again, since it may be upgraded. Owned by the app; lives on the control
// loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/digest.h"
#include "control/controller.h"
#include "operator/sync/ensure.h"

namespace mainspring::op {

class ClusterSync {
 public:
  explicit ClusterSync(World& world);

 private:
  struct Problem {
    std::string reason;
    std::string message;
  };
  struct InUse {
    Sha256Digest digest;             // Of address and token.
    std::optional<TimePoint> asked;  // When it last said what it is.
  };

  void watch(control::Controller& queue);
  Task<Result<control::Requeue>> reconcile(control::Key key);
  // What is wrong with the object; unset where there is a client for it now.
  std::optional<Problem> connect(const api::Cluster& cluster);
  void forget(const control::Key& key);
  // The status without its conditions; those versions stay that are not to be had now.
  Task<api::ClusterStatus> look_at(std::shared_ptr<const api::Cluster> cluster,
                                   std::shared_ptr<SlurmCluster> slurm);
  Task<Result<void>> write_status(std::shared_ptr<const api::Cluster> cluster,
                                  api::ClusterStatus wanted, std::optional<Problem> problem);

  World& world_;
  std::map<std::string, InUse> in_use_;  // By Cluster.
};

}  // namespace mainspring::op
