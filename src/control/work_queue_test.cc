#include "control/work_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Lease = WorkQueue::Lease;

class WorkQueueTest : public testing::Test {
 protected:
  // Takes everything that is ready, and is done with it at once.
  std::vector<std::string> take_all() {
    std::vector<std::string> names;
    while (auto lease = queue_.try_next()) names.push_back(lease->key().name);
    return names;
  }
  std::vector<std::string> take(int count) {
    std::vector<std::string> names;
    for (int i = 0; i < count; ++i) names.push_back(queue_.try_next()->key().name);
    return names;
  }
  bool has_line(const std::string& line) const {
    return ("\n" + metrics_.to_text()).find("\n" + line + "\n") != std::string::npos;
  }

  net::VirtualExecutor executor_;
  Random random_{7};
  Metrics metrics_;
  WorkQueue queue_{executor_,
                   random_,
                   {.name = "q",
                    .backoff = {milliseconds(10), seconds(1), 2.0, 0.0},
                    .retries_per_second = 10,
                    .retry_burst = 20,
                    .metrics = &metrics_}};
};

TEST_F(WorkQueueTest, KeysComeOutInTheOrderTheyWentInAndOnlyOnce) {
  queue_.add({"ns", "b"});
  queue_.add({"ns", "a"});
  queue_.add({"ns", "b"});
  EXPECT_EQ(queue_.depth(), 2U);
  EXPECT_THAT(take_all(), ElementsAre("b", "a"));
  EXPECT_FALSE(queue_.try_next().has_value());
}

TEST_F(WorkQueueTest, WorksOnAfterABurstWhoseMemoryItGaveBack) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 1000; ++i) queue_.add({"ns", std::to_string(i)});
    queue_.add_after({"ns", "later"}, seconds(1));
    EXPECT_EQ(take_all().size(), 1000U);
    executor_.advance(seconds(1));
    const auto last = queue_.try_next();
    EXPECT_EQ(last->key().name, "later");
  }
  EXPECT_THAT(take_all(), IsEmpty());
}

TEST_F(WorkQueueTest, TheNamespaceIsPartOfTheKey) {
  queue_.add({"x", "a"});
  queue_.add({"y", "a"});
  queue_.add({"", "a"});
  EXPECT_EQ(queue_.depth(), 3U);
}

