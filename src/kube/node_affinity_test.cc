#include "kube/node_affinity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/fields.h"

namespace mainspring::kube {
namespace {

template <class T>
T from(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(T());
}

Meta node() {
  return from<Meta>(
      R"({"name":"gpu-0","labels":{"zone":"a","gpus":"8","arch":"amd64","empty":""}})");
}

struct Case {
  std::string_view terms;
  bool matches;
};

class NodeSelectorTerms : public testing::TestWithParam<Case> {};

TEST_P(NodeSelectorTerms, AsKubeScheduler) {
  const auto selector =
      from<NodeSelector>("{\"nodeSelectorTerms\":" + std::string(GetParam().terms) + "}");
  EXPECT_EQ(selector.matches(node()), GetParam().matches) << GetParam().terms;
}

INSTANTIATE_TEST_SUITE_P(
    All, NodeSelectorTerms,
    testing::Values(
        Case{R"([])", false}, Case{R"([{}])", false}, Case{R"(null)", false},
        Case{R"([{"matchExpressions":[],"matchFields":[]}])", false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["a","b"]}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"none","operator":"In","values":["b"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["b"]}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"none","operator":"NotIn","values":["b"]}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"Exists"}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"empty","operator":"Exists"}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"none","operator":"Exists"}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"none","operator":"DoesNotExist"}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"DoesNotExist"}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["7"]}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["8"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"gpus","operator":"Lt","values":["9"]}]}])", true},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"Lt","values":["9"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"none","operator":"Lt","values":["9"]}]}])", false},
        // What the scheduler cannot parse matches nothing, and does not spoil the other terms.
        Case{R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["many"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["1","2"]}]}])",
             false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"Near","values":["a"]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"In","values":[]}]}])", false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"In","values":[]}]},
                 {"matchExpressions":[{"key":"zone","operator":"Exists"}]}])",
             true},
        // ANDed within a term, ORed between terms.
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"Exists"},
                                      {"key":"none","operator":"Exists"}]}])",
             false},
        Case{R"([{},{"matchExpressions":[{"key":"zone","operator":"Exists"}]}])", true},
        Case{R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-0"]}]}])",
             true},
        Case{R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-1"]}]}])",
             false},
        Case{R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["gpu-1"]}]}])",
             true},
        Case{R"([{"matchFields":[{"key":"metadata.name","operator":"NotIn","values":["gpu-0"]}]}])",
             false},
        Case{
            R"([{"matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-0","x"]}]}])",
            false},
        Case{R"([{"matchFields":[{"key":"metadata.name","operator":"Exists"}]}])", false},
        Case{R"([{"matchFields":[{"key":"metadata.uid","operator":"In","values":["gpu-0"]}]}])",
             false},
        Case{R"([{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}],
                  "matchFields":[{"key":"metadata.name","operator":"In","values":["gpu-0"]}]}])",
             false}));

TEST(NodeAffinity, WithoutRequirementAllowsEveryNode) {
  EXPECT_TRUE(from<NodeAffinity>("{}").allows(node()));
  EXPECT_FALSE(from<NodeAffinity>(
                   R"({"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}})")
                   .allows(node()));
}

TEST(NodeAffinity, AddsTheWeightsOfPreferencesThatHold) {
  const auto affinity = from<NodeAffinity>(
      R"({"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":10,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]}]}},
          {"weight":7,"preference":{"matchExpressions":[{"key":"gpus","operator":"Gt","values":["4"]}]}},
          {"weight":50,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["b"]}]}},
          {"weight":90,"preference":{}}]})");
  EXPECT_EQ(affinity.score(node()), 17);
}

TEST(NodeSelectorOfAPod, NeedsEveryLabel) {
  EXPECT_TRUE(matches_node_selector(from<json::StringMap>("{}"), node()));
  EXPECT_TRUE(matches_node_selector(from<json::StringMap>(R"({"zone":"a","gpus":"8"})"), node()));
  EXPECT_FALSE(matches_node_selector(from<json::StringMap>(R"({"zone":"a","gpus":"4"})"), node()));
  EXPECT_FALSE(matches_node_selector(from<json::StringMap>(R"({"none":""})"), node()));
  EXPECT_TRUE(matches_node_selector(from<json::StringMap>(R"({"empty":""})"), node()));
}

}  // namespace
}  // namespace mainspring::kube
