#include "slurm/single_reads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "net/wait.h"

namespace mainspring::slurm {

SingleReads::SingleReads(net::TaskGroup& group, Random& random, Fetch fetch)
    : group_(group), random_(random), fetch_(std::move(fetch)) {}

SingleReads::~SingleReads() {
  for (auto& [key, entry] : entries_) {
    for (const auto* line : {&entry.waiting, &entry.reading}) {
      for (const auto& waiter : *line) {
        waiter.set(fail(Code::kCancelled, "the cache of Slurm's state has ended"));
      }
    }
  }
}

void SingleReads::want(std::string_view key, Lane lane) { ask(key, lane); }

void SingleReads::want_if_idle(std::string_view key, Lane lane) {
  if (entries_.find(key) == entries_.end()) ask(key, lane);
}

net::Task<Result<void>> SingleReads::fresh(std::string key) {
  const net::OneShot<net::Unit> done;
  Entry& entry = ask(key, Lane::kUrgent);
  entry.waiting.push_back(done);
  // Somebody waits for it now: no more resting after failures of others.
  if (entry.phase == Phase::kResting) queue(*entries_.find(key));
  MS_CO_CHECK(co_await done.wait());
  co_return Result<void>();
}

SingleReads::Entry& SingleReads::ask(std::string_view key, Lane lane) {
  const auto [it, added] = entries_.try_emplace(std::string(key));
  Entry& entry = it->second;
  const bool sooner = lane < entry.lane;
  entry.lane = std::min(entry.lane, lane);
  if (entry.phase == Phase::kReading) entry.again = true;
  if (added || (sooner && entry.phase == Phase::kQueued)) queue(*it);
  return entry;
}

void SingleReads::queue(Entries::value_type& entry) {
  entry.second.phase = Phase::kQueued;
  lines_[static_cast<std::size_t>(entry.second.lane)].push_back(entry.first);
  start_next();
}

void SingleReads::start_next() {
  for (auto& line : lines_) {
    while (!line.empty() && reading_ < kAtOnce) {
      const auto it = entries_.find(line.front());
      line.pop_front();
      if (it == entries_.end() || it->second.phase != Phase::kQueued) continue;
      it->second.phase = Phase::kReading;
      ++reading_;
      group_.spawn(read(&*it));
    }
  }
}

net::Task<Result<void>> SingleReads::read(Entries::value_type* entry) {
  const net::Context context = co_await net::current_context();
  const TimePoint began = context.executor->now();
  entry->second.again = false;
  entry->second.reading = std::exchange(entry->second.waiting, {});
  const Result<bool> settled = co_await fetch_(entry->first, entry->second.lane);
  // A running average, so that one slow answer does not make lists look cheap.
  if (settled) cost_ = (cost_ * 7 + (context.executor->now() - began)) / 8;
  --reading_;
  finish(*entry, settled);
  start_next();
  co_return Result<void>();
}

void SingleReads::finish(Entries::value_type& entry, const Result<bool>& settled) {
  auto& [key, state] = entry;
  auto reading = std::exchange(state.reading, {});
  if (settled && !*settled) {
    std::move(reading.begin(), reading.end(), std::back_inserter(state.waiting));
    return queue(entry);
  }
  for (const auto& waiter : reading) {
    waiter.set(settled ? Result<net::Unit>(net::Unit{}) : fail(settled.error()));
  }
  if (settled) state.backoff.reset();
  if (!state.waiting.empty()) return queue(entry);
  if (!settled && settled.error().retryable()) {
    state.phase = Phase::kResting;
    return group_.spawn(rest(key, state.backoff.next(random_)));
  }
  if (state.again) return queue(entry);
  entries_.erase(entries_.find(key));
}

net::Task<Result<void>> SingleReads::rest(std::string key, Duration delay) {
  MS_CO_CHECK(co_await net::sleep(delay));
  const auto it = entries_.find(key);
  if (it != entries_.end() && it->second.phase == Phase::kResting) queue(*it);
  co_return Result<void>();
}

}  // namespace mainspring::slurm
