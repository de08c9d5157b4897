#include "control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

using net::Task;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

struct Thing {
  std::string ns;
  std::string name;
  int value = 0;
  KeyView key() const { return {ns, name}; }
  bool operator==(const Thing&) const = default;
};

std::shared_ptr<const Thing> thing(std::string name, int value = 0) {
  return std::make_shared<const Thing>(Thing{"ns", std::move(name), value});
}

class ControllerTest : public testing::Test {
 protected:
  // What a reconcile does with a key; by name, else at once successful.
  struct Behaviour {
    Duration takes = Duration::zero();
    bool deaf = false;                     // Does not hear that it is cancelled.
    std::vector<Result<Requeue>> results;  // The last one again and again.
  };

  static Task<Result<Requeue>> reconcile(ControllerTest* test, Key key) {
    Behaviour& behaviour = test->behaviours_[key.name];
    test->started_.push_back(key.name);
    test->most_at_once_ = std::max(test->most_at_once_, ++test->at_once_);
    if (behaviour.takes > Duration::zero()) {
      net::CancelScope nobody;
      auto sleep = net::sleep(behaviour.takes);
      const auto slept =
          behaviour.deaf ? co_await std::move(sleep).in(nobody) : co_await std::move(sleep);
      --test->at_once_;
      if (!slept) {
        test->cut_off_.push_back(key.name);
        co_return fail(Error(slept.error()).with_context("reading " + key.name));
      }
    } else {
      --test->at_once_;
    }
    test->finished_.push_back(key.name);
    if (behaviour.results.empty()) co_return Requeue{};
    const Result<Requeue> result = behaviour.results.front();
    if (behaviour.results.size() > 1) behaviour.results.erase(behaviour.results.begin());
    co_return result;
  }

  Controller::Options options() {
    Controller::Options options;
    options.name = "thing";
    options.reconcile = [this](Key key) { return reconcile(this, std::move(key)); };
    options.queue.backoff = {seconds(1), minutes(1), 2.0, 0.0};
    options.log = Logger({&executor_.clock(), sink_, LogFormat::kText, LogLevel::kDebug});
    options.metrics = &metrics_;
    options.health = &health_;
    return options;
  }
  void start(Controller::Options options) {
    controller_.emplace(executor_, random_, std::move(options));
    controller_->watch(store_);
    group_.spawn(controller_->run());
    executor_.run_ready();
  }
  void start() { start(options()); }
  // The first filling of the store.
  void fill(const std::vector<std::string>& names) {
    store_.begin_replace();
    for (const auto& name : names) store_.put(thing(name));
    store_.end_replace();
    executor_.run_ready();
  }
  std::string live() const { return health_.report(HealthKind::kLive).to_text(); }
  bool has_line(const std::string& line) const {
    return ("\n" + metrics_.to_text()).find("\n" + line + "\n") != std::string::npos;
  }

  net::VirtualExecutor executor_;
  Random random_{7};
  Metrics metrics_;
  Health health_{executor_.clock()};
  std::shared_ptr<MemoryLogSink> sink_ = std::make_shared<MemoryLogSink>();
  std::map<std::string, Behaviour> behaviours_;
  std::vector<std::string> started_;
  std::vector<std::string> finished_;
  std::vector<std::string> cut_off_;
  int at_once_ = 0;
  int most_at_once_ = 0;
  Store<Thing> store_;
  std::optional<Controller> controller_;
  net::TaskGroup group_{executor_};
};

TEST_F(ControllerTest, NothingIsReconciledBeforeTheStoresAreSynced) {
  Store<Thing> other;
  controller_.emplace(executor_, random_, options());
  controller_->watch(store_);
  controller_->wait_for(other);
  group_.spawn(controller_->run());
  executor_.run_ready();
  EXPECT_THAT(live(), HasSubstr("[!]controller thing: waits until 2 of its stores are up to date"));
  fill({"a", "b"});
  executor_.advance(minutes(1));
  EXPECT_THAT(started_, IsEmpty());
  other.begin_replace();
  other.end_replace();
  executor_.run_ready();
  EXPECT_THAT(started_, UnorderedElementsAre("a", "b"));
  EXPECT_THAT(live(), HasSubstr("[+]controller thing ok"));
}

