// bridge/sync/gang_sync.h
//
// GangSync: the scheduler. Watches our pods and Slurm's jobs, and takes every gang as far as it can
// go right now: asks Slurm for a job, binds pods where Slurm put them, ends pods whose job ended,
// ends jobs whose pods are gone. What a gang waits for comes as an event, so no gang ever waits for
// another. Nothing here is remembered that cannot be found out again after a crash.
//
// Lives on the control loop; outlives the manager's run().
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/metrics.h"
#include "bridge/devices/device_claims.h"
#include "bridge/gang/grouping.h"
#include "bridge/gang/outcome.h"
#include "bridge/gang/plan.h"
#include "bridge/nodes/removal_limit.h"
#include "bridge/nodes/tenants.h"
#include "bridge/sync/exit_codes.h"
#include "bridge/sync/lost_nodes.h"
#include "bridge/sync/recent_writes.h"
#include "bridge/sync/roots.h"
#include "bridge/sync/submission.h"
#include "bridge/sync/volumes.h"
#include "bridge/sync/world.h"
#include "net/task_group.h"

namespace mainspring::bridge {

class GangSync {
 public:
  // Both must outlive it.
  GangSync(World& world, Tenants& tenants);

 private:
  using Pods = std::vector<PodPtr>;
  using JobPtr = std::shared_ptr<const slurm::Job>;
  // What is kept of a job until its pods are bound.
  struct Unbound {
    JobRequests sent;  // What Slurm has, where we know it and it waits.
    // While it waits: when Slurm was last asked why, and what the pods were told of that.
    std::optional<TimePoint> looked, said_at, event_at;
    std::string reason, said;
    // Once it runs: since when its pods cannot be bound, and since when volumes, or the end of
    // others' containers, are waited for.
    std::optional<TimePoint> hindered, wants_volumes, crowded;
  };
  // What is kept of it while pods carry its id. Most are bound, so they cost no more than this.
  struct Note {
    Unbound& unbound() {
      if (!until_bound) until_bound = std::make_unique<Unbound>();
      return *until_bound;
    }

    std::unique_ptr<Unbound> until_bound;
    std::optional<slurm::Cache::Interest> interest;
    std::vector<slurm::Cache::Interest> parts;  // The same in its further parts.
    TimePoint asked{};                          // When it was asked for, where we did.
    bool told = false;                          // Its end, to the pods.
    bool may_end = false;                       // The limit has let it through.
    std::unique_ptr<Outcome> outcome;           // Of its pods so far; null: none is over.
    bool accounted = false;                     // Slurm has heard of it, or is about to.
    bool given_up = false;                      // We have ended it, or are about to.
    std::optional<TimePoint> cancelled;         // By us; the cache may not show it yet.
    bool group_told = false;                    // The PodGroup, that all are bound.
    std::optional<TimePoint> forgotten_told;  // To the pods, that Slurm does not know it any more.
  };
  // The pods of a job, by what they are to it.
  struct Roll {
    std::vector<Member> members;
    std::vector<Member> strangers;  // Carry the mark, and the job is for others.
    std::vector<Member> others;     // Use its nodes, and are in another gang by now.
    Pods others_waiting;            // Such ones that wait for it.
    Pods waiting;                   // Of `members`.

    // Those that have a node of the job or want one.
    Pods at_work() const;
  };
  // Pods by UID, with their nodes.
  using NodeOf = std::map<std::string, std::string>;
  // Pods that a job has nodes for.
  struct Joining {
    Pods pods;
    NodeOf node_of;
  };
  struct Gathered {
    std::map<slurm::JobId, Pods> by_job;
    Pods free;                           // Want a job.
    std::map<slurm::JobId, Pods> found;  // Want one, and Slurm has it; the mark is not on them.
    std::vector<std::pair<PodPtr, slurm::JobId>> unmarked;  // Are also in by_job.
    Pods spent;            // Have nothing to wait for but their finalizer.
    bool leaving = false;  // Some were let go just now and are in none of these.
  };

  // A job none of whose pods says that it is its own.
  struct Unclaimed {
    slurm::JobId job;
    std::vector<std::pair<std::string, std::string>> absent;  // Pods that we do not see, with UIDs.
  };

  // How many pods of a gang were there when it last grew.
  struct Growth {
    std::size_t pods = 0;
    TimePoint at{};
    bool stopped = false;  // Growing, for a while.
  };

