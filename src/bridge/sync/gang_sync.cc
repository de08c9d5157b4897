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
constexpr std::size_t kFewEnded = 20;  // Jobs a minute, however few there are.
constexpr Duration kLimitPause = seconds(5);

// What Slurm no longer knows the job of.
void add_forgotten(JobPlan& plan, const std::vector<Member>& members) {
  JobPlan other = plan_job(members, {JobKnowledge::Kind::kForgotten, nullptr}, 0);
  for (auto list : {&JobPlan::detach, &JobPlan::let_go}) {
    (plan.*list).insert((plan.*list).end(), (other.*list).begin(), (other.*list).end());
  }
}

// Takes what Slurm does not count of a node.
bool is_at(const kube::Pod* pod) {
  return pod != nullptr && !pod->node_name.empty() && !pod->terminal();
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
      exit_codes_(world),
      lost_(world),
      limit_(world.manager.executor().clock(),
             {.percent = static_cast<std::size_t>(world.options.ended_percent), .few = kFewEnded}),
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
  if (Metrics* const metrics = world_.options.metrics; metrics != nullptr) {
    limited_jobs_ = metrics->gauge("mainspring_bridge_endings_delayed",
                                   "Jobs whose end waits because many others have just ended: look "
                                   "whether they should have");
    stuck_pods_ = metrics->gauge(
        "mainspring_bridge_pods_stuck_ending",
        "Deleted pods of whose containers no kubelet says that they have ended, minutes after they "
        "had to: mend the node; if it is gone for good, delete the Node or give it the taint "
        "node.kubernetes.io/out-of-service");
  }
  world_.manager.add_work("jobs-without-pods", control::Manager::When::kLeading,
                          [this] { return sweep(); });
}

void GangSync::watch(control::Controller& queue) {
  queue.watch<kube::Pod>(world_.pods, [this](const auto& before, const auto& after, auto& to) {
    const kube::Pod& pod = after ? *after : *before;
    to.enqueue(Key{pod.meta.ns, gang_of(pod).id()});
    if (before && after && gang_of(*before) != gang_of(*after)) {
      to.enqueue(Key{before->meta.ns, gang_of(*before).id()});
    }
    if (!after) {
      unsure_.erase(pod.meta.uid);
      recent_.forget(pod.meta.uid);
      submission_.forget(pod.meta.uid);
    } else {
      if (!pod.node_name.empty()) recent_.shows_node(pod.meta.uid);
      recent_.shows_guard(pod.meta.uid, pod.meta.has_finalizer(kFinalizer));
    }
    if (is_at(before.get()) && !is_at(after.get())) room_was_made();
    // Where the last pod of a job goes, so does what was kept of it.
    const slurm::JobId job = before ? job_of(*before) : slurm::JobId();
    if (job && world_.pods.find(by_job_, job.text()).empty()) drop_note(job);
  });
  queue.wait_for(world_.nodes);
  queue.wait_for(world_.daemons);
  queue.wait_for(world_.lodgers);
  queue.wait_for(world_.system);
  queue.wait_for(world_.slices);
  queue.wait_for(world_.claims);
  queue.wait_for(world_.cache.nodes());
  queue.wait_for(world_.cache.jobs());
  world_.cache.jobs().add_handler([this, &queue](const auto& before, const auto& after) {
    const slurm::Job& job = after ? *after : *before;
    for (const PodPtr& pod : world_.pods.find(by_job_, leader_of(job).text())) {
      queue.enqueue(Key{pod->meta.ns, gang_of(*pod).id()}, control::Priority::kHigh);
    }
  });
  watch_nodes(queue);
}

PodStage GangSync::stage(const kube::Pod& pod) const {
  if (pod.node_name.empty() && recent_.bound_for(pod.meta.uid)) {
    return pod.meta.deleting() ? PodStage::kEnding : PodStage::kRunning;
  }
  return stage_of(pod, lost_.is_lost(pod.node_name));
}

// Another may have its name by now.
bool GangSync::is_there(const kube::Pod& pod) const {
  const auto now = world_.pods.get(pod.meta.ns, pod.meta.name);
  return now && now->meta.uid == pod.meta.uid;
}

