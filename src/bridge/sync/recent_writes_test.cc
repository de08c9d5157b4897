#include "bridge/sync/recent_writes.h"

#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

const slurm::JobId kJob(7), kOther(8);

TEST(RecentWrites, APodKeepsTheNodeThatItsJobGaveIt) {
  RecentWrites recent;
  recent.give("a", kJob, "n1");
  EXPECT_EQ(recent.given("a", kJob), "n1");
  EXPECT_EQ(recent.given("a", kOther), "") << "another job has other nodes";
  EXPECT_EQ(recent.given("b", kJob), "");
  recent.shows_node("a");
  EXPECT_EQ(recent.given("a", kJob), "");
}

TEST(RecentWrites, OnlyWhatTheApiServerHasBoundIsBound) {
  RecentWrites recent;
  recent.bound("a");
  EXPECT_FALSE(recent.bound_for("a")) << "nobody gave it a node";
  recent.give("a", kJob, "n1");
  EXPECT_FALSE(recent.bound_for("a"));
  recent.bound("a");
  recent.give("a", kJob, "n1");
  EXPECT_EQ(recent.bound_for("a"), kJob) << "the same again is no news";
  recent.forget("a");
  EXPECT_FALSE(recent.bound_for("a"));
}

TEST(RecentWrites, TheStoreIsBelievedAgainAWhileAfterAPodWasLetGo) {
  RecentWrites recent;
  const TimePoint now{};
  recent.let_go("a", now);
  EXPECT_TRUE(recent.was_let_go("a", now + milliseconds(1)));
  EXPECT_FALSE(recent.was_let_go("b", now));
  EXPECT_FALSE(recent.was_let_go("a", now + RecentWrites::kAWhile));
}

TEST(RecentWrites, AGuardIsRememberedUntilItShows) {
  RecentWrites recent;
  recent.guarded("a", true);
  EXPECT_EQ(recent.is_guarded("a"), true);
  recent.guarded("a", false);
  recent.shows_guard("a", true);
  EXPECT_EQ(recent.is_guarded("a"), false) << "the store is still behind";
  recent.shows_guard("a", false);
  EXPECT_EQ(recent.is_guarded("a"), std::nullopt);
}

}  // namespace
}  // namespace mainspring::bridge
