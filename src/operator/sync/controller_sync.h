// operator/sync/controller_sync.h
//
// Keeps a Controller's objects as they should be. Two queues:
//   "controller"        services, configuration, StatefulSet, ServiceMonitor and status, from
//   caches
//                       alone; it never waits for Slurm.
//   "controller-slurm"  asks slurmctld to take up new files, sees when a closed partition is
//                       without jobs, and of several slurmctld finds the one that is active.
// A configuration that slurmctld would stop at, or one whose parts are not all there, is never
// written: what runs goes on with what it has, and starts with it again. Owned by the app; lives on
// the control loop.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "control/controller.h"
#include "control/object_meta.h"
#include "operator/sync/config_plan.h"
#include "operator/sync/controller_inputs.h"
#include "operator/sync/ensure.h"

namespace mainspring::op {

class ControllerSync {
 public:
  explicit ControllerSync(World& world);
  ControllerSync(const ControllerSync&) = delete;
  ControllerSync& operator=(const ControllerSync&) = delete;

 private:
  using ControllerPtr = std::shared_ptr<const api::Controller>;
  using Parts = std::shared_ptr<const ControllerParts>;

  // What this process knows beyond the caches. Lost with it: then files are brought in, and taken
  // up, once more.
  struct Memory {
    std::optional<TimePoint> first_seen;  // Without anything of its own.
    std::string brought;  // The hash of the files that were brought into the pods, and when.
    TimePoint brought_at;
    std::string taken_up;  // The hash of those that slurmctld has taken up, and when.
    WallTime taken_up_at;
    // The hash of the slurm.conf that slurmctld had read before these files; 0: it does not say.
    std::int64_t read_before = 0;
    bool proven = false;  // That it has read them: by that hash, which is another now.
    std::string trouble;
    TimePoint try_again;  // Not before this, after it could not be taken up.
    int failures = 0;     // To take it up, one after the other.
    // Those of the files that slurmctld has taken up, and which of them are known to have no jobs.
    ClosedPartitions closed, vacant;
    // Of the StatefulSet with this UID, as the API server has them: they cannot be changed.
    std::string claims_of;
    json::Value claims;
    std::int64_t told_of_claims = 0;  // In which generation of the Controller.
    TimePoint looked;                 // For the ServiceMonitor.
    // Of the ServiceMonitor, for which there is no cache; unset: not known.
    std::optional<kube::Meta> monitor;
    bool no_monitor = false;           // Known not to be there.
    std::optional<TimePoint> no_kind;  // When this cluster had no such kind.
  };

  // What keeps a Controller from being as it should be.
  struct Problem {
    std::string_view reason;  // Of the condition Degraded.
    Error error;
    bool for_others = false;  // To be mended by somebody else, whose change brings us back.
  };

  void watch();
  // The Controller's, by what is known of its partitions.
  Parts gather(const ControllerPtr& controller);
  void watch_references();
  Task<Result<control::Requeue>> reconcile(control::Key key);
  Task<Result<void>> groundwork(Parts parts);
  static std::optional<Problem> check(const ControllerParts& parts);
  // How long a Controller without anything of its own is still left alone.
  std::optional<Duration> time_to_gather(const ControllerParts& parts);
  // `plan` is what is done about the files, as far as it came to that.
  Task<Result<void>> keep(Parts parts, std::optional<ConfigPlan>* plan);
  // A StatefulSet that is gone while the files are not good, with those that were so last.
  Task<Result<void>> restore(Parts parts);
  ConfigFacts facts(const ControllerParts& parts) const;
  Task<Result<void>> services(Parts parts);
  Task<Result<void>> members(ControllerPtr controller);
  Task<Result<void>> approved_maps(Parts parts);
  Task<Result<void>> drop_approved_maps(Parts parts);
  Task<Result<void>> config_map(Parts parts);
  Task<Result<void>> stateful_set(Parts parts, json::Value desired, std::string restart);
  Task<Result<void>> keep_claims(Parts parts, json::Value* desired);
  Task<Result<void>> service_monitor(Parts parts);
  Task<Result<void>> mark_references(ControllerPtr controller);
  Task<Result<void>> bring_files(Parts parts, std::string hash);
  Task<Result<void>> write_status(Parts parts, api::ConfigStatus config, const Problem* problem);

  // Of "controller-slurm".
  Task<Result<control::Requeue>> reconcile_slurm(control::Key key);
  Task<Result<control::Requeue>> take_up(ControllerPtr controller,
                                         std::shared_ptr<SlurmCluster> cluster);
  Task<Result<control::Requeue>> look_at_closed(ControllerPtr controller,
                                                std::shared_ptr<SlurmCluster> cluster);
  Task<Result<void>> follow_active(ControllerPtr controller, std::shared_ptr<SlurmCluster> cluster);
  // The label "active" on this pod and no other.
  Task<Result<void>> mark_active(ControllerPtr controller, std::string pod);

  World& world_;
  Store<control::ObjectMeta>& slices_;
  control::Controller& queue_;
  control::Controller& slurm_queue_;
  std::unordered_map<ObjectKey, Memory, KeyHash, KeyEqual> memory_;
};

}  // namespace mainspring::op
