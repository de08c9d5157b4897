#include "slurm/governor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <optional>
#include <vector>

#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"
#include "slurm/connection.h"
#include "slurm/scripted_transport.h"

namespace mainspring::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Outcome = Governor::Outcome;

// What a test sees of one request.
struct Seen {
  bool began = false;
  bool ended = false;
  std::optional<Error> refused;
};

// What stands for slurmrestd: takes its time, and counts.
struct Server {
  Governor* governor;
  std::size_t under_way = 0;
  std::size_t most_under_way = 0;
  std::vector<int> order;
};

net::Task<Result<void>> request(Server* server, Lane lane, Duration time, Outcome outcome, int name,
                                Seen* seen) {
  auto permit = co_await server->governor->enter(lane);
  if (!permit) {
    seen->refused = permit.error();
    co_return Result<void>();
  }
  seen->began = true;
  server->order.push_back(name);
  ++server->under_way;
  server->most_under_way = std::max(server->most_under_way, server->under_way);
  auto slept = co_await net::sleep(time);
  --server->under_way;
  MS_CO_CHECK(std::move(slept));
  permit->done(outcome);
  seen->ended = true;
  co_return Result<void>();
}

class GovernorTest : public ::testing::Test {
 protected:
  void make(GovernorOptions options) {
    governor_.emplace(executor_, random_, options);
    server_.governor = &*governor_;
  }
  Seen& start(Outcome outcome = Outcome::kGood, Duration time = milliseconds(10),
              Lane lane = Lane::kNormal, int name = 0) {
    Seen& seen = seen_.emplace_back();
    group_.spawn(request(&server_, lane, time, outcome, name, &seen));
    return seen;
  }
  // One after the other.
  void run(std::size_t count, Outcome outcome) {
    for (std::size_t i = 0; i < count; ++i) {
      start(outcome);
      executor_.advance(milliseconds(10));
    }
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  std::deque<Seen> seen_;
  std::optional<Governor> governor_;
  Server server_{};
  net::TaskGroup group_{executor_};
};

TEST_F(GovernorTest, LetsAsManyThroughAsItsLimitSays) {
  make({.most_at_once = 3});
  for (int i = 0; i < 10; ++i) start();
  executor_.run_ready();
  EXPECT_EQ(server_.under_way, 3U);
  EXPECT_EQ(governor_->waiting(), 7U);
  executor_.advance(seconds(1));
  EXPECT_EQ(server_.most_under_way, 3U);
  EXPECT_EQ(server_.order.size(), 10U);
  EXPECT_EQ(governor_->under_way(), 0U);
}

TEST_F(GovernorTest, KeepsToItsRate) {
  make({.most_at_once = 1000, .most_per_second = 100});
  for (int i = 0; i < 200; ++i) start();
  executor_.run_ready();
  EXPECT_EQ(server_.order.size(), 10U);  // A burst of a tenth of a second.
  executor_.advance(seconds(1));
  EXPECT_EQ(server_.order.size(), 110U);
  executor_.advance(seconds(1));
  EXPECT_EQ(server_.order.size(), 200U);
}

TEST_F(GovernorTest, TheRateShrinksAndRecoversWithTheLimit) {
  make({.most_at_once = 16, .most_per_second = 160});
  run(10, Outcome::kSlow);
  executor_.advance(seconds(2));
  ASSERT_EQ(governor_->limit(), 1U);
  const std::size_t before = server_.order.size();
  for (int i = 0; i < 100; ++i) start(Outcome::kSlow, milliseconds(1));
  executor_.advance(seconds(2));
  EXPECT_LE(server_.order.size() - before, 22U);
  EXPECT_GE(server_.order.size() - before, 18U);
  executor_.advance(seconds(10));
  run(300, Outcome::kGood);
  executor_.advance(seconds(10));
  const std::size_t later = server_.order.size();
  for (int i = 0; i < 400; ++i) start(Outcome::kGood, milliseconds(1));
  executor_.advance(seconds(1));
  EXPECT_GE(server_.order.size() - later, 160U);
}

TEST_F(GovernorTest, SeveralAreToldApartInMetrics) {
  Metrics metrics;
  make({.metrics = &metrics, .cluster = "slurm/a"});
  const Governor other(executor_, random_,
                       {.most_at_once = 3, .metrics = &metrics, .cluster = "slurm/b"});
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_limit{cluster=\"slurm/a\"} 16"));
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_limit{cluster=\"slurm/b\"} 3"));
}

