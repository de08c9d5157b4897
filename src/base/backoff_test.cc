#include "base/backoff.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace mainspring {
namespace {

TEST(Backoff, DoublesUpToTheLimit) {
  Random random(1);
  Backoff backoff({.first = milliseconds(100), .max = milliseconds(500), .jitter = 0});
  EXPECT_EQ(backoff.next(random), milliseconds(100));
  EXPECT_EQ(backoff.next(random), milliseconds(200));
  EXPECT_EQ(backoff.next(random), milliseconds(400));
  EXPECT_EQ(backoff.next(random), milliseconds(500));
  EXPECT_EQ(backoff.next(random), milliseconds(500));
  EXPECT_EQ(backoff.attempts(), 5);
}

TEST(Backoff, StartsOverAfterReset) {
  Random random(1);
  Backoff backoff({.first = seconds(1), .jitter = 0});
  backoff.next(random);
  backoff.next(random);
  backoff.reset();
  EXPECT_EQ(backoff.attempts(), 0);
  EXPECT_EQ(backoff.next(random), seconds(1));
}

TEST(Backoff, JitterOnlyShortensAndVaries) {
  Random random(7);
  bool shorter = false;
  for (int i = 0; i < 100; ++i) {
    Backoff backoff({.first = seconds(10), .jitter = 0.5});
    const Duration delay = backoff.next(random);
    EXPECT_GE(delay, seconds(5));
    EXPECT_LE(delay, seconds(10));
    shorter |= delay < seconds(9);
  }
  EXPECT_TRUE(shorter);
}

TEST(Backoff, TheSameSeedGivesTheSameDelays) {
  Random one(42);
  Random two(42);
  Backoff a;
  Backoff b;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(a.next(one), b.next(two));
}

TEST(Backoff, NeverLeavesItsBoundsWhateverTheOptions) {
  EXPECT_TRUE(rc::check("0 <= delay <= max", [](std::int64_t first, std::int64_t max, double factor,
                                                double jitter, std::uint64_t seed) {
    Random random(seed);
    Backoff backoff({Duration(first), Duration(max), factor, jitter});
    const Duration limit = std::max({Duration(first), Duration(max), Duration::zero()});
    for (int i = 0; i < 100; ++i) {
      const Duration delay = backoff.next(random);
      RC_ASSERT(delay >= Duration::zero());
      RC_ASSERT(delay <= limit);
    }
  }));
}

TEST(Backoff, NonsenseOptionsBecomeTheNearestSense) {
  Random random(1);
  Backoff backoff({.first = seconds(2),
                   .max = seconds(1),
                   .factor = std::numeric_limits<double>::quiet_NaN(),
                   .jitter = -3});
  EXPECT_EQ(backoff.next(random), seconds(2));
  EXPECT_EQ(backoff.next(random), seconds(2));
}

}  // namespace
}  // namespace mainspring
