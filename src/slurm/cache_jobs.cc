// Jobs by their states: the pulse of all of them, the tight watch over some, and what follows.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "slurm/cache_state.h"

namespace mainspring::slurm {
namespace {

constexpr std::size_t kIdsPerRequest = 200;
constexpr int kAnswersToAgree = 4;
// After so many reads the record is taken to mean the same by another state than the pulse does.
constexpr int kPuzzled = 3;

bool by_id(const JobPulse& a, const JobPulse& b) { return a.id < b.id; }

bool has_id(const std::vector<JobPulse>& sorted, JobId id) {
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), JobPulse{.id = id}, by_id);
  return it != sorted.end() && it->id == id;
}

}  // namespace

Task<Result<void>> Cache::State::pulse_as(Turn* turn, Lane lane) {
  for (int answers = 0; answers < kAnswersToAgree; ++answers) {
    MS_CO_TRY(const bool believed, co_await pulse_once(turn, lane));
    if (believed) co_return Result<void>();
    options.log.warn("many jobs are gone at once; asking again before believing it",
                     {{"known", jobs.store.size()}});
    MS_CO_CHECK(co_await confirm(&pulse_suspicion));
  }
  co_return fail(Code::kTransient,
                 "slurmctld's states of all jobs keep losing different ones; no job is taken for "
                 "gone");
}

Task<Result<bool>> Cache::State::pulse_once(Turn* turn, Lane lane) {
  const Ledger::Read read = jobs.ledger.begin();
  MS_CO_TRY(std::vector<JobPulse> states, co_await timed(turn, source.job_states({}, lane)));
  std::stable_sort(states.begin(), states.end(), by_id);
  // The states that are there are good, whatever is missing. Whoever looks after its own jobs is
  // not the one to find others: those that are new may be its own, which it is about to read.
  if (turn == &pulse_turn) {
    absorb_states(states, read);
  } else {
    std::vector<JobPulse> known = states;
    std::erase_if(known, [this](const JobPulse& one) {
      return !is_tight(one.id) && !jobs.store.get({{}, one.id.text()});
    });
    absorb_states(known, read);
  }
  co_return absorb_lost(states, read);
}

Task<Result<void>> Cache::State::watch_waited() {
  std::vector<JobId> ids;
  job_waiters.for_each_key([&](std::string_view key) {
    ids.emplace_back(parse_integer<std::uint32_t>(key).value_or(0));
  });
  return watch(&waited_turn, std::move(ids), Lane::kUrgent);
}

Task<Result<void>> Cache::State::watch_owned() {
  std::vector<JobId> ids;
  for (const auto& [number, owners] : *owned) {
    if (!job_waiters.contains(JobId(number).text())) ids.emplace_back(number);
  }
  return watch(&owned_turn, std::move(ids), Lane::kNormal);
}

Task<Result<void>> Cache::State::watch(Turn* turn, std::vector<JobId> ids, Lane lane) {
  // Most of them named one by one would cost more than all.
  if (jobs.store.synced() && ids.size() > kIdsPerRequest && ids.size() * 2 > jobs.store.size()) {
    co_return co_await pulse_as(turn, lane);
  }
  for (std::size_t first = 0; first < ids.size(); first += kIdsPerRequest) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<JobId> some(
        begin, begin + static_cast<std::ptrdiff_t>(std::min(kIdsPerRequest, ids.size() - first)));
    const Ledger::Read read = jobs.ledger.begin();
    MS_CO_TRY(std::vector<JobPulse> states, co_await timed(turn, source.job_states(some, lane)));
    std::stable_sort(states.begin(), states.end(), by_id);
    absorb_states(states, read);
    for (const JobId id : some) {
      // Not listed is not yet gone: the job itself is asked for.
      if (!has_id(states, id)) job_reads.want_if_idle(id.text(), lane);
    }
  }
  co_return Result<void>();
}

