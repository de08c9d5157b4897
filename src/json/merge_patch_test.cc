#include "json/merge_patch.h"

#include <gtest/gtest.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

TEST(MergePatch, FollowsTheExamplesOfTheRfc) {
  // RFC 7386, appendix A: original, patch, result.
  const char* const cases[][3] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& [original, patch, result] : cases) {
    EXPECT_EQ(to_text(apply_merge_patch(*parse(original), *parse(patch))), result)
        << original << " with " << patch;
  }
}

TEST(MergePatch, SaysOnlyWhatChanged) {
  const Value from = *parse(R"({"spec":{"replicas":2,"image":"a"},"old":1,"same":[1]})");
  const Value to = *parse(R"({"spec":{"replicas":3,"image":"a"},"same":[1.0],"new":{}})");
  EXPECT_EQ(to_text(make_merge_patch(from, to)), R"({"old":null,"spec":{"replicas":3},"new":{}})");
  EXPECT_EQ(to_text(make_merge_patch(from, from)), "{}");
}

TEST(MergePatch, LeadsFromAnyValueToAnyOtherWithoutNulls) {
  EXPECT_TRUE(rc::check("apply(diff(a, b), a) == b", [] {
    const Value from = *any_value(false);
    const Value to = *any_value(false);
    RC_ASSERT(apply_merge_patch(from, make_merge_patch(from, to)) == to);
  }));
}

}  // namespace
}  // namespace mainspring::json
