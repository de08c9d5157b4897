// Full lists: how they are asked for, when they are believed, and how they are stored.
#include <fmt/format.h>

#include <unordered_set>

#include "slurm/cache_state.h"

namespace mainspring::slurm {
namespace {

// "Unchanged" rests on slurmctld's clock, which may be set back. Now and then nothing rests on it.
constexpr Duration kWithoutGate = minutes(30);
constexpr int kAnswersToAgree = 4;

Task<Result<Listed>> ask(Source* source, std::int64_t since, Source::OnRecord<Node> take) {
  return source->nodes(since, std::move(take));
}
Task<Result<Listed>> ask(Source* source, std::int64_t since, Source::OnRecord<Job> take) {
  return source->jobs(since, std::move(take));
}
Task<Result<Listed>> ask(Source* source, std::int64_t since, Source::OnRecord<Partition> take) {
  return source->partitions(since, std::move(take));
}
Task<Result<Listed>> ask(Source* source, std::int64_t since, Source::OnRecord<Reservation> take) {
  return source->reservations(since, std::move(take));
}

}  // namespace

template <class T>
Task<Result<void>> Cache::State::list() {
  Kept<T>& into = kept<T>();
  for (int answers = 0; answers < kAnswersToAgree; ++answers) {
    const std::uint64_t renewals = into.renewals;
    MS_CO_TRY(const bool believed, co_await list_once<T>());
    if (believed) {
      if (into.store.current()) co_return Result<void>();
      MS_CO_CHECK(co_await settle<T>(into.unsure));
      into.listed_renewals = renewals;
      if (renewals == into.renewals) into.store.confirm();
      co_return Result<void>();
    }
    options.log.warn("a list lacks much that was there; asking again before believing it",
                     {{"kind", into.turn.name}, {"known", into.store.size()}});
    MS_CO_CHECK(co_await confirm(&into.suspicion));
  }
  co_return fail(Code::kTransient,
                 fmt::format("slurmctld's list of {} keeps losing different ones; nothing of it is "
                             "believed",
                             into.turn.name));
}

template <class T>
Task<Result<bool>> Cache::State::list_once() {
  Kept<T>& into = kept<T>();
  const Ledger::Read read = into.ledger.begin();
  const TimePoint began = executor.now();
  const std::int64_t boot = boot_time;
  const std::uint64_t implied = into.implied;
  const bool whole = into.since == 0 || implied != into.listed_implied ||
                     into.renewals != into.listed_renewals || began - into.listed >= kWithoutGate;
  std::vector<std::shared_ptr<const T>> objects;
  const auto take = [&into, &objects](std::shared_ptr<const T> object) {
    // What is as before is not held twice while the list comes in.
    auto stored = into.store.get(store_key(*object));
    objects.push_back(stored && *stored == *object ? std::move(stored) : std::move(object));
  };
  MS_CO_TRY(const Listed listed,
            co_await timed(&into.turn, ask(&source, whole ? 0 : into.since, take)));
  if (listed.not_modified) {
    if (!whole) co_return true;
    co_return fail(Code::kInvalid,
                   fmt::format("slurmctld calls its list of {} unchanged, though it "
                               "was not asked since when",
                               into.turn.name));
  }
  if (!store_list(into, read, std::move(objects))) co_return false;
  // Unchanged as it came: slurmctld counts in seconds, and what changed later in the second of
  // this answer is part of the next one only if asked for with this very number.
  into.since = boot == 0 || boot == boot_time ? listed.last_update : 0;
  into.listed = began;
  into.listed_implied = implied;
  co_return true;
}

// False where the list is not to be believed yet.
template <class T>
bool Cache::State::store_list(Kept<T>& into, const Ledger::Read& read,
                              std::vector<std::shared_ptr<const T>> objects) {
  std::unordered_set<std::string_view> names;
  for (const auto& object : objects) names.insert(store_key(*object).name);
  std::vector<std::string> lost;
  std::vector<std::shared_ptr<const T>> unsure;
  into.store.for_each([&](const std::shared_ptr<const T>& stored) {
    const std::string_view name = store_key(*stored).name;
    if (names.contains(name)) return;
    if (into.ledger.may_store(read, name)) {
      lost.emplace_back(name);
    } else {
      unsure.push_back(stored);
    }
  });
  if (into.suspicion.judge(into.store.size(), std::move(lost)) == Suspicion::Verdict::kConfirm) {
    return false;
  }
  into.unsure.clear();
  std::vector<std::shared_ptr<const T>> again = unsure;
  for (auto& object : objects) {
    if (into.ledger.may_store(read, store_key(*object).name)) continue;
    auto stored = into.store.get(store_key(*object));
    if (stored && *stored == *object) continue;
    again.push_back(object);
    object = std::move(stored);  // Null where it was found to be gone since.
  }
  into.store.begin_replace();
  for (auto& object : unsure) into.store.put(std::move(object));
  for (auto& object : objects) {
    if (object) into.store.put(std::move(object));
  }
  into.ledger.stored_all();
  into.store.end_replace();
  for (const auto& object : again) {
    if (!into.store.current()) into.unsure.emplace_back(store_key(*object).name);
    read_again(*object);
  }
  return true;
}

// Until what the list could not say has been read by itself.
template <class T>
Task<Result<void>> Cache::State::settle(std::vector<std::string> unsure) {
  if constexpr (std::is_same_v<T, Job> || std::is_same_v<T, Node>) {
    SingleReads* const reads = std::is_same_v<T, Job> ? &job_reads : &node_reads;
    for (std::string& key : unsure) MS_CO_CHECK(co_await reads->fresh(std::move(key)));
  }
  co_return Result<void>();
}

Task<Result<void>> Cache::State::confirm(Suspicion* suspicion) {
  MS_CO_CHECK(co_await check_health());
  suspicion->vouch();
  co_return co_await net::sleep(options.confirm_after);
}

Task<Result<void>> Cache::State::check_health() {
  MS_CO_TRY(const ControllerHealth health, co_await timed(&health_turn, source.health()));
  if (!health.responding) co_return fail(Code::kTransient, "slurmctld does not respond");
  if (health.boot_time == 0) co_return Result<void>();
  const std::int64_t before = std::exchange(boot_time, health.boot_time);
  if (before != 0 && before != health.boot_time) restarted();
  co_return Result<void>();
}

void Cache::State::restarted() {
  options.log.info("slurmctld was restarted; asking for everything again", {});
  list_anew();
}

void Cache::State::moved() {
  // A list that is on its way from the server before must not say since when the next is asked.
  for (std::uint64_t* implied :
       {&nodes.implied, &jobs.implied, &partitions.implied, &reservations.implied}) {
    ++*implied;
  }
  try_again();
  list_anew();
  hurry(health_turn);
}

void Cache::State::try_again() {
  for (Turn* turn : turns()) {
    if (!turn->pace.failing()) continue;
    turn->pace.forgive();
    hurry(*turn);
  }
}

void Cache::State::list_anew() {
  const auto forget = [this](auto& kind) {
    kind.since = 0;
    kind.suspicion.restarted();
    hurry(kind.turn);
  };
  forget(nodes);
  forget(jobs);
  forget(partitions);
  forget(reservations);
  pulse_suspicion.restarted();
}

void Cache::State::renew() {
  const auto doubt = [this](auto& kind) {
    ++kind.renewals;
    kind.store.doubt();
    kind.turn.pace.at_once();
    wake(kind.turn);
  };
  doubt(nodes);
  doubt(jobs);
  doubt(partitions);
  doubt(reservations);
}

void Cache::State::refresh_lists() {
  for (Turn* turn : {&nodes.turn, &jobs.turn, &partitions.turn, &reservations.turn, &pulse_turn}) {
    hurry(*turn);
  }
}

template Task<Result<void>> Cache::State::list<Node>();
template Task<Result<void>> Cache::State::list<Job>();
template Task<Result<void>> Cache::State::list<Partition>();
template Task<Result<void>> Cache::State::list<Reservation>();

}  // namespace mainspring::slurm
