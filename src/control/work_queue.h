// control/work_queue.h
//
// The line of keys waiting to be reconciled.
//
// Promises: a key is in the line at most once; it is never handed to two workers at a time; a key
// added while it is being worked on comes back when that work is done. The earliest due time and
// the highest priority asked for win, so a later request is swallowed by an earlier one: whoever
// works on the key sees the newest state anyway. First come, first served within a priority, and
// every priority gets a share, so none starves.
//
// Lives on the control loop: no locks, never call it from another thread (its metrics may be read
// from any). Owned by a Controller; must outlive its leases and the tasks that wait in next(). It
// does not know what a key means, and it does not retry by itself: `Controller` decides that.
//
// An entry is forgotten when its key is neither waiting, nor worked on, nor backed off; its memory
// is used again for the next key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/metrics.h"
#include "base/random.h"
#include "control/key.h"
#include "net/notify.h"

namespace mainspring::control {

enum class Priority : std::uint8_t { kLow, kNormal, kHigh };

class WorkQueue {
  struct Entry;

 public:
  struct Options {
    std::string name;  // The label of the metrics, which are named as client-go's.
    Backoff::Options backoff = {milliseconds(5), minutes(5), 2.0, 0.25};
    // For all keys together, retries only: what is new is never slowed down by what fails. No limit
    // where the rate is 0.
    double retries_per_second = 50;
    double retry_burst = 500;
    Metrics* metrics = nullptr;
  };
  WorkQueue(net::Executor& executor, Random& random, Options options);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // Due now, or after `delay`; earlier if that is asked for already.
  void add(KeyView key, Priority priority = Priority::kNormal);
  void add_after(KeyView key, Duration delay, Priority priority = Priority::kNormal);

  // After a failure: due after this key's own growing, jittered delay, or later where the retries
  // of all keys exceed their rate or `at_least` says so. `forget` makes the next delay short again.
  void add_backed_off(KeyView key, Priority priority = Priority::kNormal,
                      Duration at_least = Duration::zero());
  void forget(KeyView key);
  // How often this key was backed off since it was last forgotten.
  int retries(KeyView key) const;

  // The right to work on a key. Dropping it says that the work is done.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : queue_(other.queue_), entry_(std::exchange(other.entry_, nullptr)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(queue_, other.queue_);
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~Lease() {
      if (entry_ != nullptr) queue_->done(*entry_);
    }
    const Key& key() const;
    Priority priority() const;

   private:
    friend class WorkQueue;
    Lease(WorkQueue* queue, Entry* entry) : queue_(queue), entry_(entry) {}
    WorkQueue* queue_;
    Entry* entry_;
  };

  // Waits for the next key. Fails when the awaiter's scope is cancelled, with the scope's reason,
  // and with kCancelled after shut_down().
  net::Task<Result<Lease>> next();
  // The same without waiting.
  std::optional<Lease> try_next();

  // Ends every next() at once. What waits is dropped (after a restart everything is listed again)
  // and what is added from now on is ignored.
  void shut_down();
  // Ignores what is added from now on and drops what is not due yet, but lets workers finish the
  // line; returns when the last lease is gone, and the queue is shut down. Where its own scope is
  // cancelled first it fails; call shut_down() then.
  net::Task<Result<void>> drain();

  // Waiting and due, not those being worked on or delayed.
  std::size_t depth() const { return depth_; }
  std::size_t delayed() const { return delayed_.size(); }
  std::size_t working() const { return working_count_; }

 private:
  static constexpr std::size_t kPriorities = 3;
  // How many keys of higher priorities may overtake a waiting one before its priority has a turn.
  static constexpr int kShare = 8;

  struct Instruments;
  struct Waiter;
  // A list through the entries themselves: of those ready, or of those worked on, oldest first.
  struct List {
    Entry* first = nullptr;
    Entry* last = nullptr;
    int passed_over = 0;
    void push_back(Entry& entry);
    void remove(Entry& entry);
  };
  struct Delayed {
    TimePoint due;
    std::uint64_t sequence;
    Entry* entry;
    bool operator<(const Delayed& other) const {
      return due != other.due ? due < other.due : sequence < other.sequence;
    }
  };
  enum class Intake { kOpen, kDraining, kShut };

  Entry* find(KeyView key, std::size_t hash) const;
  Entry& find_or_make(KeyView key);
  void grow_table();
  void release_if_unused(Entry& entry);

  void want(Entry& entry, TimePoint due, Priority priority, TimePoint now);
  void put_in_place(Entry& entry, TimePoint now);
  void make_ready(Entry& entry);
  void set_depth(std::size_t depth);
  void remove_delayed(Entry& entry);
  void arm_timer();
  void on_timer();
  List& pick_list();
  void done(Entry& entry);
  void wake_one();
  void drop_delayed();
  TimePoint earliest_retry(TimePoint now);

  net::Executor& executor_;
  Random& random_;
  const Options options_;
  std::unique_ptr<Instruments> instruments_;  // Null without metrics.

  // Addresses stay. Given back once nothing is known, where a burst has made it large.
  static constexpr std::size_t kKept = 256;
  std::deque<Entry> entries_;
  Entry* free_ = nullptr;
  std::vector<Entry*> table_;  // By hash, chained; a power of two.
  std::size_t known_ = 0;

  std::array<List, kPriorities> ready_;
  List working_;
  std::set<Delayed> delayed_;
  std::size_t depth_ = 0;
  std::size_t working_count_ = 0;
  std::uint64_t next_sequence_ = 0;

  std::optional<net::Executor::TimerId> timer_;
  TimePoint timer_due_;
  std::deque<Waiter*> waiters_;
  Intake intake_ = Intake::kOpen;
  net::Notify drained_;

  double retry_tokens_;
  TimePoint tokens_at_;
};

}  // namespace mainspring::control
