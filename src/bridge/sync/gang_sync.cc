#include "bridge/sync/gang_sync.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/names.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/reason.h"
#include "control/in_parallel.h"
#include "kube/api.h"
#include "net/wait.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {

using control::EventType;
using control::Key;
using control::Requeue;

namespace {

// Writes to the API server for one gang at a time. Several gangs write side by side.
constexpr std::size_t kAtOnce = 64;
constexpr Duration kUnknownPause = seconds(2);
constexpr Duration kSweep = seconds(30);
constexpr std::size_t kMostSwept = 20;  // A round.

// What Slurm no longer knows the job of.
void add_forgotten(JobPlan& plan, const std::vector<Member>& members) {
  JobPlan other = plan_job(members, {JobKnowledge::Kind::kForgotten, nullptr}, 0);
  for (auto list : {&JobPlan::detach, &JobPlan::let_go}) {
    (plan.*list).insert((plan.*list).end(), (other.*list).begin(), (other.*list).end());
  }
}

Requeue sooner(Requeue a, Requeue b) {
  if (!a.after) return b;
  if (!b.after) return a;
  return *a.after < *b.after ? a : b;
}

}  // namespace

GangSync::GangSync(World& world, Tenants& tenants)
    : world_(world),
      tenants_(tenants),
      roots_(world),
      volumes_(world),
      devices_(world),
      submission_(world),
      by_gang_(world.pods.add_index([](const kube::Pod& pod, std::vector<std::string>& values) {
        values.push_back(pod.meta.ns + "/" + gang_of(pod).id());
      })),
      by_job_(world.pods.add_index([](const kube::Pod& pod, std::vector<std::string>& values) {
        if (const slurm::JobId job = job_of(pod)) values.emplace_back(job.text());
      })),
      tasks_(world.manager.executor()) {
  queue_ = &world_.manager.add({.name = "gang",
                                .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                                .workers = world_.options.workers});
  watch(*queue_);
  world_.manager.add_work("jobs-without-pods", control::Manager::When::kLeading,
                          [this] { return sweep(); });
}

void GangSync::watch(control::Controller& queue) {
  queue.watch<kube::Pod>(world_.pods, [this](const auto& before, const auto& after, auto& to) {
    const kube::Pod& pod = after ? *after : *before;
    to.enqueue(Key{pod.meta.ns, gang_of(pod).id()});
    if (!after) {
      unsure_.erase(pod.meta.uid);
      recent_.forget(pod.meta.uid);
    } else {
      if (!pod.node_name.empty()) recent_.shows_node(pod.meta.uid);
      recent_.shows_guard(pod.meta.uid, pod.meta.has_finalizer(kFinalizer));
    }
    // Where the last pod of a job goes, so does what was kept of it.
    const slurm::JobId job = before ? job_of(*before) : slurm::JobId();
    if (job && world_.pods.find(by_job_, job.text()).empty()) notes_.erase(job);
  });
  queue.wait_for(world_.nodes);
  queue.wait_for(world_.system);
  queue.wait_for(world_.slices);
  queue.wait_for(world_.claims);
  queue.wait_for(world_.cache.nodes());
  queue.wait_for(world_.cache.jobs());
  world_.cache.jobs().add_handler([this, &queue](const auto& before, const auto& after) {
    const slurm::Job& job = after ? *after : *before;
    for (const PodPtr& pod : world_.pods.find(by_job_, job.id.text())) {
      queue.enqueue(Key{pod->meta.ns, gang_of(*pod).id()}, control::Priority::kHigh);
    }
  });
  // Pods on a node that is lost are over.
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    if (!is_lost(after.get()) || is_lost(before.get())) return;
    const std::string name = (before ? *before : *after).meta.name;
    world_.pods.for_each([&](const PodPtr& pod) {
      if (pod->node_name == name) queue.enqueue(Key{pod->meta.ns, gang_of(*pod).id()});
    });
  });
}

