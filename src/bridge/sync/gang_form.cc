// How gangs begin: from pods without a job to pods with a node. The part of GangSync that asks
// Slurm for jobs and binds pods.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/hostlist.h"
#include "bridge/sync/gang_sync.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/job.h"
#include "bridge/translate/reason.h"
#include "control/conditions.h"
#include "kube/api.h"
#include "slurm/jobs.h"

namespace mainspring::bridge {

using control::EventType;
using control::Key;
using control::Requeue;

namespace {

// A job that was just put into the queue may start any moment; later there is no hurry.
constexpr Duration kClosely = seconds(20);
constexpr Duration kOwnersPause = seconds(5);
// Where there is room a job starts within this, and nobody needs to be told that it waits.
constexpr Duration kSoon = seconds(1);

std::string gang_text(const Key& key) { return key.ns + "/" + key.name; }

}  // namespace

// The second refusal comes later than the first: whatever is wrong, somebody has to mend it.
Duration GangSync::pause(const Key& key) {
  const int times = std::min(refusals_[gang_text(key)]++, 4);
  return std::min<Duration>(seconds(2) * (1 << times), seconds(30));
}

// Pods of a gang are made one after the other. While they come nothing is said of those that lack:
// it would be written to all of them again with each.
Duration GangSync::until_grown(const Key& key, std::size_t pods) {
  constexpr Duration kEach = milliseconds(10);
  const TimePoint now = world_.manager.executor().now();
  Growth& growth = growth_[gang_text(key)];
  if (growth.pods != pods) {
    growth.pods = pods;
    growth.at = now;
  }
  const Duration quiet = std::max<Duration>(kSoon, kEach * static_cast<Duration::rep>(pods));
  return std::max(growth.at + quiet - now, Duration::zero());
}

// As the pods of a gang come, so that only their binding is left to do once there is a job.
Task<Result<void>> GangSync::guard_early(Key key, Pods pods) {
  if (growth_[gang_text(key)].stopped) co_return Result<void>();
  co_return co_await for_all(std::move(pods), [this](PodPtr pod) { return guard(std::move(pod)); });
}

// A gang that does not get whole may stay so for ever, and its pods must not depend on us.
Task<Result<void>> GangSync::stop_guarding(Key key, Pods pods) {
  growth_[gang_text(key)].stopped = true;
  co_return co_await for_all(std::move(pods),
                             [this](PodPtr pod) { return unguard(std::move(pod)); });
}

Task<Result<void>> GangSync::unguard(PodPtr pod) {
  recent_.guarded(pod->meta.uid, false);
  return let_pod_go(&world_, std::move(pod));
}

// What owners ask for may change while a gang waits. The more wait, the longer until the next look.
Duration GangSync::until_next_look() const {
  constexpr Duration kEach = milliseconds(50);
  const auto waiting = static_cast<Duration::rep>(queue_->queue().delayed());
  return std::max<Duration>(seconds(10), kEach * waiting);
}

Task<Result<void>> GangSync::show(Pods pods, std::string text) {
  co_return co_await for_all(std::move(pods), [this, text](PodPtr pod) {
    return show_waiting(&world_, std::move(pod), text);
  });
}

Task<Result<Requeue>> GangSync::form(Key key, Pods pods, std::size_t elsewhere) {
  auto found = co_await roots_.find(GangRef::parse(key.name), pods.front());
  if (!found) {
    const Error& error = found.error();
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "OwnerNotReadable", error.to_string());
    MS_CO_CHECK(co_await show(pods, error.to_string()));
    co_return Requeue{again};
  }
  GangFacts facts = *std::move(found);
  if (facts.not_served) {
    Requeue next;
    for (const PodPtr& pod : pods) {
      MS_CO_TRY(GangFacts alone, co_await roots_.find({GangKind::kPod, pod->meta.name}, pod));
      MS_CO_TRY(const Requeue after, co_await form_gang(key, std::move(alone), {pod}));
      if (after.after && (!next.after || *after.after < *next.after)) next = after;
    }
    co_return next;
  }
  if (facts.blocked.empty()) {
    const auto least = static_cast<std::size_t>(least_of(facts.shape.min_members, elsewhere));
    if (pods.size() < least) {
      const Duration left = until_grown(key, pods.size());
      if (left > Duration::zero()) {
        MS_CO_CHECK(co_await guard_early(key, pods));
        co_return Requeue{left};
      }
      MS_CO_CHECK(co_await stop_guarding(key, pods));
      facts.blocked = fmt::format("waiting for more pods: {} of {} are there", pods.size(), least);
    }
  }
  if (!facts.blocked.empty()) {
    MS_CO_CHECK(co_await show(pods, facts.blocked));
    co_return Requeue{kOwnersPause};
  }
  co_return co_await form_gang(std::move(key), std::move(facts), std::move(pods));
}

