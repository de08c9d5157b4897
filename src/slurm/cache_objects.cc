// Single objects: reading and storing them, waiting for them, and hints about them.
#include <fmt/format.h>

#include "base/text.h"
#include "slurm/cache_state.h"

namespace mainspring::slurm {
namespace {

// A job on more nodes than this is followed by their list instead.
constexpr std::size_t kFewNodes = 16;
// How long a push makes us look closely until Slurm says the same, and how many at a time.
constexpr Duration kPushFollowed = seconds(5);
constexpr std::size_t kPushesFollowed = 1000;

Task<Result<std::shared_ptr<const Job>>> ask(Source* source, std::string_view key, Lane lane,
                                             const Job*) {
  return source->job(JobId(parse_integer<std::uint32_t>(key).value_or(0)), lane);
}
Task<Result<std::shared_ptr<const Node>>> ask(Source* source, std::string key, Lane lane,
                                              const Node*) {
  return source->node(std::move(key), lane);
}

template <class T>
Task<Result<T>> met(net::OneShot<T> one_shot) {
  co_return co_await one_shot.wait();
}

bool agrees(const Job& job, PushedEvent::Kind kind) {
  switch (kind) {
    case PushedEvent::Kind::kJobStarted:
      return job.state.is_running() || job.state.has_ended();
    case PushedEvent::Kind::kJobEnded:
      return job.state.is_over() || job.state.is_pending();
    case PushedEvent::Kind::kOther:
      return true;
  }
  return true;
}

}  // namespace

template <class T>
Task<Result<bool>> Cache::State::read_one(std::string key, Lane lane) {
  constexpr bool kIsJob = std::is_same_v<T, Job>;
  Kept<T>& into = kept<T>();
  const Ledger::Read read = into.ledger.begin();
  const T* kind = nullptr;
  Result<std::shared_ptr<const T>> answer = co_await ask(&source, key, lane, kind);
  const bool answered = answer || answer.error().code() == Code::kNotFound;
  (kIsJob ? answered ? job_good : job_bad : answered ? node_good : node_bad).add();
  if (!answered) co_return fail(std::move(answer).error());
  std::shared_ptr<const T> object = answer ? *std::move(answer) : nullptr;
  if (object && store_key(*object).name != key) {
    co_return fail(Code::kInvalid, fmt::format("asked for {} and got {}", quoted(key),
                                               quoted(store_key(*object).name)));
  }
  const bool gone = object == nullptr;
  const bool settled = store_answer(into, read, key, std::move(object));
  // Of a job that was never stored no store tells.
  if constexpr (kIsJob) {
    if (settled && gone) job_waiters.tell(key, nullptr);
  }
  co_return settled;
}

// Null: it is not there. False: it differs and may be the older of the two.
template <class T>
bool Cache::State::store_answer(Kept<T>& into, const Ledger::Read& read, std::string_view key,
                                std::shared_ptr<const T> object) {
  const auto stored = into.store.get({{}, key});
  const bool same = stored && object ? *stored == *object : stored == object;
  if (!into.ledger.may_store(read, key)) return same;
  into.ledger.stored(key);
  if (object) {
    into.store.put(std::move(object));
  } else {
    into.store.erase({{}, key});
  }
  return true;
}

Task<Result<void>> Cache::State::watch_nodes() {
  if (node_waiters.size() > kFewNodes) {
    hurry(nodes.turn);
  } else {
    node_waiters.for_each_key(
        [this](std::string_view name) { node_reads.want_if_idle(name, Lane::kUrgent); });
  }
  co_return Result<void>();
}

void Cache::State::on_job(const std::shared_ptr<const Job>& before,
                          const std::shared_ptr<const Job>& after) {
  if (!after) puzzles.erase(before->id.number());
  // What a first list or a last farewell says about nodes, their own list says too.
  if (!jobs.store.synced() || !after) return;
  if (before && before->state == after->state && before->nodes == after->nodes) return;
  const auto array = after->array_job_id.value_or(0);
  if (!before && array > 0 && array != after->id.number()) {
    // A task that starts is taken out of the record of those that wait.
    const JobId waiting(static_cast<std::uint32_t>(array));
    if (jobs.store.get({{}, waiting.text()})) job_reads.want(waiting.text(), Lane::kNormal);
  }
  if (!options.nodes_follow_jobs) return;
  if (!cares(JobPulse{.id = after->id, .state = after->state})) return;
  const bool held = before && before->state.holds_resources();
  if (after->state.holds_resources()) {
    read_nodes_of(after->nodes, Lane::kNormal);
  } else if (held) {
    read_nodes_of(before->nodes, Lane::kNormal);
  }
}

void Cache::State::read_nodes_of(std::string_view hostlist, Lane lane) {
  if (hostlist.empty()) return;
  const auto names = expand_hostlist(hostlist, kFewNodes);
  if (!names && names.error().code() != Code::kTooLarge) return;
  if (!names || list_is_cheaper(node_reads.size() + names->size(), node_reads.cost(),
                                nodes.turn.pace.cost())) {
    return hurry(nodes.turn);
  }
  for (const std::string& name : *names) node_reads.want(name, lane);
}

Task<Result<std::shared_ptr<const Job>>> Cache::State::wait_for_job(JobId id, JobTest done,
                                                                    Duration limit) {
  const std::string key(id.text());
  if (auto stored = jobs.store.get({{}, key})) {
    if (done(*stored)) co_return stored;
  } else {
    job_reads.want(key, Lane::kUrgent);
  }
  const auto place = job_waiters.add(key, std::move(done));
  wake(waited_turn);
  co_return co_await net::with_timeout(limit, "waiting for job " + key, met(place.met()));
}

Task<Result<std::shared_ptr<const Node>>> Cache::State::wait_for_node(std::string name,
                                                                      NodeTest done,
                                                                      Duration limit) {
  auto stored = nodes.store.get({{}, name});
  if (stored && done(*stored)) co_return stored;
  const auto place = node_waiters.add(name, std::move(done));
  wake(waited_nodes_turn);
  co_return co_await net::with_timeout(limit, "waiting for node " + name, met(place.met()));
}

template <class T>
Task<Result<std::shared_ptr<const T>>> Cache::State::refresh(SingleReads* reads, std::string key) {
  MS_CO_CHECK(co_await reads->fresh(key));
  co_return kept<T>().store.get({{}, key});
}

void Cache::State::pushed(const PushedEvent& event) {
  pushes.add();
  if (event.job) {
    const auto stored = jobs.store.get({{}, event.job.text()});
    if (stored && !cares(JobPulse{.id = stored->id, .state = stored->state})) return;
    job_reads.want(event.job.text(), Lane::kUrgent);
    if (pushes_followed < kPushesFollowed) group.spawn(follow_push(event));
  }
  read_nodes_of(event.nodes, Lane::kNormal);
}

// The script runs while slurmctld is still at it: the first look may be too early.
Task<Result<void>> Cache::State::follow_push(PushedEvent event) {
  ++pushes_followed;
  const auto done = [kind = event.kind](const Job& job) { return agrees(job, kind); };
  (void)co_await wait_for_job(event.job, done, kPushFollowed);
  --pushes_followed;
  co_return Result<void>();
}

template Task<Result<bool>> Cache::State::read_one<Node>(std::string, Lane);
template Task<Result<bool>> Cache::State::read_one<Job>(std::string, Lane);
template bool Cache::State::store_answer<Job>(Kept<Job>&, const Ledger::Read&, std::string_view,
                                              std::shared_ptr<const Job>);
template Task<Result<std::shared_ptr<const Node>>> Cache::State::refresh<Node>(SingleReads*,
                                                                               std::string);
template Task<Result<std::shared_ptr<const Job>>> Cache::State::refresh<Job>(SingleReads*,
                                                                             std::string);

}  // namespace mainspring::slurm
