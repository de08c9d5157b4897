#include "kube/dynamic.h"

#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

Result<Dynamic> read_object(std::string_view text) {
  json::Reader reader;
  return json::decode<Dynamic>(reader, text);
}

TEST(Dynamic, KeepsEveryMemberAsItStood) {
  const auto object = read_object(
      R"({"apiVersion":"x.dev/v1","kind":"Thing","metadata":{"name":"a","resourceVersion":"1"},)"
      R"("spec":{"size": 1.50,"on":true},"list":[1, 2],"none":null})");
  ASSERT_TRUE(object.has_value()) << object.error().to_string();
  EXPECT_EQ(object->meta.name, "a");
  EXPECT_EQ(object->members.find("spec"), R"({"size": 1.50,"on":true})");
  EXPECT_EQ(object->members.find("kind"), R"("Thing")");
  EXPECT_FALSE(object->members.find("metadata"));
  EXPECT_EQ(*object->member("list")->begin(), json::Value(1));
  EXPECT_EQ(*object->member("spec")->at_pointer("/on"), json::Value(true));
  EXPECT_TRUE(object->member("status")->is_null());
  EXPECT_TRUE(object->member("none")->is_null());
}

TEST(Dynamic, IsTheSameAtAnotherVersionOnly) {
  const auto make = [](const char* version, const char* spec) {
    return *read_object(R"({"metadata":{"name":"a","resourceVersion":")" + std::string(version) +
                        R"("},"spec":)" + spec + "}");
  };
  EXPECT_EQ(make("1", "{}"), make("2", "{}"));
  EXPECT_NE(make("1", "{}"), make("1", R"({"x":1})"));
}

TEST(Dynamic, RefusesWhatIsNoObject) {
  for (const char* text : {"[]", "7", "{", R"({"metadata":[]})", R"({"spec":})"}) {
    EXPECT_FALSE(read_object(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace mainspring::kube
