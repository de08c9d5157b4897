#include "kube/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/fields.h"

namespace mainspring::kube {
namespace {

using testing::HasSubstr;

json::StringMap labels(std::string_view text) {
  json::Reader reader;
  return *json::decode<json::StringMap>(reader, text);
}

struct Case {
  std::string_view selector;
  std::string_view labels;
  bool matches;
};

class LabelSelectorMatch : public testing::TestWithParam<Case> {};

TEST_P(LabelSelectorMatch, AsTheApiServer) {
  const auto selector = LabelSelector::parse(GetParam().selector);
  ASSERT_TRUE(selector) << selector.error().to_string();
  EXPECT_EQ(selector->matches(labels(GetParam().labels)), GetParam().matches)
      << GetParam().selector << " on " << GetParam().labels;
}

INSTANTIATE_TEST_SUITE_P(
    All, LabelSelectorMatch,
    testing::Values(
        Case{"", R"({})", true}, Case{"", R"({"a":"b"})", true}, Case{"a=b", R"({"a":"b"})", true},
        Case{"a==b", R"({"a":"b"})", true}, Case{"a=b", R"({"a":"c"})", false},
        Case{"a=b", R"({})", false}, Case{"a=", R"({"a":""})", true},
        Case{"a=,b=c", R"({"a":"","b":"c"})", true}, Case{"a=", R"({})", false},
        Case{"a!=b", R"({})", true}, Case{"a!=b", R"({"a":"c"})", true},
        Case{"a!=b", R"({"a":"b"})", false}, Case{"a", R"({"a":""})", true},
        Case{"a", R"({})", false}, Case{"!a", R"({})", true}, Case{"!a", R"({"a":""})", false},
        Case{"a in (x,y)", R"({"a":"y"})", true}, Case{"a in (x,y)", R"({"a":"z"})", false},
        Case{"a in (x,y)", R"({})", false}, Case{"a notin (x,y)", R"({"a":"z"})", true},
        Case{"a notin (x,y)", R"({})", true}, Case{"a notin (x,y)", R"({"a":"x"})", false},
        Case{"a in (,x)", R"({"a":""})", true}, Case{"a in (x,,y)", R"({"a":""})", true},
        Case{"a in (,)", R"({"a":""})", true}, Case{"a in (x,)", R"({"a":""})", true},
        Case{"g>1", R"({"g":"2"})", true}, Case{"g>1", R"({"g":"1"})", false},
        Case{"g<5", R"({"g":"4"})", true}, Case{"g<5", R"({"g":"-7"})", true},
        Case{"g<5", R"({"g":"x"})", false}, Case{"g<5", R"({})", false},
        Case{"g>1", R"({"g":"9223372036854775808"})", false},
        Case{" a = b , c in ( x , y ) , ! d ", R"({"a":"b","c":"x"})", true},
        Case{"a=b,a!=c", R"({"a":"b"})", true}, Case{"in in (in)", R"({"in":"in"})", true},
        Case{"notin=notin", R"({"notin":"notin"})", true},
        Case{"example.com/a=b", R"({"example.com/a":"b"})", true},
        Case{"a\tin\n(x)", R"({"a":"x"})", true}));

class LabelSelectorRefused : public testing::TestWithParam<std::string_view> {};

TEST_P(LabelSelectorRefused, AsByTheApiServer) {
  EXPECT_FALSE(LabelSelector::parse(GetParam())) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(
    All, LabelSelectorRefused,
    testing::Values("x=a||y=b", "x==a==b", "!x=a", "x<a", "x in ()", "x in (a", "x in a", "x notin",
                    "x=a,", ",x=a", "x,,y", "!", "!!x", "=a", "x in (a b)", "x=a b", "x in (a,,)",
                    "x in (,,)", "-x", "x-", "x=-a", "x>-1", "x>1.5", "Upper.Case/x", "/x", "a/b/c",
                    "x>", "x in (a),!", "x=(a)", "ä=b",
                    "a234567890123456789012345678901234567890123456789012345678901234"));

TEST(LabelSelector, IsWrittenSortedAndReadBack) {
  const auto selector = LabelSelector::parse("z, b notin (y,x,y), a==1,!c, d>3,e!=f,a in (1)");
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->to_string(), "a==1,a in (1),b notin (x,y),!c,d>3,e!=f,z");
  EXPECT_EQ(LabelSelector::parse(selector->to_string()), selector);
  EXPECT_EQ(LabelSelector::parse("a in (,)")->to_string(), "a in (,)");
}

TEST(LabelSelector, OfAnyRequirementsComesBackFromItsText) {
  EXPECT_TRUE(rc::check([] {
    const auto name = rc::gen::nonEmpty(
        rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ019"))));
    std::vector<LabelRequirement> requirements;
    for (int count = *rc::gen::inRange(0, 5); count > 0; --count) {
      const auto op = static_cast<LabelOperator>(*rc::gen::inRange(0, 9));
      std::vector<std::string> values;
      if (op <= LabelOperator::kNotIn) {
        values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(
            rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab1")))));
      } else if (op >= LabelOperator::kGreaterThan) {
        values = {std::to_string(*rc::gen::inRange(0, 1000))};
      } else if (op <= LabelOperator::kNotEquals) {
        values = {*name};
      }
      auto requirement = LabelRequirement::make((*name).substr(0, 60), op, values);
      if (requirement) requirements.push_back(*requirement);
    }
    const LabelSelector selector(requirements);
    const auto back = LabelSelector::parse(selector.to_string());
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == selector);
  }));
}

LabelSelector object(std::string_view text) {
  json::Reader reader;
  return *json::decode<LabelSelector>(reader, text);
}

TEST(LabelSelector, AsAnObjectJoinsLabelsAndExpressions) {
  const LabelSelector selector = object(
      R"({"matchLabels":{"app":"web"},"matchExpressions":[
          {"key":"tier","operator":"In","values":["b","a"]},{"key":"old","operator":"DoesNotExist"},
          {"key":"zone","operator":"NotIn","values":["x"]},{"key":"app","operator":"Exists"}]})");
  EXPECT_EQ(selector.to_string(), "app=web,app,!old,tier in (a,b),zone notin (x)");
  EXPECT_TRUE(selector.matches(labels(R"({"app":"web","tier":"a"})")));
  EXPECT_FALSE(selector.matches(labels(R"({"app":"web","tier":"a","old":""})")));
}

TEST(LabelSelector, AbsentMatchesNothingAndEmptyMatchesEverything) {
  EXPECT_FALSE(LabelSelector().matches(labels("{}")));
  EXPECT_FALSE(object("null").matches(labels("{}")));
  EXPECT_TRUE(object("{}").matches(labels(R"({"a":"b"})")));
  EXPECT_TRUE(object("{}").matches_everything());
  EXPECT_TRUE(LabelSelector().matches_nothing());
  EXPECT_NE(LabelSelector(), LabelSelector::everything());
}

TEST(LabelSelector, AsAnObjectRefusesWhatTheApiRefuses) {
  for (const std::string_view bad :
       {R"({"matchExpressions":[{"key":"a","operator":"Gt","values":["1"]}]})",
        R"({"matchExpressions":[{"key":"a","operator":"In"}]})",
        R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})",
        R"({"matchLabels":{"a":"not a value"}})"}) {
    json::Reader reader;
    EXPECT_FALSE(json::decode<LabelSelector>(reader, bad)) << bad;
  }
}

TEST(LabelSelector, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(LabelSelector::parse("a in b").error().to_string(),
              testing::AllOf(HasSubstr("a in b"), HasSubstr("expected '('")));
  EXPECT_THAT(LabelSelector::parse("rank>high").error().to_string(), HasSubstr("high"));
}

}  // namespace
}  // namespace mainspring::kube
