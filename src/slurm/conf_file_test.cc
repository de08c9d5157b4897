#include "slurm/conf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

namespace mainspring::slurm {
namespace {

using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = ConfFault::Kind;

std::optional<std::string_view> no_files(std::string_view) { return std::nullopt; }

ConfFile read(std::string_view text) { return read_conf("slurm.conf", text, no_files); }

auto pair(std::string_view key, std::string_view value, char modifier = 0) {
  return ConfPair{std::string(key), std::string(value), modifier};
}

// The pairs of a text that is one line without faults.
std::vector<ConfPair> pairs(std::string_view text) {
  const ConfFile file = read(text);
  EXPECT_THAT(file.faults, IsEmpty()) << text;
  EXPECT_THAT(file.lines, SizeIs(1)) << text;
  return file.lines.empty() ? std::vector<ConfPair>() : file.lines[0].pairs;
}

std::vector<Kind> faults(std::string_view text) {
  std::vector<Kind> kinds;
  for (const ConfFault& fault : read(text).faults) kinds.push_back(fault.kind);
  return kinds;
}

TEST(ConfFile, ReadsPairsOfALine) {
  EXPECT_THAT(pairs("NodeName=n[1-4] CPUs=8  Feature=a,b\n"),
              ElementsAre(pair("NodeName", "n[1-4]"), pair("CPUs", "8"), pair("Feature", "a,b")));
}

TEST(ConfFile, BlanksMayStandAroundTheEqualSign) {
  EXPECT_THAT(pairs("  KillWait \t=  5\r\n"), ElementsAre(pair("KillWait", "5")));
  EXPECT_THAT(pairs("A= B=5\n"), ElementsAre(pair("A", "B=5")));
}

TEST(ConfFile, QuotesHoldBlanksOnlyAroundAWholeValue) {
  EXPECT_THAT(pairs("Reason=\"bad disk\" State=DOWN\n"),
              ElementsAre(pair("Reason", "bad disk"), pair("State", "DOWN")));
  EXPECT_THAT(pairs("Reason=\"\"\n"), ElementsAre(pair("Reason", "")));
  EXPECT_THAT(pairs("Reason=\"a\"b\n"), ElementsAre(pair("Reason", "\"a\"b")));
  EXPECT_THAT(faults("Reason=\"a b\n"), ElementsAre(Kind::kText));
}

TEST(ConfFile, CommentsBeginEvenInsideQuotesUnlessEscaped) {
  EXPECT_THAT(pairs("A=1 # B=2\n"), ElementsAre(pair("A", "1")));
  EXPECT_THAT(pairs("A=x\\#y\n"), ElementsAre(pair("A", "x#y")));
  EXPECT_THAT(pairs("A=x\\\\# comment\n"), ElementsAre(pair("A", "x\\")));
  EXPECT_THAT(pairs("A=\"x #y\"\n"), ElementsAre(pair("A", "\"x")));
  EXPECT_THAT(read("# A=1\n\n   \n").lines, IsEmpty());
}

TEST(ConfFile, ABackslashAtTheEndJoinsLines) {
  const ConfFile file = read("# first\nNodeName=n1 \\\n  CPUs=2 \\ \n Feature=a\nKillWait=5\n");
  ASSERT_THAT(file.lines, SizeIs(2));
  EXPECT_THAT(file.lines[0].pairs,
              ElementsAre(pair("NodeName", "n1"), pair("CPUs", "2"), pair("Feature", "a")));
  EXPECT_EQ(file.lines[0].line, 2U);
  EXPECT_EQ(file.lines[1].line, 5U);
  EXPECT_THAT(read("# no joining \\\nA=1\n").lines, SizeIs(1));
}

TEST(ConfFile, KeepsModifiers) {
  EXPECT_THAT(pairs("Licenses+=a:1\n"), ElementsAre(pair("Licenses", "a:1", '+')));
}

TEST(ConfFile, WhatIsNoPairIsAFaultWithItsLine) {
  const ConfFile file = read("A=1\nhello\nB=2 rest\nC=\n");
  EXPECT_THAT(file.lines, SizeIs(2));
  EXPECT_THAT(file.faults, ElementsAre(Field(&ConfFault::line, 2), Field(&ConfFault::line, 3),
                                       Field(&ConfFault::line, 4)));
}

TEST(ConfFile, ControlCharactersAreFaultsAndTextBehindANulIsLost) {
  EXPECT_THAT(faults("A=1\x1b[2J\n"), ElementsAre(Kind::kControlCharacter));
  const ConfFile file = read(std::string_view("A=1\0B=2\nC=3\n", 12));
  EXPECT_THAT(file.faults, ElementsAre(Field(&ConfFault::kind, Kind::kControlCharacter)));
  EXPECT_THAT(file.lines, SizeIs(2));
  EXPECT_THAT(faults("A=\xff\n"), ElementsAre(Kind::kNotUtf8));
}

class Include : public testing::Test {
 protected:
  ConfFile read_with(std::string_view text) {
    return read_conf("slurm.conf", text, [this](std::string_view name) {
      const auto found = files.find(name);
      return found == files.end() ? std::nullopt : std::optional<std::string_view>(found->second);
    });
  }

