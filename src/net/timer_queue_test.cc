#include "net/timer_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <optional>
#include <utility>

namespace mainspring::net {
namespace {

using ::testing::ElementsAre;

TimePoint at(std::int64_t milli) { return TimePoint(milliseconds(milli)); }

std::vector<int> drain(TimerQueue& queue, std::vector<int>& notes) {
  while (!queue.empty()) queue.take_first()();
  return notes;
}

TEST(TimerQueue, GivesTheEarliestFirstAndEqualOnesInOrder) {
  TimerQueue queue;
  std::vector<int> notes;
  queue.add(at(5), [&] { notes.push_back(3); });
  queue.add(at(1), [&] { notes.push_back(1); });
  queue.add(at(5), [&] { notes.push_back(4); });
  queue.add(at(2), [&] { notes.push_back(2); });
  EXPECT_THAT(drain(queue, notes), ElementsAre(1, 2, 3, 4));
}

TEST(TimerQueue, AnOldIdDoesNotRemoveTheTimerThatTookItsPlace) {
  TimerQueue queue;
  const auto old = queue.add(at(1), [] {});
  queue.remove(old);
  queue.add(at(1), [] {});
  queue.remove(old);
  EXPECT_EQ(queue.size(), 1u);
}

struct RemovesAnother {
  TimerQueue* queue;
  Executor::TimerId other;
  ~RemovesAnother() { queue->remove(other); }
};

TEST(TimerQueue, WhatATimerOwnsMayRemoveOtherTimersWhenItDies) {
  TimerQueue queue;
  const auto other = queue.add(at(2), [] {});
  auto owned = std::make_shared<RemovesAnother>(&queue, other);
  const auto first = queue.add(at(1), [owned] {});
  owned.reset();
  queue.remove(first);
  EXPECT_TRUE(queue.empty());
}

TEST(TimerQueue, BehavesLikeASortedMap) {
  EXPECT_TRUE(rc::check("same order as std::map", [](const std::vector<std::uint16_t>& script) {
    TimerQueue queue;
    std::map<std::pair<TimePoint, int>, Executor::TimerId> model;
    int taken = -1;
    int next = 0;
    for (const std::uint16_t word : script) {
      const TimePoint due = at(word / 4 % 64);
      if (word % 4 == 3 && !model.empty()) {
        auto victim = model.lower_bound(std::pair(due, 0));
        if (victim == model.end()) victim = model.begin();
        queue.remove(victim->second);
        model.erase(victim);
      } else if (word % 4 == 2 && !model.empty()) {
        RC_ASSERT(queue.next_due() == model.begin()->first.first);
        queue.take_first()();
        RC_ASSERT(taken == model.begin()->first.second);
        model.erase(model.begin());
      } else {
        const int number = next++;
        model[{due, number}] = queue.add(due, [&taken, number] { taken = number; });
      }
      RC_ASSERT(queue.size() == model.size());
    }
  }));
}

}  // namespace
}  // namespace mainspring::net
