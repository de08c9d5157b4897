#include "bridge/translate/domains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/fields.h"

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

DomainNode node(const std::string& name, const std::string& labels, bool is_now = true,
                bool could_be = true) {
  json::Reader reader;
  auto read = json::decode<kube::Node>(
      reader, R"({"metadata":{"name":")" + name + R"(","labels":{)" + labels + "}}}");
  EXPECT_TRUE(read.has_value());
  return {std::make_shared<const kube::Node>(read.value_or(kube::Node())), could_be, is_now};
}

const std::string kA = R"("zone":"a","rack":"1")";
const std::string kB = R"("zone":"b","rack":"1")";

std::vector<std::string> names(const std::vector<DomainNode>& nodes, std::size_t least,
                               const std::vector<std::string>& keys = {"zone"},
                               const std::vector<std::string>& near = {}) {
  std::vector<std::string> out;
  for (const Domain& one : domains_for(nodes, keys, least, near)) out.push_back(one.to_string());
  return out;
}

TEST(Domains, AreNodesThatAgree) {
  const std::vector<DomainNode> nodes = {node("1", kA), node("2", kB), node("3", R"("zone":"c")"),
                                         node("4", "")};
  EXPECT_THAT(names(nodes, 1), ElementsAre("zone=a", "zone=b", "zone=c"));
  EXPECT_THAT(names(nodes, 1, {"zone", "rack"}), ElementsAre("zone=a,rack=1", "zone=b,rack=1"));
  const Domain a{{"zone"}, {"a"}};
  EXPECT_TRUE(a.has(nodes[0].node->meta));
  EXPECT_FALSE(a.has(nodes[1].node->meta));
  EXPECT_FALSE(a.has(nodes[3].node->meta));
}

TEST(Domains, ThatAreTooSmallAreNone) {
  const std::vector<DomainNode> nodes = {node("1", kA), node("2", kA), node("3", kB),
                                         node("4", kB, false, false)};
  EXPECT_THAT(names(nodes, 2), ElementsAre("zone=a"));
  EXPECT_THAT(names(nodes, 3), IsEmpty());
}

TEST(Domains, WhereTheJobCanStartComeFirst) {
  const std::vector<DomainNode> nodes = {node("1", kA, false), node("2", kA), node("3", kA),
                                         node("4", kB), node("5", kB)};
  EXPECT_THAT(names(nodes, 1), ElementsAre("zone=a", "zone=b")) << "the larger one";
  const std::vector<DomainNode> busy = {node("1", kA, false), node("2", kA, false), node("3", kA),
                                        node("4", kB), node("5", kB)};
  EXPECT_THAT(names(busy, 2), ElementsAre("zone=b", "zone=a"));
}

TEST(Domains, WhereTheGangIsAlreadyIsTheOnlyOne) {
  const std::vector<DomainNode> nodes = {node("1", kA), node("2", kA), node("3", kB)};
  EXPECT_THAT(names(nodes, 1, {"zone"}, {"3"}), ElementsAre("zone=b"));
  EXPECT_THAT(names(nodes, 2, {"zone"}, {"3"}), IsEmpty());
  // Of nodes that are not there nothing follows.
  EXPECT_THAT(names(nodes, 1, {"zone"}, {"9"}), ElementsAre("zone=a", "zone=b"));
}

}  // namespace
}  // namespace mainspring::bridge
