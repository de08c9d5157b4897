#include "json/string_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <string>
#include <vector>

#include "json/fields.h"

namespace mainspring::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(StringMap, IsSortedAndFindsItsMembers) {
  Reader reader;
  const auto map = decode<StringMap>(reader, R"({"b":"2","a/\u0062":"","c":null})");
  ASSERT_TRUE(map) << map.error().to_string();
  EXPECT_THAT(*map, ElementsAre(Pair("a/b", ""), Pair("b", "2"), Pair("c", "")));
  EXPECT_EQ(map->find("b"), "2");
  EXPECT_EQ(map->find("bb"), std::nullopt);
  EXPECT_EQ(*map, *decode<StringMap>(reader, R"({"c":"","a/b":"","b":"2"})"));
  EXPECT_FALSE(*map == *decode<StringMap>(reader, R"({"c":"","a/b":"","b":"3"})"));
  EXPECT_TRUE(decode<StringMap>(reader, "{}")->empty());
}

TEST(StringMap, HasItsKeysOnceWithMapsOfTheSameKeys) {
  Reader reader;
  const auto one = decode<StringMap>(reader, R"({"app":"a","pod":"1"})");
  const auto two = decode<StringMap>(reader, R"({"pod":"2","app":"a"})");
  const auto other = decode<StringMap>(reader, R"({"app":"a","job":"2","pod":"2"})");
  const auto like_other = decode<StringMap>(reader, R"({"app":"a","jab":"2","pod":"2"})");
  ASSERT_TRUE(one && two && other && like_other);
  EXPECT_EQ(one->at(0).first.data(), two->at(0).first.data());
  EXPECT_THAT(*two, ElementsAre(Pair("app", "a"), Pair("pod", "2")));
  EXPECT_THAT(*like_other, ElementsAre(Pair("app", "a"), Pair("jab", "2"), Pair("pod", "2")));
  EXPECT_FALSE(*one == *two);
  EXPECT_FALSE(*other == *like_other);
}

TEST(StringMap, RefusesAKeyThatComesTwice) {
  Reader reader;
  std::string text = "{\"key0\":\"\"";
  for (int i = 1; i < 40; ++i) text += ",\"key" + std::to_string(i) + "\":\"\"";
  EXPECT_EQ(decode<StringMap>(reader, text + "}")->size(), 40U);
  for (const std::string& bad : {text + R"(,"key7":""})", std::string(R"({"a":"","a":""})")}) {
    const auto map = decode<StringMap>(reader, bad);
    ASSERT_FALSE(map);
    EXPECT_THAT(map.error().to_string(), HasSubstr("appears twice"));
  }
  EXPECT_THAT(decode<StringMap>(reader, R"({"a":1})").error().to_string(),
              HasSubstr("a: expected a string, found a number"));
}

TEST(StringMap, HoldsWhatAMapHolds) {
  EXPECT_TRUE(
      rc::check("same members as std::map", [](const std::map<std::string, std::string>& m) {
        std::vector<StringMap::Member> members(m.rbegin(), m.rend());
        const StringMap map{std::span(members)};
        StringMap copy;
        copy = map;
        const StringMap moved = std::move(copy);
        RC_ASSERT(moved == map);
        RC_ASSERT(map.size() == m.size());
        auto expected = m.begin();
        for (const auto [key, value] : moved) {
          RC_ASSERT(key == expected->first);
          RC_ASSERT(value == expected->second);
          RC_ASSERT(map.find(key) == value);
          ++expected;
        }
      }));
}

}  // namespace
}  // namespace mainspring::json