  void watch(control::Controller& queue);
  void watch_nodes(control::Controller& queue);
  void wake_waiting();
  void room_was_made();
  Task<Result<void>> wake_soon();
  Gathered gather(const control::Key& key) const;
  PodStage stage(const kube::Pod& pod) const;
  bool is_history(const kube::Pod& pod, slurm::JobId job) const;
  bool is_there(const kube::Pod& pod) const;
  std::size_t living_in(slurm::JobId job, const Pods& pods) const;
  Roll call_roll(slurm::JobId job, const JobPtr& record, const Pods& pods) const;
  static bool is_anothers(const control::Key& key, const Roll& roll);
  Task<Result<control::Requeue>> leave(slurm::JobId job, Roll roll);
  JobPlan plan(const Roll& roll, slurm::JobId job, const JobKnowledge& known,
               std::int32_t least) const;

  Task<Result<control::Requeue>> reconcile(control::Key key);
  Task<Result<control::Requeue>> look_at_nodes(control::Key key);
  // `gathered` is the caller's.
  Task<Result<control::Requeue>> adopt(Gathered* gathered);
  JobPtr joinable(slurm::JobId job, const Pods& members) const;
  // Whether a job was, and everything is to be looked at again. `gathered` is the caller's.
  Task<Result<bool>> withdraw(control::Key key, Gathered* gathered);
  Task<Result<Joining>> find_gaps(control::Key key, JobPtr job, Pods members, Pods free);
  // `members` and `free` are the caller's: some go from one to the other.
  Task<Result<void>> join(control::Key key, slurm::JobId job, Pods* members, Pods* free);
  Task<Result<control::Requeue>> settle(control::Key key, slurm::JobId job, Pods pods,
                                        std::size_t elsewhere);
  Task<Result<JobKnowledge>> know(slurm::JobId job, Pods pods);
  Task<bool> may_join(control::Key key, PodPtr sample);
  Task<Result<control::Requeue>> form(control::Key key, GangRef gang, Pods pods,
                                      std::size_t elsewhere);
  Task<Result<control::Requeue>> form_gang(control::Key key, GangFacts facts, Pods pods);
  Task<Result<control::Requeue>> cannot_ask(control::Key key, Pods pods, Error error);
  void note_neighbours(Gang& gang) const;
  Task<Result<bool>> adopt_by_user(Gang gang);
  Task<Result<control::Requeue>> started(control::Key key, Started made, Pods pods);
  Task<Result<void>> ask_anew(slurm::JobId job, Pods pods, std::string why);
  // Whether Slurm refused because the job is_fixed(), and why it is asked for anew then.
  static bool is_fixed(const Error& error);
  static constexpr std::string_view kFixed = "a node that it leaves out is no more";
  Task<Result<control::Requeue>> wait(JobPtr job, Pods pods, Result<GangFacts> facts);
  Task<Result<JobPtr>> update(JobPtr job, Pods pods, Gang wanted);
  Task<Result<control::Requeue>> say_why(JobPtr job, Pods pods);
  Task<Result<control::Requeue>> place(JobPtr job, Pods unbound, Pods all);
  // What to do next where the gang of a job that has just started is no longer whole; nothing where
  // it may begin.
  Task<Result<std::optional<control::Requeue>>> stop_if_broken(control::Key key, JobPtr job,
                                                               Roll roll, std::size_t elsewhere);
  JobPlan plan_of(const std::vector<Member>& members, const JobKnowledge& known,
                  std::int32_t min_members) const;
  // Which node each pod gets, by UID; of a het job each one of its part's.
  Result<NodeOf> choose_nodes(const slurm::Job& job, const Pods& all,
                              const std::vector<VolumeNodes>& volumes) const;
  void add_expected(Place& place, const Pods& own) const;
  // By the parts of the job: places in `pods`.
  std::vector<std::vector<std::size_t>> by_part(const slurm::Job& job, const Pods& pods) const;
  // Only those that the job says are its own.
  static void leave_out_others(const slurm::Job& job, Pods& pods);
  // `unbound` and `all` are the caller's, and less afterwards.
  Task<Result<void>> keep(slurm::JobId job, std::size_t room, Pods* unbound, Pods* all);
  Task<Result<void>> narrow(slurm::JobId job, Pods stay, Pods leave);
  Task<Result<void>> let_go(Pods pods);
  Task<Result<void>> let_one_go(PodPtr pod);
  Task<Result<void>> guard(PodPtr pod);
  Task<Result<void>> mark_first(PodPtr pod, slurm::JobId job, std::string node);
  Task<bool> binds_with_mark();
  Task<Result<void>> unguard(PodPtr pod);
  Task<Result<void>> guard_early(control::Key key, Pods pods);
  Task<Result<void>> stop_guarding(control::Key key, Pods pods);
  Task<Result<void>> unmark(PodPtr pod);
  Task<Result<std::string>> why_not_free(JobPtr job, Pods unbound, NodeOf node_of);
  Task<Result<void>> place_one(PodPtr pod, slurm::JobId job, std::string node);
  Task<Result<NodeOf>> find_nodes(JobPtr job, Pods unbound, Pods all);
  // Of both: what to wait for; nothing where all is there.
  Task<Result<std::optional<control::Requeue>>> make_volumes(slurm::JobId job, Pods unbound,
                                                             Pods bound, NodeOf node_of);
  Task<Result<std::optional<control::Requeue>>> promise_devices(JobPtr job, Pods unbound,
                                                                Pods bound, NodeOf node_of);
  Task<Result<void>> release_devices(Pods pods);
  Task<Result<control::Requeue>> all_bound(slurm::JobId job, PodPtr sample);
  Task<Result<void>> tell_pod_group(PodPtr sample);
  Task<Result<control::Requeue>> cannot_bind(slurm::JobId job, Pods unbound, Pods bound,
                                             Error error);
  Task<Result<void>> end_empty_parts(slurm::JobId job);
  Task<Result<control::Requeue>> give_up(slurm::JobId job, Pods unbound, Pods bound, Error error);
  // Both are the caller's.
  Task<Result<void>> look_who_is_bound(Pods* unbound, Pods* bound);
  Task<Result<void>> finish(slurm::JobId job);
  Task<Result<bool>> may_be_ended(slurm::JobId job);
  Task<Result<bool>> remove(slurm::JobId job, JobPtr record, Pods pods);
  Task<Result<void>> for_all(Pods pods, std::function<Task<Result<void>>(PodPtr)> work);
  Task<Result<void>> show(Pods pods, std::string text);
  Task<Result<void>> wait_closely(slurm::JobId job);
  Task<Result<void>> sweep();
  std::vector<Unclaimed> unclaimed() const;
  Task<Result<void>> end_unclaimed(Unclaimed one);

