#include "slurm/written.h"

#include <gtest/gtest.h>

namespace mainspring::slurm {
namespace {

std::string compare(const char* sent, const char* is) {
  return value_difference(*json::parse(sent), *json::parse(is));
}

TEST(Written, WhatIsNotAsItWasSentIsNamed) {
  EXPECT_EQ(compare(R"({"a":1,"b":{"c":"x"}})", R"({"a":1,"b":{"c":"x","d":2}})"), "");
  EXPECT_EQ(compare(R"({"b":{"c":"x"}})", R"({"b":{"c":"y"}})"), R"(b.c is "y", not "x")");
  EXPECT_EQ(compare(R"({"p":{"set":true,"number":3}})",
                    R"({"p":{"set":false,"infinite":true,"number":0}})"),
            "p.set is false, not true");
  EXPECT_EQ(compare(R"({"factor":2})", R"({"factor":2.0})"), "");
}

TEST(Written, ListsOfNamesAreSets) {
  EXPECT_EQ(compare(R"({"qos":["a","b"]})", R"({"qos":["b","a"]})"), "");
  EXPECT_EQ(compare(R"({"qos":["a"]})", R"({"qos":["a","b"]})"), R"(qos is ["a","b"], not ["a"])");
  EXPECT_EQ(compare(R"({"qos":["+a"]})", R"({"qos":["a","b"]})"), "") << "a change, not a list";
}

TEST(Written, WhatIsNotShownIsNotMissed) {
  EXPECT_EQ(compare(R"({"comment":"x"})", R"({"name":"a"})"), "");
}

TEST(Written, NamesAndHostsAreComparedWhateverTheirOrder) {
  EXPECT_TRUE(same_names({"bob", "alice"}, "alice,bob"));
  EXPECT_FALSE(same_names({"bob"}, "alice,bob"));
  EXPECT_TRUE(same_names({}, ""));
  EXPECT_TRUE(plain_names({"alice"}));
  EXPECT_FALSE(plain_names({"alice", "+bob"}));
  EXPECT_FALSE(plain_names({"1000"}));
  EXPECT_TRUE(same_hosts("node2,node1", "node[1-2]"));
  EXPECT_FALSE(same_hosts("node1", "node[1-2]"));
  EXPECT_EQ(text_difference("comment", std::nullopt, "a"), "");
  EXPECT_EQ(text_difference("comment", "b", "a"), "comment is 'a', not 'b'");
}

}  // namespace
}  // namespace mainspring::slurm
