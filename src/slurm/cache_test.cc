#include "slurm/cache.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/task_group.h"
#include "slurm/model_slurm.h"

namespace mainspring::slurm {
namespace {

using testing::HasSubstr;
using Base = JobState::Base;
const NodeState kIdle = NodeState::Base::kIdle;

class CacheTest : public testing::Test {
 protected:
  void start(CacheOptions options = {}) {
    cache_ = std::make_unique<Cache>(executor_, random_, slurm_, std::move(options));
    cache_->jobs().add_handler([this](const auto& before, const auto& after) {
      told_.push_back(fmt::format("{}:{}>{}", (after ? after : before)->id.text(),
                                  before ? before->state.to_string() : "-",
                                  after ? after->state.to_string() : "-"));
    });
    running_.emplace(executor_);
    running_->spawn(cache_->run());
    executor_.advance(seconds(1));
    told_.clear();
  }
  std::string state(std::uint32_t id) {
    const auto job = cache_->jobs().get({{}, JobId(id).text()});
    return job ? job->state.to_string() : "none";
  }
  // How long it takes from the change until the waiting task goes on.
  void wait_in_background(std::uint32_t id, Duration limit = minutes(5)) {
    running_->spawn(note_when_left(this, JobId(id), limit));
    executor_.run_ready();
  }
  static Task<Result<void>> note_when_left(CacheTest* test, JobId id, Duration limit) {
    test->waited_ = co_await test->cache_->wait_for_job(
        id, [](const Job& job) { return job.state.has_left_queue(); }, limit);
    test->waited_at_ = test->executor_.now();
    co_return Result<void>();
  }
  static Task<Result<void>> note_node(CacheTest* test, std::string name) {
    test->waited_node_ = co_await test->cache_->wait_for_node(
        std::move(name), [](const Node& node) { return node.state.is_drained(); }, minutes(5));
    test->waited_at_ = test->executor_.now();
    co_return Result<void>();
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ModelSlurm slurm_{executor_, random_};
  std::vector<std::string> told_;
  std::optional<Result<std::shared_ptr<const Job>>> waited_;
  std::optional<Result<std::shared_ptr<const Node>>> waited_node_;
  TimePoint waited_at_;
  std::unique_ptr<Cache> cache_;
  std::optional<net::TaskGroup> running_;
};

TEST_F(CacheTest, SaysThatItKnowsNothingUntilTheFirstList) {
  slurm_.away = true;
  start();
  EXPECT_EQ(cache_->jobs_freshness().kind, Freshness::Kind::kNeverSynced);
  EXPECT_THAT(to_string(cache_->nodes_freshness()), HasSubstr("never synced: slurmctld is away"));
  slurm_.away = false;
  slurm_.put_job(1, Base::kPending);
  executor_.advance(minutes(2));
  EXPECT_TRUE(cache_->jobs_freshness().fresh());
  EXPECT_EQ(state(1), "PENDING");
}

TEST_F(CacheTest, IsDoubtedUntilListsThatBeginAfterwardsHaveCome) {
  slurm_.faults.list_latency = seconds(4);
  start({.pulse_pace = hours(9)});
  for (std::uint32_t i = 1; i < 20; ++i) {
    executor_.advance(minutes(5));
    ASSERT_TRUE(cache_->jobs().current());
    // A list is under way that may have been made before what comes now, and the next is not due.
    cache_->refresh_lists();
    executor_.advance(milliseconds(600) * i);
    slurm_.put_job(i, Base::kPending);
    slurm_.put_node(fmt::format("n{}", i), kIdle);
    cache_->renew();
    EXPECT_FALSE(cache_->jobs().current());
    const TimePoint began = executor_.now();
    executor_.run_ready();
    while (!cache_->jobs().current() || !cache_->nodes().current()) ASSERT_TRUE(executor_.step());
    EXPECT_EQ(state(i), "PENDING") << i;
    EXPECT_NE(cache_->nodes().get({}, fmt::format("n{}", i)), nullptr);
    EXPECT_LE(executor_.now() - began, seconds(24));  // The end of one list, and a second.
  }
  executor_.advance(minutes(1));
  EXPECT_TRUE(cache_->partitions().current());
  EXPECT_TRUE(cache_->reservations().current());
}

TEST_F(CacheTest, StaysInDoubtWhileSlurmDoesNotAnswer) {
  start();
  slurm_.away = true;
  cache_->renew();
  executor_.advance(minutes(5));
  EXPECT_FALSE(cache_->jobs().current());
  slurm_.away = false;
  executor_.advance(minutes(1));
  EXPECT_TRUE(cache_->jobs().current());
}

TEST_F(CacheTest, IsNearlySilentAtRest) {
  for (std::uint32_t id = 1; id < 50; ++id) slurm_.put_job(id, Base::kRunning, "n1");
  slurm_.put_node("n1", kIdle);
  start();
  executor_.advance(minutes(1));
  const int before = slurm_.total();
  executor_.advance(hours(1));
  EXPECT_LT(slurm_.total() - before, 720);
  EXPECT_EQ(slurm_.requests["job"], 0);
}

TEST_F(CacheTest, ListsNodesThatKeepChangingWithinAShareOfTheirOwn) {
  const auto lists = [&](std::optional<double> share) {
    slurm_.faults.list_latency = milliseconds(100);
    start({.nodes_pace = milliseconds(100), .share = 0.01, .nodes_share = share});
    const int before = slurm_.requests["nodes"];
    for (int second = 0; second < 60; ++second) {
      slurm_.put_node("n1", second % 2 == 0 ? kIdle : NodeState::Base::kMixed);
      executor_.advance(seconds(1));
    }
    running_.reset();
    return slurm_.requests["nodes"] - before;
  };
  const int calm = lists(std::nullopt);
  EXPECT_LT(calm, 15);
  EXPECT_GT(lists(0.5), 4 * calm);
}

TEST_F(CacheTest, ReadsOnlyTheJobsWhoseStateChanged) {
  for (std::uint32_t id = 1; id < 50; ++id) slurm_.put_job(id, Base::kPending);
  start();
  slurm_.put_job(7, Base::kRunning, "n1");
  slurm_.put_job(50, Base::kPending);
  executor_.advance(seconds(15));
  EXPECT_THAT(told_, testing::UnorderedElementsAre("7:PENDING>RUNNING", "50:->PENDING"));
  EXPECT_EQ(slurm_.requests["job"], 2);
  EXPECT_EQ(slurm_.requests["jobs"], 1);
}

TEST_F(CacheTest, FindsNewJobsByThePulseAndNotByLookingAfterOwnOnes) {
  constexpr std::uint32_t kMany = 250;  // So many that the states of all are asked for.
  for (std::uint32_t id = 1; id <= kMany; ++id) slurm_.put_job(id, Base::kRunning, "n1");
  start({.owned_pace = milliseconds(200), .pulse_pace = minutes(1), .share = 0.1});
  std::vector<Cache::Interest> own;
  for (std::uint32_t id = 1; id <= kMany; ++id) own.push_back(cache_->follow(JobId(id)));
  slurm_.requests.clear();
  slurm_.put_job(kMany + 1, Base::kRunning, "n1");
  slurm_.put_job(7, Base::kCompleted);
  executor_.advance(seconds(5));
  EXPECT_GT(slurm_.requests["pulse"], 10);
  EXPECT_EQ(state(7), "COMPLETED");
  EXPECT_EQ(slurm_.requests["job"], 1);
  executor_.advance(minutes(1));
  EXPECT_EQ(state(kMany + 1), "RUNNING");
}

TEST_F(CacheTest, ReadsAJobOnceThatSomebodyIsReadingWhileThePulseComesAcrossIt) {
  constexpr std::uint32_t kJobs = 100;
  slurm_.faults.latency = milliseconds(200);
  start({.pulse_pace = milliseconds(100), .share = 1, .nodes_follow_jobs = false});
  slurm_.requests.clear();
  for (std::uint32_t id = 1; id <= kJobs; ++id) {
    slurm_.put_job(id, Base::kRunning, "n1");
    ASSERT_TRUE(executor_.run(cache_->refresh_job(JobId(id))));
  }
  EXPECT_GT(slurm_.requests["pulse"], 10);
  EXPECT_EQ(slurm_.requests["job"], static_cast<int>(kJobs));
}

TEST_F(CacheTest, ReadsNoNodeForAJobWhereListsAreOftenEnough) {
  for (const bool follow : {true, false}) {
    slurm_.put_node("n1", kIdle);
    slurm_.put_job(1, Base::kPending);
    start({.nodes_follow_jobs = follow});
    slurm_.requests.clear();
    slurm_.put_job(1, Base::kRunning, "n1");
    executor_.advance(seconds(15));
    EXPECT_EQ(state(1), "RUNNING");
    EXPECT_EQ(slurm_.requests["node"], follow ? 1 : 0);
    running_.reset();
  }
}

TEST_F(CacheTest, GivesJobsThatNobodyCaresAboutTheirNewStateWithoutARead) {
  slurm_.put_job(1, Base::kPending);
  CacheOptions options;
  options.cares_about = [](const JobPulse&) { return false; };
  start(std::move(options));
  slurm_.put_job(1, Base::kRunning);
  executor_.advance(seconds(15));
  EXPECT_EQ(state(1), "RUNNING");
  EXPECT_EQ(slurm_.requests["job"], 0);
}

TEST_F(CacheTest, SeesWhatSomebodyWaitsForWithinThePace) {
  slurm_.faults.latency = milliseconds(5);
  slurm_.put_job(1, Base::kPending);
  start();
  for (int round = 0; round < 20; ++round) {
    slurm_.put_job(1, Base::kPending);
    ASSERT_TRUE(executor_.run(cache_->refresh_job(JobId(1))));
    wait_in_background(1);
    executor_.advance(milliseconds(700 + round * 13));
    const TimePoint changed = executor_.now();
    slurm_.put_job(1, Base::kRunning);
    executor_.advance(seconds(1));
    ASSERT_TRUE(waited_ && *waited_ && **waited_);
    // One pace, and two answers of at most two ways each, of which one may have been under way.
    EXPECT_LE(waited_at_ - changed, milliseconds(150 + 6 * 5));
    waited_.reset();
  }
}

TEST_F(CacheTest, AsksForAllThatIsWaitedForInOneRequest) {
  for (std::uint32_t id = 1; id <= 500; ++id) slurm_.put_job(id, Base::kPending);
  start();
  for (std::uint32_t id = 1; id <= 150; ++id) wait_in_background(id, minutes(1));
  executor_.advance(seconds(15));
  EXPECT_EQ(slurm_.bulk_ids, 150);
  EXPECT_LE(slurm_.requests["states"], 102);
  EXPECT_EQ(slurm_.requests["job"], 0);
}

TEST_F(CacheTest, LeavesSlurmAloneWhenNobodyWaitsAnyMore) {
  slurm_.put_job(1, Base::kPending);
  start();
  wait_in_background(1, seconds(2));
  executor_.advance(seconds(3));
  ASSERT_TRUE(waited_);
  EXPECT_EQ(waited_->error().code(), Code::kTimeout);
  const int before = slurm_.requests["states"];
  executor_.advance(minutes(1));
  EXPECT_EQ(slurm_.requests["states"], before);
}

TEST_F(CacheTest, ReadsAJobAtOnceThatIsNotKnownYetAndSaysWhenThereIsNone) {
  start();
  slurm_.put_job(9, Base::kRunning);
  wait_in_background(9);
  executor_.advance(milliseconds(1));
  EXPECT_TRUE(waited_ && *waited_ && **waited_);
  waited_.reset();
  wait_in_background(10);
  executor_.advance(milliseconds(1));
  ASSERT_TRUE(waited_ && *waited_);
  EXPECT_EQ(**waited_, nullptr);
}

TEST_F(CacheTest, WaitsForNodesAlsoForOneThatIsNotThereYet) {
  start();
  running_->spawn(note_node(this, "n1"));
  executor_.advance(seconds(1));
  slurm_.put_node("n1", {NodeState::Base::kIdle, {NodeState::Flag::kDrain}});
  const TimePoint changed = executor_.now();
  executor_.advance(seconds(1));
  ASSERT_TRUE(waited_node_ && *waited_node_ && **waited_node_);
  EXPECT_LE(waited_at_ - changed, milliseconds(150));
}

TEST_F(CacheTest, FollowsOwnedJobsClosely) {
  slurm_.put_job(1, Base::kPending);
  start();
  auto interest = cache_->follow(JobId(1));
  executor_.advance(seconds(3));
  slurm_.put_job(1, Base::kRunning);
  executor_.advance(seconds(2));
  EXPECT_EQ(state(1), "RUNNING");
  interest = {};
  const int before = slurm_.requests["states"];
  executor_.advance(minutes(1));
  EXPECT_EQ(slurm_.requests["states"], before);
}

TEST_F(CacheTest, ShowsTheWriterWhatItWrote) {
  slurm_.put_job(1, Base::kPending);
  start();
  slurm_.comment_job(1, "gang-1");
  const auto job = executor_.run(cache_->refresh_job(JobId(1)));
  ASSERT_TRUE(job && *job);
  EXPECT_EQ((*job)->admin_comment, "gang-1");
  EXPECT_EQ(cache_->jobs_by_admin_comment("gang-1").size(), 1);
  slurm_.remove_job(1);
  EXPECT_EQ(*executor_.run(cache_->refresh_job(JobId(1))), nullptr);
}

TEST_F(CacheTest, KnowsEveryJobOnANodeWhenAskedToLookAgain) {
  slurm_.put_job(1, Base::kPending);
  start();
  slurm_.put_job(1, Base::kSuspended, "n1");
  slurm_.put_job(2, Base::kRunning, "n[1-2]");
  slurm_.put_job(3, Base::kCompleted, "n1");
  EXPECT_EQ(cache_->jobs_on_node("n1").size(), 0);
  ASSERT_TRUE(executor_.run(cache_->refresh_jobs()));
  EXPECT_EQ(cache_->jobs_on_node("n1").size(), 2);
  slurm_.away = true;
  EXPECT_FALSE(executor_.run(cache_->refresh_jobs()));
}

TEST_F(CacheTest, ReadsTheNodesOfAJobThatStarts) {
  slurm_.put_node("n1", kIdle, {"main"});
  slurm_.put_job(1, Base::kPending);
  start();
  slurm_.put_node("n1", NodeState::Base::kAllocated, {"main"});
  slurm_.put_job(1, Base::kRunning, "n1");
  ASSERT_TRUE(executor_.run(cache_->refresh_job(JobId(1))));
  executor_.advance(milliseconds(1));
  EXPECT_EQ(cache_->nodes_in_partition("main").at(0)->state.base(), NodeState::Base::kAllocated);
  EXPECT_EQ(cache_->jobs_on_node("n1").size(), 1);
}

TEST_F(CacheTest, KnowsNoNodeInAPartitionThatWasDeleted) {
  slurm_.put_partition("main");
  slurm_.put_partition("spare");
  slurm_.put_node("n1", kIdle, {"main", "spare"});
  start();
  executor_.advance(minutes(2));  // Until the list of nodes is called unchanged.
  slurm_.remove_partition("spare");
  cache_->refresh_lists();
  executor_.advance(minutes(3));
  EXPECT_THAT(cache_->nodes_in_partition("spare"), testing::IsEmpty());
  EXPECT_EQ(cache_->nodes_in_partition("main").size(), 1U);
}

TEST_F(CacheTest, LooksAtOnceWhereAPushPointsAndAgainUntilSlurmSaysTheSame) {
  slurm_.put_job(1, Base::kPending);
  start();
  cache_->pushed({.kind = PushedEvent::Kind::kJobStarted, .job = JobId(1)});
  executor_.run_ready();
  EXPECT_EQ(state(1), "PENDING");
  slurm_.put_job(1, Base::kRunning);
  executor_.advance(milliseconds(200));
  EXPECT_EQ(state(1), "RUNNING");
}

TEST_F(CacheTest, BuriesNobodyOnOneAnswer) {
  for (std::uint32_t id = 1; id <= 40; ++id) slurm_.put_job(id, Base::kRunning);
  for (int i = 0; i < 40; ++i) slurm_.put_node(fmt::format("n{}", i), kIdle);
  start();
  slurm_.faults.lies = 100;
  slurm_.put_node("n1", kIdle);
  executor_.advance(minutes(5));
  EXPECT_EQ(cache_->jobs().size(), 40);
  EXPECT_EQ(cache_->nodes().size(), 40);
  EXPECT_THAT(told_, testing::IsEmpty());
}

TEST_F(CacheTest, BelievesThatAllAreGoneWhenAskedTwice) {
  for (std::uint32_t id = 1; id <= 40; ++id) slurm_.put_job(id, Base::kRunning);
  start();
  for (std::uint32_t id = 1; id <= 40; ++id) slurm_.remove_job(id);
  executor_.advance(seconds(15));
  EXPECT_EQ(cache_->jobs().size(), 0);
  EXPECT_EQ(told_.size(), 40);
}

TEST_F(CacheTest, ARestartLeadsToNewListsAndToNoEvents) {
  for (std::uint32_t id = 1; id <= 40; ++id) slurm_.put_job(id, Base::kRunning);
  start();
  executor_.advance(minutes(1));
  const int before = slurm_.requests["jobs"];
  slurm_.restart();
  executor_.advance(minutes(2));
  EXPECT_EQ(slurm_.requests["jobs"], before + 1);
  EXPECT_THAT(told_, testing::IsEmpty());
}

TEST_F(CacheTest, WhatAnotherServerCallsUnchangedIsNotTakenForWhatTheFirstHad) {
  slurm_.put_node("n1", kIdle);
  start();
  executor_.advance(minutes(1));
  slurm_.put_node("n2", kIdle);
  slurm_.changed_long_ago();
  executor_.advance(minutes(2));
  ASSERT_EQ(cache_->nodes().size(), 1U) << "it was not asked for what is old";
  cache_->moved();
  executor_.advance(seconds(5));
  EXPECT_EQ(cache_->nodes().size(), 2U);
  EXPECT_EQ(slurm_.requests["node"], 0);
}

TEST_F(CacheTest, AListThatIsOnItsWayFromTheServerBeforeDoesNotCountForTheNext) {
  // At every moment of a list.
  for (int after = 0; after < 60; ++after) {
    running_.reset();
    slurm_.faults.list_latency = {};
    slurm_.put_node("n1", kIdle);
    start({.nodes_pace = seconds(30), .share = 1});
    slurm_.faults.list_latency = seconds(20);
    slurm_.put_node("n1", kIdle);
    cache_->refresh_lists();
    executor_.advance(seconds(after));
    const std::string name = fmt::format("there-{}", after);
    slurm_.put_node(name, kIdle);
    slurm_.changed_long_ago();
    cache_->moved();
    executor_.advance(minutes(5));
    EXPECT_TRUE(cache_->nodes().get({}, name)) << after;
  }
}

TEST_F(CacheTest, AnotherServerIsAskedAtOnceHoweverLongTheFirstWasAway) {
  slurm_.put_node("n1", kIdle);
  slurm_.away = true;
  start();
  executor_.advance(minutes(10));
  slurm_.away = false;
  cache_->moved();
  executor_.advance(milliseconds(100));
  EXPECT_TRUE(cache_->nodes_freshness().fresh());
  EXPECT_EQ(cache_->nodes().size(), 1U);
}

TEST_F(CacheTest, OnlyWhatHasFailedIsTriedAgain) {
  slurm_.put_job(1, Base::kRunning);
  start();
  executor_.advance(minutes(1));
  const int before = slurm_.total();
  cache_->try_again();
  executor_.advance(milliseconds(100));
  EXPECT_EQ(slurm_.total(), before);
  slurm_.away = true;
  executor_.advance(minutes(10));
  slurm_.away = false;
  cache_->try_again();
  executor_.advance(milliseconds(100));
  EXPECT_TRUE(cache_->jobs_freshness().fresh());
  EXPECT_TRUE(cache_->nodes_freshness().fresh());
}

TEST_F(CacheTest, WhenOneThingIsAnsweredAgainAllThatFailedAreAskedFor) {
  slurm_.put_job(1, Base::kRunning, "n0");
  start({.owned_pace = seconds(1)});
  const Cache::Interest interest = cache_->follow(JobId(1));
  for (int i = 0; i < 10; ++i) {
    slurm_.away = true;
    executor_.advance(minutes(5));
    const std::string name = fmt::format("n{}", i);
    slurm_.put_node(name, kIdle);
    slurm_.away = false;
    // One is tried again every other second; the others would wait for up to half a minute.
    executor_.advance(seconds(2));
    EXPECT_TRUE(cache_->nodes().get({}, name)) << i;
    EXPECT_TRUE(cache_->partitions_freshness().fresh());
  }
}

TEST_F(CacheTest, AMoveBuriesNobodyOnOneAnswer) {
  for (std::uint32_t id = 1; id <= 40; ++id) slurm_.put_job(id, Base::kRunning);
  start();
  executor_.advance(minutes(1));
  slurm_.faults.lies = 100;  // Every other list lacks most.
  cache_->moved();
  executor_.advance(minutes(2));
  EXPECT_EQ(cache_->jobs().size(), 40U);
}

TEST_F(CacheTest, TurnsStaleWithAReasonAndComesBack) {
  slurm_.put_job(1, Base::kPending);
  start();
  slurm_.away = true;
  executor_.advance(minutes(3));
  EXPECT_EQ(cache_->jobs_freshness().kind, Freshness::Kind::kStale);
  EXPECT_THAT(cache_->nodes_freshness().why, HasSubstr("slurmctld is away"));
  EXPECT_EQ(state(1), "PENDING");
  slurm_.away = false;
  executor_.advance(minutes(1));
  EXPECT_TRUE(cache_->jobs_freshness().fresh());
  EXPECT_TRUE(cache_->nodes_freshness().fresh());
}

TEST_F(CacheTest, EndsWhenToldTo) {
  start();
  running_->cancel();
  const auto ended = executor_.run(running_->join());
  EXPECT_EQ(ended.error().code(), Code::kCancelled);
  EXPECT_EQ(executor_.run(cache_->refresh_job(JobId(1))).error().code(), Code::kCancelled);
}

TEST_F(CacheTest, CountsWhatItAsksAndTells) {
  Metrics metrics;
  slurm_.put_node("n1", kIdle);
  start({.metrics = &metrics});
  cache_->pushed({.kind = PushedEvent::Kind::kJobEnded, .job = JobId(1)});
  const std::string text = metrics.to_text();
  EXPECT_THAT(text, HasSubstr("slurm_cache_pushes_total 1"));
  EXPECT_THAT(text, HasSubstr(R"(slurm_cache_objects{kind="nodes"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(slurm_cache_requests_total{kind="nodes",result="ok"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(slurm_cache_age_seconds{kind="jobs"} 1)"));
  running_.reset();
  cache_.reset();
}

}  // namespace
}  // namespace mainspring::slurm
