#include "http/headers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Optional;

TEST(Headers, FindsNamesWhateverTheirCase) {
  const Headers headers{{"Content-Type", "text/plain"}};
  EXPECT_THAT(headers.get("content-TYPE"), Optional(std::string_view("text/plain")));
  EXPECT_EQ(headers.get("Content-Typ"), std::nullopt);
}

TEST(Headers, KeepsOrderAndRepetitions) {
  Headers headers;
  headers.add("A", "1");
  headers.add("B", "2");
  headers.add("a", "3");
  EXPECT_THAT(headers, ElementsAre(Field{"A", "1"}, Field{"B", "2"}, Field{"a", "3"}));
  EXPECT_THAT(headers.all("A"), ElementsAre("1", "3"));
  EXPECT_EQ(headers.count("A"), 2u);
}

TEST(Headers, SetReplacesEveryValue) {
  Headers headers{{"A", "1"}, {"B", "2"}, {"a", "3"}};
  headers.set("A", "4");
  EXPECT_THAT(headers, ElementsAre(Field{"B", "2"}, Field{"A", "4"}));
}

TEST(Headers, SetMayBeGivenAViewOfItsOwnText) {
  Headers headers{{"A", "a value long enough to live on the heap, not in the string itself"}};
  headers.set("A", *headers.get("A"));
  EXPECT_THAT(headers.all("A"),
              ElementsAre("a value long enough to live on the heap, not in the string itself"));
}

TEST(Headers, ClearForgetsEverything) {
  Headers headers{{"A", "1"}};
  headers.clear();
  EXPECT_THAT(headers, IsEmpty());
  EXPECT_FALSE(headers.contains("A"));
}

TEST(Headers, FindsTokensInCommaSeparatedLists) {
  const Headers headers{{"Connection", "keep-alive,\t Upgrade "}, {"connection", "x"}};
  EXPECT_TRUE(headers.has_token("Connection", "upgrade"));
  EXPECT_TRUE(headers.has_token("Connection", "X"));
  EXPECT_FALSE(headers.has_token("Connection", "keep"));
  EXPECT_FALSE(headers.has_token("Connection", "close"));
}

TEST(Headers, AreEqualWhenNamesDifferOnlyInCase) {
  EXPECT_EQ((Headers{{"A", "1"}}), (Headers{{"a", "1"}}));
  EXPECT_NE((Headers{{"A", "x"}}), (Headers{{"A", "X"}}));
  EXPECT_NE((Headers{{"A", "1"}}), Headers());
}

}  // namespace
}  // namespace mainspring::http