// Has been over since long ago: everybody has heard of its end.
bool GangSync::is_history(const kube::Pod& pod, slurm::JobId job) const {
  if (!pod.terminal() || pod.meta.has_finalizer(kFinalizer) ||
      pod.meta.has_finalizer(kEarlyFinalizer) || devices_.has_any(pod) || notes_.contains(job)) {
    return false;
  }
  const auto record = world_.cache.jobs().get({}, job.text());
  return !record || record->state.has_ended();
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
      if (!is_history(*pod, mark)) out.by_job[mark].push_back(pod);
      continue;
    }
    const PodStage now = stage(*pod);
    if (now == PodStage::kWaiting) {
      if (!pod->spec->scheduling_gates.empty()) continue;
      // Look before submitting: an earlier self of ours may have done it.
      if (const slurm::JobId earlier = submission_.find({pod})) {
        out.found[earlier].push_back(pod);
      } else {
        out.free.push_back(pod);
      }
    } else if (const slurm::JobId own = submission_.find({pod})) {
      // Somebody took the mark off a pod that holds a place, or it was bound without.
      out.by_job[own].push_back(pod);
      out.unmarked.emplace_back(pod, own);
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
    Pods* to = &gathered->free;
    if (*record && !(*record)->state.has_ended()) {
      // One that is over says nothing of another that was asked for since.
      set_unsure(pods, false);
      MS_CO_CHECK(co_await for_all(pods, [this, id = job](PodPtr pod) {
        return mark_pod(&world_, std::move(pod), id, "");
      }));
      to = &gathered->by_job[job];
    }
    to->insert(to->end(), pods.begin(), pods.end());
  }
  co_return next;
}

// What became of nodes that are not there.
Task<Result<Requeue>> GangSync::look_at_nodes(Key key) {
  std::set<std::string> absent;
  for (const PodPtr& pod : world_.pods.find(by_gang_, key.ns + "/" + key.name)) {
    if (pod->node_name.empty() || pod->terminal() || world_.nodes.get({}, pod->node_name)) continue;
    absent.insert(pod->node_name.str());
  }
  Requeue next;
  for (const std::string& node : absent) {
    MS_CO_TRY(const std::optional<Duration> again, co_await lost_.look(node));
    if (again) next = sooner(next, Requeue{*again});
  }
  co_return next;
}

// Of the gang's members those that do their part in the job, or have done it. One that is being
// deleted does not: whoever comes in its place must not begin alone because of it.
std::size_t GangSync::living_in(slurm::JobId job, const Pods& pods) const {
  const auto record = world_.cache.jobs().get({}, job.text());
  if (!record || !record->state.holds_resources() || record->state.has_ended()) return 0;
  return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const PodPtr& pod) {
    const PodStage now = stage(*pod);
    if (now == PodStage::kRunning || now == PodStage::kWaiting) return true;
    return pod->status.phase == kube::PodPhase::kSucceeded && !pod->meta.deleting();
  }));
}

Task<Result<Requeue>> GangSync::reconcile(Key key) {
  MS_CO_TRY(Requeue next, co_await look_at_nodes(key));
  Gathered gathered = gather(key);
  if (gathered.free.empty()) growth_.erase(key.ns + "/" + key.name);
  if (gathered.by_job.empty() && gathered.free.empty()) refusals_.erase(key.ns + "/" + key.name);
  MS_CO_CHECK(co_await release_devices(gathered.spent));
  MS_CO_CHECK(co_await let_go(std::move(gathered.spent)));
  for (const auto& [pod, job] : gathered.unmarked) {
    MS_CO_CHECK(co_await mark_pod(&world_, pod, job, pod->node_name.str()));
  }
  MS_CO_TRY(const Requeue adopted, co_await adopt(&gathered));
  next = sooner(next, adopted);
  if (gathered.leaving) next = sooner(next, Requeue{RecentWrites::kAWhile});
  const bool is_group = !key.name.starts_with("pod/");
  if (is_group && gathered.by_job.size() > 1) {
    MS_CO_TRY(const bool again, co_await withdraw(key, &gathered));
    if (again) co_return Requeue{milliseconds(200)};
  }
  const bool joins = is_group && !gathered.free.empty() && !gathered.by_job.empty() &&
                     co_await may_join(key, gathered.free.front());
  // Those that come while the gang's job waits are taken into it; while it runs, they get what the
  // job has free, or are others.
  std::size_t living = 0;
  std::map<slurm::JobId, std::size_t> living_of;
  for (auto& [job, pods] : gathered.by_job) {
    const auto record = world_.cache.jobs().get({}, job.text());
    if (joins && record && record->state.is_pending()) {
      pods.insert(pods.end(), gathered.free.begin(), gathered.free.end());
      gathered.free.clear();
    }
    if (joins) MS_CO_CHECK(co_await join(key, job, &pods, &gathered.free));
    living += living_of[job] = living_in(job, pods);
  }
  for (auto& [job, pods] : gathered.by_job) {
    sort_members(pods);
    MS_CO_TRY(const Requeue after, co_await settle(key, job, pods, living - living_of[job]));
    next = sooner(next, after);
  }
  if (!gathered.free.empty()) {
    sort_members(gathered.free);
    MS_CO_TRY(const Requeue after,
              co_await form(key, GangRef::parse(key.name), std::move(gathered.free), living));
    next = sooner(next, after);
  }
  co_return next;
}

