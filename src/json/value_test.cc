#include "json/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

using testing::HasSubstr;
using Kind = Value::Kind;

Value parsed(std::string_view text) {
  auto value = parse(text);
  EXPECT_TRUE(value) << text << ": " << value.error().to_string();
  return value ? *value : Value();
}

std::string refusal(std::string_view text) {
  auto value = parse(text);
  return value ? "accepted as " + to_text(*value) : value.error().to_string();
}

TEST(Value, BuildsAKubernetesObjectInTheOrderItWasWritten) {
  const std::string name = "gpu-0";
  Value pod = Value::object({{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"metadata", Value::object({{"name", name}, {"generation", 3}})},
                             {"args", Value::array({"-D", true, nullptr, 1.5})}});
  pod["spec"]["nodeName"] = "node-1";
  EXPECT_EQ(to_text(pod),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"gpu-0","generation":3},)"
            R"("args":["-D",true,null,1.5],"spec":{"nodeName":"node-1"}})");
}

TEST(Value, KeepsIntegersExactOverBothRanges) {
  EXPECT_EQ(parsed("-9223372036854775808").as_int(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parsed("18446744073709551615").as_uint(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(parsed("18446744073709551615").kind(), Kind::kUint);
  EXPECT_EQ(parsed("9223372036854775807").kind(), Kind::kInt);
  EXPECT_EQ(parsed("18446744073709551615").as_int(), std::nullopt);
  EXPECT_EQ(parsed("-1").as_uint(), std::nullopt);
  EXPECT_EQ(parsed("3.0").as_int(), 3);
  EXPECT_EQ(parsed("3.5").as_int(), std::nullopt);
}

TEST(Value, ComparesNumbersByWhatTheyMean) {
  EXPECT_EQ(Value(1), Value(1.0));
  EXPECT_EQ(Value(1), Value(std::uint64_t{1}));
  EXPECT_FALSE(Value(1) == Value(true));
  EXPECT_FALSE(Value(-1) == Value(std::numeric_limits<std::uint64_t>::max()));
  // Next to 2^53 a double stands for several integers; only its own is equal.
  EXPECT_FALSE(Value(9007199254740993) == Value(9007199254740992.0));
  EXPECT_FALSE(Value(std::numeric_limits<std::uint64_t>::max()) == Value(18446744073709551616.0));
}

TEST(Value, ComparesObjectsWithoutAndArraysWithOrder) {
  EXPECT_EQ(parsed(R"({"a":1,"b":{"c":[1,2]}})"), parsed(R"({"b":{"c":[1,2.0]},"a":1})"));
  EXPECT_FALSE(parsed("[1,2]") == parsed("[2,1]"));
  EXPECT_FALSE(parsed(R"({"a":null})") == parsed("{}"));
}

TEST(Value, ErasesAMemberWithoutMovingTheOthers) {
  Value value = parsed(R"({"a":1,"b":2,"c":3,"d":4})");
  EXPECT_TRUE(value.erase("b"));
  EXPECT_FALSE(value.erase("b"));
  EXPECT_EQ(to_text(value), R"({"a":1,"c":3,"d":4})");
}

TEST(Value, GoesDownAPointer) {
  // The examples of RFC 6901, section 5.
  const Value doc = parsed(
      R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  EXPECT_EQ(doc.at_pointer(""), &doc);
  EXPECT_EQ(*doc.at_pointer("/foo/0"), Value("bar"));
  const std::pair<const char*, int> numbers[] = {{"/", 0},     {"/a~1b", 1}, {"/c%d", 2},
                                                 {"/e^f", 3},  {"/g|h", 4},  {"/i\\j", 5},
                                                 {"/k\"l", 6}, {"/ ", 7},    {"/m~0n", 8}};
  for (const auto& [pointer, number] : numbers) {
    ASSERT_NE(doc.at_pointer(pointer), nullptr) << pointer;
    EXPECT_EQ(*doc.at_pointer(pointer), Value(number)) << pointer;
  }
  for (const char* nowhere : {"foo", "/foo/2", "/foo/01", "/foo/-", "/foo/0/x", "/m~2n", "/none"}) {
    EXPECT_EQ(doc.at_pointer(nowhere), nullptr) << nowhere;
  }
}

TEST(Value, WritesForPeopleAndForHashes) {
  const Value value = parsed(R"({"b":[1,{}],"a":"x\u0001\n"})");
  EXPECT_EQ(to_text(value, {.indent = 2}),
            "{\n  \"b\": [\n    1,\n    {}\n  ],\n  \"a\": \"x\\u0001\\n\"\n}");
  EXPECT_EQ(to_text(value, {.sort_keys = true}), R"({"a":"x\u0001\n","b":[1,{}]})");
  EXPECT_EQ(to_text(Value(2.0)), "2.0");
  EXPECT_EQ(to_text(Value(std::numeric_limits<double>::infinity())), "null");
}

TEST(ValueParse, NamesARepeatedKeyAndWhereItIs) {
  EXPECT_THAT(refusal(R"({"spec":{"a":1,"b":2,"a":3}})"), HasSubstr(R"("a" appears twice)"));
  EXPECT_THAT(refusal(R"({"spec":{"a":1,"\u0061":3}})"), HasSubstr("appears twice"));
  std::string many = R"({"k0":0)";
  for (int i = 1; i < 50; ++i) many += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_TRUE(parse(many + "}"));
  EXPECT_THAT(refusal(many + R"(,"k7":1})"), HasSubstr(R"("k7" appears twice)"));
}

TEST(ValueParse, RefusesWhatIsNotJson) {
  EXPECT_THAT(refusal(""), HasSubstr("empty"));
  EXPECT_THAT(refusal("\"\xC3\x28\""), HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal(R"("\ud800")"), HasSubstr("escape"));
  EXPECT_THAT(refusal("[1,2"), HasSubstr("[1]: expected ','"));
  EXPECT_THAT(refusal("[1,]"), HasSubstr("[1]: expected a value, found ']'"));
  EXPECT_THAT(refusal("{} x"), HasSubstr("more text follows"));
  EXPECT_THAT(refusal("1e999"), HasSubstr("'1e999' is out of range"));
  EXPECT_THAT(refusal("18446744073709551616"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("-9223372036854775809"), HasSubstr("out of range"));
  for (const char* bad : {"01",    "+1",        "1.",          ".5",    "1e",
                          "-",     "nul",       "nullx",       "truee", "[1 2]",
                          "{a:1}", "{\"a\" 1}", "{\"a\":1,}",  "\"a",   "\"\t\"",
                          "'a'",   "[}",        "{]",          "NaN",   "\xEF\xBB\xBF{}",
                          "1\x01", "\"\\x\"",   "\"\\u12g4\"", "]",     "}",
                          ","}) {
    EXPECT_THAT(refusal(bad), testing::Not(HasSubstr("accepted"))) << bad;
  }
}

TEST(ValueParse, HasALimitOnDepthAndSize) {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  EXPECT_TRUE(parse(nested(512)));
  auto deep = parse(nested(513));
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code(), Code::kTooLarge);
  EXPECT_FALSE(parse(std::string(1'000'000, '[')));

  auto large = parse("[1,2,3]", {.max_bytes = 6});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Code::kTooLarge);
}

TEST(Document, LetsItsPartsBeTakenAway) {
  Value kept;
  Value moved = [&] {
    auto document =
        Document::parse(R"({"a":{"b":["a string that is too long for small storage"]}})");
    EXPECT_TRUE(document);
    document->root()["a"]["c"] = 1;
    kept = document->root()["a"];
    return std::move(document->root()["a"]);
  }();
  EXPECT_EQ(moved, kept);
  EXPECT_EQ(moved.size(), 2U);
  moved["b"].push_back("more");
  EXPECT_EQ(moved.find("b")->size(), 2U);
}

TEST(Value, IsTheSameAfterBeingWrittenAndRead) {
  EXPECT_TRUE(rc::check("parse(to_text(v)) == v", [] {
    const Value value = *any_value();
    for (const WriteOptions options : {WriteOptions{}, WriteOptions{2, true}}) {
      const auto again = parse(to_text(value, options));
      RC_ASSERT(again.has_value());
      RC_ASSERT(*again == value);
      RC_ASSERT(to_text(*again, {.sort_keys = true}) == to_text(value, {.sort_keys = true}));
    }
    const auto document = Document::parse(to_text(value));
    RC_ASSERT(document.has_value());
    RC_ASSERT(document->root() == value);
  }));
}

}  // namespace
}  // namespace mainspring::json