Task<Result<Requeue>> GangSync::form_gang(Key key, GangFacts facts, Pods pods) {
  if (world_.cluster_id().empty()) {
    co_return fail(
        Code::kNotFound,
        "namespace kube-system: not found, and its UID marks our jobs in Slurm; allow us "
        "to read it");
  }
  if (std::any_of(pods.begin(), pods.end(),
                  [this](const PodPtr& pod) { return unsure_.contains(pod->meta.uid); })) {
    MS_CO_TRY(const auto lost, co_await submission_.find_lost(pods));
    if (lost) MS_CO_CHECK(co_await world_.cache.refresh_job(*lost));
    set_unsure(pods, false);
    // Now that it is known, the pods are gathered as the job's.
    if (lost) co_return Requeue{Duration::zero()};
  }
  auto volumes = co_await volumes_.nodes_of(pods);
  if (!volumes) {
    const Duration again = pause(key);
    MS_CO_CHECK(co_await show(pods, volumes.error().to_string()));
    co_return Requeue{again};
  }
  facts.shape.pods = pods;
  auto prepared = submission_.prepare(facts.shape, *volumes);
  if (!prepared || !prepared->impossible.empty()) {
    const std::string text = prepared ? prepared->impossible : prepared.error().to_string();
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "CannotBeScheduled", text);
    MS_CO_CHECK(co_await show(pods, text));
    co_return Requeue{again};
  }
  for (const std::string& warning : prepared->warnings) {
    tell(pods, EventType::kWarning, "Deprecated", warning);
  }
  std::string sent = to_text(slurm::to_json(prepared->request));
  set_unsure(pods, true);
  auto job = co_await submission_.start(std::move(prepared->request));
  if (!job) {
    if (is_uncertain(job.error())) co_return fail(std::move(job).error());
    set_unsure(pods, false);
    const Refusal refusal = refusal_text(job.error());
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "SlurmRefused", refusal.text);
    MS_CO_CHECK(co_await show(pods, refusal.text));
    co_return Requeue{again};
  }
  refusals_.erase(gang_text(key));
  co_return co_await started(std::move(key), *job, std::move(pods), std::move(sent));
}

// There is a job for these pods; where it runs already, so do they.
Task<Result<Requeue>> GangSync::started(Key key, slurm::JobId job, Pods pods, std::string sent) {
  MS_CO_TRY(const JobPtr record, co_await world_.cache.refresh_job(job));
  set_unsure(pods, false);
  Note& note = follow(job);
  note.sent = std::move(sent);
  note.asked = world_.manager.executor().now();
  if (record && record->state.holds_resources()) co_return co_await place(record, pods, pods);
  MS_CO_CHECK(co_await for_all(
      pods, [this, job](PodPtr pod) { return mark_pod(&world_, std::move(pod), job, ""); }));
  tasks_.spawn(wait_closely(job));
  // The marks come back as events of the pods, and the job is settled then.
  co_return Requeue{seconds(1)};
}

// Nothing to do with the answer: every change is an event for the gang.
Task<Result<void>> GangSync::wait_closely(slurm::JobId job) {
  auto left = co_await world_.cache.wait_for_job(
      job, [](const slurm::Job& one) { return one.state.has_left_queue(); }, kClosely);
  if (!left && left.error().code() == Code::kCancelled) co_return fail(std::move(left).error());
  co_return Result<void>();
}