  std::map<std::string, std::string, std::less<>> files;
};

TEST_F(Include, TakesTheLinesOfTheOtherFileInPlace) {
  files["nodes.conf"] = "# nodes\nNodeName=n1\n";
  const ConfFile file = read_with("A=1\ninclude nodes.conf # here\nB=2\n");
  ASSERT_THAT(file.lines, SizeIs(3));
  EXPECT_EQ(file.lines[1].file, "nodes.conf");
  EXPECT_EQ(file.lines[1].line, 2U);
  EXPECT_EQ(file.lines[2].line, 3U);
  EXPECT_THAT(file.faults, IsEmpty());
}

TEST_F(Include, PutsTheClusterNameInPlaceOfPercentC) {
  files["red.conf"] = "KillWait=5\n";
  EXPECT_THAT(read_with("ClusterName=RED\nInclude %c.conf\n").lines, SizeIs(2));
  EXPECT_THAT(read_with("Include %c.conf\n").faults,
              ElementsAre(Field(&ConfFault::kind, Kind::kIncludeCluster)));
}

TEST_F(Include, OfWhatSlurmCannotReadIsAFault) {
  files["loop.conf"] = "Include loop.conf\n";
  files["nodes.conf"] = "NodeName=n1\n";
  const auto kind = [&](std::string_view text) {
    const ConfFile file = read_with(text);
    return file.faults.empty() ? Kind::kTooLarge : file.faults.front().kind;
  };
  EXPECT_EQ(kind("Include absent.conf\n"), Kind::kIncludeMissing);
  EXPECT_EQ(kind("Include *.conf\n"), Kind::kIncludePattern);
  EXPECT_EQ(kind("Include loop.conf\n"), Kind::kIncludeDeep);
  EXPECT_EQ(kind("Include nodes.conf"), Kind::kIncludeOpen);
  EXPECT_EQ(kind("Include nodes.conf# no blank\n"), Kind::kIncludeOpen);
  EXPECT_EQ(kind(" Include nodes.conf\n"), Kind::kText);
}

TEST_F(Include, IsBoundedInAll) {
  files["wide.conf"] = std::string(1000, '#');
  std::string text;
  for (int i = 0; i < 100; ++i) text += "Include wide.conf\n";
  const ConfFile file = read_conf(
      "slurm.conf", text,
      [this](std::string_view) { return std::optional<std::string_view>(files["wide.conf"]); },
      {.max_bytes = 10'000});
  EXPECT_THAT(file.faults, testing::Contains(Field(&ConfFault::kind, Kind::kTooLarge)));
}

TEST(ConfWriter, QuotesBlanksAndEscapesWhatSlurmWouldEat) {
  const ConfLine line{.file = {},
                      .line = 0,
                      .pairs = {pair("NodeName", "n1"), pair("Reason", "disk #2"),
                                pair("Extra", "a\\"), pair("Empty", ""), pair("Add", "x", '+')}};
  EXPECT_EQ(*render_conf(line), "NodeName=n1 Reason=\"disk \\#2\" Extra=a\\\\ Empty=\"\" Add+=x\n");
}

TEST(ConfWriter, RefusesWhatCouldBreakOut) {
  for (const std::string_view value :
       {"a\nSlurmUser=root", "a\rb", "a\"b", "\"", "a\x1b", "tab\there"}) {
    const auto text = render_conf(ConfLine{{}, 0, {pair("Reason", value)}});
    ASSERT_FALSE(text) << value;
    EXPECT_THAT(text.error().message(), HasSubstr("Reason"));
  }
  for (const std::string_view key : {"", "a b", "a=b", "a\n", "#a"}) {
    EXPECT_FALSE(render_conf(ConfLine{{}, 0, {pair(key, "x")}})) << key;
  }
  EXPECT_FALSE(render_conf(ConfLine{{}, 0, {pair("A", "1", 'x')}}));
  EXPECT_FALSE(render_conf(ConfLine{}));
}

// Either the writer refuses a line, or reading gives back exactly its pairs and nothing else.
TEST(ConfWriter, NothingGetsOutOfAValue) {
  const auto odd = rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
      {{6, rc::gen::inRange('a', 'e')},
       {6, rc::gen::element(' ', '"', '#', '\\', '=', '\n', '\r', '\t', '\0', '+')},
       {1, rc::gen::arbitrary<char>()}}));
  EXPECT_TRUE(rc::check([&] {
    ConfLine line{.file = "x", .line = 1, .pairs = {}};
    const auto count = *rc::gen::inRange(1, 4);
    for (int i = 0; i < count; ++i) line.pairs.push_back({"Key", *odd, 0});
    const auto text = render_conf(line);
    if (!text) return;
    const ConfFile file = read_conf("x", *text, no_files);
    RC_ASSERT(file.lines.size() == 1U);
    RC_ASSERT(file.lines[0] == line);
    RC_ASSERT(std::ranges::none_of(
        file.faults, [](const ConfFault& fault) { return fault.kind != Kind::kNotUtf8; }));
  }));
}

}  // namespace
}  // namespace mainspring::slurm