Task<Result<JobKnowledge>> GangSync::know(slurm::JobId job, Pods pods) {
  if (auto found = world_.cache.jobs().get({}, job.text())) {
    const Claim claim(*found);
    const bool denied = std::any_of(pods.begin(), pods.end(),
                                    [&](const PodPtr& pod) { return claim.denies(*pod); });
    if (!denied) {
      const auto whole = co_await submission_.in_step(found);
      // It may have changed while its parts were asked for.
      found = world_.cache.jobs().get({}, job.text());
      if (!whole || !*whole || !found) co_return JobKnowledge{};
      co_return JobKnowledge{JobKnowledge::Kind::kPresent, std::move(found)};
    }
  }
  // Only its own word counts: a list may be older than the job, or than what it says of its pods.
  auto asked = co_await world_.cache.refresh_job(job);
  if (!asked) co_return JobKnowledge{};
  if (!*asked) co_return JobKnowledge{JobKnowledge::Kind::kForgotten, nullptr};
  const auto whole = co_await submission_.in_step(*asked);
  if (!whole || !*whole) co_return JobKnowledge{};
  co_return JobKnowledge{JobKnowledge::Kind::kPresent, *std::move(asked)};
}

// Who of the pods that carry the job's mark is what to it.
GangSync::Roll GangSync::call_roll(slurm::JobId job, const JobPtr& record, const Pods& pods) const {
  const auto claim = record ? std::optional<Claim>(*record) : std::nullopt;
  Roll roll;
  std::set<std::string_view> here;
  for (const PodPtr& pod : pods) {
    if (job_of(*pod) == job) here.insert(pod->meta.uid);
    const Member member{pod, stage(*pod)};
    if (claim && claim->denies(*pod)) {
      roll.strangers.push_back(member);
      continue;
    }
    roll.members.push_back(member);
    if (member.stage == PodStage::kWaiting) roll.waiting.push_back(pod);
  }
  // What says which gang a pod is of may be changed; whose nodes it uses does not change by that.
  const Pods& marked = world_.pods.find(by_job_, job.text());
  if (marked.size() == here.size()) return roll;
  for (const PodPtr& pod : marked) {
    if (here.contains(pod->meta.uid) || (claim && claim->denies(*pod))) continue;
    const PodStage now = stage(*pod);
    if (now == PodStage::kWaiting) roll.others_waiting.push_back(pod);
    if (now == PodStage::kRunning || now == PodStage::kEnding) roll.others.push_back({pod, now});
  }
  return roll;
}

GangSync::Pods GangSync::Roll::at_work() const {
  Pods out;
  for (const auto* list : {&members, &others}) {
    for (const Member& one : *list) {
      if (one.stage != PodStage::kOver && one.stage != PodStage::kGone) out.push_back(one.pod);
    }
  }
  return out;
}

JobPlan GangSync::plan(const Roll& roll, slurm::JobId job, const JobKnowledge& known,
                       std::int32_t least) const {
  // Of a job that is only another's nothing is decided.
  JobPlan plan;
  if (!roll.members.empty()) {
    std::vector<Member> all = roll.members;
    all.insert(all.end(), roll.others.begin(), roll.others.end());
    plan = plan_of(all, known, least);
    plan.cancel = plan.cancel && roll.others_waiting.empty();
  }
  // Whoever is in another gang by now is ended there. And a job that ended says nothing of pods
  // that were about to join it.
  std::erase_if(plan.remove, [&](const PodPtr& pod) {
    const bool ours = job_of(*pod) == job || recent_.bound_for(pod->meta.uid) == job;
    return !ours || std::any_of(roll.others.begin(), roll.others.end(),
                                [&](const Member& other) { return other.pod == pod; });
  });
  add_forgotten(plan, roll.strangers);
  return plan;
}