Task<Result<Requeue>> GangSync::wait(Key key, JobPtr job, Pods pods, GangFacts facts) {
  follow(job->id);
  facts.shape.pods = pods;
  auto volumes = co_await volumes_.nodes_of(pods);
  auto prepared = volumes ? submission_.prepare(facts.shape, *volumes) : fail(volumes.error());
  if (prepared) {
    std::string wanted = to_text(slurm::to_json(prepared->request));
    if (notes_[job->id].sent != wanted) {
      auto changed = co_await submission_.change(job->id, std::move(prepared->request));
      if (changed) {
        notes_[job->id].sent = std::move(wanted);
        MS_CO_CHECK(co_await for_all(pods, [this, id = job->id](PodPtr pod) {
          return mark_pod(&world_, std::move(pod), id, "");
        }));
      } else if (is_uncertain(changed.error())) {
        co_return fail(std::move(changed).error());
      } else {
        const Refusal refusal = refusal_text(changed.error());
        // Not again before something else is wanted, where the same would be refused again.
        if (refusal.lasting) notes_[job->id].sent = std::move(wanted);
        tell(pods, EventType::kWarning, "SlurmRefused", refusal.text);
      }
      MS_CO_TRY(job, co_await world_.cache.refresh_job(job->id));
      if (!job || !job->state.is_pending()) co_return Requeue{Duration::zero()};
    }
  } else {
    tell(pods, EventType::kWarning, "CannotBeScheduled", prepared.error().to_string());
  }
  const TimePoint now = world_.manager.executor().now();
  if (const TimePoint soon = notes_[job->id].asked + kSoon; now < soon) {
    co_return Requeue{soon - now};
  }
  MS_CO_CHECK(co_await show(pods, waiting_text(*job)));
  co_return Requeue{until_next_look()};
}

Task<Result<Requeue>> GangSync::place(JobPtr job, Pods unbound, Pods all) {
  auto names = expand_hostlist(job->nodes);
  if (!names) co_return fail(std::move(names).error());
  const std::vector<Place> nodes = submission_.places(*names);
  // Slurm may give fewer nodes than there are pods, down to what the gang needs at least. The
  // others are a job of their own.
  const std::size_t room = nodes.size() * static_cast<std::size_t>(std::max<std::int64_t>(
                                              job->tasks_per_node.value_or(1), 1));
  // Those that are over have left their node.
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const PodPtr& pod) { return stage(*pod) == PodStage::kGone; }),
            all.end());
  if (all.size() > room) MS_CO_CHECK(co_await keep(job->id, room, &unbound, &all));
  MS_CO_TRY(const auto volumes, co_await volumes_.nodes_of(all));
  const bool others = all.size() > unbound.size();
  std::vector<std::string> given;
  for (const PodPtr& pod : all) given.emplace_back(recent_.given(pod->meta.uid, job->id));
  const auto chosen = assign(all, volumes, nodes, world_.config.scheduler_name, given);
  if (!chosen) {
    co_return co_await give_up_binding(job->id, std::move(unbound), others, chosen.error());
  }
  std::map<std::string, std::string> node_of;
  for (std::size_t i = 0; i < all.size(); ++i) {
    node_of.emplace(all[i]->meta.uid, nodes[(*chosen)[i]].node->meta.name);
  }
  MS_CO_TRY(const std::string taken, co_await why_not_free(job, unbound, node_of));
  if (!taken.empty()) {
    MS_CO_CHECK(co_await show(unbound, taken));
    co_return Requeue{seconds(1)};
  }
  bool ready = true;
  for (const PodPtr& pod : unbound) {
    MS_CO_TRY(const bool one, co_await volumes_.ready_on(pod, node_of.at(pod->meta.uid)));
    ready = ready && one;
  }
  if (!ready) co_return Requeue{seconds(1)};
  MS_CO_TRY(const auto later, co_await promise_devices(job, unbound, node_of, others));
  if (later) co_return *later;
  const slurm::JobId id = job->id;
  auto bound = co_await for_all(unbound, [this, id, &node_of](PodPtr pod) {
    std::string node = node_of.at(pod->meta.uid);
    return place_one(std::move(pod), id, std::move(node));
  });
  if (!bound) {
    co_return co_await give_up_binding(id, std::move(unbound), others, std::move(bound).error());
  }
  follow(id).failures = 0;
  MS_CO_CHECK(co_await tell_pod_group(all.front()));
  co_return Requeue{};
}