// False where too much is missing to be believed yet.
bool Cache::State::absorb_lost(const std::vector<JobPulse>& states, const Ledger::Read& read) {
  std::vector<std::string> lost;
  jobs.store.for_each([&](const std::shared_ptr<const Job>& job) {
    // What was read since they were asked for may be newer than they are: the next ones tell.
    if (has_id(states, job->id) || !jobs.ledger.may_store(read, job->id.text())) return;
    lost.emplace_back(job->id.text());
  });
  if (pulse_suspicion.judge(jobs.store.size(), lost) == Suspicion::Verdict::kConfirm) return false;
  for (const std::string& id : lost) store_answer<Job>(jobs, read, id, nullptr);
  return true;
}

void Cache::State::absorb_states(const std::vector<JobPulse>& states, const Ledger::Read& read) {
  std::vector<JobId> changed;
  for (std::size_t i = 0, next = 0; i < states.size(); i = next) {
    const JobPulse& first = states[i];
    const auto stored = jobs.store.get({{}, first.id.text()});
    // The waiting tasks of an array have a row each, and one record for all.
    bool agree = false;
    for (next = i; next < states.size() && states[next].id == first.id; ++next) {
      agree = agree || (stored && stored->state == states[next].state);
    }
    if (agree) {
      puzzles.erase(first.id.number());
      continue;
    }
    const bool settled = stored && (cares(first) ? keeps_disagreeing(*stored, first)
                                                 : store_state(*stored, first, read));
    if (!settled) changed.push_back(first.id);
  }
  read_changed(changed);
}

bool Cache::State::keeps_disagreeing(const Job& stored, const JobPulse& pulse) {
  Puzzle& puzzle = puzzles[pulse.id.number()];
  if (puzzle.pulse != pulse.state || puzzle.record != stored.state) {
    puzzle = {.pulse = pulse.state, .record = stored.state};
  }
  // A read that is still wanted or under way has said nothing yet.
  if (job_reads.busy(pulse.id.text())) return false;
  return ++puzzle.times > kPuzzled;
}

// What a job nobody cares about gets without a request. False: it must be read after all.
bool Cache::State::store_state(const Job& stored, const JobPulse& pulse, const Ledger::Read& read) {
  if (!jobs.ledger.may_store(read, pulse.id.text())) return false;
  auto copy = std::make_shared<Job>(stored);
  copy->state = pulse.state;
  return store_answer<Job>(jobs, read, pulse.id.text(), std::move(copy));
}

void Cache::State::read_changed(const std::vector<JobId>& changed) {
  const bool list = jobs.turn.pace.confirmed() &&
                    list_is_cheaper(changed.size(), job_reads.cost(), jobs.turn.pace.cost());
  if (list) hurry(jobs.turn);
  for (const JobId id : changed) {
    if (is_tight(id)) {
      job_reads.want(id.text(), Lane::kUrgent);
    } else if (!list && jobs.store.get({{}, id.text()})) {
      job_reads.want(id.text(), Lane::kNormal);
    } else if (!list) {
      // Whoever has just made a job reads it, too.
      job_reads.want_if_idle(id.text(), Lane::kNormal);
    }
  }
}

Task<Result<void>> Cache::State::refresh_jobs() {
  if (!jobs.store.synced()) {
    co_return fail(Code::kTransient, "Slurm has not given a first list of its jobs yet");
  }
  MS_CO_TRY(const std::vector<JobPulse> states, co_await source.job_states({}, Lane::kNormal));
  std::vector<std::string> unread;
  for (const JobPulse& one : states) {
    const auto stored = jobs.store.get({{}, one.id.text()});
    const bool known = stored && stored->state.holds_resources();
    if (one.state.holds_resources() && !known) unread.emplace_back(one.id.text());
  }
  for (const std::string& id : unread) job_reads.want(id, Lane::kNormal);
  for (std::string& id : unread) MS_CO_CHECK(co_await job_reads.fresh(std::move(id)));
  co_return Result<void>();
}

bool Cache::State::is_tight(JobId id) const {
  return owned->contains(id.number()) || job_waiters.contains(id.text());
}

bool Cache::State::cares(const JobPulse& pulse) const {
  return !options.cares_about || is_tight(pulse.id) || options.cares_about(pulse);
}

}  // namespace mainspring::slurm