TEST_F(WorkQueueTest, AKeyIsNeverWorkedOnTwiceAtOnceAndComesBackWhenItChangedMeanwhile) {
  queue_.add({"", "a"});
  auto lease = queue_.try_next();
  ASSERT_TRUE(lease);
  queue_.add({"", "a"});
  queue_.add({"", "a"});
  EXPECT_FALSE(queue_.try_next().has_value());
  lease.reset();
  EXPECT_THAT(take_all(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, ADelayedKeyComesAtItsTimeInTheOrderOfDueTimes) {
  queue_.add_after({"", "late"}, seconds(2));
  queue_.add_after({"", "soon"}, seconds(1));
  executor_.advance(milliseconds(999));
  EXPECT_THAT(take_all(), IsEmpty());
  EXPECT_EQ(queue_.delayed(), 2U);
  executor_.advance(milliseconds(1));
  EXPECT_THAT(take_all(), ElementsAre("soon"));
  executor_.advance(seconds(1));
  EXPECT_THAT(take_all(), ElementsAre("late"));
}

TEST_F(WorkQueueTest, TheEarliestDueTimeWins) {
  queue_.add_after({"", "a"}, seconds(5));
  queue_.add_after({"", "a"}, seconds(1));
  queue_.add_after({"", "a"}, seconds(3));
  executor_.advance(seconds(1));
  EXPECT_THAT(take_all(), ElementsAre("a"));
  executor_.advance(minutes(1));
  EXPECT_THAT(take_all(), IsEmpty()) << "the later wishes were swallowed by the earlier one";

  queue_.add_after({"", "a"}, seconds(5));
  queue_.add({"", "a"});
  EXPECT_THAT(take_all(), ElementsAre("a"));
  EXPECT_EQ(queue_.delayed(), 0U);
}

TEST_F(WorkQueueTest, ADelayAskedForDuringTheWorkCountsFromTheAsking) {
  queue_.add({"", "a"});
  {
    auto lease = queue_.try_next();
    queue_.add_after({"", "a"}, seconds(3));
    executor_.advance(seconds(2));
  }
  EXPECT_EQ(queue_.delayed(), 1U);
  executor_.advance(seconds(1));
  EXPECT_THAT(take_all(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, OneTimerServesAllDelaysAndNoneIsLeftWhenNothingIsDelayed) {
  for (int i = 0; i < 100; ++i) {
    queue_.add_after({"", std::to_string(i)}, seconds(100 - i));
  }
  EXPECT_TRUE(executor_.step());
  EXPECT_EQ(queue_.depth(), 1U);
  for (int i = 0; i < 100; ++i) queue_.add({"", std::to_string(i)});
  EXPECT_FALSE(executor_.step()) << "nothing is delayed, so nothing needs to wake up";
  EXPECT_EQ(queue_.depth(), 100U);
}

TEST_F(WorkQueueTest, AbsurdDelaysAreCutToSomethingSane) {
  queue_.add_after({"", "past"}, Duration::min());
  queue_.add_after({"", "never"}, Duration::max());
  queue_.add_backed_off({"", "never too"}, Priority::kNormal, Duration::max());
  EXPECT_THAT(take_all(), ElementsAre("past"));
  executor_.advance(hours(24 * 366));
  EXPECT_THAT(take_all(), ElementsAre("never", "never too"));
}

TEST_F(WorkQueueTest, HigherPrioritiesGoFirstAndTheHighestAskedForWins) {
  queue_.add({"", "low"}, Priority::kLow);
  queue_.add({"", "normal"});
  queue_.add({"", "high"}, Priority::kHigh);
  queue_.add({"", "raised"}, Priority::kLow);
  queue_.add({"", "raised"}, Priority::kHigh);
  queue_.add({"", "raised"}, Priority::kLow);
  queue_.add_after({"", "delayed"}, seconds(1), Priority::kHigh);
  queue_.add({"", "delayed"}, Priority::kLow);
  EXPECT_THAT(take_all(), ElementsAre("high", "raised", "delayed", "normal", "low"));
}

TEST_F(WorkQueueTest, ALeaseKnowsThePriorityItWasTakenWith) {
  queue_.add({"", "a"}, Priority::kHigh);
  const auto lease = queue_.try_next();
  queue_.add({"", "a"}, Priority::kLow);
  EXPECT_EQ(lease->priority(), Priority::kHigh);
}

TEST_F(WorkQueueTest, LowPrioritiesGetAShareHoweverMuchIsAboveThem) {
  for (int i = 0; i < 20; ++i) queue_.add({"", "high" + std::to_string(i)}, Priority::kHigh);
  queue_.add({"", "low"}, Priority::kLow);
  queue_.add({"", "normal"});
  const auto first = take(10);
  EXPECT_EQ(std::count(first.begin(), first.end(), "low"), 1);
  EXPECT_EQ(std::count(first.begin(), first.end(), "normal"), 1);
  EXPECT_EQ(first.front(), "high0");
}

TEST_F(WorkQueueTest, EachFailureOfAKeyDoublesItsDelayUntilItIsForgotten) {
  for (const int delay : {10, 20, 40, 80, 160, 320, 640, 1000, 1000}) {
    queue_.add_backed_off({"", "a"});
    executor_.advance(milliseconds(delay - 1));
    EXPECT_EQ(queue_.depth(), 0U) << delay;
    executor_.advance(milliseconds(1));
    EXPECT_THAT(take_all(), ElementsAre("a")) << delay;
  }
  EXPECT_EQ(queue_.retries({"", "a"}), 9);
  queue_.forget({"", "a"});
  queue_.forget({"", "never seen"});
  EXPECT_EQ(queue_.retries({"", "a"}), 0);
  queue_.add_backed_off({"", "a"});
  executor_.advance(milliseconds(10));
  EXPECT_THAT(take_all(), ElementsAre("a"));
}

TEST_F(WorkQueueTest, JitterSpreadsKeysThatFailedTogether) {
  WorkQueue queue(executor_, random_, {.name = "jitter"});
  for (int i = 0; i < 100; ++i) queue.add_backed_off({"", std::to_string(i)});
  executor_.advance(microseconds(4'400));
  EXPECT_GT(queue.depth(), 10U);
  EXPECT_LT(queue.depth(), 90U);
  executor_.advance(microseconds(600));
  EXPECT_EQ(queue.depth(), 100U);
}

TEST_F(WorkQueueTest, ARetryWaitsAtLeastAsLongAsItWasAskedTo) {
  queue_.add_backed_off({"", "a"}, Priority::kNormal, seconds(30));
  executor_.advance(milliseconds(29'999));
  EXPECT_EQ(queue_.depth(), 0U);
  executor_.advance(milliseconds(1));
  EXPECT_EQ(queue_.depth(), 1U);
}

TEST_F(WorkQueueTest, RetriesOfAllKeysShareARateAndNewKeysDoNot) {
  for (int i = 0; i < 40; ++i) queue_.add_backed_off({"", std::to_string(i)});
  executor_.advance(milliseconds(10));
  EXPECT_EQ(queue_.depth(), 20U) << "the burst";
  executor_.advance(milliseconds(990));
  EXPECT_EQ(queue_.depth(), 30U) << "ten a second";
  for (int i = 100; i < 200; ++i) queue_.add({"", std::to_string(i)});
  EXPECT_EQ(queue_.depth(), 130U);
  executor_.advance(seconds(1));
  EXPECT_EQ(queue_.depth(), 140U);
}

net::Task<Result<void>> take_into(WorkQueue* queue, std::vector<std::string>* names) {
  for (;;) {
    MS_CO_TRY(const Lease lease, co_await queue->next());
    names->push_back(lease.key().name);
  }
}

TEST_F(WorkQueueTest, NextWaitsForAKey) {
  std::vector<std::string> names;
  net::TaskGroup group(executor_);
  group.spawn(take_into(&queue_, &names));
  executor_.run_ready();
  EXPECT_THAT(names, IsEmpty());
  queue_.add({"", "a"});
  queue_.add_after({"", "b"}, seconds(1));
  executor_.run_ready();
  EXPECT_THAT(names, ElementsAre("a"));
  executor_.advance(seconds(1));
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST_F(WorkQueueTest, NextEndsWithTheReasonOfItsScope) {
  std::vector<std::string> names;
  const auto late =
      executor_.run(net::with_timeout(seconds(1), "waiting for work", take_into(&queue_, &names)));
  EXPECT_EQ(late.error().code(), Code::kTimeout);
  net::CancelScope scope;
  scope.cancel();
  queue_.add({"", "a"});
  EXPECT_EQ(executor_.run(queue_.next(), &scope).error().code(), Code::kCancelled);
  EXPECT_EQ(queue_.depth(), 1U) << "a cancelled worker takes nothing";
}

TEST_F(WorkQueueTest, AKeyIsNotLostWhenTheWorkerThatWasCalledForItIsCancelledOrDestroyed) {
  for (const bool destroyed : {false, true}) {
    std::vector<std::string> called;
    std::vector<std::string> other;
    auto first = std::make_unique<net::TaskGroup>(executor_);
    first->spawn(take_into(&queue_, &called));
    executor_.run_ready();
    net::TaskGroup second(executor_);
    second.spawn(take_into(&queue_, &other));
    executor_.run_ready();
    queue_.add({"", "a"});
    first->cancel();
    if (destroyed) first.reset();
    executor_.run_ready();
    EXPECT_THAT(called, IsEmpty());
    EXPECT_THAT(other, ElementsAre("a")) << destroyed;
  }
}

TEST_F(WorkQueueTest, ShutDownEndsEveryNextAndDropsWhatWaits) {
  std::vector<std::string> names;
  queue_.add({"", "held"});
  auto held = queue_.try_next();
  net::TaskGroup group(executor_);
  group.spawn(take_into(&queue_, &names));
  group.spawn(take_into(&queue_, &names));
  executor_.run_ready();
  queue_.add({"", "held"});
  queue_.add_after({"", "later"}, seconds(1));
  queue_.shut_down();
  queue_.add({"", "ignored"});
  queue_.add_backed_off({"", "ignored"});
  held.reset();
  const auto joined = executor_.run(group.join());
  EXPECT_EQ(joined.error().code(), Code::kCancelled);
  EXPECT_THAT(joined.error().message(), HasSubstr("shut down"));
  EXPECT_THAT(names, IsEmpty());
  EXPECT_EQ(queue_.depth() + queue_.delayed() + queue_.working(), 0U);
  EXPECT_EQ(executor_.run(queue_.next()).error().code(), Code::kCancelled);
}

TEST_F(WorkQueueTest, DrainingLetsTheLineFinishAndTakesNothingMore) {
  std::vector<std::string> names;
  queue_.add({"", "held"});
  auto held = queue_.try_next();
  queue_.add({"", "waiting"});
  queue_.add({"", "held"});
  queue_.add_after({"", "later"}, seconds(1));
  net::TaskGroup group(executor_);
  group.spawn(queue_.drain());
  executor_.run_ready();
  EXPECT_EQ(group.running(), 1U);
  queue_.add({"", "ignored"});
  net::TaskGroup workers(executor_);
  workers.spawn(take_into(&queue_, &names));
  executor_.advance(minutes(1));
  EXPECT_THAT(names, ElementsAre("waiting"));
  EXPECT_EQ(group.running(), 1U) << "a lease is still out";
  held.reset();
  EXPECT_TRUE(executor_.run(group.join()).has_value());
  EXPECT_THAT(names, ElementsAre("waiting", "held"));
  EXPECT_EQ(executor_.run(workers.join()).error().code(), Code::kCancelled);
}

TEST_F(WorkQueueTest, MetricsTellDepthAddsRetriesAndTimes) {
  queue_.add({"", "a"});
  queue_.add({"", "a"});
  queue_.add({"", "b"});
  queue_.add_backed_off({"", "c"});
  EXPECT_TRUE(has_line(R"(workqueue_depth{name="q"} 2)"));
  EXPECT_TRUE(has_line(R"(workqueue_adds_total{name="q"} 2)"));
  EXPECT_TRUE(has_line(R"(workqueue_retries_total{name="q"} 1)"));
  executor_.advance(seconds(2));
  {
    const auto a = queue_.try_next();
    executor_.advance(seconds(1));
    const auto b = queue_.try_next();
    executor_.advance(seconds(4));
    EXPECT_TRUE(has_line(R"(workqueue_depth{name="q"} 1)"));
    EXPECT_TRUE(has_line(R"(workqueue_queue_duration_seconds_sum{name="q"} 5)"));
    EXPECT_TRUE(has_line(R"(workqueue_unfinished_work_seconds{name="q"} 9)"));
    EXPECT_TRUE(has_line(R"(workqueue_longest_running_processor_seconds{name="q"} 5)"));
  }
  EXPECT_TRUE(has_line(R"(workqueue_work_duration_seconds_sum{name="q"} 9)"));
  EXPECT_TRUE(has_line(R"(workqueue_work_duration_seconds_count{name="q"} 2)"));
  EXPECT_TRUE(has_line(R"(workqueue_unfinished_work_seconds{name="q"} 0)"));
  EXPECT_TRUE(has_line(R"(workqueue_longest_running_processor_seconds{name="q"} 0)"));
}

// What the queue promises, said as simply as possible: a list of wishes, searched from end to end.
class Model {
 public:
  void want(int key, TimePoint now, Duration delay, Priority priority) {
    const auto found = wishes_.find(key);
    Wish wish{now + delay, priority, ++order_};
    if (found != wishes_.end()) {
      const Wish old = found->second;
      wish.due = std::min(wish.due, old.due);
      wish.priority = std::max(wish.priority, old.priority);
      if (wish.due == old.due && wish.priority == old.priority) return;
      // Once in line, a better priority only moves it to the end of a better line.
      if (old.in_line) wish = {old.due, wish.priority, order_, true};
    }
    wishes_[key] = wish;
    join_line(now);
  }
  // All that have become due join the line, earliest first.
  void join_line(TimePoint now) {
    for (;;) {
      auto first = wishes_.end();
      for (auto it = wishes_.begin(); it != wishes_.end(); ++it) {
        const Wish& wish = it->second;
        if (wish.in_line || wish.due > now || working_.contains(it->first)) continue;
        if (first == wishes_.end() ||
            std::pair(wish.due, wish.order) < std::pair(first->second.due, first->second.order)) {
          first = it;
        }
      }
      if (first == wishes_.end()) return;
      first->second.in_line = true;
      first->second.order = ++order_;
    }
  }
  std::optional<int> take() {
    std::map<Priority, int> heads;
    for (const auto& [key, wish] : wishes_) {
      if (!wish.in_line) continue;
      const auto head = heads.try_emplace(wish.priority, key).first;
      if (wish.order < wishes_.at(head->second).order) head->second = key;
    }
    if (heads.empty()) return std::nullopt;
    auto picked = std::find_if(heads.begin(), heads.end(),
                               [&](const auto& head) { return overtaken_[head.first] >= 8; });
    if (picked == heads.end()) picked = std::prev(heads.end());
    for (auto it = heads.begin(); it != picked; ++it) ++overtaken_[it->first];
    overtaken_[picked->first] = 0;
    wishes_.erase(picked->second);
    working_.insert(picked->second);
    return picked->second;
  }
  void done(int key, TimePoint now) {
    working_.erase(key);
    // It joins the delayed, if at all, only now.
    if (const auto wish = wishes_.find(key); wish != wishes_.end()) wish->second.order = ++order_;
    join_line(now);
  }

 private:
  struct Wish {
    TimePoint due;
    Priority priority;
    std::uint64_t order;
    bool in_line = false;
  };
  std::map<int, Wish> wishes_;
  std::set<int> working_;
  std::map<Priority, int> overtaken_;
  std::uint64_t order_ = 0;
};

TEST(WorkQueueProperty, AnySequenceOfCallsGivesTheKeysThatASimpleModelGives) {
  EXPECT_TRUE(rc::check([] {
    net::VirtualExecutor executor;
    Random random(1);
    WorkQueue queue(executor, random, {.name = "q"});
    Model model;
    std::vector<Lease> leases;
    const auto steps = *rc::gen::scale(4, rc::gen::arbitrary<std::vector<std::uint32_t>>());
    for (const std::uint32_t step : steps) {
      const int key = static_cast<int>(step / 8 % 12);
      const std::string name = std::to_string(key);
      const auto priority = static_cast<Priority>(step / 128 % 3);
      const Duration delay = milliseconds(step / 512 % 20);
      switch (step % 8) {
        case 0:
        case 1:
          queue.add({"ns", name}, priority);
          model.want(key, executor.now(), Duration::zero(), priority);
          break;
        case 2:
        case 3:
          queue.add_after({"ns", name}, delay, priority);
          model.want(key, executor.now(), delay, priority);
          break;
        case 4:
        case 5: {
          const auto expected = model.take();
          auto lease = queue.try_next();
          RC_ASSERT(lease.has_value() == expected.has_value());
          if (!lease) break;
          RC_ASSERT(lease->key() == Key("ns", std::to_string(*expected)));
          leases.push_back(*std::move(lease));
          break;
        }
        case 6: {
          if (leases.empty()) break;
          const auto which = static_cast<std::ptrdiff_t>(step / 8 % leases.size());
          const int done = std::stoi(leases[which].key().name);
          leases.erase(leases.begin() + which);
          model.done(done, executor.now());
          break;
        }
        default:
          executor.advance(delay);
          model.join_line(executor.now());
      }
    }
  }));
}

// Counts, per key, how often it was asked for and how much of that has been seen to.
struct Seen {
  std::map<std::string, int> asked;
  std::map<std::string, int> answered;
  std::set<std::string> busy;
  bool twice_at_once = false;
};

net::Task<Result<void>> slow_worker(WorkQueue* queue, Seen* seen, Random* random) {
  for (;;) {
    MS_CO_TRY(const Lease lease, co_await queue->next());
    const std::string name = lease.key().name;
    const int asked = seen->asked[name];
    if (!seen->busy.insert(name).second) seen->twice_at_once = true;
    const auto slept = co_await net::sleep(milliseconds(random->below(5)));
    seen->busy.erase(name);
    if (slept) seen->answered[name] = asked;
    MS_CO_CHECK(slept);
  }
}

TEST(WorkQueueProperty, EveryAddIsFollowedByWorkThatStartsAfterIt) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    net::VirtualExecutor executor;
    Random random(seed);
    WorkQueue queue(executor, random, {.name = "q"});
    Seen seen;
    net::TaskGroup workers(executor);
    for (int i = 0; i < 4; ++i) workers.spawn(slow_worker(&queue, &seen, &random));
    for (int i = 0; i < 200; ++i) {
      const std::string name = std::to_string(random.below(6));
      ++seen.asked[name];
      switch (random.below(3)) {
        case 0:
          queue.add({"", name}, static_cast<Priority>(random.below(3)));
          break;
        case 1:
          queue.add_after({"", name}, milliseconds(random.below(10)));
          break;
        default:
          queue.add_backed_off({"", name});
      }
      if (random.below(2) == 0) executor.advance(milliseconds(random.below(4)));
    }
    executor.advance(hours(1));
    RC_ASSERT(!seen.twice_at_once);
    RC_ASSERT(seen.answered == seen.asked);
    RC_ASSERT(queue.working() == 0U);
  }));
}

}  // namespace
}  // namespace mainspring::control
