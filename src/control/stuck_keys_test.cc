#include "control/stuck_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::control {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class StuckKeysTest : public testing::Test {
 protected:
  void fail_once(const Key& key, const std::string& why) {
    keys_.started(key);
    keys_.failed(key, Error(Code::kTransient, why).with_context("creating pod"));
  }

  ManualClock clock_{WallTime(seconds(1'794'733'200))};  // 2026-11-15T09:00:00Z
  StuckKeys keys_{clock_, minutes(10)};
};

TEST_F(StuckKeysTest, AKeyIsStuckWhenItFailsAgainAndAgainForTooLong) {
  fail_once({"slurm", "gpu"}, "refused");
  clock_.advance(minutes(9));
  fail_once({"slurm", "gpu"}, "refused again");
  EXPECT_THAT(keys_.stuck(), IsEmpty());
  clock_.advance(minutes(1));
  EXPECT_EQ(describe(keys_.stuck()),
            "key slurm/gpu has made no progress since 2026-11-15T09:00:00Z, 2 failures, the last: "
            "creating pod: refused again");
  EXPECT_EQ(keys_.held_workers(), 0U);
}

TEST_F(StuckKeysTest, OneSuccessStartsTheCountAnew) {
  fail_once({"", "a"}, "refused");
  clock_.advance(minutes(9));
  keys_.started({"", "a"});
  keys_.forget({"", "a"});
  EXPECT_FALSE(keys_.watching());
  fail_once({"", "a"}, "refused");
  clock_.advance(minutes(9));
  EXPECT_THAT(keys_.stuck(), IsEmpty());
}

TEST_F(StuckKeysTest, ARunThatDoesNotEndIsStuckAndHoldsAWorker) {
  keys_.started({"", "a"});
  EXPECT_TRUE(keys_.watching());
  clock_.advance(minutes(10));
  EXPECT_EQ(describe(keys_.stuck()),
            "key a has made no progress since 2026-11-15T09:00:00Z, its reconcile does not end");
  EXPECT_EQ(keys_.held_workers(), 1U);
}

TEST_F(StuckKeysTest, AFailingKeyThatRunsAgainDoesNotHoldItsWorkerSinceThen) {
  fail_once({"", "a"}, "refused");
  clock_.advance(minutes(10));
  keys_.started({"", "a"});
  EXPECT_THAT(keys_.stuck(), SizeIs(1));
  EXPECT_EQ(keys_.held_workers(), 0U);
}

TEST_F(StuckKeysTest, OnlyTheOldestFewAreNamed) {
  for (int i = 0; i < 8; ++i) {
    fail_once({"", "key" + std::to_string(i)}, "refused");
    clock_.advance(seconds(1));
  }
  clock_.advance(minutes(10));
  const std::string text = describe(keys_.stuck());
  EXPECT_THAT(text, HasSubstr("key key0 has"));
  EXPECT_THAT(text, HasSubstr("key key4 has"));
  EXPECT_THAT(text, Not(HasSubstr("key key5 has")));
  EXPECT_THAT(text, HasSubstr("; and 3 more"));
}

}  // namespace
}  // namespace mainspring::control
