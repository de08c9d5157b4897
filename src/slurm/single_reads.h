// slurm/single_reads.h
//
// Reads of single objects: few at a time, those that somebody waits for first, never two of the
// same object at once. Wanted again while it is being read, an object is read once more, so a read
// that begins after the wish always follows. A read that fails is tried again, later and later;
// one that would fail again is not. Owned by the change cache; lives on its loop. It does not know
// what it reads: `fetch` does, and stores the answer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "net/one_shot.h"
#include "net/task_group.h"
#include "slurm/governor.h"

namespace mainspring::slurm {

class SingleReads {
 public:
  // False: the answer could not be told from an older one, so the object is to be read again.
  using Fetch = std::function<net::Task<Result<bool>>(std::string key, Lane lane)>;
  static constexpr std::size_t kAtOnce = 8;

  // All must outlive this; `group` is where the reads run.
  SingleReads(net::TaskGroup& group, Random& random, Fetch fetch);
  ~SingleReads();
  SingleReads(const SingleReads&) = delete;
  SingleReads& operator=(const SingleReads&) = delete;

  // A read that begins from now on.
  void want(std::string_view key, Lane lane);
  // The same, unless one is wanted or under way already.
  void want_if_idle(std::string_view key, Lane lane);
  // Until such a read has been stored.
  net::Task<Result<void>> fresh(std::string key);

  // How many are wanted, under way, or resting after a failure.
  std::size_t size() const { return entries_.size(); }
  bool busy(std::string_view key) const { return entries_.find(key) != entries_.end(); }
  // What one read costs, as learned; a guess before the first.
  Duration cost() const { return cost_; }

 private:
  enum class Phase : std::uint8_t { kQueued, kReading, kResting };
  struct Entry {
    Phase phase = Phase::kQueued;
    Lane lane = Lane::kBackground;
    bool again = false;
    std::vector<net::OneShot<net::Unit>> waiting;  // For a read that has not begun.
    std::vector<net::OneShot<net::Unit>> reading;  // For the one under way.
    Backoff backoff{{.first = milliseconds(250), .max = seconds(30)}};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  Entry& ask(std::string_view key, Lane lane);
  void queue(Entries::value_type& entry);
  void start_next();
  net::Task<Result<void>> read(Entries::value_type* entry);
  void finish(Entries::value_type& entry, const Result<bool>& settled);
  net::Task<Result<void>> rest(std::string key, Duration delay);

  net::TaskGroup& group_;
  Random& random_;
  Fetch fetch_;
  Entries entries_;
  std::array<std::deque<std::string>, 3> lines_;  // By lane. What is no longer queued is skipped.
  std::size_t reading_ = 0;
  Duration cost_ = milliseconds(3);
};

}  // namespace mainspring::slurm