TEST_F(ControllerTest, NothingIsReconciledBeforeDoubtfulStoresAreConfirmed) {
  controller_.emplace(executor_, random_, options());
  controller_->watch(store_);
  fill({"a"});
  store_.doubt();
  group_.spawn(controller_->run());
  executor_.advance(minutes(1));
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_THAT(live(), HasSubstr("[!]controller thing: waits until 1 of its stores are up to date"));
  store_.confirm();
  executor_.run_ready();
  EXPECT_THAT(started_, UnorderedElementsAre("a"));
}

TEST_F(ControllerTest, AChangeIsReconciledAndAnEqualObjectIsNot) {
  start();
  fill({"a"});
  started_.clear();
  store_.put(thing("a", 1));
  executor_.run_ready();
  EXPECT_THAT(started_, ElementsAre("a"));
  store_.put(thing("a", 1));
  executor_.run_ready();
  EXPECT_THAT(started_, SizeIs(1));
  store_.erase({"ns", "a"});
  executor_.run_ready();
  EXPECT_THAT(started_, ElementsAre("a", "a")) << "a deletion is a change";
}

TEST_F(ControllerTest, AMappingFunctionSaysWhichKeysAChangeConcerns) {
  Store<Thing> children;
  controller_.emplace(executor_, random_, options());
  controller_->watch(children, [](const auto& before, const auto& after, Controller& controller) {
    controller.enqueue({"ns", "parent-of-" + (after ? *after : *before).name});
  });
  children.begin_replace();
  children.put(thing("x"));
  children.end_replace();
  group_.spawn(controller_->run());
  executor_.run_ready();
  EXPECT_THAT(started_, ElementsAre("parent-of-x"));
}

TEST_F(ControllerTest, WhatChangesOvertakesWhatWasFoundAtTheStart) {
  for (const char* name : {"a", "b", "c"}) behaviours_[name].takes = seconds(1);
  start();
  fill({"a", "b", "c"});
  store_.put(thing("new"));
  executor_.advance(minutes(1));
  EXPECT_THAT(started_, SizeIs(4));
  EXPECT_EQ(started_[1], "new");
}

TEST_F(ControllerTest, WorkersRunSideBySideUpToTheirNumber) {
  auto with = options();
  with.workers = 3;
  start(std::move(with));
  std::vector<std::string> names;
  for (int i = 0; i < 10; ++i) {
    names.push_back(std::to_string(i));
    behaviours_[names.back()].takes = seconds(1);
  }
  fill(names);
  EXPECT_TRUE(has_line(R"(controller_runtime_active_workers{controller="thing"} 3)"));
  EXPECT_TRUE(has_line(R"(controller_runtime_max_concurrent_reconciles{controller="thing"} 3)"));
  executor_.advance(seconds(4));
  EXPECT_THAT(finished_, SizeIs(10));
  EXPECT_EQ(most_at_once_, 3);
  EXPECT_TRUE(has_line(R"(controller_runtime_active_workers{controller="thing"} 0)"));
  EXPECT_TRUE(
      has_line(R"(controller_runtime_reconcile_total{controller="thing",result="success"} 10)"));
  EXPECT_TRUE(has_line(R"(controller_runtime_reconcile_time_seconds_sum{controller="thing"} 10)"));
}

TEST_F(ControllerTest, ALongLineOfQuickReconcilesLeavesRoomForTheRestOfTheLoop) {
  start();
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back(std::to_string(i));
  std::size_t done_when_called = 0;
  store_.begin_replace();
  for (const auto& name : names) store_.put(thing(name));
  store_.end_replace();
  executor_.post([&] { executor_.post([&] { done_when_called = finished_.size(); }); });
  executor_.run_ready();
  EXPECT_LT(done_when_called, 10U);
  EXPECT_THAT(finished_, SizeIs(100));
}

