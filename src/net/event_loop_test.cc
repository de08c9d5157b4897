#include "net/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <thread>
#include <vector>

#include "net/one_shot.h"
#include "net/run_blocking.h"
#include "net/signals.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using ::testing::ElementsAre;

Task<Result<int>> sleep_then(Duration delay, int value) {
  MS_CO_CHECK(co_await sleep(delay));
  co_return value;
}

TEST(EventLoop, DrivesATaskToItsEnd) {
  EventLoop loop;
  const TimePoint start = loop.now();
  EXPECT_EQ(loop.run(sleep_then(milliseconds(5), 7)), Result<int>(7));
  EXPECT_GE(loop.now() - start, milliseconds(5));
}

TEST(EventLoop, RunsOneTaskAfterAnother) {
  EventLoop loop;
  EXPECT_EQ(loop.run(sleep_then(Duration(0), 1)), Result<int>(1));
  EXPECT_EQ(loop.run(sleep_then(Duration(0), 2)), Result<int>(2));
}

TEST(EventLoop, NeverRunsAPostedActionInsideTheCall) {
  EventLoop loop;
  std::vector<int> order;
  loop.post([&] {
    loop.post([&] {
      order.push_back(2);
      loop.stop();
    });
    order.push_back(1);
  });
  loop.run();
  EXPECT_THAT(order, ElementsAre(1, 2));
}

TEST(EventLoop, TakesActionsFromManyThreads) {
  EventLoop loop;
  int count = 0;  // Touched by the loop's thread only.
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        loop.post([&] {
          if (++count == 4000) loop.stop();
        });
      }
    });
  }
  loop.run();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4000);
}

TEST(EventLoop, AStopFromAnotherThreadEndsTheTaskWithAnError) {
  EventLoop loop;
  std::thread stopper([&] { loop.stop(); });
  auto result = loop.run(sleep_then(hours(1), 7));
  stopper.join();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST(EventLoop, AStopBeforeRunIsNotLost) {
  EventLoop loop;
  loop.stop();
  loop.run();
}

TEST(EventLoop, RunsTimersInTheOrderOfTheirTimes) {
  EventLoop loop;
  std::vector<int> order;
  const TimePoint now = loop.now();
  loop.run_at(now + milliseconds(3), [&] {
    order.push_back(3);
    loop.stop();
  });
  loop.run_at(now + milliseconds(1), [&] { order.push_back(1); });
  const auto dropped = loop.run_at(now + milliseconds(2), [&] { order.push_back(2); });
  loop.drop_timer(dropped);
  loop.run();
  EXPECT_THAT(order, ElementsAre(1, 3));
}

TEST(EventLoop, AnEarlierTimerIsNotHeldUpByALaterOneAddedFirst) {
  EventLoop loop;
  bool late = false;
  loop.run_at(loop.now() + hours(1), [&] { late = true; });
  loop.run_at(loop.now() + milliseconds(1), [&] { loop.stop(); });
  loop.run();
  EXPECT_FALSE(late);
}

TEST(EventLoopAtScale, FiftyThousandSleepersAllWake) {
  EventLoop loop;
  TaskGroup group(loop);
  int awake = 0;
  auto sleeper = [](int i, int* count) -> Task<Result<void>> {
    MS_CO_CHECK(co_await sleep(microseconds(i % 1000)));
    ++*count;
    co_return Result<void>();
  };
  for (int i = 0; i < 50'000; ++i) group.spawn(sleeper(i, &awake));
  auto join = [](TaskGroup* all) -> Task<Result<void>> { co_return co_await all->join(); };
  EXPECT_TRUE(loop.run(join(&group)).has_value());
  EXPECT_EQ(awake, 50'000);
}

TEST(RunBlocking, RunsOnAnotherThreadAndAnswersOnTheLoop) {
  EventLoop loop;
  auto ask = []() -> Task<Result<bool>> {
    const auto own = std::this_thread::get_id();
    auto where = [] { return Result<std::thread::id>(std::this_thread::get_id()); };
    MS_CO_TRY(const std::thread::id other, co_await run_blocking(where));
    co_return other != own&& std::this_thread::get_id() == own;
  };
  EXPECT_EQ(loop.run(ask()), Result<bool>(true));
}

TEST(RunBlocking, PassesErrorsOn) {
  EventLoop loop;
  auto broken = []() -> Result<void> { return fail(Code::kNotFound, "no such thing"); };
  auto result = loop.run(run_blocking(broken));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kNotFound);
}

TEST(RunBlocking, ManyAtOnceAllEnd) {
  EventLoop loop;
  TaskGroup group(loop);
  std::atomic<int> ran = 0;
  auto one = [](std::atomic<int>* count) -> Task<Result<void>> {
    auto work = [count]() -> Result<void> {
      ++*count;
      return {};
    };
    co_return co_await run_blocking(work);
  };
  for (int i = 0; i < 200; ++i) group.spawn(one(&ran));
  auto join = [](TaskGroup* all) -> Task<Result<void>> { co_return co_await all->join(); };
  EXPECT_TRUE(loop.run(join(&group)).has_value());
  EXPECT_EQ(ran, 200);
}

TEST(RunBlocking, ACancelledWaitDoesNotWaitForTheWork) {
  EventLoop loop;
  auto gate = std::make_shared<std::atomic<bool>>(false);
  auto stuck = [gate]() -> Result<void> {
    while (!*gate) std::this_thread::yield();
    return {};
  };
  auto result = loop.run(with_timeout(milliseconds(5), "the work", run_blocking(stuck)));
  *gate = true;
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTimeout);
}

TEST(Signals, ArriveAsValuesInOrderAlsoBeforeAnybodyAsks) {
  EventLoop loop;
  Signals signals(loop, {SIGUSR1, SIGUSR2});
  ::raise(SIGUSR1);
  EXPECT_EQ(loop.run(signals.next()), Result<int>(SIGUSR1));
  ::raise(SIGUSR2);
  EXPECT_EQ(loop.run(signals.next()), Result<int>(SIGUSR2));
}

TEST(Signals, WaitingForOneCanTimeOut) {
  EventLoop loop;
  Signals signals(loop, {SIGUSR1});
  auto result = loop.run(with_timeout(milliseconds(1), "the signal", signals.next()));
  EXPECT_EQ(result.error().code(), Code::kTimeout);
  ::raise(SIGUSR1);
  EXPECT_EQ(loop.run(signals.next()), Result<int>(SIGUSR1));
}

}  // namespace
}  // namespace mainspring::net
