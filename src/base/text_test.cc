#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>

namespace mainspring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split("", ','), ElementsAre(""));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
}

TEST(Text, JoinUndoesSplit) {
  EXPECT_TRUE(rc::check("join(split(x)) == x", [](const std::string& text) {
    std::vector<std::string> parts;
    for (std::string_view part : split(text, ',')) parts.emplace_back(part);
    RC_ASSERT(join(parts, ",") == text);
  }));
}

TEST(Text, TrimTakesWhitespaceFromBothEndsOnly) {
  EXPECT_EQ(trim(" \t a b\r\n"), "a b");
  EXPECT_EQ(trim(" \n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, CaseIsIgnoredForAsciiOnly) {
  EXPECT_TRUE(equals_ignore_case("Content-Type", "content-tYPE"));
  EXPECT_FALSE(equals_ignore_case("content", "content-type"));
  EXPECT_TRUE(starts_with_ignore_case("Bearer abc", "bEARER "));
  EXPECT_FALSE(starts_with_ignore_case("Bea", "bearer"));
  EXPECT_FALSE(equals_ignore_case("\xC3\x84", "\xC3\xA4"));
}

TEST(Text, QuotedIsPrintableAndBounded) {
  EXPECT_EQ(quoted("a\"b\n\xFF"), R"("a\"b\x0a\xff")");
  EXPECT_EQ(quoted("abcdef", 3), "\"abc\"... (6 bytes)");
}

TEST(Text, IntegersAreReadStrictly) {
  EXPECT_EQ(parse_integer<int>("-12"), -12);
  EXPECT_EQ(parse_integer<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_integer<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(parse_integer<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  for (const char* bad : {"", " 1", "1 ", "+1", "0x1", "1.0", "1e3", "-", "--1"}) {
    EXPECT_FALSE(parse_integer<int>(bad)) << bad;
  }
  EXPECT_FALSE(parse_integer<unsigned>("-1"));
}

TEST(Text, IntegerOutOfRangeNamesTheRange) {
  const auto result = parse_integer<std::uint8_t>("256");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kInvalid);
  EXPECT_THAT(result.error().message(), HasSubstr("\"256\" is out of range: use 0 to 255"));
  EXPECT_THAT(parse_integer<std::int8_t>("99999999999999999999").error().message(),
              HasSubstr("use -128 to 127"));
}

TEST(Text, IntegersRoundTrip) {
  EXPECT_TRUE(rc::check("parse_integer(to_string(n)) == n", [](std::int64_t n) {
    RC_ASSERT(parse_integer<std::int64_t>(std::to_string(n)) == n);
  }));
}

TEST(Text, Dns1123NamesFollowKubernetes) {
  EXPECT_TRUE(is_dns1123_label("gpu-0"));
  EXPECT_TRUE(is_dns1123_label(std::string(63, 'a')));
  for (const std::string& bad :
       {std::string(), std::string(64, 'a'), std::string("-a"), std::string("a-"), std::string("A"),
        std::string("a.b"), std::string("a_b")}) {
    EXPECT_FALSE(is_dns1123_label(bad)) << bad;
  }
  EXPECT_TRUE(is_dns1123_subdomain("slurm.slinky-0.io"));
  EXPECT_TRUE(is_dns1123_subdomain(std::string(253, 'a')));
  for (const std::string& bad : {std::string(), std::string(254, 'a'), std::string("a..b"),
                                 std::string(".a"), std::string("a."), std::string("a.-b")}) {
    EXPECT_FALSE(is_dns1123_subdomain(bad)) << bad;
  }
}

TEST(Text, Utf8AcceptsTheEdgesOfEveryLength) {
  for (const char* good :
       {"", "a", "\x7F", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
        "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << quoted(good);
  }
}

TEST(Text, Utf8RejectsOverlongSurrogatesTruncatedAndTooLarge) {
  for (const char* bad :
       {"\x80", "\xC0\x80", "\xC1\xBF", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
        "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC2\xC2"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << quoted(bad);
  }
}

TEST(Text, SanitizeReplacesOnlyWhatIsWrong) {
  EXPECT_EQ(sanitize_utf8("gr\xC3\xBC\xC3"), "gr\xC3\xBC\xEF\xBF\xBD");
  EXPECT_TRUE(rc::check("sanitize_utf8 gives valid UTF-8 and leaves valid text alone",
                        [](const std::string& bytes) {
                          const std::string clean = sanitize_utf8(bytes);
                          RC_ASSERT(is_valid_utf8(clean));
                          RC_ASSERT((clean == bytes) == is_valid_utf8(bytes));
                        }));
}

}  // namespace
}  // namespace mainspring
