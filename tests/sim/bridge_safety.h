// tests/sim/bridge_safety.h
//
// What the bridge may never do, checked where its calls arrive: two transports, one in front of the
// API server and one in front of slurmrestd, that pass calls on and judge them by what is true at
// that moment. Also the account of everything that happened. Owned by the test; lives on one loop.
//
// The rules:
//  - a pod gets only a node that its job holds, and none that another pod of the job uses, nor one
//    with containers of a job that is over; all containers on a node never use more than it has;
//  - a pod of a PodGroup gets one only where the job holds as many as the group needs at least, or
//    where others of the group have theirs already;
//  - a job that is for a PodGroup with a time limit has that limit;
//  - no pod has two jobs that live, and none is asked for where the pod is over or being deleted;
//  - no job ends by the bridge while a container of one of its pods may run;
//  - no pod is deleted by the bridge while its job lives or for a job that it ended itself, and
//  none
//    leaves the API server before its containers have ended;
//  - a node that Slurm believes to be free of a job whose containers still run there is drained,
//    and no drain is lifted before they have ended.
// Somebody may change something between the bridge's last look and its write. Such a race is
// excused, and only such.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/bridge_kubelet.h"
#include "sim/kube_api.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {

class BridgeSafety {
 public:
  // All must outlive it.
  BridgeSafety(net::Executor& executor, KubeApi& kube, SlurmApi& slurm, BridgeKubelet& kubelet);
  ~BridgeSafety();

  // For the bridge, or for Faults before it.
  http::Transport& kube();
  http::Transport& slurm();

  // What must hold at any time; to be called several times a second. Whether the bridge and
  // Slurm are there.
  void look(bool bridge, bool slurm);

  void note(const std::string& line);
  void violate(const std::string& what);
  // The first; empty: none.
  const std::string& violation() const { return violation_; }
  std::string account() const;

  // Jobs that are there because a call reached Slurm twice.
  std::set<std::uint32_t> doubles;
  int writes = 0;     // Of the bridge, to either side, without events.
  int job_reads = 0;  // Of single jobs.

 private:
  class KubeWire;
  class SlurmWire;
  struct Bound {
    std::string name, node;
    std::uint32_t job = 0;
    int cpus = 0;
  };

  void judge_binding(const std::string& key);
  void judge_neighbours(const Bound& made);
  void judge_opening(const std::string& node);
  bool is_long_over(std::uint32_t id);

  void judge_gang(const json::Value& pod, const SlurmJob& job);
  void judge_limit(const SlurmJob& job);
  void judge_deletion(const std::string& key, const json::Value& options);
  void judge_request(std::uint32_t id);
  void judge_owners(std::uint32_t id);
  bool is_fixed(const SlurmJob& job);
  void judge_cancel(std::uint32_t id);
  void look_at_pods();
  const SlurmJob* living_job(std::uint32_t id);

  net::Executor& executor_;
  KubeApi& api_;
  SlurmApi& slurm_api_;
  BridgeKubelet& kubelet_;
  std::unique_ptr<KubeWire> kube_;
  std::unique_ptr<SlurmWire> slurm_;
  std::map<std::string, Bound, std::less<>> bound_;         // By UID; until the containers ended.
  std::map<std::string, TimePoint, std::less<>> unwanted_;  // UIDs of pods over or deleted.
  std::map<std::string, TimePoint, std::less<>> open_;      // Nodes in use that are not drained.
  std::set<std::string, std::less<>> known_;                // UIDs of pods at the last look.
  std::map<std::string, std::string, std::less<>>
      gangs_;  // PodGroups by UIDs of pods; "": of several.
  std::uint64_t seen_ = 0;
  std::set<std::uint32_t> ended_by_bridge_;
  TimePoint steady_from_{};  // Until then the bridge may not know what is going on.
  std::string violation_;
  std::vector<std::string> account_;
};

// The UIDs in a job's admin comment, or in what stands for it.
std::vector<std::string> uids_of(const SlurmJob& job);
// 0 where the pod has no mark.
std::uint32_t job_of_pod(const json::Value& pod);
// The part of that job that the pod is in; the job itself where it has none.
std::uint32_t part_for(SlurmModel& model, std::uint32_t job, std::string_view uid);

}  // namespace mainspring::sim