PodStage GangSync::stage(const kube::Pod& pod) const {
  if (pod.node_name.empty() && recent_.bound_for(pod.meta.uid)) {
    return pod.meta.deleting() ? PodStage::kEnding : PodStage::kRunning;
  }
  return stage_of(pod, world_.nodes.get({}, pod.node_name).get());
}

GangSync::Gathered GangSync::gather(const Key& key) const {
  Gathered out;
  const TimePoint at = world_.manager.executor().now();
  for (const PodPtr& pod : world_.pods.find(by_gang_, key.ns + "/" + key.name)) {
    if (recent_.was_let_go(pod->meta.uid, at)) {
      out.leaving = true;
      continue;
    }
    const slurm::JobId job = job_of(*pod);
    if (const slurm::JobId mark = job ? job : recent_.bound_for(pod->meta.uid)) {
      out.by_job[mark].push_back(pod);
      continue;
    }
    const PodStage now = stage(*pod);
    if (now == PodStage::kWaiting) {
      if (!pod->spec->scheduling_gates.empty()) continue;
      // Look before submitting: an earlier self of ours may have done it.
      if (const JobPtr earlier = submission_.find({pod})) {
        out.found[earlier->id].push_back(pod);
      } else {
        out.free.push_back(pod);
      }
    } else if (const JobPtr own = submission_.find({pod})) {
      // Somebody took the mark off a pod that holds a place, or it was bound without.
      out.by_job[own->id].push_back(pod);
      out.unmarked.emplace_back(pod, own->id);
    } else if (now == PodStage::kOver || now == PodStage::kGone) {
      out.spent.push_back(pod);
    }
  }
  return out;
}

// What is known of the job may be old: its end is on its way here, perhaps by our own hand. Marked
// with a job that is over, the pods would end, too.
Task<Result<Requeue>> GangSync::adopt(Gathered* gathered) {
  Requeue next;
  for (auto& [job, pods] : gathered->found) {
    const auto record = co_await world_.cache.refresh_job(job);
    if (!record) {
      // Nor is anything decided without them: the job would seem to have too few.
      gathered->by_job.erase(job);
      next = Requeue{kUnknownPause};
      continue;
    }
    set_unsure(pods, false);
    Pods* to = &gathered->free;
    if (*record && !(*record)->state.has_ended()) {
      MS_CO_CHECK(co_await for_all(pods, [this, id = job](PodPtr pod) {
        return mark_pod(&world_, std::move(pod), id, "");
      }));
      to = &gathered->by_job[job];
    }
    to->insert(to->end(), pods.begin(), pods.end());
  }
  co_return next;
}

Task<Result<Requeue>> GangSync::reconcile(Key key) {
  Gathered gathered = gather(key);
  if (gathered.free.empty()) growth_.erase(key.ns + "/" + key.name);
  if (gathered.by_job.empty() && gathered.free.empty()) refusals_.erase(key.ns + "/" + key.name);
  MS_CO_CHECK(co_await release_devices(gathered.spent));
  MS_CO_CHECK(co_await let_go(std::move(gathered.spent)));
  for (const auto& [pod, job] : gathered.unmarked) {
    MS_CO_CHECK(co_await mark_pod(&world_, pod, job, pod->node_name.str()));
  }
  MS_CO_TRY(Requeue next, co_await adopt(&gathered));
  if (gathered.leaving) next = sooner(next, Requeue{RecentWrites::kAWhile});
  // Those that come while the gang's job waits are taken into it; while it runs, they are others.
  slurm::JobId holder;
  for (auto& [job, pods] : gathered.by_job) {
    const auto record = world_.cache.jobs().get({}, job.text());
    if (record && record->state.holds_resources() && !holder) holder = job;
    if (!record || !record->state.is_pending() || key.name.starts_with("pod/")) continue;
    pods.insert(pods.end(), gathered.free.begin(), gathered.free.end());
    gathered.free.clear();
  }
  for (auto& [job, pods] : gathered.by_job) {
    sort_members(pods);
    MS_CO_TRY(const Requeue after, co_await settle(key, job, pods, holder && holder != job));
    next = sooner(next, after);
  }
  if (!gathered.free.empty()) {
    sort_members(gathered.free);
    MS_CO_TRY(const Requeue after, co_await form(key, std::move(gathered.free), bool(holder)));
    next = sooner(next, after);
  }
  co_return next;
}

