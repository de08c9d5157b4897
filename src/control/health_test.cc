#include "control/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;
using Line = Health::Line;

TEST(Health, ALiveCheckStartsWellAndAReadyOneDoesNot) {
  const ManualClock clock;
  Health health(clock);
  EXPECT_TRUE(health.report(HealthKind::kReady).ok);
  health.add("loop", HealthKind::kLive);
  health.add("caches", HealthKind::kReady);
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
  const auto ready = health.report(HealthKind::kReady);
  EXPECT_FALSE(ready.ok);
  EXPECT_THAT(ready.lines, ElementsAre(Line{"caches", HealthState::kFail, "not ready yet"}));
}

TEST(Health, OneFailingCheckFailsItsKindOnlyAndRecovers) {
  const ManualClock clock;
  Health health(clock);
  const Check loop = health.add("loop", HealthKind::kLive);
  const Check other = health.add("other", HealthKind::kLive);
  health.add("caches", HealthKind::kReady).ok();
  loop.fail("stands still");
  EXPECT_FALSE(health.report(HealthKind::kLive).ok);
  EXPECT_TRUE(health.report(HealthKind::kReady).ok);
  loop.ok();
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
  EXPECT_THAT(health.report(HealthKind::kLive).lines,
              ElementsAre(Line{"loop", HealthState::kOk, ""}, Line{"other", HealthState::kOk, ""}));
}

TEST(Health, AWarningIsShownAndFailsNothing) {
  const ManualClock clock;
  Health health(clock);
  health.add("a", HealthKind::kLive).warn("key x is stuck");
  health.add("b", HealthKind::kLive);
  EXPECT_EQ(health.report(HealthKind::kLive).to_text(),
            "[!]a: key x is stuck\n[+]b ok\ncheck passed\n");
  health.add("c", HealthKind::kLive).fail("gone");
  EXPECT_EQ(health.report(HealthKind::kLive).to_text(),
            "[!]a: key x is stuck\n[+]b ok\n[-]c failed: gone\ncheck failed\n");
}

TEST(Health, TheSameNameIsTheSameCheckWithinAKind) {
  const ManualClock clock;
  Health health(clock);
  health.add("a", HealthKind::kLive).fail("first");
  health.add("a", HealthKind::kLive).ok();
  health.add("a", HealthKind::kReady);
  EXPECT_THAT(health.report(HealthKind::kLive).lines, ElementsAre(Line{"a", HealthState::kOk, ""}));
}

TEST(Health, ACheckThatIsOkForAWhileFailsByItselfAfterwards) {
  ManualClock clock;
  Health health(clock);
  const Check check = health.add("loop", HealthKind::kLive);
  check.ok_for(seconds(10));
  clock.advance(seconds(10));
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
  clock.advance(seconds(5));
  EXPECT_THAT(health.report(HealthKind::kLive).lines,
              ElementsAre(Line{"loop", HealthState::kFail, "no sign of life for 15s"}));
  check.ok();
  clock.advance(hours(1));
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
}

TEST(Health, ACheckMayOutliveItsBoardAndAnEmptyOneDoesNothing) {
  const ManualClock clock;
  Check check;
  check.ok();
  check.ok_for(seconds(1));
  check.fail("nobody listens");
  {
    Health health(clock);
    check = health.add("loop", HealthKind::kLive);
  }
  check.fail("nobody listens");
}

TEST(Health, AHeartbeatKeepsTheCheckAliveAsLongAsTheLoopTurns) {
  net::VirtualExecutor executor;
  Health health(executor.clock());
  const Check check = health.add("control loop", HealthKind::kLive);
  net::TaskGroup group(executor);
  group.spawn(heartbeat(check, seconds(1), seconds(10)));
  executor.advance(minutes(5));
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
  group.cancel();
  executor.advance(minutes(5));
  EXPECT_TRUE(health.report(HealthKind::kLive).ok) << "a loop that was told to stop is not stuck";
}

TEST(Health, ALoopThatHangsMissesItsHeartbeat) {
  net::VirtualExecutor executor;
  // The serving thread's clock goes on while the control loop stands still.
  ManualClock clock;
  Health health(clock);
  net::TaskGroup group(executor);
  group.spawn(heartbeat(health.add("control loop", HealthKind::kLive), seconds(1), seconds(10)));
  executor.run_ready();
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
  clock.advance(seconds(11));
  EXPECT_FALSE(health.report(HealthKind::kLive).ok);
  executor.advance(seconds(1));
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
}

TEST(Health, OneThreadWritesWhileAnotherReads) {
  const SystemClock clock;
  Health health(clock);
  const Check check = health.add("loop", HealthKind::kLive);
  std::thread reader([&] {
    for (int i = 0; i < 2'000; ++i) EXPECT_EQ(health.report(HealthKind::kLive).lines.size(), 1U);
  });
  for (int i = 0; i < 2'000; ++i) {
    check.fail("x");
    check.ok_for(hours(1));
  }
  reader.join();
  EXPECT_TRUE(health.report(HealthKind::kLive).ok);
}

}  // namespace
}  // namespace mainspring::control
