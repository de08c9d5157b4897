// net/timer_queue.h
//
// The timers of an executor, earliest first; those of the same instant in the order they were
// added. Most timers are deadlines that are removed long before they are due, so removal is as
// cheap as adding: a heap whose entries know where they are. Owned by an executor, used on its
// thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "net/executor.h"

namespace mainspring::net {

class TimerQueue {
 public:
  Executor::TimerId add(TimePoint due, Executor::Action action);
  // Nothing happens if the timer is gone already.
  void remove(Executor::TimerId id);

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // The queue must not be empty.
  TimePoint next_due() const { return heap_.front().due; }
  Executor::Action take_first();

 private:
  struct Entry {
    TimePoint due;
    std::uint64_t sequence;
    std::uint32_t slot;
  };
  // What an id points at. The generation tells a timer from an earlier user of the same slot.
  struct Slot {
    Executor::Action action;
    std::uint32_t generation = 1;
    std::uint32_t position = 0;
  };

  static bool before(const Entry& a, const Entry& b);
  void place(std::size_t position, Entry entry);
  void sift_up(std::size_t position, Entry entry);
  void sift_down(std::size_t position, Entry entry);
  Executor::Action take_at(std::size_t position);

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace mainspring::net
