// How gangs end: Slurm hears what became of their pods, pods hear that their job is over, and
// neither ends many of the other at once. The part of GangSync that takes away.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/names.h"
#include "bridge/sync/gang_sync.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/reason.h"
#include "kube/api.h"
#include "net/wait.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {

using control::EventType;

namespace {

constexpr Duration kSweep = seconds(30);
constexpr std::size_t kMostSwept = 20;  // A round.
// After the time that a deleted pod had to end in.
constexpr Duration kStuckAfter = minutes(5);
// How many jobs have pods at work changes slowly.
constexpr Duration kCountAgain = seconds(10);
constexpr Duration kSayAgain = minutes(1);
constexpr Duration kForgottenPace = hours(1);
// For so long a job is taken for over that we have cancelled, whatever the cache still says.
constexpr Duration kCancelledFor = minutes(1);

}  // namespace

void GangSync::unfollow(slurm::JobId job) {
  const auto note = notes_.find(job);
  if (note == notes_.end()) return;
  note->second.interest.reset();
  note->second.parts.clear();
}

void GangSync::note_outcome(slurm::JobId job, const Roll& roll) {
  for (const Member& member : roll.members) {
    if (member.stage != PodStage::kOver) continue;
    auto& outcome = notes_[job].outcome;
    if (!outcome) outcome = std::make_unique<Outcome>();
    outcome->add(*member.pod, is_lost_alone(*member.pod));
  }
}

// What became of the pods of a job that Slurm itself ended, once the last of them has: slurmctld
// takes no comment on such a job any more, slurmdbd does.
void GangSync::account_for(slurm::JobId job) {
  const auto note = notes_.find(job);
  if (note == notes_.end() || !note->second.outcome || note->second.accounted) return;
  note->second.accounted = true;
  const Outcome& outcome = *note->second.outcome;
  exit_codes_.add(job, outcome.exit_code(), outcome.is_worth_telling() ? outcome.text() : "");
}

// Over for no other reason than that its node is.
bool GangSync::is_lost_alone(const kube::Pod& pod) const {
  const PodStage without = stage_of(pod, false);
  return without == PodStage::kRunning || without == PodStage::kEnding;
}

// False where there is nothing of ours to end.
Task<Result<bool>> GangSync::may_be_ended(slurm::JobId job) {
  const JobPtr record = world_.cache.jobs().get({}, job.text());
  const auto owners = record ? owners_in(*record) : std::nullopt;
  const bool by_uid = owners && !owners->uids.empty();
  if (world_.cache.jobs_freshness().fresh() && by_uid) co_return true;
  // A slurmctld that lost its state gives the number to others.
  MS_CO_TRY(const JobPtr now, co_await world_.cache.refresh_job(job));
  if (!now) co_return false;
  const Claim claim(*now);
  const Pods& marked = world_.pods.find(by_job_, job.text());
  if (!marked.empty() && std::all_of(marked.begin(), marked.end(),
                                     [&](const PodPtr& pod) { return claim.denies(*pod); })) {
    co_return fail(Code::kConflict,
                   fmt::format("job {} is another's by now: it is not ended", job.text()));
  }
  if (!submission_.is_elsewhere(*now)) co_return true;
  world_.log.warn("a job is not ended: none of its nodes is known here",
                  {{"job", job.text()}, {"nodes", now->nodes.view()}});
  co_return false;
}

