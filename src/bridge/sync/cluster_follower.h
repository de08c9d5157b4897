// bridge/sync/cluster_follower.h
//
// Where Slurm is and who we are to it, where the configuration names a Cluster (slurmCluster)
// instead of an address: from that object, which is watched, and from its Secret, which is read now
// and then, since leave to read one Secret is all that is asked for. Both may change at any time.
//
// While the Cluster, the Secret or the token in it is missing or wrong, what was good before is
// used on, and the log, an Event on the Cluster and the health page say what is wrong; nothing is
// ended because of it. Works whether or not this process leads. Owned by the app; lives on the
// control loop.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/object_key.h"
#include "base/store.h"
#include "control/health.h"
#include "control/manager.h"
#include "kube/slurm_cluster.h"
#include "slurm/alarm.h"
#include "slurm/connection.h"
#include "slurm/replaceable_tokens.h"

namespace mainspring::bridge {

using net::Task;

class ClusterFollower {
 public:
  struct Options {
    ObjectKey cluster;
    std::shared_ptr<slurm::ReplaceableTokens> tokens;  // Those of the connection.
    control::Check check = {};                         // Warns while something is wrong.
    Logger log = {};
  };
  // Manager and connection must outlive it, and it the manager's run().
  ClusterFollower(control::Manager& manager, slurm::Connection& slurm, Options options);
  ~ClusterFollower();
  ClusterFollower(const ClusterFollower&) = delete;
  ClusterFollower& operator=(const ClusterFollower&) = delete;

 private:
  using Cluster = std::shared_ptr<const kube::SlurmCluster>;

  Task<Result<void>> run();
  // What the objects say now; kCancelled only.
  Task<Result<kube::SlurmAccess>> read(Cluster cluster);
  void take(kube::SlurmAccess access);
  void tell(const kube::SlurmAccess& access, const Cluster& cluster);
  void look_at(TimePoint when);

  control::Manager& manager_;
  slurm::Connection& slurm_;
  const Options options_;
  Store<kube::SlurmCluster>& clusters_;
  std::optional<kube::SlurmAccess> used_;  // The last that was good.
  std::string trouble_;                    // That was told last; empty: none.
  std::optional<TimePoint> looked_;
  TimePoint next_look_ = slurm::Alarm::kNever;
  slurm::Alarm alarm_;
};

}  // namespace mainspring::bridge
