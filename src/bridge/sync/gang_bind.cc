// How pods get their nodes once their job runs: volumes and devices first, then the binding, then
// word to the PodGroup; and what becomes of the job where that cannot be done. Part of GangSync.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/hostlist.h"
#include "bridge/sync/gang_sync.h"
#include "bridge/sync/pod_writes.h"
#include "control/conditions.h"
#include "kube/api.h"
#include "kube/discovery.h"

namespace mainspring::bridge {

using control::EventType;
using control::Key;
using control::Requeue;

namespace {

// An API server that is slow or restarts must not cost a gang its place in the queue; nor may nodes
// be held for pods that will never be on them.
constexpr Duration kPatience = seconds(15);
// To make a disk in a cloud takes minutes.
constexpr Duration kVolumesPatience = minutes(5);
// The kubelet ends containers within their grace period. Where it is dead, the gang would keep all
// its other nodes from others; the node itself is drained by then, so the next job gets another.
constexpr Duration kTenantsPatience = minutes(5);
constexpr Duration kTryAgain = seconds(1);
constexpr Duration kGroupPause = seconds(5);

std::vector<PodPtr> without(std::vector<PodPtr> all, const std::vector<PodPtr>& some) {
  const std::set<PodPtr> out(some.begin(), some.end());
  std::erase_if(all, [&](const PodPtr& pod) { return out.contains(pod); });
  return all;
}

}  // namespace

Task<Result<Requeue>> GangSync::place(JobPtr job, Pods unbound, Pods all) {
  // Neither the pods nor the job may show it yet. Bound now, they would end with it.
  if (const auto note = notes_.find(job->id); note != notes_.end() && note->second.given_up) {
    Pods others = without(std::move(all), unbound);
    co_return co_await give_up(job->id, std::move(unbound), std::move(others),
                               Error(Code::kConflict, "it was given up before"));
  }
  auto names = expand_hostlist(job->nodes);
  if (!names) co_return fail(std::move(names).error());
  // Slurm may give fewer nodes than there are pods, down to what the gang needs at least. The
  // others are a job of their own.
  const std::size_t room = names->size() * static_cast<std::size_t>(std::max<std::int64_t>(
                                               job->tasks_per_node.value_or(1), 1));
  // Those that are over have left their node.
  std::erase_if(all, [&](const PodPtr& pod) { return stage(*pod) == PodStage::kGone; });
  if (is_het(*job)) {
    leave_out_others(*job, all);
    leave_out_others(*job, unbound);
  } else if (all.size() > room) {
    MS_CO_CHECK(co_await keep(job->id, room, &unbound, &all));
  }
  Pods bound = without(all, unbound);
  auto node_of = co_await find_nodes(job, unbound, all);
  if (!node_of) {
    co_return co_await cannot_bind(job->id, std::move(unbound), std::move(bound), node_of.error());
  }
  for (const PodPtr& pod : unbound) {
    if (!is_there(*pod)) continue;
    recent_.reserve(pod, node_of->at(pod->meta.uid), world_.manager.executor().now());
  }
  MS_CO_TRY(const std::string taken, co_await why_not_free(job, unbound, *node_of));
  if (!taken.empty()) {
    const TimePoint now = world_.manager.executor().now();
    const TimePoint since =
        *(notes_[job->id].unbound().crowded = notes_[job->id].unbound().crowded.value_or(now));
    if (now >= since + kTenantsPatience) {
      co_return co_await give_up(job->id, std::move(unbound), std::move(bound),
                                 Error(Code::kTimeout, taken));
    }
    MS_CO_CHECK(co_await show(std::move(unbound), taken));
    co_return Requeue{kTryAgain};
  }
  MS_CO_TRY(auto later, co_await make_volumes(job->id, unbound, bound, *node_of));
  if (later) co_return *later;
  MS_CO_TRY(later, co_await promise_devices(job, unbound, bound, *node_of));
  if (later) co_return *later;
  const slurm::JobId id = job->id;
  auto done = co_await for_all(unbound, [this, id, &node_of](PodPtr pod) {
    std::string node = node_of->at(pod->meta.uid);
    return place_one(std::move(pod), id, std::move(node));
  });
  if (!done) {
    co_return co_await cannot_bind(id, std::move(unbound), std::move(bound), done.error());
  }
  Note& note = follow(id);
  note.until_bound.reset();
  co_return co_await all_bound(id, all.front());
}

// One may have been deleted just as Slurm started the job. The rest would wait for it on its nodes,
// so they go back to where they wait for another.
Task<Result<std::optional<Requeue>>> GangSync::stop_if_broken(Key key, JobPtr job, Roll roll,
                                                              std::size_t elsewhere) {
  const auto owners = owners_in(*job);
  const std::size_t named = owners ? owners->pods.size() : 0;
  if (roll.waiting.size() >= named || !roll.others.empty()) co_return std::optional<Requeue>();
  if (!is_too_few_to_begin(roll.members, static_cast<std::int32_t>(named))) {
    co_return std::optional<Requeue>();
  }
  const auto facts = co_await roots_.find(GangRef::parse(key.name), roll.waiting.front());
  if (!facts && facts.error().code() != Code::kNotFound) {
    MS_CO_TRY(const Requeue next, co_await cannot_bind(job->id, roll.waiting, {}, facts.error()));
    co_return std::optional(next);
  }
  // Whoever has no PodGroup any more needs nobody.
  const bool alone = !facts || facts->not_served;
  const std::int32_t least = alone ? 1 : least_of(facts->shape.min_members, elsewhere);
  if (!is_too_few_to_begin(roll.members, least)) co_return std::optional<Requeue>();
  Pods bound;
  MS_CO_CHECK(co_await look_who_is_bound(&roll.waiting, &bound));
  if (!bound.empty()) co_return std::optional(Requeue{kTryAgain});
  const std::string why =
      fmt::format("{} of the {} pods that it takes are left", roll.waiting.size(), least);
  MS_CO_TRY(const Requeue next,
            co_await give_up(job->id, std::move(roll.waiting), {}, Error(Code::kConflict, why)));
  co_return std::optional(next);
}

Task<Result<GangSync::NodeOf>> GangSync::find_nodes(JobPtr job, Pods unbound, Pods all) {
  // Those that have a node stay there, wherever their volumes are.
  MS_CO_TRY(std::vector<VolumeNodes> wanted, co_await volumes_.nodes_of(unbound));
  std::map<PodPtr, VolumeNodes> by_pod;
  for (std::size_t i = 0; i < unbound.size(); ++i) by_pod[unbound[i]] = std::move(wanted[i]);
  std::vector<VolumeNodes> volumes;
  volumes.reserve(all.size());
  for (const PodPtr& pod : all) volumes.push_back(std::move(by_pod[pod]));
  co_return choose_nodes(*job, all, volumes);
}

// Of the pods without a node, only as many as there is room for stay with the job.
Task<Result<void>> GangSync::keep(slurm::JobId job, std::size_t room, Pods* unbound, Pods* all) {
  const std::size_t bound = all->size() - unbound->size();
  const auto first = unbound->begin() + static_cast<std::ptrdiff_t>(room - std::min(room, bound));
  Pods rest(first, unbound->end());
  unbound->erase(first, unbound->end());
  *all = without(std::move(*all), rest);
  MS_CO_CHECK(co_await narrow(job, *all, rest));
  std::erase_if(rest, [&](const PodPtr& pod) { return job_of(*pod) != job; });
  co_return co_await for_all(std::move(rest),
                             [this](PodPtr pod) { return unmark(std::move(pod)); });
}

// A job that still names those who leave it would be taken for theirs again.
Task<Result<void>> GangSync::narrow(slurm::JobId job, Pods stay, Pods leave) {
  auto owned = co_await submission_.own(job, std::move(stay));
  if (owned || !is_fixed(owned.error())) co_return owned;
  submission_.disown(job, leave);
  co_return Result<void>();
}

Task<Result<std::optional<Requeue>>> GangSync::make_volumes(slurm::JobId job, Pods unbound,
                                                            Pods bound, NodeOf node_of) {
  std::string missing;
  for (const PodPtr& pod : unbound) {
    auto one = co_await volumes_.missing_on(pod, node_of.at(pod->meta.uid));
    if (!one) {
      MS_CO_TRY(const Requeue next, co_await cannot_bind(job, std::move(unbound), std::move(bound),
                                                         std::move(one).error()));
      co_return std::optional(next);
    }
    if (missing.empty()) missing = *std::move(one);
  }
  if (missing.empty()) co_return std::optional<Requeue>();
  const TimePoint now = world_.manager.executor().now();
  const TimePoint since =
      *(notes_[job].unbound().wants_volumes = notes_[job].unbound().wants_volumes.value_or(now));
  if (now < since + kVolumesPatience) {
    MS_CO_CHECK(co_await show(std::move(unbound), std::move(missing)));
    co_return std::optional(Requeue{kTryAgain});
  }
  MS_CO_TRY(const Requeue next, co_await give_up(job, std::move(unbound), std::move(bound),
                                                 Error(Code::kTimeout, std::move(missing))));
  co_return std::optional(next);
}

Task<Result<void>> GangSync::guard(PodPtr pod) {
  const std::optional<bool> is = recent_.is_guarded(pod->meta.uid);
  if (is == true) co_return Result<void>();
  MS_CO_CHECK(co_await guard_pod(&world_, pod, is == false));
  recent_.guarded(pod->meta.uid, true);
  co_return Result<void>();
}

Task<Result<void>> GangSync::mark_first(PodPtr pod, slurm::JobId job, std::string node) {
  const bool surely = recent_.is_guarded(pod->meta.uid) == false;
  MS_CO_CHECK(co_await mark_pod(&world_, pod, job, std::move(node), surely));
  recent_.guarded(pod->meta.uid, true);
  co_return Result<void>();
}

// An API server before 1.35 takes no labels with a binding. Were the mark written afterwards, a pod
// would be nobody's where we die in between and its job ends before the next of us looks.
Task<bool> GangSync::binds_with_mark() {
  if (!binds_with_mark_) {
    const auto version = co_await kube::server_version(&world_.kube);
    // One that does not say is taken for such a one; for now, where it may say later.
    if (!version && version.error().retryable()) co_return false;
    binds_with_mark_ = version && version->at_least(1, 35);
  }
  co_return *binds_with_mark_;
}

Task<Result<void>> GangSync::place_one(PodPtr pod, slurm::JobId job, std::string node) {
  if (devices_.has_any(*pod)) {
    // The claim is for devices of that node, so whoever goes on after us must know of it.
    MS_CO_CHECK(co_await mark_first(pod, job, node));
    MS_CO_CHECK(co_await devices_.claim(pod));
  } else if (co_await binds_with_mark()) {
    MS_CO_CHECK(co_await guard(pod));
  } else {
    MS_CO_CHECK(co_await mark_first(pod, job, ""));
  }
  if (is_there(*pod)) {
    recent_.give(pod, job, node);
    recent_.send(pod->meta.uid, world_.manager.executor().now());
  }
  MS_CO_TRY(const bool bound, co_await bind_pod(&world_, pod, job, node));
  if (!bound) co_return Result<void>();
  recent_.bound(pod->meta.uid);
  tell({pod}, EventType::kNormal, "Scheduled",
       fmt::format("{}/{} is on node {}, which Slurm job {} holds for it", pod->meta.ns,
                   pod->meta.name, node, job.text()));
  co_return Result<void>();
}

// What there is to say once every pod of the job has its node. Said again until it was heard,
// whoever of us bound them.
Task<Result<Requeue>> GangSync::all_bound(slurm::JobId job, PodPtr sample) {
  if (notes_[job].group_told) co_return Requeue{};
  auto told = co_await tell_pod_group(std::move(sample));
  if (told) {
    notes_[job].group_told = true;
    co_return Requeue{};
  }
  if (told.error().code() == Code::kCancelled) co_return fail(std::move(told).error());
  // The pods are bound whatever their group knows, and must be looked after.
  world_.log.warn("a PodGroup cannot be told that it is scheduled",
                  {{"job", job.text()}, {"error", told.error()}});
  co_return Requeue{kGroupPause};
}

// The built-in PodGroup says when it has been scheduled; whoever waits for that looks there.
Task<Result<void>> GangSync::tell_pod_group(PodPtr sample) {
  const GangRef gang = gang_of(*sample);
  if (gang.kind != GangKind::kPodGroup) co_return Result<void>();
  MS_CO_TRY(const auto group, co_await roots_.pod_group(gang, sample->meta.ns));
  if (!group.object) co_return Result<void>();
  control::ConditionList conditions = control::edit(group.object->conditions);
  const bool news =
      control::set_condition(conditions,
                             {.type = "PodGroupScheduled",
                              .reason = "Scheduled",
                              .message = "Pod group admitted by " + world_.config.scheduler_name,
                              .observed_generation = group.object->meta.generation,
                              .status = kube::ConditionStatus::kTrue},
                             world_.manager.executor().clock().wall_now());
  if (!news) co_return Result<void>();
  json::Value status = json::Value::object();
  status.set("conditions", control::to_json(conditions));
  json::Value body = json::Value::object();
  body.set("status", std::move(status));
  auto told =
      co_await kube::RawApi(world_.kube, group.resource, sample->meta.ns)
          .patch(gang.name, {kube::PatchKind::kMerge, std::move(body)}, {.subresource = "status"});
  if (!told && told.error().code() != Code::kNotFound) co_return fail(std::move(told).error());
  co_return Result<void>();
}

// The allocation is kept for a while: what hinders may pass.
Task<Result<Requeue>> GangSync::cannot_bind(slurm::JobId job, Pods unbound, Pods bound,
                                            Error error) {
  if (error.code() == Code::kCancelled) co_return fail(std::move(error));
  const TimePoint now = world_.manager.executor().now();
  const TimePoint since =
      *(notes_[job].unbound().hindered = notes_[job].unbound().hindered.value_or(now));
  if (now < since + kPatience) {
    world_.log.warn("pods cannot be bound yet", {{"job", job.text()}, {"error", error}});
    co_return Requeue{kTryAgain};
  }
  co_return co_await give_up(job, std::move(unbound), std::move(bound), std::move(error));
}

// A binding whose answer was lost is one all the same.
Task<Result<void>> GangSync::look_who_is_bound(Pods* unbound, Pods* bound) {
  for (PodPtr& pod : *unbound) {
    auto now = co_await kube::Api<kube::Pod>(world_.kube, pod->meta.ns).get(pod->meta.name);
    if (!now && now.error().code() != Code::kNotFound) co_return fail(std::move(now).error());
    if (!now || now->meta.uid != pod->meta.uid || now->node_name.empty()) continue;
    bound->push_back(std::exchange(pod, nullptr));
  }
  std::erase(*unbound, nullptr);
  co_return Result<void>();
}

// Others get the nodes, and the pods form anew.
Task<Result<Requeue>> GangSync::give_up(slurm::JobId job, Pods unbound, Pods bound, Error error) {
  MS_CO_CHECK(co_await look_who_is_bound(&unbound, &bound));
  tell(unbound, EventType::kWarning, "CannotBeBound",
       fmt::format("Slurm job {} is given up: {}", job.text(), error.to_string()));
  MS_CO_CHECK(co_await release_devices(unbound));
  notes_[job].given_up = bound.empty();
  if (!bound.empty()) MS_CO_CHECK(co_await narrow(job, bound, unbound));
  MS_CO_CHECK(
      co_await for_all(std::move(unbound), [this](PodPtr pod) { return unmark(std::move(pod)); }));
  if (!bound.empty()) {
    MS_CO_CHECK(co_await end_empty_parts(job));
    Unbound& again = notes_[job].unbound();
    again.hindered.reset();
    again.wants_volumes.reset();
    again.crowded.reset();
    co_return Requeue{seconds(5)};
  }
  MS_CO_CHECK(co_await finish(job));
  MS_CO_CHECK(co_await world_.cache.refresh_job(job));
  drop_note(job);
  co_return Requeue{seconds(5)};
}

}  // namespace mainspring::bridge