TEST_F(GovernorTest, AConnectionShowsItsBudgetBesideItsCache) {
  Metrics metrics;
  ScriptedTransport transport;
  Client::Options client;
  client.server = *http::Url::parse("http://127.0.0.1:6820");
  CacheOptions cache;
  cache.metrics = &metrics;
  const Connection made(transport, executor_, random_, std::move(client), std::move(cache));
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_limit 16"));
}

TEST_F(GovernorTest, UrgentCallsGoFirst) {
  make({.most_at_once = 1});
  start();
  executor_.run_ready();
  start(Outcome::kGood, milliseconds(10), Lane::kBackground, 3);
  start(Outcome::kGood, milliseconds(10), Lane::kNormal, 2);
  start(Outcome::kGood, milliseconds(10), Lane::kUrgent, 1);
  executor_.advance(seconds(1));
  EXPECT_THAT(server_.order, ElementsAre(0, 1, 2, 3));
}

TEST_F(GovernorTest, AFloodOfUrgentCallsDoesNotKeepTheOthersOut) {
  make({.most_at_once = 1, .most_per_second = 10'000});
  start();
  executor_.run_ready();
  start(Outcome::kGood, milliseconds(10), Lane::kBackground, 3);
  start(Outcome::kGood, milliseconds(10), Lane::kNormal, 2);
  for (int i = 0; i < 100; ++i) start(Outcome::kGood, milliseconds(10), Lane::kUrgent, 1);
  executor_.advance(milliseconds(200));
  EXPECT_EQ(std::count(server_.order.begin(), server_.order.end(), 3), 1);
  EXPECT_EQ(std::count(server_.order.begin(), server_.order.end(), 2), 1);
}

TEST_F(GovernorTest, TroubleHalvesTheLimitOnceForWhatWasUnderWayTogether) {
  make({.most_at_once = 16});
  for (int i = 0; i < 16; ++i) start(Outcome::kSlow);
  executor_.advance(milliseconds(10));
  EXPECT_EQ(governor_->limit(), 8U);
  run(1, Outcome::kSlow);
  EXPECT_EQ(governor_->limit(), 4U);
  run(10, Outcome::kSlow);
  EXPECT_EQ(governor_->limit(), 1U);
}

TEST_F(GovernorTest, GoodAnswersBringTheLimitBack) {
  make({.most_at_once = 16});
  run(10, Outcome::kSlow);
  executor_.advance(seconds(2));  // The rate is low as well.
  run(1, Outcome::kGood);
  EXPECT_EQ(governor_->limit(), 2U);
  run(300, Outcome::kGood);
  executor_.advance(seconds(10));
  EXPECT_EQ(governor_->limit(), 16U);
}

TEST_F(GovernorTest, FailuresInARowOpenTheCircuit) {
  make({.failures_to_open = 3, .open_for = seconds(2)});
  run(2, Outcome::kFailed);
  run(1, Outcome::kGood);
  run(2, Outcome::kFailed);
  EXPECT_FALSE(governor_->open());
  run(1, Outcome::kFailed);
  EXPECT_TRUE(governor_->open());

  Seen& refused = start();
  executor_.run_ready();
  ASSERT_TRUE(refused.refused);
  EXPECT_EQ(refused.refused->code(), Code::kTransient);
  EXPECT_THAT(refused.refused->message(), HasSubstr("failed 3 times in a row"));
  ASSERT_TRUE(refused.refused->retry_after());
  EXPECT_LE(*refused.refused->retry_after(), seconds(2));
}

TEST_F(GovernorTest, OpeningFailsWhoeverWaits) {
  make({.most_at_once = 1, .failures_to_open = 1});
  start(Outcome::kFailed);
  executor_.run_ready();
  Seen& waiting = start();
  executor_.advance(milliseconds(10));
  ASSERT_TRUE(waiting.refused);
  EXPECT_EQ(waiting.refused->code(), Code::kTransient);
  EXPECT_EQ(governor_->under_way(), 0U);
  EXPECT_EQ(governor_->waiting(), 0U);
}

TEST_F(GovernorTest, OneProbeAtATimeFindsOutWhetherTheServerIsBack) {
  make({.failures_to_open = 1, .open_for = seconds(1), .open_at_most = seconds(30)});
  run(1, Outcome::kFailed);
  executor_.advance(seconds(1));
  Seen& probe = start(Outcome::kFailed);
  Seen& second = start();
  executor_.run_ready();
  EXPECT_TRUE(probe.began);
  EXPECT_TRUE(second.refused);
  executor_.advance(milliseconds(10));
  EXPECT_TRUE(governor_->open());

  // Twice as long, less what chance takes away.
  executor_.advance(milliseconds(1'300));
  start();
  executor_.run_ready();
  EXPECT_TRUE(seen_.back().refused);
  executor_.advance(milliseconds(700));
  Seen& good = start();
  executor_.advance(milliseconds(10));
  EXPECT_TRUE(good.ended);
  EXPECT_FALSE(governor_->open());
  EXPECT_EQ(governor_->limit(), 2U) << "it begins again with little";
}

TEST_F(GovernorTest, AnotherServerIsTriedAtOnce) {
  make({.failures_to_open = 1, .open_for = minutes(1), .open_at_most = minutes(1)});
  run(1, Outcome::kFailed);
  start();
  executor_.run_ready();
  ASSERT_TRUE(seen_.back().refused);
  governor_->moved();
  Seen& probe = start();
  executor_.advance(milliseconds(10));
  EXPECT_TRUE(probe.ended);
  EXPECT_FALSE(governor_->open());
}

TEST_F(GovernorTest, AProbeThatIsGivenUpLeavesRoomForAnother) {
  make({.failures_to_open = 1, .open_for = seconds(1)});
  run(1, Outcome::kFailed);
  executor_.advance(seconds(1));
  {
    auto permit = executor_.run(governor_->enter(Lane::kNormal));
    ASSERT_TRUE(permit);
    EXPECT_FALSE(executor_.run(governor_->enter(Lane::kNormal)));
  }
  EXPECT_TRUE(executor_.run(governor_->enter(Lane::kNormal)));
  EXPECT_TRUE(governor_->open());
}

TEST_F(GovernorTest, AnswersFromBeforeTheCircuitOpenedDoNotCloseIt) {
  make({.failures_to_open = 1});
  start(Outcome::kGood, milliseconds(50));
  start(Outcome::kFailed, milliseconds(10));
  executor_.advance(milliseconds(60));
  EXPECT_TRUE(governor_->open());
}

TEST_F(GovernorTest, WhoStopsWaitingLeavesTheLine) {
  make({.most_at_once = 1});
  start();
  executor_.run_ready();
  net::CancelScope scope;
  {
    net::TaskGroup others(executor_, &scope);
    Seen gone[3];
    for (Seen& each : gone) {
      others.spawn(request(&server_, Lane::kUrgent, milliseconds(10), Outcome::kGood, 9, &each));
    }
    executor_.run_ready();
    EXPECT_EQ(governor_->waiting(), 3U);
    scope.cancel();
    executor_.run_ready();
    EXPECT_EQ(governor_->waiting(), 0U);
    EXPECT_EQ(gone[0].refused->code(), Code::kCancelled);
  }
  Seen& next = start();
  executor_.advance(milliseconds(20));
  EXPECT_TRUE(next.ended);
  EXPECT_EQ(governor_->under_way(), 0U);
}

TEST_F(GovernorTest, AWaiterThatIsDestroyedAsItIsCalledGivesItsPlaceBack) {
  make({.most_at_once = 1});
  auto first = executor_.run(governor_->enter(Lane::kNormal));
  auto others = std::make_unique<net::TaskGroup>(executor_);
  Seen gone;
  others->spawn(request(&server_, Lane::kNormal, milliseconds(10), Outcome::kGood, 9, &gone));
  executor_.run_ready();
  first->done(Outcome::kGood);  // Calls the waiter, which has not woken up yet.
  EXPECT_EQ(governor_->under_way(), 1U);
  others.reset();
  executor_.run_ready();
  EXPECT_FALSE(gone.began);
  EXPECT_EQ(governor_->under_way(), 0U);
}

TEST_F(GovernorTest, PermitsAndWaitersMayOutliveIt) {
  make({.most_at_once = 1});
  auto permit = executor_.run(governor_->enter(Lane::kNormal));
  ASSERT_TRUE(permit);
  Seen& waiting = start();
  executor_.run_ready();
  governor_.reset();
  executor_.run_ready();
  ASSERT_TRUE(waiting.refused);
  EXPECT_EQ(waiting.refused->code(), Code::kCancelled);
  permit->done(Outcome::kGood);
}

TEST_F(GovernorTest, TellsHowItIs) {
  Metrics metrics;
  make({.most_at_once = 2, .failures_to_open = 1, .metrics = &metrics});
  for (int i = 0; i < 3; ++i) start();
  executor_.run_ready();
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_inflight 2"));
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_waiting 1"));
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_limit 2"));
  executor_.advance(seconds(1));
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_throttled_seconds_total 0.01"));
  run(1, Outcome::kFailed);
  EXPECT_THAT(metrics.to_text(), HasSubstr("slurm_client_circuit_open 1"));
}

// Whatever comes, in whatever order: never more under way than allowed, everybody gets an answer,
// and after the trouble everything goes through again.
TEST(GovernorProperty, HoldsItsLimitAndRecovers) {
  EXPECT_TRUE(rc::check([] {
    net::VirtualExecutor executor;
    Random random(*rc::gen::arbitrary<std::uint64_t>());
    const auto most = *rc::gen::inRange<std::size_t>(1, 8);
    Governor governor(executor, random, {.most_at_once = most, .most_per_second = 50});
    Server server{.governor = &governor};
    std::deque<Seen> seen;
    net::TaskGroup group(executor);
    net::CancelScope scope;
    net::TaskGroup fickle(executor, &scope);
    const auto count = *rc::gen::inRange(1, 120);
    for (int i = 0; i < count; ++i) {
      const auto lane = static_cast<Lane>(random.below(3));
      const auto outcome = static_cast<Outcome>(random.below(3));
      auto task =
          request(&server, lane, milliseconds(random.below(400)), outcome, i, &seen.emplace_back());
      (random.below(4) == 0 ? fickle : group).spawn(std::move(task));
      executor.advance(milliseconds(random.below(60)));
      RC_ASSERT(server.under_way <= most);
      RC_ASSERT(governor.under_way() >= server.under_way);
    }
    scope.cancel();
    executor.advance(minutes(5));
    RC_ASSERT(group.running() == 0 && fickle.running() == 0);
    RC_ASSERT(governor.under_way() == 0U && governor.waiting() == 0U);
    RC_ASSERT(server.most_under_way <= most);
    for (int i = 0; i < 200; ++i) {
      Seen& good = seen.emplace_back();
      group.spawn(request(&server, Lane::kBackground, milliseconds(1), Outcome::kGood, i, &good));
      executor.advance(milliseconds(100));
      RC_ASSERT(good.ended);
    }
    RC_ASSERT(governor.limit() == most);
    RC_ASSERT(!governor.open());
  }));
}

}  // namespace
}  // namespace mainspring::slurm