  Note& follow(slurm::JobId job);
  void unfollow(slurm::JobId job);
  void drop_note(slurm::JobId job);
  void note_outcome(slurm::JobId job, const Roll& roll);
  void account_for(slurm::JobId job);
  bool is_lost_alone(const kube::Pod& pod) const;
  std::size_t jobs_at_work();
  bool may_end(slurm::JobId job, const Pods& pods, std::string_view why);
  bool is_by_rule(const slurm::Job& job) const;
  bool may_finish(slurm::JobId job, const Pods& pods);
  void set_limited(slurm::JobId job, bool is);
  void look_for_stuck();
  control::Requeue tell_forgotten(slurm::JobId job, bool forgotten, const Roll& roll);
  void set_unsure(const Pods& pods, bool unsure);
  void tell(const Pods& pods, control::EventType type, std::string_view reason,
            const std::string& text);
  Duration pause(const control::Key& key);
  Duration until_grown(const control::Key& key, std::size_t pods);
  Duration until_next_look() const;

  World& world_;
  Tenants& tenants_;
  Roots roots_;
  Volumes volumes_;
  DeviceClaims devices_;
  Submission submission_;
  ExitCodes exit_codes_;
  LostNodes lost_;
  RemovalLimit limit_;  // Of jobs that end with pods at work.
  Store<kube::Pod>::IndexId by_gang_, by_job_;
  control::Controller* queue_ = nullptr;
  std::map<slurm::JobId, Note> notes_;
  // UIDs of pods of which it is not known whether Slurm has a job for them.
  std::set<std::string, std::less<>> unsure_;
  std::optional<bool> binds_with_mark_;   // Unset: nobody has asked the API server yet.
  bool waking_ = false;                   // All that wait are about to be looked at.
  bool crowded_ = false;                  // Since they were, others' pods were in somebody's way.
  std::map<std::string, int> refusals_;   // In a row, by gang.
  std::map<std::string, Growth> growth_;  // By gang, of those that want more pods.
  RecentWrites recent_;
  std::deque<TimePoint> removals_;  // Of pods, of the last minute.
  std::set<slurm::JobId> limited_;  // Whose end waits for the limit.
  std::set<std::string> stuck_;     // UIDs of pods that should have ended long ago.
  std::size_t at_work_ = 0;         // Jobs, as they were counted then.
  TimePoint counted_{}, said_{};
  Gauge limited_jobs_, stuck_pods_;
  net::TaskGroup tasks_;  // Last: what runs ends before what it uses.
};

}  // namespace mainspring::bridge
