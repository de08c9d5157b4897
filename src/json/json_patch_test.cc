#include "json/json_patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

using testing::HasSubstr;

std::string apply(std::string_view document, std::string_view patch) {
  auto result = apply_json_patch(*parse(document), *parse(patch));
  return result ? to_text(*result) : result.error().to_string();
}

TEST(JsonPatch, FollowsTheExamplesOfTheRfc) {
  // RFC 6902, appendix A: document, patch, result.
  const char* const cases[][3] = {
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux"}])",
       R"({"foo":"bar","baz":"qux"})"},
      {R"({"foo":["bar","baz"]})", R"([{"op":"add","path":"/foo/1","value":"qux"}])",
       R"({"foo":["bar","qux","baz"]})"},
      {R"({"baz":"qux","foo":"bar"})", R"([{"op":"remove","path":"/baz"}])", R"({"foo":"bar"})"},
      {R"({"foo":["bar","qux","baz"]})", R"([{"op":"remove","path":"/foo/1"}])",
       R"({"foo":["bar","baz"]})"},
      {R"({"baz":"qux","foo":"bar"})", R"([{"op":"replace","path":"/baz","value":"boo"}])",
       R"({"baz":"boo","foo":"bar"})"},
      {R"({"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}})",
       R"([{"op":"move","from":"/foo/waldo","path":"/qux/thud"}])",
       R"({"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}})"},
      {R"({"foo":["all","grass","cows","eat"]})",
       R"([{"op":"move","from":"/foo/1","path":"/foo/3"}])",
       R"({"foo":["all","cows","eat","grass"]})"},
      {R"({"baz":"qux","foo":["a",2,"c"]})",
       R"([{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}])",
       R"({"baz":"qux","foo":["a",2,"c"]})"},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/child","value":{"grandchild":{}}}])",
       R"({"foo":"bar","child":{"grandchild":{}}})"},
      {R"({"foo":"bar"})", R"([{"op":"add","path":"/baz","value":"qux","xyz":123}])",
       R"({"foo":"bar","baz":"qux"})"},
      {R"({"/":9,"~1":10})", R"([{"op":"test","path":"/~01","value":10}])", R"({"/":9,"~1":10})"},
      {R"({"foo":["bar"]})", R"([{"op":"add","path":"/foo/-","value":["abc","def"]}])",
       R"({"foo":["bar",["abc","def"]]})"},
      {R"({"a":{"b":1}})",
       R"([{"op":"copy","from":"/a","path":"/c"},{"op":"remove","path":"/a/b"}])",
       R"({"a":{},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"add","path":"","value":[1]}])", "[1]"},
      {R"({"a":1})", R"([{"op":"replace","path":"/a","value":null}])", R"({"a":null})"},
      {R"({"a":1})", R"([{"op":"move","from":"/a","path":"/a"}])", R"({"a":1})"},
  };
  for (const auto& [document, patch, result] : cases) {
    EXPECT_EQ(apply(document, patch), result) << document << " with " << patch;
  }
}

TEST(JsonPatch, NamesTheOperationThatFailed) {
  EXPECT_EQ(
      apply(R"({"a":{}})", R"([{"op":"add","path":"/b","value":1},{"op":"remove","path":"/a/x"}])"),
      "operation 1 (remove /a/x): there is nothing at /a/x");
  EXPECT_THAT(apply("{}", R"([{"op":"add","path":"/baz/bat","value":1}])"),
              HasSubstr("there is nothing at /baz"));
  EXPECT_THAT(apply("[1]", R"([{"op":"add","path":"/2","value":1}])"),
              HasSubstr("no place in an array of 1"));
  EXPECT_THAT(apply("1", R"([{"op":"add","path":"/a","value":1}])"), HasSubstr("scalar"));
  EXPECT_THAT(apply("{}", R"([{"op":"add","path":"/a"}])"), HasSubstr("\"value\" is missing"));
  EXPECT_THAT(apply("{}", R"([{"op":"grow","path":"/a"}])"), HasSubstr("\"grow\" is none of"));
  EXPECT_THAT(apply("{}", R"([{"op":"add","path":"a","value":1}])"), HasSubstr("start with '/'"));
  EXPECT_THAT(apply("{}", R"([{"op":"add","path":"/~2","value":1}])"), HasSubstr("~0"));
  EXPECT_THAT(apply("{}", R"([{"path":"/a"}])"), HasSubstr("\"op\" must be a string"));
  EXPECT_THAT(apply(R"({"a":{}})", R"([{"op":"move","from":"/a","path":"/a/b"}])"),
              HasSubstr("cannot be moved into itself"));
  EXPECT_THAT(apply("{}", "{}"), HasSubstr("must be an array"));
  EXPECT_THAT(apply("[]", R"([{"op":"add","path":"/00","value":1}])"), HasSubstr("no place"));
}

TEST(JsonPatch, ReportsAFailedTestAsAConflict) {
  const auto result = apply_json_patch(*parse(R"({"v":"2"})"),
                                       *parse(R"([{"op":"test","path":"/v","value":"1"}])"));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kConflict);
  EXPECT_EQ(result.error().to_string(), R"(operation 0 (test /v): expected "1", found "2")");
}

TEST(JsonPatch, DoesNotLetCopiesFillTheMemory) {
  Value patch = Value::array();
  for (int i = 0; i < 100; ++i) {
    patch.push_back(Value::object({{"op", "copy"}, {"from", ""}, {"path", "/-"}}));
  }
  const auto result = apply_json_patch(*parse("[1]"), patch);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kTooLarge);
}

TEST(JsonPatch, MakesSmallPatches) {
  const auto made = [](std::string_view from, std::string_view to) {
    return to_text(make_json_patch(*parse(from), *parse(to)));
  };
  EXPECT_EQ(made(R"({"a":1})", R"({"a":1.0})"), "[]");
  EXPECT_EQ(made("[1,2,3,4]", "[1,3,4]"), R"([{"op":"remove","path":"/1"}])");
  EXPECT_EQ(made("[1,4]", "[1,2,3,4]"),
            R"([{"op":"add","path":"/1","value":2},{"op":"add","path":"/2","value":3}])");
  EXPECT_EQ(made(R"({"a/b":{"m~n":1}})", R"({"a/b":{"m~n":2}})"),
            R"([{"op":"replace","path":"/a~1b/m~0n","value":2}])");
}

TEST(JsonPatch, LeadsFromAnyValueToAnyOther) {
  EXPECT_TRUE(rc::check("apply(diff(a, b), a) == b", [] {
    const Value from = *any_value();
    const Value to = *any_value();
    const Value patch = make_json_patch(from, to);
    const auto result = apply_json_patch(from, patch);
    RC_ASSERT(result.has_value());
    RC_ASSERT(*result == to);
    RC_ASSERT(patch.empty() == (from == to));
  }));
}

}  // namespace
}  // namespace mainspring::json
