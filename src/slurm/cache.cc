#include "slurm/cache.h"

#include <algorithm>

#include "base/hostlist.h"
#include "slurm/cache_state.h"

namespace mainspring::slurm {
namespace {

constexpr double kWaitingShare = 0.1;
constexpr double kOwnedShare = 0.04;
constexpr Duration kLeastPace = milliseconds(1);

// What is known of jobs must not be older, however slow slurmctld has been.
constexpr Duration kLongestPulse = seconds(30);

PaceOptions calm(const CacheOptions& options, Duration pace) {
  return {.pace = pace, .share = options.share, .savings = options.savings};
}

PaceOptions listing_nodes(const CacheOptions& options) {
  PaceOptions made = calm(options, options.nodes_pace);
  made.share = options.nodes_share.value_or(options.share);
  made.hurry_share = std::max(made.hurry_share, made.share);
  return made;
}

PaceOptions pulsing(const CacheOptions& options) {
  PaceOptions made = calm(options, options.pulse_pace);
  made.share = options.pulse_share.value_or(options.share);
  made.savings = {};
  made.longest = kLongestPulse;
  return made;
}

// Somebody waits: tried again soon, and a larger share of time is theirs.
PaceOptions tight(Duration pace, double share) {
  return {.pace = pace,
          .share = share,
          .hurry_share = share,
          .backoff = {.first = pace, .max = std::max<Duration>(pace, seconds(2))}};
}

SuspicionOptions suspicious(const CacheOptions& options) {
  return {.share = options.suspicious_share, .small = options.small};
}

Counter requests(Metrics* metrics, const char* kind, const char* result) {
  if (metrics == nullptr) return {};
  return metrics->counter("slurm_cache_requests_total", "Requests of the change cache",
                          {{"kind", kind}, {"result", result}});
}

Counter pushes_told(Metrics* metrics) {
  if (metrics == nullptr) return {};
  return metrics->counter("slurm_cache_pushes_total", "Starts and ends that slurmctld told of", {});
}

}  // namespace

Turn::Turn(Metrics* metrics, const char* turn_name, PaceOptions options)
    : name(turn_name),
      pace([&] {
        options.pace = std::max(options.pace, kLeastPace);
        return options;
      }()),
      good(requests(metrics, turn_name, "ok")),
      bad(requests(metrics, turn_name, "error")) {}

template <class T>
Kept<T>::Kept(Metrics* metrics, const char* name, PaceOptions options, SuspicionOptions doubt)
    : suspicion(doubt), turn(metrics, name, options) {
  if (metrics == nullptr) return;
  const Labels labels{{"kind", name}};
  events = metrics->counter("slurm_cache_events_total", "Changes reported", labels);
  objects = metrics->gauge("slurm_cache_objects", "Objects stored", labels);
}

Cache::State::State(net::Executor& on, Random& chance, Source& from, CacheOptions how)
    : executor(on),
      random(chance),
      source(from),
      options(std::move(how)),
      nodes(options.metrics, "nodes", listing_nodes(options), suspicious(options)),
      jobs(options.metrics, "jobs", calm(options, options.full_jobs_pace), suspicious(options)),
      partitions(options.metrics, "partitions", calm(options, options.rest_pace),
                 suspicious(options)),
      reservations(options.metrics, "reservations", calm(options, options.rest_pace),
                   suspicious(options)),
      pulse_turn(options.metrics, "pulse", pulsing(options)),
      health_turn(options.metrics, "health", calm(options, options.rest_pace)),
      waited_turn(options.metrics, "waited", tight(options.waiting_pace, kWaitingShare)),
      owned_turn(options.metrics, "owned", tight(options.owned_pace, kOwnedShare)),
      waited_nodes_turn(nullptr, "waited nodes", tight(options.waiting_pace, kWaitingShare)),
      pulse_suspicion(suspicious(options)),
      job_good(requests(options.metrics, "job", "ok")),
      job_bad(requests(options.metrics, "job", "error")),
      node_good(requests(options.metrics, "node", "ok")),
      node_bad(requests(options.metrics, "node", "error")),
      pushes(pushes_told(options.metrics)),
      job_reads(group, random,
                [this](std::string key, Lane lane) { return read_one<Job>(std::move(key), lane); }),
      node_reads(
          group, random,
          [this](std::string key, Lane lane) { return read_one<Node>(std::move(key), lane); }),
      group(executor) {
  add_indexes();
  add_handlers();
  if (options.metrics != nullptr) add_ages();
}

void Cache::State::add_indexes() {
  by_node = jobs.store.add_index([](const Job& job, std::vector<std::string>& values) {
    if (!job.state.holds_resources()) return;
    if (auto names = expand_hostlist(job.nodes)) values.swap(*names);
  });
  by_comment = jobs.store.add_index([this](const Job& job, std::vector<std::string>& values) {
    if (job.admin_comment.empty()) return;
    if (options.admin_comment_keys) return options.admin_comment_keys(job.admin_comment, values);
    values.push_back(job.admin_comment.str());
  });
  by_partition = nodes.store.add_index([](const Node& node, std::vector<std::string>& values) {
    for (const std::string_view partition : node.partitions) values.emplace_back(partition);
  });
}

void Cache::State::add_handlers() {
  const auto count = [](auto& kind) {
    kind.store.add_handler([&kind](const auto&, const auto&) {
      kind.events.add();
      kind.objects.set(static_cast<double>(kind.store.size()));
    });
  };
  count(nodes);
  count(jobs);
  count(partitions);
  count(reservations);
  jobs.store.add_handler([this](const auto& before, const auto& after) {
    job_waiters.tell((after ? after : before)->id.text(), after);
    on_job(before, after);
  });
  nodes.store.add_handler([this](const auto& before, const auto& after) {
    node_waiters.tell((after ? after : before)->name, after);
    // With a node that comes or goes, partitions and reservations get other nodes; slurmctld calls
    // their lists unchanged all the same.
    if (before && after && before->partitions == after->partitions) return;
    ++partitions.implied;
    ++reservations.implied;
  });
  partitions.store.add_handler([this](const auto&, const auto& after) {
    // Its nodes are in one partition less, which slurmctld calls no change of theirs. (That they
    // are in one more, it does.)
    if (!after) ++nodes.implied;
  });
  jobs.store.on_synced([this] { wake(pulse_turn); });
}

void Cache::State::add_ages() {
  const auto gauge = [this](const char* kind) {
    return options.metrics->gauge("slurm_cache_age_seconds", "Since the last good answer",
                                  {{"kind", kind}});
  };
  struct Age {
    Gauge gauge;
    const Turn* turn;
  };
  std::vector<Age> all;
  for (const Turn* turn :
       {&nodes.turn, &jobs.turn, &partitions.turn, &reservations.turn, &pulse_turn, &health_turn}) {
    all.push_back({gauge(turn->name), turn});
  }
  ages = options.metrics->before_text([all, clock = &executor.clock()] {
    for (const Age& age : all) {
      const Duration::rep confirmed = age.turn->confirmed;
      if (confirmed == Turn::kNotYet) continue;
      const Duration passed = clock->now().time_since_epoch() - Duration(confirmed);
      age.gauge.set(std::chrono::duration<double>(passed).count());
    }
  });
}

Task<Result<void>> Cache::State::run() {
  const net::Context context = co_await net::current_context();
  if (context.scope != nullptr && context.scope->cancelled()) {
    co_return fail(*context.scope->reason());
  }
  const net::CancelScope::Listener stop(
      context.scope, [this, scope = context.scope] { group.cancel(*scope->reason()); });
  // Also where this frame is destroyed without a word.
  struct Stop {
    net::TaskGroup& group;
    ~Stop() { group.cancel(); }
  };
  const Stop at_the_end{group};
  group.spawn(keep(&health_turn, &State::check_health));
  group.spawn(keep(&nodes.turn, &State::list<Node>));
  group.spawn(keep(&partitions.turn, &State::list<Partition>));
  group.spawn(keep(&reservations.turn, &State::list<Reservation>));
  group.spawn(keep(&jobs.turn, &State::list<Job>));
  group.spawn(keep(&pulse_turn, &State::pulse));
  group.spawn(keep(&waited_turn, &State::watch_waited));
  group.spawn(keep(&owned_turn, &State::watch_owned));
  group.spawn(keep(&waited_nodes_turn, &State::watch_nodes));
  co_return co_await group.join();
}

Task<Result<void>> Cache::State::keep(Turn* turn, Act act) {
  const net::Context context = co_await net::current_context();
  while (true) {
    wake(*turn);
    MS_CO_CHECK(co_await turn->alarm.wait());
    if (due(*turn) > executor.now()) continue;
    const bool failed_before = turn->pace.failing();
    turn->pace.began(executor.now());
    const Result<void> done = co_await (this->*act)();
    if (context.scope != nullptr && context.scope->cancelled()) {
      co_return fail(*context.scope->reason());
    }
    if (!done) {
      turn->pace.failed(executor.now(), done.error(), random);
      options.log.log(failed_before ? LogLevel::kDebug : LogLevel::kWarn,
                      "Slurm did not answer; asking again",
                      {{"kind", turn->name}, {"error", done.error()}});
      continue;
    }
    turn->pace.succeeded(executor.now());
    turn->confirmed = turn->pace.confirmed()->time_since_epoch().count();
    if (failed_before) answers_again(*turn);
  }
}

// Whoever was away may have been restarted, and what the others wait for is over, too: their next
// attempts may be half a minute away by now. They have theirs at once, and wait on if it fails.
void Cache::State::answers_again(const Turn& turn) {
  ++recoveries;
  if (&turn != &health_turn) hurry(health_turn);
  for (Turn* other : turns()) {
    if (other == &turn || !other->pace.failing()) continue;
    other->pace.at_once();
    wake(*other);
  }
}

bool Cache::State::has_reason(const Turn& turn) const {
  if (&turn == &waited_turn) return !job_waiters.empty();
  if (&turn == &owned_turn) return !owned->empty();
  if (&turn == &waited_nodes_turn) return !node_waiters.empty();
  // Before the first list every job would look new.
  if (&turn == &pulse_turn) return jobs.store.synced();
  return true;
}

TimePoint Cache::State::due(const Turn& turn) const {
  return has_reason(turn) ? turn.pace.due() : Alarm::kNever;
}

void Cache::State::hurry(Turn& turn) {
  turn.pace.hurry(executor.now());
  wake(turn);
}

Freshness Cache::State::freshness(const Turn& turn) const {
  const Pace& health = health_turn.pace;
  return judge_freshness({.confirmed = turn.pace.confirmed(),
                          .interval = turn.pace.interval(),
                          .why = turn.pace.failing() ? turn.pace.why() : health.why()},
                         options.stale_after, executor.clock());
}

// A full list gives the jobs, after that the pulse vouches for them.
Freshness Cache::State::jobs_freshness() const {
  if (!jobs.turn.pace.confirmed()) return freshness(jobs.turn);
  const Pace& pulse = pulse_turn.pace;
  return judge_freshness({.confirmed = std::max(jobs.turn.pace.confirmed(), pulse.confirmed()),
                          .interval = pulse.interval(),
                          .why = pulse.failing() ? pulse.why() : health_turn.pace.why()},
                         options.stale_after, executor.clock());
}

std::uint64_t Cache::recoveries() const { return state_->recoveries; }

Cache::Cache(net::Executor& executor, Random& random, Source& source, CacheOptions options)
    : state_(std::make_unique<State>(executor, random, source, std::move(options))) {}
Cache::~Cache() = default;

Task<Result<void>> Cache::run() { return state_->run(); }

Store<Node>& Cache::nodes() { return state_->nodes.store; }
Store<Job>& Cache::jobs() { return state_->jobs.store; }
Store<Partition>& Cache::partitions() { return state_->partitions.store; }
Store<Reservation>& Cache::reservations() { return state_->reservations.store; }

std::int64_t Cache::nodes_as_of() const { return state_->nodes.since; }

Freshness Cache::nodes_freshness() const { return state_->freshness(state_->nodes.turn); }
Freshness Cache::jobs_freshness() const { return state_->jobs_freshness(); }
Freshness Cache::partitions_freshness() const { return state_->freshness(state_->partitions.turn); }
Freshness Cache::reservations_freshness() const {
  return state_->freshness(state_->reservations.turn);
}

std::vector<std::shared_ptr<const Job>> Cache::jobs_on_node(std::string_view node) const {
  return state_->jobs.store.find(state_->by_node, node);
}
std::vector<std::shared_ptr<const Job>> Cache::jobs_by_admin_comment(std::string_view key) const {
  return state_->jobs.store.find(state_->by_comment, key);
}
std::vector<std::shared_ptr<const Node>> Cache::nodes_in_partition(
    std::string_view partition) const {
  return state_->nodes.store.find(state_->by_partition, partition);
}

Cache::Interest Cache::follow(JobId job) {
  ++(*state_->owned)[job.number()];
  if (!state_->jobs.store.get({{}, job.text()})) state_->job_reads.want(job.text(), Lane::kNormal);
  state_->wake(state_->owned_turn);
  return Interest(std::shared_ptr<void>(nullptr, [owned = state_->owned, job](void*) {
    const auto it = owned->find(job.number());
    if (--it->second == 0) owned->erase(it);
  }));
}

Task<Result<std::shared_ptr<const Job>>> Cache::wait_for_job(JobId job, JobTest done,
                                                             Duration limit) {
  return state_->wait_for_job(job, std::move(done), limit);
}
Task<Result<std::shared_ptr<const Node>>> Cache::wait_for_node(std::string node, NodeTest done,
                                                               Duration limit) {
  return state_->wait_for_node(std::move(node), std::move(done), limit);
}
Task<Result<std::shared_ptr<const Job>>> Cache::refresh_job(JobId job) {
  return state_->refresh<Job>(&state_->job_reads, std::string(job.text()));
}
Task<Result<std::shared_ptr<const Node>>> Cache::refresh_node(std::string node) {
  return state_->refresh<Node>(&state_->node_reads, std::move(node));
}
Task<Result<void>> Cache::refresh_jobs() { return state_->refresh_jobs(); }
void Cache::renew() { state_->renew(); }
void Cache::refresh_lists() { state_->refresh_lists(); }
void Cache::try_again() { state_->try_again(); }
void Cache::moved() { state_->moved(); }
void Cache::pushed(const PushedEvent& event) { state_->pushed(event); }

}  // namespace mainspring::slurm
