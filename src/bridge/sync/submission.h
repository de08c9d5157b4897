// bridge/sync/submission.h
//
// How a gang becomes a Slurm job, exactly once. At once where nothing waits ahead of it (allocate),
// else by its place in the queue (submit); as the user whom its namespace stands for. A gang whose
// pods need nodes of several kinds becomes a het job, a part for each kind; its number is that of
// the first part. Whatever became of a call whose answer was lost, the job is found again by the
// UIDs that it carries. Lives on the control loop.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/gang/gang.h"
#include "bridge/sync/known_fits.h"
#include "bridge/sync/lost_jobs.h"
#include "bridge/sync/node_use.h"
#include "bridge/sync/world.h"
#include "bridge/translate/change.h"
#include "bridge/translate/demand.h"
#include "bridge/translate/domains.h"
#include "bridge/translate/node_room.h"
#include "bridge/translate/ownership.h"
#include "bridge/translate/placement.h"
#include "slurm/job_request.h"

namespace mainspring::bridge {

using net::Task;
using JobRequests = std::vector<slurm::JobRequest>;

struct Prepared {
  // One for each part of the job.
  JobRequests parts;
  // Fewer nodes than needed are as large as one of the parts asks for.
  bool too_large = false;
  // Idle nodes that the pods like less than others that are idle, as a hostlist; "": none.
  std::string less_liked;
  std::vector<std::string> warnings;
  // Set: no job can be asked for now, in words for the gang's owner.
  std::string impossible;
  // Nodes are left out for what others' pods have of them just now.
  bool crowded = false;
};

struct Started {
  slurm::JobId job;
  JobRequests parts;  // What Slurm was asked for.
  // What an allocation takes. To be kept until the cache shows the job: for so long nobody else is
  // to count on it.
  std::shared_ptr<const Demand> taken;
};

struct JobUpdate {
  slurm::JobId job;
  slurm::JobRequest changes;
  // Whose policy it is held against; "": nobody's, for the job is our own.
  std::string user;
};

// What makes a job that waits what is wanted now.
struct JobChanges {
  std::vector<JobUpdate> updates;
  // Why it has to be withdrawn and another asked for; "": the updates do it.
  std::string anew;
  JobRequests parts;  // What it is afterwards.
};

class Submission {
 public:
  explicit Submission(World& world);

  // Pure but for what the caches hold. kInvalid is the workload's fault. `parts`: of the job that
  // waits, which is kept in shape where that is possible; 0: there is none.
  Result<Prepared> prepare(const Gang& gang, const std::vector<VolumeNodes>& volumes,
                           std::size_t parts = 0) const;

  // The job, which may run already. After a failure that is_uncertain() there may be one all the
  // same, see find_lost(); after any other there is none.
  Task<Result<Started>> start(Prepared wanted);

  // `had`: what was asked for, where that is known.
  JobChanges changes(const slurm::Job& job, const JobRequests& had, const Prepared& wanted) const;
  // kConflict where the job waits no more; is_not_the_users() where another may be what is wanted.
  Task<Result<void>> change(JobChanges changes);

  // The job is for these pods from now on, and for no others. kInvalidNodeName where it is_fixed().
  Task<Result<void>> own(slurm::JobId job, std::vector<PodPtr> pods);
  // It leaves out a node that is no more. slurmctld refuses every change of such a job, waiting or
  // running, even one of what it says.
  bool is_fixed(const slurm::Job& job) const;
  // These pods have left such a job, which names them for ever: it is found for them no more.
  // After a restart it is, and they leave it again.
  void disown(slurm::JobId job, const std::vector<PodPtr>& pods);
  // The pod is no more.
  void forget(std::string_view uid);

  // The number of the job that has one of these pods and is not over, as far as the cache knows; 0:
  // none. `user` is whose the job would be, where that is known.
  slurm::JobId find(const std::vector<PodPtr>& pods,
                    const std::optional<std::string>& user = std::nullopt) const;
  // All such jobs, the lowest first. What the cache has of one may be old: it may be over.
  std::set<slurm::JobId> find_all(const std::vector<PodPtr>& pods,
                                  const std::optional<std::string>& user) const;
  // The same by asking for all jobs, for a call whose fate is unknown. Dear.
  Task<Result<slurm::JobId>> find_lost(std::vector<PodPtr> pods, std::optional<std::string> user);
  // It names its pods without saying in which Kubernetes they are, as slurm-bridge does, and none
  // of the nodes that it holds is known in this one. So they are another's.
  bool is_elsewhere(const slurm::Job& job) const;
  // Whose the job of a workload with these annotations is; none: our own user's.
  std::optional<std::string> user_of(const Gang& gang) const;