TEST_F(ControllerTest, AFailureIsLoggedWithItsContextAndTriedAgainWithAGrowingDelay) {
  const Error error = Error(Code::kTransient, "connection refused").with_context("creating pod x");
  behaviours_["a"].results = {fail(error), fail(error), Requeue{}};
  start();
  fill({"a"});
  EXPECT_THAT(sink_->lines().back(),
              AllOf(HasSubstr("reconcile failed"), HasSubstr("controller=thing"), HasSubstr("ns/a"),
                    HasSubstr("creating pod x: connection refused")));
  executor_.advance(milliseconds(999));
  EXPECT_THAT(started_, SizeIs(1));
  executor_.advance(milliseconds(1));
  EXPECT_THAT(started_, SizeIs(2));
  executor_.advance(milliseconds(1'999));
  EXPECT_THAT(started_, SizeIs(2));
  EXPECT_EQ(controller_->queue().retries({"ns", "a"}), 2);
  executor_.advance(hours(1));
  EXPECT_THAT(started_, SizeIs(3));
  EXPECT_EQ(controller_->queue().retries({"ns", "a"}), 0) << "a success makes good";
  EXPECT_TRUE(
      has_line(R"(controller_runtime_reconcile_total{controller="thing",result="error"} 2)"));
  EXPECT_TRUE(has_line(R"(controller_runtime_reconcile_errors_total{controller="thing"} 2)"));
  EXPECT_TRUE(has_line(R"(workqueue_retries_total{name="thing"} 2)"));
}

TEST_F(ControllerTest, AConflictIsWorthAWarningOnlyWhereItGoesOn) {
  behaviours_["a"].results = {fail(Code::kConflict, "the object has been modified")};
  start();
  fill({"a"});
  const auto warned = [this] {
    const auto lines = sink_->lines();
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("reconcile failed") != std::string::npos &&
             line.find("WARN") != std::string::npos;
    });
  };
  executor_.advance(seconds(3));
  EXPECT_EQ(started_, (std::vector<std::string>{"a", "a", "a"}));
  EXPECT_FALSE(warned());
  executor_.advance(seconds(60));
  EXPECT_TRUE(warned());
}