Task<Result<JobKnowledge>> GangSync::know(slurm::JobId job, Pods pods) {
  if (auto found = world_.cache.jobs().get({}, job.text())) {
    const Claim claim(*found);
    if (std::none_of(pods.begin(), pods.end(),
                     [&](const PodPtr& pod) { return claim.denies(*pod); })) {
      co_return JobKnowledge{JobKnowledge::Kind::kPresent, std::move(found)};
    }
  }
  // Only its own word counts: a list may be older than the job, or than what it says of its pods.
  auto asked = co_await world_.cache.refresh_job(job);
  if (!asked) co_return JobKnowledge{};
  if (*asked) co_return JobKnowledge{JobKnowledge::Kind::kPresent, *std::move(asked)};
  co_return JobKnowledge{JobKnowledge::Kind::kForgotten, nullptr};
}

// `has_quorum`: enough of the gang run already, so that any number may join them.
Task<Result<Requeue>> GangSync::settle(Key key, slurm::JobId job, Pods pods, bool has_quorum) {
  MS_CO_TRY(const JobKnowledge known, co_await know(job, pods));
  if (known.kind == JobKnowledge::Kind::kUnknown) co_return Requeue{kUnknownPause};

  const auto claim = known.job ? std::optional<Claim>(*known.job) : std::nullopt;
  std::vector<Member> members, strangers;
  Pods waiting;
  for (const PodPtr& pod : std::exchange(pods, {})) {
    if (claim && claim->denies(*pod)) {
      strangers.push_back({pod, stage(*pod)});
      continue;
    }
    pods.push_back(pod);
    members.push_back({pod, stage(*pod)});
    if (members.back().stage == PodStage::kWaiting) waiting.push_back(pod);
  }
  GangFacts facts;
  if (!waiting.empty() && known.job && known.job->state.is_pending()) {
    auto found = co_await roots_.find(GangRef::parse(key.name), waiting.front());
    // Without its owner a gang has no size to keep to; its pods are about to go, too.
    if (found) facts = *std::move(found);
  }
  // Of a job that is only another's nothing is decided.
  JobPlan plan;
  if (!members.empty()) {
    plan = plan_job(members, known, has_quorum ? 1 : facts.shape.min_members);
  }
  add_forgotten(plan, strangers);

  if (!plan.remove.empty() && !plan.over) {
    // Only an end is final. That it waits or is suspended may be what it did before it started.
    MS_CO_TRY(const JobPtr now, co_await world_.cache.refresh_job(job));
    if (!now || now->state != known.job->state) co_return Requeue{Duration::zero()};
  }
  MS_CO_TRY(const bool all_told, co_await remove(job, known.job, std::move(plan.remove)));
  // Before Slurm can give them to others, who would find them claimed.
  MS_CO_CHECK(co_await release_devices(plan.detach));
  MS_CO_CHECK(co_await release_devices(plan.let_go));
  // The marks first: a job that is found without them is adopted again, never the other way round.
  MS_CO_CHECK(co_await for_all(std::move(plan.detach),
                               [this](PodPtr pod) { return unmark(std::move(pod)); }));
  if (plan.cancel && !plan.over) MS_CO_CHECK(co_await finish(job, plan.let_go));
  MS_CO_CHECK(co_await let_go(std::move(plan.let_go)));
  if (!plan.bind.empty()) {
    co_return co_await place(known.job, std::move(plan.bind), std::move(pods));
  }
  if (plan.waiting) {
    co_return co_await wait(std::move(key), known.job, std::move(waiting), std::move(facts));
  }
  if (known.job && !plan.over && !plan.cancel && !members.empty()) follow(job);
  co_return all_told ? Requeue{} : Requeue{seconds(5)};
}

