// How gangs begin: from pods without a job to a job that waits. The part of GangSync that asks
// Slurm for jobs, keeps them as their owners want them, and says why they wait.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bridge/sync/gang_sync.h"
#include "bridge/sync/pod_writes.h"
#include "bridge/translate/job.h"
#include "bridge/translate/reason.h"
#include "slurm/errors.h"
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
// Between two questions why a job waits; its reason and its expected start change without a state.
constexpr Duration kLookPace = seconds(5);
// Between two events of one job, and between two writes where only the expected start has moved.
constexpr Duration kSayPace = minutes(1);

std::string gang_text(const Key& key) { return key.ns + "/" + key.name; }

bool is_waiting(const slurm::Job& job) {
  return job.state.is_pending() || job.state.will_come_back();
}

// By what it was made with: a slurmctld that lost its state may have given its number before.
bool names_these(const slurm::Job& job, const std::vector<PodPtr>& pods) {
  const auto owners = parse_admin_comment(job.admin_comment);
  return owners &&
         std::equal(owners->uids.begin(), owners->uids.end(), pods.begin(), pods.end(),
                    [](const std::string& uid, const PodPtr& pod) { return uid == pod->meta.uid; });
}

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

// As the pods of a gang come, so that only their binding is left to do once there is a job; where
// it is not, the finalizer comes with the mark.
Task<Result<void>> GangSync::guard_early(Key key, Pods pods) {
  if (growth_[gang_text(key)].stopped || !co_await binds_with_mark()) co_return Result<void>();
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

// Whether pods of the gang that come later are taken into the job that waits for the others.
Task<bool> GangSync::may_join(Key key, PodPtr sample) {
  const GangRef gang = GangRef::parse(key.name);
  if (gang.kind == GangKind::kPod) co_return false;
  const auto facts = co_await roots_.find(gang, std::move(sample));
  co_return facts && facts->blocked.empty() && !facts->not_served;
}

Task<Result<Requeue>> GangSync::form(Key key, GangRef gang, Pods pods, std::size_t elsewhere) {
  auto found = co_await roots_.find(gang, pods.front());
  if (!found) {
    const Error& error = found.error();
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "OwnerNotReadable", error.to_string());
    MS_CO_CHECK(co_await show(pods, error.to_string()));
    co_return Requeue{again};
  }
  GangFacts facts = *std::move(found);
  if (facts.not_served) {
    Result<Requeue> next = Requeue{};
    for (const PodPtr& pod : pods) {
      // What is wrong with one is not the others' fault.
      auto after = co_await form(key, {GangKind::kPod, pod->meta.name}, {pod}, 0);
      if (!after || (next && after->after && (!next->after || *after->after < *next->after))) {
        next = std::move(after);
      }
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
  facts.shape.pods = pods;
  if (std::any_of(pods.begin(), pods.end(),
                  [this](const PodPtr& pod) { return unsure_.contains(pod->meta.uid); })) {
    const auto lost = co_await submission_.find_lost(pods, submission_.user_of(facts.shape));
    if (!lost) co_return co_await cannot_ask(key, pods, lost.error());
    if (*lost) MS_CO_CHECK(co_await world_.cache.refresh_job(*lost));
    set_unsure(pods, false);
  }
  MS_CO_TRY(const bool adopted, co_await adopt_by_user(facts.shape));
  if (adopted) co_return Requeue{Duration::zero()};
  auto volumes = co_await volumes_.nodes_of(pods);
  if (!volumes) {
    const Duration again = pause(key);
    MS_CO_CHECK(co_await show(pods, volumes.error().to_string()));
    co_return Requeue{again};
  }
  note_neighbours(facts.shape);
  auto prepared = submission_.prepare(facts.shape, *volumes);
  crowded_ = crowded_ || (prepared && prepared->crowded);
  if (!prepared || !prepared->impossible.empty()) {
    const std::string text = prepared ? prepared->impossible : prepared.error().to_string();
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "CannotBeScheduled", text);
    MS_CO_CHECK(co_await show(pods, text));
    co_return Requeue{again};
  }
  for (const std::string& warning : prepared->warnings) {
    tell(pods, EventType::kWarning, "Annotation", warning);
  }
  for (const std::string& one : facts.not_honoured) {
    tell(pods, EventType::kWarning, "NotHonoured", one);
  }
  set_unsure(pods, true);
  auto job = co_await submission_.start(*std::move(prepared));
  if (!job) {
    if (!is_uncertain(job.error()) || !slurm::may_have_been_sent(job.error())) {
      set_unsure(pods, false);
    }
    if (is_uncertain(job.error())) co_return co_await cannot_ask(key, pods, job.error());
    const Refusal refusal = refusal_text(job.error());
    const Duration again = pause(key);
    tell(pods, EventType::kWarning, "SlurmRefused", refusal.text);
    MS_CO_CHECK(co_await show(pods, refusal.text));
    co_return Requeue{again};
  }
  refusals_.erase(gang_text(key));
  co_return co_await started(std::move(key), *std::move(job), std::move(pods));
}

// Whoever comes later has to be where the first are.
void GangSync::note_neighbours(Gang& gang) const {
  if (gang.topology_keys.empty()) return;
  const kube::Pod& sample = *gang.pods.front();
  const std::string key = sample.meta.ns + "/" + gang_of(sample).id();
  for (const PodPtr& pod : world_.pods.find(by_gang_, key)) {
    if (pod->node_name.empty() || pod->terminal() || pod->meta.deleting()) continue;
    gang.near.push_back(pod->node_name.str());
  }
}

// Jobs that are theirs by the word of the user whom their owner names, whom gather() does not know,
// and those behind one that was given up: the cache may not have heard of the end of all its parts.
// True where there were any: their pods are gathered as the job's then.
Task<Result<bool>> GangSync::adopt_by_user(Gang gang) {
  const auto user = submission_.user_of(gang);
  bool any = false;
  for (const PodPtr& pod : gang.pods) {
    for (const slurm::JobId job : submission_.find_all({pod}, user)) {
      MS_CO_TRY(const JobPtr record, co_await world_.cache.refresh_job(job));
      if (!record || record->state.has_ended()) continue;
      MS_CO_CHECK(co_await mark_pod(&world_, pod, job, ""));
      any = true;
      break;
    }
  }
  co_return any;
}

// Slurm may be away for long, and the pods say so. One call that failed is not worth a write; nor
// are other details of the same, for every write brings the gang here again.
Task<Result<Requeue>> GangSync::cannot_ask(Key key, Pods pods, Error error) {
  if (refusals_[gang_text(key)]++ > 0) {
    const std::string text = refusal_text(error).text;
    const std::string_view gist = std::string_view(text).substr(0, text.find(':'));
    std::erase_if(pods, [&](const PodPtr& pod) {
      const kube::Condition* const shown =
          kube::find_condition(pod->status.conditions, "PodScheduled");
      return shown != nullptr && shown->message.view().starts_with(gist);
    });
    MS_CO_CHECK(co_await show(std::move(pods), text));
  }
  co_return fail(std::move(error));
}

// There is a job for these pods; where it runs already, so do they.
Task<Result<Requeue>> GangSync::started(Key key, Started made, Pods pods) {
  const slurm::JobId job = made.job;
  // Where the cache has come across it since, that was after Slurm started it.
  JobPtr record = world_.cache.jobs().get({}, job.text());
  if (!record || !record->state.holds_resources() || !names_these(*record, pods)) {
    MS_CO_TRY(record, co_await world_.cache.refresh_job(job));
  }
  // From here on the cache shows what it takes.
  made.taken.reset();
  if (record) MS_CO_CHECK(co_await submission_.in_step(record));
  set_unsure(pods, false);
  Note& note = follow(job);
  note.unbound().sent = std::move(made.parts);
  note.asked = world_.manager.executor().now();
  if (record && record->state.holds_resources()) {
    // One that was deleted meanwhile may be one too few.
    const bool whole = std::all_of(pods.begin(), pods.end(), [this](const PodPtr& pod) {
      const auto now = world_.pods.get(pod->meta.ns, pod->meta.name);
      return now && now->meta.uid == pod->meta.uid && !now->meta.deleting();
    });
    if (!whole) co_return Requeue{Duration::zero()};
    co_return co_await place(record, pods, pods);
  }
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

// What its owners want may have changed since it was asked for. The job as it is then; null where
// it was withdrawn.
Task<Result<GangSync::JobPtr>> GangSync::update(JobPtr job, Pods pods, Gang wanted) {
  wanted.pods = pods;
  note_neighbours(wanted);
  auto volumes = co_await volumes_.nodes_of(pods);
  auto prepared = volumes ? submission_.prepare(wanted, *volumes, submission_.parts_of(*job).size())
                          : fail(volumes.error());
  if (!prepared) {
    tell(pods, EventType::kWarning, "CannotBeScheduled", prepared.error().to_string());
    co_return job;
  }
  crowded_ = crowded_ || prepared->crowded;
  // Others' pods are everywhere, for a while: that is no reason to lose the place in the queue.
  if (prepared->crowded && !prepared->impossible.empty()) co_return job;
  // While no node is large enough, Slurm holds it. When it lets it go, by itself, the priority that
  // it had from us is gone, so it is told again.
  JobRequests& sent = notes_[job->id].unbound().sent;
  const auto had = submission_.parts_of(*job);
  for (std::size_t i = 0; i < std::min(sent.size(), had.size()); ++i) {
    if (had[i]->hold && had[i]->reason == "BadConstraints") sent[i].priority = slurm::Number();
  }
  JobChanges changes = submission_.changes(*job, sent, *prepared);
  if (!changes.anew.empty()) {
    MS_CO_CHECK(co_await ask_anew(job->id, std::move(pods), std::move(changes.anew)));
    co_return JobPtr();
  }
  if (changes.updates.empty()) {
    // From here on only what its owners change is a change, not what an administrator does to it.
    if (sent.empty()) sent = std::move(changes.parts);
    co_return job;
  }
  JobRequests parts = changes.parts;
  const bool is_users = !changes.updates.front().user.empty();
  auto changed = co_await submission_.change(std::move(changes));
  if (changed) {
    notes_[job->id].unbound().sent = std::move(parts);
    MS_CO_CHECK(co_await for_all(pods, [this, id = job->id](PodPtr pod) {
      return mark_pod(&world_, std::move(pod), id, "");
    }));
  } else if (is_uncertain(changed.error())) {
    co_return fail(std::move(changed).error());
  } else if (is_fixed(changed.error())) {
    MS_CO_CHECK(co_await ask_anew(job->id, std::move(pods), std::string(kFixed)));
    co_return JobPtr();
  } else if (is_users && is_not_the_users(changed.error())) {
    MS_CO_CHECK(co_await ask_anew(job->id, std::move(pods),
                                  "its user may not change a job that is there to what is wanted"));
    co_return JobPtr();
  } else {
    const Refusal refusal = refusal_text(changed.error());
    // Not again before something else is wanted, where the same would be refused again, as by what
    // an administrator has done to the job.
    const bool lasting = refusal.lasting || changed.error().code() == Code::kConflict;
    if (lasting) notes_[job->id].unbound().sent = std::move(parts);
    tell(pods, EventType::kWarning, "SlurmRefused", refusal.text);
  }
  co_return co_await world_.cache.refresh_job(job->id);
}

Task<Result<Requeue>> GangSync::wait(JobPtr job, Pods pods, Result<GangFacts> facts) {
  follow(job->id);
  // Where nobody says what is wanted now, the job stays what it was asked for.
  if (!facts && facts.error().code() != Code::kNotFound) {
    if (!facts.error().retryable()) {
      tell(pods, EventType::kWarning, "OwnerNotReadable", facts.error().to_string());
    }
    co_return fail(std::move(facts).error());
  }
  if (facts && facts->blocked.empty()) {
    MS_CO_TRY(job, co_await update(std::move(job), pods, std::move(facts->shape)));
    if (!job || !is_waiting(*job)) co_return Requeue{Duration::zero()};
  }
  const TimePoint now = world_.manager.executor().now();
  if (const TimePoint soon = notes_[job->id].asked + kSoon; now < soon) {
    co_return Requeue{soon - now};
  }
  co_return co_await say_why(std::move(job), std::move(pods));
}

// In the condition of the pods, and as an event where the reason is another one.
Task<Result<Requeue>> GangSync::say_why(JobPtr job, Pods pods) {
  const TimePoint now = world_.manager.executor().now();
  const auto due = [now](std::optional<TimePoint> last, Duration pace) {
    return !last || *last + pace <= now;
  };
  if (due(notes_[job->id].unbound().looked, kLookPace)) {
    notes_[job->id].unbound().looked = now;
    // While Slurm is away, what it last said stands.
    if (auto asked = co_await world_.cache.refresh_job(job->id)) {
      if (!*asked || !is_waiting(**asked)) co_return Requeue{Duration::zero()};
      job = *std::move(asked);
    }
  }
  Unbound& note = notes_[job->id].unbound();
  const bool news = note.reason != job->reason.view();
  if (news || due(note.said_at, kSayPace)) {
    note.said_at = now;
    note.said = waiting_text(*job);
  }
  // Without a reason the scheduler has not looked at it yet.
  const bool has_reason = !job->reason.empty() && job->reason != "None";
  if (news && has_reason && due(note.event_at, kSayPace)) {
    note.event_at = now;
    note.reason = job->reason.str();
    tell(pods, EventType::kNormal, "SlurmWaiting", note.said);
  }
  std::string text = note.said;
  MS_CO_CHECK(co_await show(std::move(pods), std::move(text)));
  co_return Requeue{until_next_look()};
}

bool GangSync::is_fixed(const Error& error) {
  return slurm::refused_with(error, slurm::Errno::kInvalidNodeName);
}

// The marks go first, as wherever a job is given up: without them it would be found again.
Task<Result<void>> GangSync::ask_anew(slurm::JobId job, Pods pods, std::string why) {
  tell(pods, EventType::kNormal, "SlurmJobReplaced",
       fmt::format("Slurm job {} is withdrawn and asked for anew: {}", job.text(), why));
  MS_CO_CHECK(
      co_await for_all(std::move(pods), [this](PodPtr pod) { return unmark(std::move(pod)); }));
  MS_CO_CHECK(co_await finish(job));
  drop_note(job);
  co_return Result<void>();
}

}  // namespace mainspring::bridge
