#include "json/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// As one line of JSON, or the error.
std::string read(std::string_view yaml, YamlOptions options = {}) {
  const auto value = parse_yaml(yaml, options);
  return value ? to_text(*value) : value.error().to_string();
}

TEST(Yaml, ReadsMappingsListsAndScalars) {
  EXPECT_EQ(read("kind: Pod\nspec:\n  ports: [80, 443]\n  hosts:\n  - a\n  - b\n  note: |\n    x\n"
                 "    y\n"),
            R"({"kind":"Pod","spec":{"ports":[80,443],"hosts":["a","b"],"note":"x\ny\n"}})");
  EXPECT_EQ(read(""), "null");
  EXPECT_EQ(read("# nothing\n"), "null");
}

TEST(Yaml, PlainScalarsMeanWhatTheyMeanToKubectl) {
  const std::pair<const char*, const char*> cases[] = {
      {"true", "true"},
      {"False", "false"},
      {"yes", "true"},
      {"off", "false"},
      {"y", "true"},
      {"tRue", R"("tRue")"},
      {"~", "null"},
      {"null", "null"},
      {"'true'", R"("true")"},
      {"\"12\"", R"("12")"},
      {"'~'", R"("~")"},
      {"12", "12"},
      {"-12", "-12"},
      {"+12", "12"},
      {"-0", "0"},
      {"0644", "420"},
      {"0o644", "420"},
      {"0x1F", "31"},
      {"-0b11", "-3"},
      {"1_000", "1000"},
      {"089", "89.0"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"1.5", "1.5"},
      {".5", "0.5"},
      {"5.", "5.0"},
      {"1e3", "1000.0"},
      {"1e999", R"("1e999")"},
      {"1.2.3", R"("1.2.3")"},
      {"0x", R"("0x")"},
      {"12:30:45", R"("12:30:45")"},
      {"2026-11-15", R"("2026-11-15")"},
      {"2026-11-15T09:00:00Z", R"("2026-11-15T09:00:00Z")"},
      {"100m", R"("100m")"},
      {"10Gi", R"("10Gi")"},
      {"!!str 12", R"("12")"},
      {"! 12", R"("12")"},
      {"!!float 12", "12.0"},
      {"!!int '12'", "12"},
  };
  for (const auto& [yaml, json] : cases) {
    EXPECT_EQ(parse(read(yaml)), parse(json)) << yaml;
  }
}

TEST(Yaml, KeysBecomeStrings) {
  EXPECT_EQ(read("1: a\ntrue: b\n'2': c\n0x10: d\n"), R"({"1":"a","true":"b","2":"c","16":"d"})");
  EXPECT_EQ(read("? [a]\n: b\n"),
            "line 1, column 3: a key must be a string, a number or a boolean");
}

TEST(Yaml, AnchorsAndMergesAreExpanded) {
  EXPECT_EQ(read("a: &x {p: 1, q: 2}\nb: *x\n"), R"({"a":{"p":1,"q":2},"b":{"p":1,"q":2}})");
  EXPECT_EQ(read("a: &x {p: 1, q: 2}\nb:\n  q: 3\n  <<: *x\n"),
            R"({"a":{"p":1,"q":2},"b":{"q":3,"p":1}})");
  EXPECT_EQ(read("- &x {p: 1}\n- &y {p: 2, q: 2}\n- <<: [*x, *y]\n  q: 9\n"),
            R"([{"p":1},{"p":2,"q":2},{"q":9,"p":1}])");
  EXPECT_EQ(read("'<<': 1\n"), R"({"<<":1})");
}