  // The parts of a job as the cache has them, the first one first; the job alone where it has none.
  std::vector<std::shared_ptr<const slurm::Job>> parts_of(const slurm::Job& job) const;
  // Whether all parts are known and in step. Asks for them where they do not seem to be.
  Task<Result<bool>> in_step(std::shared_ptr<const slurm::Job> job);

  // The nodes of the allocation and what they are here. `gang` are the pods that they are for.
  std::vector<Place> places(const std::vector<std::string>& slurm_nodes,
                            const std::vector<PodPtr>& gang) const;

 private:
  // `domain`: where all pods have to be; null: anywhere.
  Result<Prepared> prepare_in(const Domain* domain, const Gang& gang,
                              const std::vector<VolumeNodes>& volumes, std::size_t parts) const;
  Result<Prepared> in_one_domain(Prepared anywhere, const Gang& gang,
                                 const std::vector<VolumeNodes>& volumes, std::size_t parts) const;
  Result<Prepared> shape(const Domain* domain, const Gang& gang,
                         const std::vector<VolumeNodes>& volumes,
                         const std::vector<std::size_t>& kinds) const;
  void place(const Domain* domain, Prepared& out, slurm::JobRequest& request, const Gang& part,
             const std::vector<VolumeNodes>& volumes) const;
  void leave_to_others(Prepared& out) const;
  KnownFits::Answer look_at_nodes(const Domain* domain, slurm::JobRequest request, const Gang& part,
                                  const std::vector<VolumeNodes>& volumes) const;
  std::size_t large_enough(const slurm::JobRequest& request) const;
  bool has_slurm_node(std::string_view name) const;
  std::string comment_for(const std::vector<PodPtr>& pods, std::string asked,
                          const std::vector<std::size_t>& kinds = {}) const;
  std::vector<std::shared_ptr<const slurm::Node>> nodes_of(std::string_view partitions) const;
  void leave_out_without_cpus(std::vector<Place>& places) const;
  std::string less_liked(const Gang& gang, const std::vector<Place>& places,
                         const slurm::JobRequest& request) const;
  bool may_start_now(const slurm::JobRequest& request);
  JustTaken just_taken(std::string_view node) const;
  Demand under_way();
  Task<Result<Started>> start_whole(slurm::JobRequest request, std::string less_liked);
  Task<Result<slurm::JobId>> allocate(slurm::JobRequest request);
  std::optional<std::string> known_user(const kube::Pod& pod,
                                        const std::optional<std::string>& user) const;
  bool has_left(const kube::Pod& pod, slurm::JobId job) const;
  bool is_job_of(const slurm::Job& job, std::string_view key, const kube::Pod& pod,
                 const std::optional<std::string>& user) const;
  bool may_be_here(const slurm::Job& job) const;

  World& world_;
  LostJobs lost_;
  Store<slurm::Job>::IndexId by_pod_;
  Store<slurm::Job>::IndexId by_leader_;   // Parts of het jobs.
  Store<slurm::Job>::IndexId waiting_in_;  // By partition: those that wait for nodes.
  NodeUse use_;
  mutable KnownFits fits_;
  std::vector<std::weak_ptr<const Demand>> under_way_;  // Of allocations that nobody has seen yet.
  std::map<std::string, std::set<slurm::JobId>, std::less<>> left_;  // Jobs by UIDs, see disown().
};

// The pods that an external job is for, by its own word; none where it says nothing of pods.
std::optional<JobOwners> owners_in(const slurm::Job& job);
// The number that the pods of a job are marked with: that of its first part.
slurm::JobId leader_of(const slurm::Job& job);
bool is_het(const slurm::Job& job);

// Whose a job is. One of the number that a pod is marked with may be another's: a slurmctld that
// has lost its state begins to count anew.
class Claim {
 public:
  explicit Claim(const slurm::Job& job);
  // The pod has the job's mark, and the job is for others. A comment that is not ours says nothing:
  // sites have other uses for it.
  bool denies(const kube::Pod& pod) const;

 private:
  const slurm::JobId job_;
  const bool external_;
  std::optional<JobOwners> owners_;  // Sorted.
};

// Whether Slurm refused a change because a user may not make it of a job that is there: what it
// would be then may be asked for all the same.
bool is_not_the_users(const Error& error);

// A call after which it is not known whether Slurm did it.
bool is_uncertain(const Error& error);

}  // namespace mainspring::bridge