// Of the pods without a node, only as many as there is room for stay with the job.
Task<Result<void>> GangSync::keep(slurm::JobId job, std::size_t room, Pods* unbound, Pods* all) {
  const std::size_t bound = all->size() - unbound->size();
  const auto first = unbound->begin() + static_cast<std::ptrdiff_t>(room - std::min(room, bound));
  Pods rest(first, unbound->end());
  unbound->erase(first, unbound->end());
  std::erase_if(*all, [&](const PodPtr& pod) {
    return std::find(rest.begin(), rest.end(), pod) != rest.end();
  });
  MS_CO_CHECK(co_await submission_.own(job, *all));
  std::erase_if(rest, [&](const PodPtr& pod) { return job_of(*pod) != job; });
  co_return co_await for_all(std::move(rest),
                             [this](PodPtr pod) { return unmark(std::move(pod)); });
}

Task<Result<void>> GangSync::guard(PodPtr pod) {
  const std::optional<bool> is = recent_.is_guarded(pod->meta.uid);
  if (is == true) co_return Result<void>();
  MS_CO_CHECK(co_await guard_pod(&world_, pod, is == false));
  recent_.guarded(pod->meta.uid, true);
  co_return Result<void>();
}

Task<Result<void>> GangSync::place_one(PodPtr pod, slurm::JobId job, std::string node) {
  if (devices_.has_any(*pod)) {
    // The claim is for devices of that node, so whoever goes on after us must know of it.
    MS_CO_CHECK(co_await mark_pod(&world_, pod, job, node));
    MS_CO_CHECK(co_await devices_.claim(pod));
  } else {
    MS_CO_CHECK(co_await guard(pod));
  }
  if (is_there(*pod)) {
    recent_.give(pod, job, node);
    recent_.send(pod->meta.uid, world_.manager.executor().now());
  }
  MS_CO_TRY(const bool bound, co_await bind_pod(&world_, pod, job, std::move(node)));
  if (bound) recent_.bound(pod->meta.uid);
  co_return Result<void>();
}

// The built-in PodGroup says when it has been scheduled; whoever waits for that looks there.
Task<Result<void>> GangSync::tell_pod_group(PodPtr sample) {
  const GangRef gang = gang_of(*sample);
  if (gang.kind != GangKind::kPodGroup) co_return Result<void>();
  MS_CO_TRY(const GangFacts facts, co_await roots_.find(gang, sample));
  if (!facts.pod_group) co_return Result<void>();
  control::ConditionList conditions = control::edit(facts.pod_group->conditions);
  const bool news =
      control::set_condition(conditions,
                             {.type = "PodGroupScheduled",
                              .reason = "Scheduled",
                              .message = "Pod group admitted by " + world_.config.scheduler_name,
                              .observed_generation = facts.pod_group->meta.generation,
                              .status = kube::ConditionStatus::kTrue},
                             world_.manager.executor().clock().wall_now());
  if (!news) co_return Result<void>();
  json::Value status = json::Value::object();
  status.set("conditions", control::to_json(conditions));
  json::Value body = json::Value::object();
  body.set("status", std::move(status));
  auto told =
      co_await kube::RawApi(world_.kube, facts.pod_group_resource, sample->meta.ns)
          .patch(gang.name, {kube::PatchKind::kMerge, std::move(body)}, {.subresource = "status"});
  if (!told && told.error().code() != Code::kNotFound) co_return fail(std::move(told).error());
  co_return Result<void>();
}

// The allocation is kept for a while: what hindered may pass. Then others get it.
Task<Result<Requeue>> GangSync::give_up_binding(slurm::JobId job, Pods unbound, bool others,
                                                Error error) {
  if (++notes_[job].failures < kMostBindFailures) co_return fail(std::move(error));
  tell(unbound, EventType::kWarning, "CannotBeBound",
       fmt::format("Slurm job {} is given up: {}", job.text(), error.to_string()));
  MS_CO_CHECK(co_await release_devices(unbound));
  MS_CO_CHECK(
      co_await for_all(std::move(unbound), [this](PodPtr pod) { return unmark(std::move(pod)); }));
  if (!others) MS_CO_CHECK(co_await finish(job));
  notes_.erase(job);
  co_return Requeue{seconds(5)};
}

}  // namespace mainspring::bridge