TEST(Yaml, ErrorsNameLineAndColumn) {
  EXPECT_EQ(read("a: 1\nb: 2\na: 3\n"), "line 3, column 1: the key \"a\" comes twice");
  EXPECT_EQ(read("a: *nobody\n"), "line 1, column 5: no anchor &nobody stands before this alias");
  EXPECT_EQ(read("a: &a [*a]\n"), "line 1, column 9: no anchor &a stands before this alias");
  EXPECT_EQ(read("a:\n  <<: 5\n"), "line 2, column 7: << takes a mapping or a list of mappings");
  EXPECT_EQ(read("a: .inf\n"), "line 1, column 4: infinity and not-a-number cannot be used here");
  EXPECT_EQ(read("a: !!int x\n"),
            "line 1, column 10: the tag \"tag:yaml.org,2002:int\" does not fit its value");
  EXPECT_EQ(read("a: !secret x\n"),
            "line 1, column 12: the tag \"!secret\" does not fit its value");
  EXPECT_EQ(read("a: [1, 2\n"), "line 2, column 1: flow sequence without a closing bracket");
  EXPECT_THAT(read("a: b: c\n"), HasSubstr("line 1, column"));
  EXPECT_THAT(read("a:\n\t- b\n"), HasSubstr("line 2, column"));
  EXPECT_EQ(read("a: 0x10000000000000000\n"),
            "line 1, column 4: an integer does not fit 64 bits: put it in quotes if it is text");
}

TEST(Yaml, ErrorsDoNotRepeatSecrets) {
  for (const char* yaml : {"token: 'hunter2\n", "token: \"hunter2\\q\"\n", "token: hunter2: x\n",
                           "token: [hunter2\n", "token: !!int hunter2\n"}) {
    EXPECT_THAT(read(yaml), Not(HasSubstr("hunter2"))) << yaml;
  }
}

TEST(Yaml, StreamsHaveSeveralDocumentsAndEmptyOnesDoNotCount) {
  const auto documents =
      parse_yaml_documents("---\na: 1\n---\n---\n# only a comment\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents.has_value());
  EXPECT_THAT(*documents, ElementsAre(*parse(R"({"a":1})"), *parse(R"({"b":2})")));
  EXPECT_THAT(read("a: 1\n---\nb: 2\n"), HasSubstr("2 documents where one is expected"));
  // Anchors end with their document.
  EXPECT_THAT(parse_yaml_documents("- &a 1\n---\n- *a\n").error().to_string(), HasSubstr("line 3"));
}

TEST(Yaml, AliasesCannotExpandWithoutBound) {
  std::string laughs = "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) laughs += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    laughs += "]\n";
  }
  EXPECT_EQ(parse_yaml(laughs).error().code(), Code::kTooLarge);
}

TEST(Yaml, DepthAndSizeAreBounded) {
  for (const char* opening : {"[", "{a: ", "- ", "? ", "- a: "}) {
    std::string deep;
    for (int i = 0; i < 50'000; ++i) deep += opening;
    EXPECT_FALSE(parse_yaml(deep).has_value()) << opening;
  }
  EXPECT_EQ(read("[[[1]]]", {.max_depth = 2}), "line 1, column 4: nested deeper than 2 levels");
  EXPECT_EQ(read("[[1]]", {.max_depth = 2}), "[[1]]");
  EXPECT_EQ(read("abcdef", {.max_bytes = 5}), "6 bytes of YAML are more than the 5 allowed");
}

TEST(Yaml, WhatIsNotTextIsRefused) {
  EXPECT_EQ(read(std::string_view("a: b\0c", 6)), "a zero byte: this is not text");
  EXPECT_EQ(read("a: \xff\n"), "this is not UTF-8");
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a: 1\n"),
            R"({"a":1})");
  EXPECT_EQ(read("a: 1\r\nb: 2\r\n"), R"({"a":1,"b":2})");
}

TEST(Yaml, EveryJsonTextMeansTheSameToBothReaders) {
  EXPECT_TRUE(rc::check("JSON is YAML", [](int indent) {
    const Value value = *any_value();
    const std::string text = to_text(value, {.indent = indent % 2 == 0 ? 0 : 2});
    const auto read_back = parse_yaml(text);
    RC_ASSERT(read_back.has_value());
    RC_ASSERT(*read_back == *parse(text));
  }));
}

}  // namespace
}  // namespace mainspring::json
