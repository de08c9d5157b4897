#include "net/timer_queue.h"

#include <algorithm>
#include <utility>

namespace mainspring::net {
namespace {

// Four children a node: half the depth of a binary heap, and they share a cache line or two.
constexpr std::size_t kChildren = 4;

}  // namespace

bool TimerQueue::before(const Entry& a, const Entry& b) {
  return a.due != b.due ? a.due < b.due : a.sequence < b.sequence;
}

void TimerQueue::place(std::size_t position, Entry entry) {
  heap_[position] = entry;
  slots_[entry.slot].position = static_cast<std::uint32_t>(position);
}

void TimerQueue::sift_up(std::size_t position, Entry entry) {
  while (position > 0) {
    const std::size_t parent = (position - 1) / kChildren;
    if (!before(entry, heap_[parent])) break;
    place(position, heap_[parent]);
    position = parent;
  }
  place(position, entry);
}

void TimerQueue::sift_down(std::size_t position, Entry entry) {
  for (;;) {
    const std::size_t first = position * kChildren + 1;
    if (first >= heap_.size()) break;
    const std::size_t end = std::min(first + kChildren, heap_.size());
    std::size_t best = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (before(heap_[child], heap_[best])) best = child;
    }
    if (!before(heap_[best], entry)) break;
    place(position, heap_[best]);
    position = best;
  }
  place(position, entry);
}

Executor::TimerId TimerQueue::add(TimePoint due, Executor::Action action) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  slots_[slot].action = std::move(action);
  heap_.emplace_back();
  sift_up(heap_.size() - 1, Entry{due, next_sequence_++, slot});
  return Executor::TimerId{std::uint64_t{slots_[slot].generation} << 32U | slot};
}

void TimerQueue::remove(Executor::TimerId id) {
  const auto slot = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id));
  const auto generation = static_cast<std::uint32_t>(static_cast<std::uint64_t>(id) >> 32U);
  if (slot >= slots_.size() || slots_[slot].generation != generation) return;
  // Destroyed only when the queue is in order again: what it owns may remove timers too.
  const Executor::Action dropped = take_at(slots_[slot].position);
}

Executor::Action TimerQueue::take_first() { return take_at(0); }

Executor::Action TimerQueue::take_at(std::size_t position) {
  Slot& slot = slots_[heap_[position].slot];
  Executor::Action action = std::exchange(slot.action, nullptr);
  ++slot.generation;
  free_slots_.push_back(heap_[position].slot);

  const Entry last = heap_.back();
  heap_.pop_back();
  if (position == heap_.size()) return action;
  if (position > 0 && before(last, heap_[(position - 1) / kChildren])) {
    sift_up(position, last);
  } else {
    sift_down(position, last);
  }
  return action;
}

}  // namespace mainspring::net
