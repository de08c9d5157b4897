#include "kube/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "kube/projection.h"

namespace mainspring::kube {
namespace {

TEST(Text, KeepsAnyBytesAndComparesByContent) {
  EXPECT_TRUE(rc::check([](const std::string& a, const std::string& b) {
    const Text text(a);
    Text copy = text;
    RC_ASSERT(text.view() == a);
    RC_ASSERT(copy == text);
    RC_ASSERT((Text(a) == Text(b)) == (a == b));
    const Text moved = std::move(copy);
    RC_ASSERT(moved.view() == a);
    RC_ASSERT(moved.empty() == a.empty());
  }));
}

TEST(Text, OfAKnownWordIsNotCopied) {
  const std::string ready = "Ready";
  EXPECT_EQ(Text(ready).view().data(), Text("Ready").view().data());
  EXPECT_NE(Text("Unheard-of").view().data(), Text("Unheard-of").view().data());
  EXPECT_EQ(Text("Ready"), "Ready");
}

TEST(Seq, KeepsItsItemsWhenACopyIsReplaced) {
  Seq<Text> first{"a", "b"};
  const Seq<Text> second = first;
  first = Seq<Text>{"c"};
  EXPECT_THAT(second, testing::ElementsAre(Text("a"), Text("b")));
  EXPECT_NE(first, second);
}

TEST(Shared, IsOneValueForAllCopiesAndTheDefaultWithoutOne) {
  const Shared<std::string> one = std::string("one");
  const Shared<std::string> copy = one;
  EXPECT_EQ(&*copy, &*one);
  EXPECT_EQ(one, Shared<std::string>(std::string("one")));
  EXPECT_NE(one, Shared<std::string>());
  EXPECT_EQ(Shared<std::string>(), Shared<std::string>(std::string()));
  EXPECT_TRUE(Shared<std::string>()->empty());
}

TEST(Rare, ComparesByValueAndPresence) {
  const Rare<int> none;
  EXPECT_EQ(Rare<int>(3), Rare<int>(3));
  EXPECT_NE(Rare<int>(3), Rare<int>(4));
  EXPECT_NE(Rare<int>(0), none);
  EXPECT_EQ(none, Rare<int>());
}

TEST(Quantities, TakePlainNumbersFromCustomResources) {
  json::Reader reader;
  const auto amounts =
      json::decode<Quantities>(reader, R"({"cpu": 2, "memory": "1Gi", "x": null})");
  ASSERT_TRUE(amounts) << amounts.error().to_string();
  EXPECT_EQ(amounts->amount("cpu"), Quantity::of_units(2));
  EXPECT_EQ(amounts->amount("memory"), Quantity::of_units(1 << 30));
  EXPECT_EQ(amounts->amount("absent"), Quantity());
  EXPECT_FALSE(amounts->contains("x"));
}

TEST(Quantities, NameTheResourceWhoseAmountIsBroken) {
  json::Reader reader;
  const auto amounts = json::decode<Quantities>(reader, R"({"cpu": "lots"})");
  ASSERT_TRUE(amounts);
  EXPECT_THAT(amounts->amount("cpu").error().to_string(), testing::HasSubstr("cpu"));
}

TEST(ShareEqual, GivesEqualValuesTheSamePlaceAndOthersTheirOwn) {
  Seq<Text> first{"a", "b"};
  Seq<Text> second{"a", "b"};
  Seq<Text> other{"a", "c"};
  share_equal(first);
  share_equal(second);
  share_equal(other);
  EXPECT_EQ(first.begin(), second.begin());
  EXPECT_NE(first.begin(), other.begin());
  EXPECT_EQ(other[1], "c");
}

TEST(ShareEqual, TakesTheEarlierVersionsPlaceOnlyWhereItIsEqual) {
  const Seq<Text> earlier{"a", "b"};
  Seq<Text> same{"a", "b"};
  Seq<Text> other{"a", "c"};
  share_equal(same, earlier);
  share_equal(other, earlier);
  EXPECT_EQ(same.begin(), earlier.begin());
  EXPECT_THAT(other, testing::ElementsAre("a", "c"));
}

TEST(ShareEqual, RemembersOnlyAFew) {
  Seq<Text> first{"first"};
  share_equal(first);
  for (const char* text : {"1", "2", "3", "4"}) {
    Seq<Text> another{text};
    share_equal(another);
  }
  Seq<Text> again{"first"};
  share_equal(again);
  EXPECT_NE(again.begin(), first.begin());
  EXPECT_EQ(again, first);
}

}  // namespace
}  // namespace mainspring::kube
