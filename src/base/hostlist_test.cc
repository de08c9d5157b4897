#include "base/hostlist.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>

namespace mainspring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

Names expanded(std::string_view text) {
  auto names = expand_hostlist(text);
  EXPECT_TRUE(names) << text << ": " << names.error().to_string();
  return names.value_or(Names{});
}

std::string compressed(const Names& names) { return compress_hostlist(names).value(); }
std::string in_order(const Names& names) { return compress_hostlist_in_order(names).value(); }

std::string error_of(std::string_view text) {
  auto names = expand_hostlist(text);
  return names ? "accepted" : names.error().message();
}

// Names that meet: few prefixes, small numbers, several paddings.
rc::Gen<std::string> gen_name() {
  return rc::gen::map(rc::gen::tuple(rc::gen::element<std::string>("n", "gpu-", "r1n", "", "n0"),
                                     rc::gen::inRange(0, 120), rc::gen::inRange(-1, 4)),
                      [](const auto& parts) {
                        const auto& [prefix, number, width] = parts;
                        if (width < 0 && !prefix.empty()) return prefix;
                        return prefix + fmt::format("{:0{}}", number, std::max(width, 0));
                      });
}
const auto kGenNames = rc::gen::container<Names>(gen_name());

TEST(HostlistExpand, ReadsRangesListsAndPlainNames) {
  EXPECT_THAT(expanded("node[1-3,5]"), ElementsAre("node1", "node2", "node3", "node5"));
  EXPECT_THAT(expanded("login,gpu[7]"), ElementsAre("login", "gpu7"));
  EXPECT_THAT(expanded("[1-2]"), ElementsAre("1", "2"));
  EXPECT_THAT(expanded(""), IsEmpty());
}

TEST(HostlistExpand, KeepsThePaddingOfTheFirstNumber) {
  EXPECT_THAT(expanded("n[001-003]"), ElementsAre("n001", "n002", "n003"));
  EXPECT_THAT(expanded("n[001-3]"), ElementsAre("n001", "n002", "n003"));
  EXPECT_THAT(expanded("n[8-010]"), ElementsAre("n8", "n9", "n10"));
  EXPECT_THAT(expanded("n[098-100]"), ElementsAre("n098", "n099", "n100"));
}

TEST(HostlistExpand, TheLastBracketVariesFastest) {
  EXPECT_THAT(expanded("rack[0-1]node[0-1]"),
              ElementsAre("rack0node0", "rack0node1", "rack1node0", "rack1node1"));
  EXPECT_THAT(expanded("a[1-2][3-4]"), ElementsAre("a13", "a14", "a23", "a24"));
  EXPECT_THAT(expanded("a[1,07-08]x[0-1]"),
              ElementsAre("a1x0", "a1x1", "a07x0", "a07x1", "a08x0", "a08x1"));
}

TEST(HostlistExpand, TakesBlanksAsSeparatorsLikeSlurm) {
  EXPECT_THAT(expanded(" a b,,c[1-2]\n,d,"), ElementsAre("a", "b", "c1", "c2", "d"));
}

TEST(HostlistExpand, KeepsOrderAndDuplicates) {
  EXPECT_THAT(expanded("n[3,2],n[2-3]"), ElementsAre("n3", "n2", "n2", "n3"));
}

TEST(HostlistExpand, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(error_of("n[3-1]"), HasSubstr("must not run backwards at position 2"));
  EXPECT_THAT(error_of("n[1,2"), HasSubstr("'[' without ']' at position 1"));
  EXPECT_THAT(error_of("n]1"), HasSubstr("unexpected character at position 1"));
  EXPECT_THAT(error_of("]"), HasSubstr("']' without '[' at position 0"));
  EXPECT_THAT(error_of("n[]"), HasSubstr("expected a number at position 2"));
  EXPECT_THAT(error_of("n[1-]"), HasSubstr("expected a number at position 4"));
  EXPECT_THAT(error_of("n[1,,2]"), HasSubstr("expected a number at position 4"));
  EXPECT_THAT(error_of("n[ 1-2]"), HasSubstr("expected a number at position 2"));
  EXPECT_THAT(error_of("n[1x]"), HasSubstr("expected ',' '-' or ']' at position 3"));
  EXPECT_THAT(error_of("n[1-2]-ib"), HasSubstr("text after the last bracket"));
  EXPECT_THAT(error_of("n[1-2]]"), HasSubstr("at position 6"));
  EXPECT_THAT(error_of("n[[1]]"), HasSubstr("expected a number at position 2"));
  EXPECT_THAT(error_of("n\x01"), HasSubstr("unexpected character at position 1"));
  EXPECT_THAT(error_of("n[1234567890123456789]"), HasSubstr("more than 18 digits"));
}

TEST(HostlistExpand, RefusesMoreHostsThanTheLimitBeforeMakingThem) {
  for (const char* hostile : {"a[0-999999999]", "a[0-999999999999999999]",
                              "a[0-999][0-999][0-999][0-999][0-999][0-999][0-999][0-999]",
                              "a[0-499999],b[0-500000]", "a[0-999999999999999999,0-9]"}) {
    auto names = expand_hostlist(hostile);
    ASSERT_FALSE(names) << hostile;
    EXPECT_EQ(names.error().code(), Code::kTooLarge);
    EXPECT_THAT(names.error().message(), HasSubstr("names more than 1000000 hosts"));
  }
  EXPECT_TRUE(expand_hostlist("a[1-4]", 4));
  EXPECT_FALSE(expand_hostlist("a[1-5]", 4));
  EXPECT_FALSE(expand_hostlist("a[1-2],b[1-2],c", 4));
  EXPECT_FALSE(expand_hostlist("a", 0));
  EXPECT_TRUE(expand_hostlist("a[1-5]", SIZE_MAX));
  // 2^64 names: a product that wraps to nothing.
  EXPECT_FALSE(expand_hostlist("a[0-4294967295]b[0-4294967295]", SIZE_MAX));
}