// Slurm hears how it went, and only then that it is over. One pod that ended well is not worth a
// call: a job of ours that its own user cancelled after so many seconds says the same.
Task<Result<void>> GangSync::finish(slurm::JobId job) {
  if (const auto note = notes_.find(job); note != notes_.end() && note->second.cancelled) {
    const TimePoint now = world_.manager.executor().now();
    if (now < *note->second.cancelled + kCancelledFor) co_return Result<void>();
  }
  MS_CO_TRY(const bool ours, co_await may_be_ended(job));
  if (!ours) co_return Result<void>();
  int exit_code = 0;
  std::string untold;
  if (const auto note = notes_.find(job); note != notes_.end()) {
    const Outcome* const outcome = note->second.outcome.get();
    // How a job ends that we end is no news.
    unfollow(job);
    note->second.accounted = true;
    if (outcome != nullptr) exit_code = outcome->exit_code();
    if (outcome != nullptr && outcome->is_worth_telling()) {
      std::string text = outcome->text();
      const auto noted = co_await slurm::Jobs(world_.slurm).update(job, {.comment = text});
      // For people alone: that it cannot be written must not keep nodes from others. slurmdbd may
      // take what slurmctld does not.
      if (!noted) {
        world_.log.debug("no comment on a job", {{"error", noted.error()}});
        untold = std::move(text);
      }
    }
  }
  // With the first part of a het job all of them end. Where that one is over, the others are not.
  std::vector<slurm::JobId> ends{job};
  const auto record = world_.cache.jobs().get({}, job.text());
  if (record && record->state.has_ended()) {
    for (const JobPtr& part : submission_.parts_of(*record)) {
      if (!part->state.has_ended()) ends.push_back(part->id);
    }
  }
  for (const slurm::JobId each : ends) {
    auto cancelled = co_await slurm::Jobs(world_.slurm).cancel(each);
    if (!cancelled && cancelled.error().code() != Code::kNotFound) {
      co_return fail(std::move(cancelled).error());
    }
  }
  if (const auto note = notes_.find(job); note != notes_.end()) {
    note->second.cancelled = world_.manager.executor().now();
  }
  exit_codes_.add(job, exit_code, std::move(untold));
  co_return Result<void>();
}

Task<Result<void>> GangSync::let_go(Pods pods) {
  co_return co_await for_all(std::move(pods),
                             [this](PodPtr pod) { return let_one_go(std::move(pod)); });
}

Task<Result<void>> GangSync::unmark(PodPtr pod) {
  recent_.guarded(pod->meta.uid, false);
  return unmark_pod(&world_, std::move(pod));
}

Task<Result<void>> GangSync::let_one_go(PodPtr pod) {
  MS_CO_CHECK(co_await let_pod_go(&world_, pod));
  if (is_there(*pod)) recent_.let_go(pod->meta.uid, world_.manager.executor().now());
  co_return Result<void>();
}

// Jobs that pods hold nodes for, as of some seconds ago.
std::size_t GangSync::jobs_at_work() {
  const TimePoint now = world_.manager.executor().now();
  if (counted_ == TimePoint{} || counted_ + kCountAgain < now) {
    std::set<slurm::JobId> jobs;
    world_.pods.for_each([&](const PodPtr& pod) {
      if (!pod->node_name.empty() && !pod->terminal()) jobs.insert(job_of(*pod));
    });
    at_work_ = jobs.size();
    counted_ = now;
  }
  return at_work_;
}

void GangSync::set_limited(slurm::JobId job, bool is) {
  if (is) {
    limited_.insert(job);
  } else {
    limited_.erase(job);
  }
  limited_jobs_.set(static_cast<double>(limited_.size()));
}

// False where it has to wait, because an unusual share of all has been ended in this minute.
bool GangSync::may_end(slurm::JobId job, const Pods& pods, std::string_view why) {
  Note& note = notes_[job];
  if (note.may_end) return true;
  note.may_end = limit_.take(jobs_at_work());
  if (note.may_end) {
    set_limited(job, false);
    return true;
  }
  const TimePoint now = world_.manager.executor().now();
  if (said_ == TimePoint{} || said_ + kSayAgain < now) {
    said_ = now;
    world_.log.error("many jobs end at once; the rest waits",
                     {{"why", why},
                      {"job", job.text()},
                      {"percent_per_minute", world_.options.ended_percent},
                      {"of_jobs", at_work_}});
  }
  if (!limited_.contains(job)) {
    tell(pods, EventType::kWarning, "EndingDelayed",
         fmt::format("{}, and so did many others in this minute: at most {}% of the jobs with pods "
                     "are ended in a minute",
                     why, world_.options.ended_percent));
    set_limited(job, true);
  }
  return false;
}

