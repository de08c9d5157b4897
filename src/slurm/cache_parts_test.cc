// The parts of the change cache that decide, one by one: pace, suspicion, ledger, freshness.
#include <gtest/gtest.h>

#include "slurm/freshness.h"
#include "slurm/ledger.h"
#include "slurm/pace.h"
#include "slurm/suspicion.h"

namespace mainspring::slurm {
namespace {

using Verdict = Suspicion::Verdict;
constexpr TimePoint kStart{seconds(1000)};

std::vector<std::string> numbered(int from, int to) {
  std::vector<std::string> names;
  for (int i = from; i < to; ++i) names.push_back("n" + std::to_string(i));
  return names;
}

Pace after_cost(Duration cost) {
  Pace pace({.pace = seconds(10), .share = 0.01, .hurry_share = 0.1});
  pace.began(kStart);
  pace.spent(cost);
  pace.succeeded(kStart);
  return pace;
}

TEST(Pace, IsDueAtOnceInTheBeginning) { EXPECT_EQ(Pace({}).due(), TimePoint()); }

TEST(Pace, WaitsLongerAfterDearerAnswers) {
  EXPECT_EQ(after_cost(milliseconds(1)).due(), kStart + seconds(10));
  EXPECT_EQ(after_cost(seconds(1)).due(), kStart + seconds(100));
  EXPECT_EQ(after_cost(hours(1)).due(), kStart + minutes(10));
}

TEST(Pace, GivesALargerShareToWhoeverIsInAHurryAndNoMore) {
  Pace pace = after_cost(seconds(1));
  pace.hurry(kStart + seconds(1));
  EXPECT_EQ(pace.due(), kStart + seconds(10));
  pace.began(kStart + seconds(10));
  pace.succeeded(kStart + seconds(10));
  EXPECT_EQ(pace.due(), kStart + seconds(100)) << "what was cheap does not pay for what was dear";
}

TEST(Pace, SavesUpWhatIsNotTakenAndTakesItAtOnce) {
  Pace pace({.pace = seconds(1), .share = 0.05, .savings = minutes(1)});
  const auto ask = [&pace](TimePoint at, Duration cost) {
    pace.began(at);
    pace.spent(cost);
    pace.succeeded(at);
    return pace.due() - at;
  };
  EXPECT_EQ(ask(kStart, milliseconds(5)), seconds(1));
  // A minute of a twentieth is three seconds. They are taken one after the other, and then it is
  // each answer's own price again.
  TimePoint now = kStart + hours(1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(ask(now, seconds(1)), seconds(1)) << i;
    now += seconds(1);
  }
  EXPECT_EQ(ask(now, seconds(1)), seconds(17));
  EXPECT_EQ(pace.interval(), seconds(17));
  now = pace.due();
  EXPECT_EQ(ask(now, seconds(1)), seconds(20));
  EXPECT_EQ(ask(now + seconds(20), milliseconds(5)), seconds(1));
}

TEST(Pace, DoesNotAddUpWhatWasTakenInAHurry) {
  Pace pace({.pace = seconds(1), .share = 0.05, .hurry_share = 0.5});
  TimePoint now = kStart;
  for (int i = 0; i < 100; ++i) {
    pace.hurry(now);
    pace.began(now);
    pace.spent(seconds(1));
    pace.succeeded(now);
    now += seconds(2);
  }
  EXPECT_LE(pace.due(), now + seconds(20));
}

TEST(Pace, RemembersAHurryThatCameWhileItRan) {
  Pace pace = after_cost(milliseconds(1));
  pace.began(kStart + seconds(10));
  pace.hurry(kStart + seconds(11));
  pace.succeeded(kStart + seconds(12));
  EXPECT_EQ(pace.due(), kStart + seconds(12));
}

TEST(Pace, LetsNoHurryShortenTheWaitAfterAFailure) {
  Random random(1);
  Pace pace(
      {.pace = seconds(10), .backoff = {.first = seconds(4), .max = seconds(8), .jitter = 0}});
  pace.began(kStart);
  pace.failed(kStart, Error(Code::kTransient, "refused"), random);
  pace.hurry(kStart);
  EXPECT_EQ(pace.due(), kStart + seconds(4));
  EXPECT_EQ(pace.why(), "refused");
  pace.failed(kStart, Error(Code::kThrottled, "wait").with_retry_after(minutes(1)), random);
  EXPECT_EQ(pace.due(), kStart + minutes(1));
  EXPECT_EQ(pace.why(), "refused");
}

TEST(Pace, HoldsAsOfTheBeginningOfTheLastGoodTurn) {
  Random random(1);
  Pace pace({});
  EXPECT_FALSE(pace.confirmed());
  pace.began(kStart);
  pace.succeeded(kStart + seconds(5));
  pace.began(kStart + seconds(6));
  pace.failed(kStart + seconds(7), Error(Code::kTransient, "refused"), random);
  EXPECT_EQ(pace.confirmed(), kStart);
}

TEST(ListIsCheaper, OnlyForManyAndBySum) {
  EXPECT_FALSE(list_is_cheaper(20, seconds(1), milliseconds(1)));
  EXPECT_FALSE(list_is_cheaper(1000, milliseconds(3), seconds(6)));
  EXPECT_TRUE(list_is_cheaper(3000, milliseconds(3), seconds(6)));
}

TEST(Suspicion, BelievesUsualLosses) {
  Suspicion suspicion({});
  EXPECT_EQ(suspicion.judge(1000, numbered(0, 100)), Verdict::kBelieve);
  EXPECT_EQ(suspicion.judge(20, numbered(0, 10)), Verdict::kBelieve);
  EXPECT_EQ(suspicion.judge(0, {}), Verdict::kBelieve);
}

TEST(Suspicion, DoesNotBelieveThatEverythingOrMuchIsGone) {
  EXPECT_EQ(Suspicion({}).judge(1, numbered(0, 1)), Verdict::kConfirm);
  EXPECT_EQ(Suspicion({}).judge(9, numbered(0, 5)), Verdict::kConfirm);
  EXPECT_EQ(Suspicion({}).judge(100, numbered(0, 11)), Verdict::kConfirm);
}

TEST(Suspicion, BelievesTheSecondOnlyIfSlurmctldWasWellInBetween) {
  Suspicion suspicion({});
  EXPECT_EQ(suspicion.judge(100, numbered(0, 90)), Verdict::kConfirm);
  EXPECT_EQ(suspicion.judge(100, numbered(0, 90)), Verdict::kConfirm);
  suspicion.vouch();
  EXPECT_EQ(suspicion.judge(100, numbered(0, 91)), Verdict::kBelieve);
}

TEST(Suspicion, DoesNotTakeADifferentLossForAConfirmation) {
  Suspicion suspicion({});
  EXPECT_EQ(suspicion.judge(100, numbered(0, 50)), Verdict::kConfirm);
  suspicion.vouch();
  EXPECT_EQ(suspicion.judge(100, numbered(40, 90)), Verdict::kConfirm);
}

TEST(Suspicion, AfterARestartEveryLossNeedsTheSameAnswerTwice) {
  Suspicion suspicion({});
  suspicion.restarted();
  EXPECT_EQ(suspicion.judge(100, numbered(0, 1)), Verdict::kConfirm);
  suspicion.vouch();
  EXPECT_EQ(suspicion.judge(100, numbered(0, 2)), Verdict::kConfirm);
  suspicion.vouch();
  EXPECT_EQ(suspicion.judge(100, numbered(0, 2)), Verdict::kBelieve);
  EXPECT_EQ(suspicion.judge(98, numbered(2, 3)), Verdict::kBelieve);
}

TEST(Ledger, AnAnswerIsNewerOnlyIfItsReadBeganAfterTheLastWasStored) {
  Ledger ledger;
  const auto early = ledger.begin();
  ledger.stored("a");
  const auto late = ledger.begin();
  EXPECT_FALSE(ledger.may_store(early, "a"));
  EXPECT_TRUE(ledger.may_store(early, "b"));
  EXPECT_TRUE(ledger.may_store(late, "a"));
}

TEST(Ledger, AListCountsForWhatItLacksToo) {
  Ledger ledger;
  const auto early = ledger.begin();
  ledger.stored_all();
  EXPECT_FALSE(ledger.may_store(early, "never seen"));
  EXPECT_TRUE(ledger.may_store(ledger.begin(), "never seen"));
}

TEST(Ledger, RemembersNothingThatNoReadUnderWayNeeds) {
  Ledger ledger;
  ledger.stored("a");
  EXPECT_EQ(ledger.remembered(), 0);
  {
    const auto list = ledger.begin();
    ledger.stored("a");
    ledger.stored("b");
    { const auto single = ledger.begin(); }
    EXPECT_EQ(ledger.remembered(), 2);
  }
  EXPECT_EQ(ledger.remembered(), 0);
}

TEST(Freshness, SaysWhatItKnows) {
  ManualClock clock;
  clock.advance(hours(1));
  const auto ago = [&](Duration age, Duration interval, std::string why) {
    return judge_freshness({clock.now() - age, interval, std::move(why)}, seconds(60), clock);
  };
  EXPECT_EQ(to_string(judge_freshness({.why = "refused"}, seconds(60), clock)),
            "never synced: refused");
  EXPECT_EQ(to_string(ago(milliseconds(1500), {}, "")), "fresh (1.5s)");
  EXPECT_TRUE(ago(seconds(59), {}, "refused").fresh());
  EXPECT_EQ(to_string(ago(seconds(61), minutes(5), "refused")),
            "stale since 2023-11-14T23:12:19Z: refused");
  EXPECT_TRUE(ago(minutes(14), minutes(5), "").fresh());
  EXPECT_EQ(ago(minutes(16), minutes(5), "").why, "not confirmed in time");
}

}  // namespace
}  // namespace mainspring::slurm