// `elsewhere`: how many of the gang are at work in other jobs of it, so that fewer may join them.
Task<Result<Requeue>> GangSync::settle(Key key, slurm::JobId job, Pods pods,
                                       std::size_t elsewhere) {
  MS_CO_TRY(const JobKnowledge known, co_await know(job, pods));
  if (known.kind == JobKnowledge::Kind::kUnknown) co_return Requeue{kUnknownPause};
  Roll roll = call_roll(job, known.job, pods);
  if (!roll.waiting.empty() && !roll.others_waiting.empty() && known.job &&
      known.job->state.is_pending()) {
    if (is_anothers(key, roll)) co_return co_await leave(job, std::move(roll));
    // Nothing is asked of it until they have left.
    co_return Requeue{kUnknownPause};
  }
  Result<GangFacts> facts = GangFacts();
  if (!roll.waiting.empty() && known.job &&
      (known.job->state.is_pending() || known.job->state.will_come_back())) {
    const PodPtr sample = roll.waiting.front();
    facts = co_await roots_.find(GangRef::parse(key.name), sample);
    // Each is by itself then.
    if (facts && facts->not_served) {
      facts = co_await roots_.find({GangKind::kPod, sample->meta.name}, sample);
    }
  }
  // While nobody can say how many it needs, nothing is withdrawn for having too few.
  const std::int32_t least = facts ? least_of(facts->shape.min_members, elsewhere) : 1;
  JobPlan plan = this->plan(roll, job, known, least);
  if (plan.over || known.kind == JobKnowledge::Kind::kForgotten) unfollow(job);

  if (!plan.remove.empty() && !plan.over) {
    // Only an end is final. That it waits or is suspended may be what it did before it started.
    MS_CO_TRY(const JobPtr now, co_await world_.cache.refresh_job(job));
    if (!now || now->state != known.job->state) co_return Requeue{Duration::zero()};
  }
  MS_CO_TRY(const bool all_told, co_await remove(job, known.job, std::move(plan.remove)));
  if (plan.cancel && !plan.over && !may_finish(job, plan.let_go)) co_return Requeue{kLimitPause};
  // Before Slurm can give them to others, who would find them claimed.
  MS_CO_CHECK(co_await release_devices(plan.detach));
  MS_CO_CHECK(co_await release_devices(plan.let_go));
  // The marks first: a job that is found without them is adopted again, never the other way round.
  MS_CO_CHECK(co_await for_all(std::move(plan.detach),
                               [this](PodPtr pod) { return unmark(std::move(pod)); }));
  if (known.job) note_outcome(job, roll);
  if (plan.cancel && !plan.over) MS_CO_CHECK(co_await finish(job));
  if (plan.over && roll.at_work().empty()) account_for(job);
  MS_CO_CHECK(co_await let_go(std::move(plan.let_go)));
  if (!plan.bind.empty()) {
    MS_CO_TRY(const auto stopped, co_await stop_if_broken(key, known.job, roll, elsewhere));
    if (stopped) co_return *stopped;
    co_return co_await place(known.job, std::move(plan.bind), roll.at_work());
  }
  if (plan.waiting) {
    co_return co_await wait(known.job, std::move(roll.waiting), std::move(facts));
  }
  Requeue next = all_told ? Requeue{} : Requeue{kLimitPause};
  const bool forgotten = known.kind == JobKnowledge::Kind::kForgotten;
  next = sooner(next, tell_forgotten(job, forgotten, roll));
  if (known.job && !plan.over && !plan.cancel && !roll.members.empty()) {
    follow(job);
    if (known.job->state.holds_resources()) {
      MS_CO_TRY(const Requeue after, co_await all_bound(job, roll.members.front().pod));
      next = sooner(next, after);
    }
  }
  if ((!known.job || plan.over) && roll.at_work().empty()) drop_note(job);
  co_return next;
}

GangSync::Note& GangSync::follow(slurm::JobId job) {
  Note& note = notes_[job];
  if (!note.interest) note.interest = world_.cache.follow(job);
  const auto record = world_.cache.jobs().get({}, job.text());
  if (record && is_het(*record) && note.parts.empty()) {
    for (const JobPtr& part : submission_.parts_of(*record)) {
      if (part->id != job) note.parts.push_back(world_.cache.follow(part->id));
    }
  }
  return note;
}

void GangSync::drop_note(slurm::JobId job) {
  const auto note = notes_.find(job);
  if (note == notes_.end()) return;
  notes_.erase(note);
  set_limited(job, false);
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

}  // namespace mainspring::bridge