// Slurm hears how it went, and only then that it is over.
Task<Result<void>> GangSync::finish(slurm::JobId job, Pods pods) {
  const auto failed = std::find_if(pods.begin(), pods.end(), [](const PodPtr& pod) {
    return pod->terminal() && exit_code_of(*pod) != 0;
  });
  if (failed != pods.end()) {
    const kube::Pod& pod = **failed;
    auto noted =
        co_await slurm::Jobs(world_.slurm)
            .update(job, {.comment = fmt::format("pod {}/{} failed with exit code {}{}{}",
                                                 pod.meta.ns, pod.meta.name, exit_code_of(pod),
                                                 pod.status.reason.empty() ? "" : ": ",
                                                 pod.status.reason.view())});
    // For people alone: that it cannot be written must not keep nodes from others.
    if (!noted) world_.log.debug("no comment on a job", {{"error", noted.error()}});
  }
  // How a job ends that we end is no news.
  if (const auto note = notes_.find(job); note != notes_.end()) note->second.interest.reset();
  auto cancelled = co_await slurm::Jobs(world_.slurm).cancel(job);
  if (!cancelled && cancelled.error().code() != Code::kNotFound) {
    co_return fail(std::move(cancelled).error());
  }
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
  recent_.let_go(pod->meta.uid, world_.manager.executor().now());
  co_return Result<void>();
}

// False where some have to wait for the limit.
Task<Result<bool>> GangSync::remove(slurm::JobId job, JobPtr record, Pods pods) {
  if (pods.empty()) co_return true;
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

GangSync::Note& GangSync::follow(slurm::JobId job) {
  Note& note = notes_[job];
  if (!note.interest) note.interest = world_.cache.follow(job);
  return note;
}

Task<Result<void>> GangSync::for_all(Pods pods, std::function<Task<Result<void>>(PodPtr)> work) {
  if (pods.empty()) co_return Result<void>();
  if (pods.size() == 1) co_return co_await work(std::move(pods.front()));
  co_return co_await control::in_parallel<PodPtr>(std::move(pods), std::move(work), kAtOnce);
}

void GangSync::set_unsure(const Pods& pods, bool unsure) {
  for (const PodPtr& pod : pods) {
    if (unsure) {
      unsure_.insert(pod->meta.uid);
    } else {
      unsure_.erase(pod->meta.uid);
    }
  }
}

void GangSync::tell(const Pods& pods, EventType type, std::string_view reason,
                    const std::string& text) {
  // Of a large gang the first few say it for all.
  constexpr std::size_t kFew = 3;
  for (std::size_t i = 0; i < std::min(pods.size(), kFew); ++i) {
    world_.manager.events().event(control::ref_to(kube::Pod::kResource, pods[i]->meta), type,
                                  reason, "Scheduling", text);
  }
}

// Jobs of ours whose pods are all gone or another job's: a crash between the job and the mark on
// its pods, and then somebody deleted those; a call that reached Slurm twice. Only jobs that name
// pods by UID of this cluster are looked at, never in their first minute.
Task<Result<void>> GangSync::sweep() {
  for (;;) {
    MS_CO_CHECK(co_await net::sleep(kSweep));
    if (!world_.pods.synced() || !world_.cache.jobs_freshness().fresh()) continue;
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
    Unclaimed one{job->id, {}};
    for (std::size_t i = 0; i < owners->uids.size(); ++i) {
      const auto mark = marks.find(owners->uids[i]);
      if (mark == marks.end()) {
        one.absent.emplace_back(owners->pods[i], owners->uids[i]);
      } else if (!mark->second || mark->second == job->id) {
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
  co_return co_await finish(one.job, {});
}

}  // namespace mainspring::bridge