TEST_F(ControllerTest, ARetryWaitsAsLongAsTheOtherSideAsked) {
  behaviours_["a"].results = {
      fail(Error(Code::kThrottled, "too many requests").with_retry_after(seconds(17))), Requeue{}};
  start();
  fill({"a"});
  executor_.advance(milliseconds(16'999));
  EXPECT_THAT(started_, SizeIs(1));
  executor_.advance(milliseconds(1));
  EXPECT_THAT(started_, SizeIs(2));
}

TEST_F(ControllerTest, WhatWouldFailAgainIsTriedSlowlyUnlessSomethingChanges) {
  behaviours_["a"].results = {fail(Code::kForbidden, "may not create pods"),
                              fail(Code::kForbidden, "may not create pods"), Requeue{}};
  start();
  fill({"a"});
  executor_.advance(milliseconds(29'999));
  EXPECT_THAT(started_, SizeIs(1));
  store_.put(thing("a", 1));
  executor_.run_ready();
  EXPECT_THAT(started_, SizeIs(2)) << "a change does not wait for the retry";
  executor_.advance(seconds(30));
  EXPECT_THAT(started_, SizeIs(3));
}

TEST_F(ControllerTest, AKeyMayAskToBeLookedAtAgain) {
  behaviours_["after"].results = {Requeue{minutes(5)}, Requeue{}};
  behaviours_["soon"].results = {Requeue{Duration::zero()}, Requeue{}};
  start();
  fill({"after", "soon"});
  started_.clear();
  executor_.advance(seconds(1));
  EXPECT_THAT(started_, ElementsAre("soon"));
  executor_.advance(seconds(298));
  EXPECT_THAT(started_, SizeIs(1));
  executor_.advance(seconds(1));
  EXPECT_THAT(started_, ElementsAre("soon", "after"));
  for (const char* line :
       {R"(controller_runtime_reconcile_total{controller="thing",result="requeue"} 1)",
        R"(controller_runtime_reconcile_total{controller="thing",result="requeue_after"} 1)",
        R"(controller_runtime_reconcile_total{controller="thing",result="success"} 2)"}) {
    EXPECT_TRUE(has_line(line)) << line;
  }
}

TEST_F(ControllerTest, AReconcileIsCancelledAtItsDeadlineAndTriedAgain) {
  behaviours_["slow"].takes = hours(1);
  start();
  fill({"slow", "other"});
  executor_.advance(minutes(2));
  EXPECT_THAT(cut_off_, ElementsAre("slow"));
  EXPECT_THAT(finished_, ElementsAre("other")) << "the worker went on with the next key";
  EXPECT_THAT(sink_->lines().back(),
              HasSubstr("reading slow: the reconcile took longer than its deadline of 2m0s"));
  behaviours_["slow"].takes = seconds(1);
  executor_.advance(seconds(2));
  EXPECT_THAT(finished_, ElementsAre("other", "slow"));
  EXPECT_TRUE(has_line(R"(controller_runtime_reconcile_timeouts_total{controller="thing"} 1)"));
}

TEST_F(ControllerTest, AStuckKeyIsNamedInHealthAndCountedButDoesNotFailTheCheck) {
  behaviours_["bad"].results = {fail(Code::kTransient, "connection refused")};
  start();
  fill({"bad", "good"});
  executor_.advance(minutes(9));
  EXPECT_THAT(live(), HasSubstr("[+]controller thing ok"));
  executor_.advance(minutes(3));
  EXPECT_THAT(live(), HasSubstr("[!]controller thing: key ns/bad has made no progress since "));
  EXPECT_THAT(live(), AllOf(HasSubstr("connection refused"), Not(HasSubstr("ns/good"))));
  EXPECT_TRUE(health_.report(HealthKind::kLive).ok);
  EXPECT_TRUE(has_line(R"(mainspring_stuck_keys{controller="thing"} 1)"));
  behaviours_["bad"].results.clear();
  executor_.advance(minutes(3));
  EXPECT_THAT(live(), HasSubstr("[+]controller thing ok"));
  EXPECT_TRUE(has_line(R"(mainspring_stuck_keys{controller="thing"} 0)"));
}

TEST_F(ControllerTest, TheCheckFailsWhenEveryWorkerIsHeldByARunThatDoesNotEnd) {
  auto with = options();
  with.workers = 2;
  behaviours_["a"] = {hours(2), true, {}};
  behaviours_["b"] = {hours(2), true, {}};
  start(std::move(with));
  fill({"a"});
  executor_.advance(minutes(11));
  EXPECT_TRUE(health_.report(HealthKind::kLive).ok) << "one worker still works";
  EXPECT_THAT(live(), HasSubstr("key ns/a has made no progress"));
  store_.put(thing("b"));
  executor_.advance(minutes(11));
  EXPECT_FALSE(health_.report(HealthKind::kLive).ok);
  executor_.advance(hours(2));
  EXPECT_TRUE(health_.report(HealthKind::kLive).ok) << "they ended after all";
}

TEST_F(ControllerTest, AtRestNoTimerRuns) {
  start();
  fill({"a", "b"});
  executor_.advance(minutes(10));
  EXPECT_FALSE(executor_.step());
}

TEST_F(ControllerTest, WhatIsInFlightWhenRunIsCancelledMayFinishAndNothingElseStarts) {
  behaviours_["a"].takes = behaviours_["b"].takes = seconds(15);
  start();
  fill({"a", "b"});
  const TimePoint before = executor_.now();
  group_.cancel(Error(Code::kCancelled, "SIGTERM"));
  const auto ended = executor_.run(group_.join());
  EXPECT_EQ(ended.error(), Error(Code::kCancelled, "SIGTERM"));
  EXPECT_EQ(executor_.now() - before, seconds(15)) << "no longer than needed";
  EXPECT_THAT(finished_, SizeIs(1));
  EXPECT_THAT(started_, SizeIs(1));
}

TEST_F(ControllerTest, WhatDoesNotFinishInTheGraceTimeIsCancelledAndIsNotAnError) {
  behaviours_["a"].takes = seconds(100);
  start();
  fill({"a"});
  const TimePoint before = executor_.now();
  group_.cancel();
  EXPECT_EQ(executor_.run(group_.join()).error().code(), Code::kCancelled);
  EXPECT_EQ(executor_.now() - before, seconds(20));
  EXPECT_THAT(cut_off_, ElementsAre("a"));
  EXPECT_TRUE(has_line(R"(controller_runtime_reconcile_errors_total{controller="thing"} 0)"));
}

TEST_F(ControllerTest, WhatDoesNotHearThatItIsCancelledIsAbandoned) {
  behaviours_["a"] = {hours(100), true, {}};
  start();
  fill({"a"});
  const TimePoint before = executor_.now();
  group_.cancel();
  EXPECT_EQ(executor_.run(group_.join()).error().code(), Code::kCancelled);
  EXPECT_EQ(executor_.now() - before, seconds(25));
  EXPECT_THAT(sink_->lines().back(), HasSubstr("abandons its workers"));
}

TEST_F(ControllerTest, RunCancelledBeforeTheStoresAreSyncedEndsAtOnce) {
  start();
  group_.cancel();
  EXPECT_EQ(executor_.run(group_.join()).error().code(), Code::kCancelled);
  EXPECT_THAT(started_, IsEmpty());
  EXPECT_FALSE(executor_.step());
}

}  // namespace
}  // namespace mainspring::control