TEST(HostlistExpand, RefusesNamesNoHostCanHave) {
  const std::string longest(254, 'a');
  EXPECT_TRUE(expand_hostlist(longest + "[1-9]"));
  EXPECT_EQ(expand_hostlist(longest + "[1-10]").error().code(), Code::kTooLarge);
  std::string brackets;
  for (int i = 0; i < 100'000; ++i) brackets += "[1]";
  EXPECT_EQ(expand_hostlist(brackets).error().code(), Code::kTooLarge);
}

TEST(HostlistCompress, SortsByNumberAndDropsDuplicates) {
  EXPECT_EQ(compressed({"n10", "n9", "n8", "n9"}), "n[8-10]");
  EXPECT_EQ(compressed({"login", "n3", "n1", "login2"}), "login,login2,n[1,3]");
  EXPECT_EQ(compressed({"n1x0", "n2x0", "n1x1"}), "n1x[0-1],n2x0");
  EXPECT_EQ(compressed({"n1-ib", "n2-ib"}), "n1-ib,n2-ib");
  EXPECT_EQ(compressed({"r10-n1", "r2-n1", "r02-n1", "r2-n2"}), "r02-n1,r2-n[1-2],r10-n1");
  EXPECT_EQ(compressed({"n5"}), "n5");
  EXPECT_EQ(compressed({}), "");
}

TEST(HostlistCompress, NeverMixesPaddings) {
  EXPECT_EQ(compressed({"n08", "n09", "n10", "n11"}), "n[08-11]");
  EXPECT_EQ(compressed({"n98", "n99", "n100"}), "n[98-100]");
  EXPECT_EQ(compressed({"n099", "n100", "n098"}), "n[098-100]");
  EXPECT_EQ(compressed({"n1", "n01", "n2", "n02"}), "n[1-2,01-02]");
  EXPECT_EQ(compressed({"n9", "n10", "n010", "n011"}), "n[9-10,010-011]");
  EXPECT_EQ(compressed({"n99", "n0100"}), "n[99,0100]");
  EXPECT_EQ(compressed({"n0", "n00", "n000"}), "n[0,00,000]");
}

TEST(HostlistCompress, InOrderKeepsOrderAndDuplicates) {
  EXPECT_EQ(in_order({"n3", "n2"}), "n[3,2]");
  EXPECT_EQ(in_order({"n1", "n1", "n2"}), "n[1,1-2]");
  EXPECT_EQ(in_order({"login", "n3", "n1", "login2"}), "login,n[3,1],login2");
  EXPECT_EQ(in_order({"n1", "n01", "n2", "n02"}), "n[1,01,2,02]");
}

TEST(HostlistCompress, RefusesNamesThatWouldReadBackDifferently) {
  for (const std::string& bad :
       {std::string(), std::string("a,b"), std::string("a[1]"), std::string("a b"),
        std::string("a\n"), std::string("\xC3\xA4"), std::string(256, 'a')}) {
    EXPECT_FALSE(compress_hostlist(Names{"n1", bad})) << bad;
    EXPECT_FALSE(compress_hostlist_in_order(Names{"n1", bad})) << bad;
  }
}

TEST(HostlistCompress, NumbersWiderThan64BitsSurvive) {
  const Names names = {"n99999999999999999999999", "n100000000000000000000000"};
  EXPECT_THAT(expanded(compressed(names)), ::testing::UnorderedElementsAreArray(names));
}

TEST(HostlistProperty, ExpandUndoesCompressUpToOrderAndDuplicates) {
  EXPECT_TRUE(rc::check("set(expand(compress(x))) == set(x), each once", [] {
    Names names = *kGenNames;
    Names back = expanded(compressed(names));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    std::sort(back.begin(), back.end());
    RC_ASSERT(back == names);
  }));
}

TEST(HostlistProperty, ExpandUndoesCompressInOrderExactly) {
  EXPECT_TRUE(rc::check("expand(compress_in_order(x)) == x", [] {
    const Names names = *kGenNames;
    RC_ASSERT(expanded(in_order(names)) == names);
  }));
}

TEST(HostlistProperty, TheCanonicalFormIsStableWhateverTheOrder) {
  EXPECT_TRUE(rc::check("compress(expand(compress(x))) == compress(x) == compress(reverse(x))", [] {
    Names names = *kGenNames;
    const std::string once = compressed(names);
    RC_ASSERT(compressed(expanded(once)) == once);
    std::reverse(names.begin(), names.end());
    RC_ASSERT(compressed(names) == once);
  }));
}

TEST(Hostlist, OneHundredThousandNamesAreOneRange) {
  Names names = expanded("node[000000-099999]");
  ASSERT_EQ(names.size(), 100'000U);
  std::reverse(names.begin(), names.end());
  EXPECT_EQ(compressed(names), "node[000000-099999]");
}

}  // namespace
}  // namespace mainspring
