#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace mainspring {
namespace {

TEST(ManualClock, StandsStillUntilItIsMoved) {
  ManualClock clock(WallTime(seconds(100)));
  const TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  EXPECT_EQ(clock.wall_now(), WallTime(seconds(100)));
  clock.advance(milliseconds(1500));
  EXPECT_EQ(clock.now() - start, milliseconds(1500));
  EXPECT_EQ(clock.wall_now(), WallTime(milliseconds(101'500)));
}

TEST(ManualClock, IsReadWhileAnotherThreadMovesIt) {
  ManualClock clock;
  const TimePoint start = clock.now();
  std::thread mover([&] {
    for (int i = 0; i < 1000; ++i) clock.advance(nanoseconds(1));
  });
  TimePoint last = start;
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = clock.now();
    EXPECT_GE(now, last);
    last = now;
  }
  mover.join();
  EXPECT_EQ(clock.now() - start, nanoseconds(1000));
}

TEST(SystemClock, NeverRunsBackwards) {
  const SystemClock clock;
  TimePoint last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const TimePoint now = clock.now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(SystemClock, TellsTheTimeOfThisCentury) {
  EXPECT_GT(SystemClock().wall_now(), WallTime(seconds(1'700'000'000)));
}

}  // namespace
}  // namespace mainspring
