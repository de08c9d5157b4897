// slurm/short_string_test.cc
#include "slurm/short_string.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/fields.h"

namespace mainspring::slurm {
namespace {

TEST(ShortString, HoldsAnyTextOfAnyLength) {
  EXPECT_TRUE(
      rc::check("a copy, a move and an assignment are the text", [](std::string a, std::string b) {
        a.resize(*rc::gen::inRange<std::size_t>(0, 40), 'x');
        ShortString first(a);
        RC_ASSERT(first.view() == a);
        RC_ASSERT(first.empty() == a.empty());
        ShortString copy = first;
        ShortString moved = std::move(first);
        RC_ASSERT(copy == moved);
        copy = b;
        RC_ASSERT(copy == b);
        RC_ASSERT((copy == moved) == (a == b));
        copy = moved;
        moved = ShortString();
        RC_ASSERT(copy.str() == a);
        RC_ASSERT(moved.empty());
      }));
}

TEST(ShortString, KeepsFifteenBytesInsideAndSixteenOutside) {
  const std::string fifteen(15, 'a'), sixteen(16, 'b');
  ShortString text = fifteen;
  EXPECT_EQ(text, fifteen);
  text = sixteen;
  EXPECT_EQ(text, sixteen);
  const ShortString& same = text;
  text = same;
  EXPECT_EQ(text.size(), 16U);
}

TEST(ShortString, IsReadAndLeftAloneByNull) {
  json::Reader reader;
  ShortString text = "before";
  reader.open(R"(["a\u00e9", null, 5])");
  reader.array([&] { read(reader, text); });
  EXPECT_EQ(text, "a\xC3\xA9");
  EXPECT_FALSE(reader.finish());
}

}  // namespace
}  // namespace mainspring::slurm
