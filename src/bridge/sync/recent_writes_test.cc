#include "bridge/sync/recent_writes.h"

#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

const slurm::JobId kJob(7), kOther(8);
const TimePoint kStart{};

PodPtr pod_named(const char* uid) {
  auto pod = std::make_shared<kube::Pod>();
  pod->meta.uid = uid;
  return pod;
}

TEST(RecentWrites, APodKeepsTheNodeThatItsJobGaveIt) {
  RecentWrites recent;
  recent.give(pod_named("a"), kJob, "n1");
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
  recent.give(pod_named("a"), kJob, "n1");
  EXPECT_FALSE(recent.bound_for("a"));
  recent.bound("a");
  recent.give(pod_named("a"), kJob, "n1");
  EXPECT_EQ(recent.bound_for("a"), kJob) << "the same again is no news";
  recent.forget("a");
  EXPECT_FALSE(recent.bound_for("a"));
}

TEST(RecentWrites, APodMayBeWhereItWasSentUntilTheStoreShowsItOrAWhileHasPassed) {
  RecentWrites recent;
  const auto is_there = [&](TimePoint now) {
    const auto unseen = recent.unseen_on("n1", now);
    return !unseen.empty() && unseen.front().maybe_there;
  };
  recent.give(pod_named("a"), kJob, "n1");
  ASSERT_EQ(recent.unseen_on("n1", kStart).size(), 1) << "it is on its way";
  EXPECT_EQ(recent.unseen_on("n1", kStart).front().job, kJob);
  EXPECT_TRUE(recent.unseen_on("n2", kStart).empty());
  EXPECT_FALSE(is_there(kStart));
  recent.send("a", kStart);
  EXPECT_TRUE(is_there(kStart)) << "the answer may be lost";
  const TimePoint later = kStart + RecentWrites::kAWhile;
  EXPECT_FALSE(is_there(later));
  recent.bound("a");
  EXPECT_TRUE(is_there(later));
  recent.shows_node("a");
  EXPECT_TRUE(recent.unseen_on("n1", kStart).empty());
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

TEST(RecentWrites, WhoIsAboutToGetANodeIsExpectedThereForAWhile) {
  RecentWrites recent;
  const TimePoint now = kStart + hours(1);
  const PodPtr a = pod_named("a");
  const PodPtr b = pod_named("b");
  recent.reserve(a, "n1", now);
  recent.give(b, kJob, "n1");
  EXPECT_EQ(recent.expected_on("n1", now), std::vector{a}) << "b was not sent there";
  recent.send("b", now);
  recent.reserve(b, "n1", now);
  EXPECT_EQ(recent.expected_on("n1", now).size(), 2U) << "each once";
  EXPECT_TRUE(recent.expected_on("n2", now).empty());
  recent.bound("b");
  const TimePoint later = now + RecentWrites::kAWhile;
  EXPECT_EQ(recent.expected_on("n1", later), std::vector{b}) << "what is bound stays so";
  recent.shows_node("b");
  EXPECT_TRUE(recent.expected_on("n1", now).size() == 1);
}

}  // namespace
}  // namespace mainspring::bridge
