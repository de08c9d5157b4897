#include "json/string_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

#include "json/fields.h"
#include "json/value.h"

namespace mainspring::json {
namespace {

using ::testing::ElementsAre;

Result<StringList> decode_list(const std::string& text) {
  Reader reader;
  return decode<StringList>(reader, text);
}

TEST(StringList, KeepsItsItemsInOrder) {
  const auto list = decode_list(R"(["IDLE","DRAIN","a \"quoted\" one",""])");
  ASSERT_TRUE(list);
  EXPECT_THAT(*list, ElementsAre("IDLE", "DRAIN", "a \"quoted\" one", ""));
  EXPECT_TRUE(list->contains("DRAIN"));
  EXPECT_FALSE(list->contains("DRAI"));
}

TEST(StringList, IsEmptyForNoItemsAndForNull) {
  EXPECT_TRUE(decode_list("[]")->empty());
  EXPECT_TRUE(decode_list("null")->empty());
  EXPECT_EQ(StringList(), *decode_list("[]"));
}

TEST(StringList, RefusesWhatIsNoString) {
  const auto list = decode_list(R"(["a",1])");
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().message(), "[1]: expected a string, found a number (at byte 5)");
}

TEST(StringList, TellsWhereItemsEnd) {
  EXPECT_NE(StringList({"ab", "c"}), StringList({"a", "bc"}));
  EXPECT_NE(StringList({"ab"}), StringList({"ab", ""}));
  EXPECT_EQ(StringList({"ab", "c"}), StringList({"ab", "c"}));
}

TEST(StringList, SharesTheMemoryOfOneThatWasReadBefore) {
  const auto first = decode_list(R"(["gpu","all"])");
  const auto other = decode_list(R"(["gpu","own","all"])");
  const auto again = decode_list(R"(["gpu","all"])");
  ASSERT_TRUE(first && other && again);
  EXPECT_EQ((*again)[0].data(), (*first)[0].data());
  EXPECT_EQ(*other, StringList({"gpu", "own", "all"}));
  EXPECT_EQ(*decode_list(R"(["gpu","al"])"), StringList({"gpu", "al"}));
}

TEST(StringList, ReadsWhatWasWrittenWhateverItsLength) {
  EXPECT_TRUE(rc::check("items survive, copies are equal and their own", [] {
    const auto items = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange('a', 'e')));
    Value array = Value::array();
    for (const auto& item : items) array.push_back(item);
    StringList copy;
    {
      const auto list = decode_list(to_text(array));
      RC_ASSERT(list.has_value());
      copy = *list;
      RC_ASSERT(copy == *list);
    }
    RC_ASSERT(copy.size() == items.size());
    for (std::size_t i = 0; i < items.size(); ++i) RC_ASSERT(copy[i] == items[i]);
  }));
}

}  // namespace
}  // namespace mainspring::json