// That containers have ended is the kubelet's word. That nodes are gone may be somebody's mistake.
bool GangSync::may_finish(slurm::JobId job, const Pods& pods) {
  const bool lost = std::any_of(pods.begin(), pods.end(),
                                [this](const PodPtr& pod) { return is_lost_alone(*pod); });
  return !lost || may_end(job, pods, "the node of the pod is lost");
}

// Preemption and time limits are slurmctld's ordinary doing, decided for each job by itself and on
// its record; whoever preempted waits for the nodes.
bool GangSync::is_by_rule(const slurm::Job& job) const {
  bool any = false;
  for (const JobPtr& part : submission_.parts_of(job)) {
    if (!part->state.has_ended()) continue;
    const auto how = part->state.base();
    any = how == slurm::JobState::Base::kPreempted || how == slurm::JobState::Base::kTimeout;
    if (!any) return false;
  }
  return any;
}

// False where some have to wait for a limit.
Task<Result<bool>> GangSync::remove(slurm::JobId job, JobPtr record, Pods pods) {
  if (pods.empty()) co_return true;
  const bool by_rule = record && is_by_rule(*record);
  if (!by_rule && !may_end(job, pods, "Slurm ended the pod's job")) co_return false;
  const TimePoint now = world_.manager.executor().now();
  while (!removals_.empty() && removals_.front() + minutes(1) < now) removals_.pop_front();
  const auto limit = static_cast<std::size_t>(world_.options.deletions_per_minute);
  const std::size_t left = limit - std::min(limit, removals_.size());
  const bool all = pods.size() <= left;
  if (!all) {
    world_.log.error("the limit of deleted pods is reached; the rest waits",
                     {{"limit_per_minute", limit}, {"job", job.text()}});
    pods.resize(left);
  }
  removals_.insert(removals_.end(), pods.size(), now);
  if (Note& note = notes_[job]; record && !note.told) {
    note.told = true;
    tell(pods, EventType::kNormal, "SlurmJobEnded", ended_text(*record));
  }
  MS_CO_CHECK(co_await for_all(std::move(pods),
                               [this](PodPtr pod) { return delete_pod(&world_, std::move(pod)); }));
  co_return all;
}

// slurmctld forgets a job MinJobAge after its end, and all of them where it lost its state. Pods
// run on then, and nobody here can say whether they should: people have to know. Said again after
// the time that an API server keeps an event. `forgotten`: the members', not only strangers'.
control::Requeue GangSync::tell_forgotten(slurm::JobId job, bool forgotten, const Roll& roll) {
  Pods pods;
  for (const auto* list : {&roll.strangers, &roll.members}) {
    if (list == &roll.members && !forgotten) continue;
    for (const Member& one : *list) {
      if (one.stage == PodStage::kRunning) pods.push_back(one.pod);
    }
  }
  if (pods.empty()) return {};
  const TimePoint now = world_.manager.executor().now();
  std::optional<TimePoint>& told = notes_[job].forgotten_told;
  if (told && now < *told + kForgottenPace) return {*told + kForgottenPace - now};
  told = now;
  tell(pods, EventType::kWarning, "SlurmJobForgotten",
       fmt::format("Slurm does not know the pod's job {0} any more, so nobody can tell whether the "
                   "pod should have ended with it: it runs on, and its node is kept for it. Look "
                   "how the job ended (sacct -j {0}), and delete the pod if it is to end, too",
                   job.text()));
  return {kForgottenPace};
}

