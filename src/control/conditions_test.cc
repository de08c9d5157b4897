// control/conditions_test.cc
#include "control/conditions.h"

#include <gmock/gmock.h>

#include "control/cut_text.h"

namespace mainspring::control {
namespace {

using enum kube::ConditionStatus;

constexpr WallTime kThen{seconds(1'700'000'000)};
constexpr WallTime kNow = kThen + minutes(5) + milliseconds(250);

kube::Condition ready(kube::ConditionStatus status, std::string_view message) {
  return {.type = "Ready", .reason = "Testing", .message = message, .status = status};
}

TEST(Conditions, ANewMessageIsNotATransition) {
  ConditionList conditions;
  EXPECT_TRUE(set_condition(conditions, ready(kFalse, "1 of 3"), kThen));
  EXPECT_TRUE(set_condition(conditions, ready(kFalse, "2 of 3"), kNow));
  ASSERT_EQ(conditions.size(), 1U);
  EXPECT_EQ(conditions[0].message, "2 of 3");
  EXPECT_EQ(conditions[0].transition, kThen);
}

TEST(Conditions, ANewStatusIsATransitionInWholeSeconds) {
  ConditionList conditions;
  set_condition(conditions, ready(kFalse, ""), kThen);
  EXPECT_TRUE(set_condition(conditions, ready(kTrue, ""), kNow));
  EXPECT_EQ(conditions[0].transition, kThen + minutes(5));
}

TEST(Conditions, TheSameAgainChangesNothing) {
  ConditionList conditions;
  set_condition(conditions, ready(kTrue, "all"), kThen);
  const ConditionList before = conditions;
  EXPECT_FALSE(set_condition(conditions, ready(kTrue, "all"), kNow));
  EXPECT_EQ(conditions, before);
}

TEST(Conditions, KeepTheirPlaceAndLeaveOthersAlone) {
  ConditionList conditions;
  set_condition(conditions, ready(kTrue, ""), kThen);
  set_condition(conditions, {.type = "Degraded", .reason = "No", .status = kFalse}, kThen);
  set_condition(conditions, ready(kFalse, "lost one"), kNow);
  EXPECT_EQ(conditions[0].type, "Ready");
  EXPECT_EQ(conditions[1].transition, kThen);
  EXPECT_TRUE(remove_condition(conditions, "Ready"));
  EXPECT_FALSE(remove_condition(conditions, "Ready"));
  EXPECT_EQ(conditions.size(), 1U);
}

TEST(Conditions, AreTheSameWhenTheyAreReadAgain) {
  ConditionList conditions;
  auto wanted = ready(kTrue, "all \"good\"");
  wanted.observed_generation = 7;
  set_condition(conditions, wanted, kNow);
  json::Reader reader;
  const auto read =
      json::decode<std::vector<kube::Condition>>(reader, json::to_text(to_json(conditions)));
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(*read, conditions);
}

TEST(Conditions, CutAMessageThatTheApiWouldRefuse) {
  ConditionList conditions;
  set_condition(conditions, ready(kTrue, std::string(40000, 'x')), kNow);
  EXPECT_EQ(conditions[0].message.view().size(), 32768U);
}

TEST(CutText, CutsBetweenCharacters) {
  std::string text = "aaaa\u00e9\u00e9\u00e9";
  cut_text(text, 8);
  EXPECT_EQ(text, "aaaa...");
  std::string fits = "\u00e9\u00e9";
  cut_text(fits, 4);
  EXPECT_EQ(fits, "\u00e9\u00e9");
  std::string broken = "a\xff";
  cut_text(broken, 100);
  EXPECT_EQ(broken, "a\uFFFD");
}

}  // namespace
}  // namespace mainspring::control
