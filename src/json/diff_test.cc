#include "json/diff.h"

#include <gtest/gtest.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

std::string changes(std::string_view before, std::string_view after) {
  return to_text(diff(*parse(before), *parse(after)));
}

TEST(Diff, TellsPeopleWhatChanged) {
  EXPECT_EQ(changes(R"({"spec":{"replicas":2,"list":[{"image":"a"},1]},"labels":{"x/y":"z"}})",
                    R"({"spec":{"replicas":3,"list":[{"image":"b"},1,[]]},"labels":{},"on":true})"),
            "spec.replicas: 2 -> 3; spec.list[0].image: \"a\" -> \"b\"; spec.list[2]: added []; "
            "labels[\"x/y\"]: removed \"z\"; on: added true");
  EXPECT_EQ(changes("1", "[]"), "document: 1 -> []");
}

TEST(Diff, CutsLongValuesBetweenCharacters) {
  std::string text = "\"";
  for (int i = 0; i < 100; ++i) text += "\u20ac";
  const std::string shown = changes("0", text + "\"");
  EXPECT_TRUE(shown.ends_with("\u20ac...")) << shown;
  EXPECT_LT(shown.size(), 160U);
}

TEST(Diff, SeesNothingInANumberWrittenAnotherWay) {
  EXPECT_EQ(changes(R"({"a":1,"b":2})", R"({"b":2.0,"a":1e0})"), "");
}

TEST(Diff, IsEmptyIfAndOnlyIfTheValuesAreEqual) {
  EXPECT_TRUE(rc::check("diff(a, b) is empty iff a == b", [] {
    const Value a = *any_value(true, 2);
    const Value b = *rc::gen::oneOf(any_value(true, 2), rc::gen::just(a));
    RC_ASSERT(diff(a, b).empty() == (a == b));
    RC_ASSERT(diff(a, b).size() == diff(b, a).size());
  }));
}

}  // namespace
}  // namespace mainspring::json