// A pod that nobody says has ended keeps its job and its nodes, for its containers may be at work.
// People have to know that they are waited for.
void GangSync::look_for_stuck() {
  const WallTime now = world_.manager.executor().clock().wall_now();
  std::set<std::string> stuck;
  world_.pods.for_each([&](const PodPtr& pod) {
    if (!pod->meta.deletion || *pod->meta.deletion + kStuckAfter > now) return;
    if (stage(*pod) != PodStage::kEnding) return;
    stuck.insert(pod->meta.uid);
    if (stuck_.contains(pod->meta.uid)) return;
    tell(
        {pod}, EventType::kWarning, "StuckEnding",
        fmt::format("the pod had to be gone long ago, but no kubelet says that its containers have "
                    "ended, so Slurm keeps node {0} for it: mend the node; if it is gone for good, "
                    "delete the Node or taint it: kubectl taint node {0} "
                    "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
                    pod->node_name.view()));
  });
  stuck_ = std::move(stuck);
  stuck_pods_.set(static_cast<double>(stuck_.size()));
}

// Jobs of ours whose pods are all gone or another job's: a crash between the job and the mark on
// its pods, and then somebody deleted those; a call that reached Slurm twice. Only jobs that name
// pods by UID of this cluster are looked at, never in their first minute.
Task<Result<void>> GangSync::sweep() {
  for (;;) {
    MS_CO_CHECK(co_await net::sleep(kSweep));
    if (world_.pods.current()) look_for_stuck();
    if (!world_.pods.current() || !world_.cache.jobs().current() ||
        !world_.cache.jobs_freshness().fresh()) {
      continue;
    }
    std::vector<Unclaimed> found = unclaimed();
    if (found.size() > kMostSwept) {
      world_.log.error("many jobs seem to have no pods; only some of them are looked at",
                       {{"jobs", found.size()}, {"at_once", kMostSwept}});
      found.resize(kMostSwept);
    }
    for (Unclaimed& one : found) {
      const slurm::JobId job = one.job;
      const auto ended = co_await end_unclaimed(std::move(one));
      if (ended) continue;
      // The next round tries again.
      if (ended.error().code() == Code::kCancelled) co_return fail(ended.error());
      world_.log.warn("a job without pods cannot be ended",
                      {{"job", job.text()}, {"error", ended.error()}});
    }
  }
}

std::vector<GangSync::Unclaimed> GangSync::unclaimed() const {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               world_.manager.executor().clock().wall_now().time_since_epoch())
                               .count();
  std::map<std::string, slurm::JobId, std::less<>> marks;
  world_.pods.for_each([&](const PodPtr& pod) { marks[pod->meta.uid] = job_of(*pod); });
  std::vector<Unclaimed> out;
  world_.cache.jobs().for_each([&](const JobPtr& job) {
    if (job->state.has_ended() || job->submit_time.value_or(now) + 60 > now) return;
    const auto owners = owners_in(*job);
    if (!owners || owners->uids.empty() || owners->cluster != world_.cluster_id()) return;
    // The parts of a het job end with its first, as long as that one lives.
    const auto leader = world_.cache.jobs().get({}, leader_of(*job).text());
    if (leader && leader->id != job->id && !leader->state.has_ended()) return;
    Unclaimed one{job->id, {}};
    for (std::size_t i = 0; i < owners->uids.size(); ++i) {
      const auto mark = marks.find(owners->uids[i]);
      if (mark == marks.end()) {
        one.absent.emplace_back(owners->pods[i], owners->uids[i]);
      } else if (!mark->second || mark->second == leader_of(*job)) {
        return;
      }
    }
    out.push_back(std::move(one));
  });
  return out;
}

// We see only pods of our scheduler's name, which may have been another when the job was made. So
// each is asked for before anything ends.
Task<Result<void>> GangSync::end_unclaimed(Unclaimed one) {
  for (const auto& [name, uid] : one.absent) {
    const std::size_t slash = name.find('/');
    const kube::Api<kube::Pod> api(world_.kube, name.substr(0, slash));
    const auto pod = co_await api.get(name.substr(slash + 1));
    if (!pod && pod.error().code() != Code::kNotFound) co_return fail(pod.error());
    if (pod && pod->meta.uid == uid) co_return Result<void>();
  }
  world_.log.warn("a job has no pod any more and is ended", {{"job", one.job.text()}});
  notes_.erase(one.job);
  co_return co_await finish(one.job);
}

}  // namespace mainspring::bridge
