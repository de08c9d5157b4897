#include "kube/taints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

template <class T>
T from(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(T());
}

struct Case {
  std::string_view toleration;
  std::string_view taint;
  bool tolerated;
};

class Tolerations : public testing::TestWithParam<Case> {};

TEST_P(Tolerations, AsKubeScheduler) {
  EXPECT_EQ(from<Toleration>(GetParam().toleration).tolerates(from<Taint>(GetParam().taint)),
            GetParam().tolerated)
      << GetParam().toleration << " of " << GetParam().taint;
}

constexpr std::string_view kTaint = R"({"key":"k","value":"v","effect":"NoSchedule"})";
constexpr std::string_view kNumber = R"({"key":"sla","value":"950","effect":"NoExecute"})";

INSTANTIATE_TEST_SUITE_P(
    All, Tolerations,
    testing::Values(
        Case{R"({"key":"k","operator":"Equal","value":"v","effect":"NoSchedule"})", kTaint, true},
        Case{R"({"key":"k","value":"v"})", kTaint, true},
        Case{R"({"key":"k","operator":"","value":"v"})", kTaint, true},
        Case{R"({"key":"k","value":"w"})", kTaint, false}, Case{R"({"key":"k"})", kTaint, false},
        Case{R"({"key":"k"})", R"({"key":"k","effect":"NoSchedule"})", true},
        Case{R"({"key":"j","value":"v"})", kTaint, false},
        Case{R"({"key":"k","operator":"Exists"})", kTaint, true},
        Case{R"({"key":"k","operator":"Exists","effect":"NoExecute"})", kTaint, false},
        Case{R"({"operator":"Exists"})", kTaint, true},
        Case{R"({"operator":"Exists","effect":"NoExecute"})", kTaint, false},
        Case{R"({"value":"v"})", kTaint, true},
        Case{R"({"key":"k","operator":"Near","value":"v"})", kTaint, false},
        Case{R"({"key":"k","operator":"Exists","effect":"Maybe"})",
             R"({"key":"k","effect":"Perhaps"})", false},
        Case{R"({"key":"sla","operator":"Gt","value":"900"})", kNumber, true},
        Case{R"({"key":"sla","operator":"Gt","value":"950"})", kNumber, false},
        Case{R"({"key":"sla","operator":"Gt","value":"999"})", kNumber, false},
        Case{R"({"key":"sla","operator":"Lt","value":"999"})", kNumber, true},
        Case{R"({"key":"sla","operator":"Lt","value":"950"})", kNumber, false},
        Case{R"({"key":"sla","operator":"Gt","value":"-1"})", kNumber, true},
        Case{R"({"key":"sla","operator":"Gt","value":"+1"})", kNumber, true},
        Case{R"({"key":"sla","operator":"Lt","value":"high"})", kNumber, false},
        Case{R"({"key":"sla","operator":"Lt","value":"9","effect":"NoSchedule"})", kNumber, false},
        Case{R"({"key":"k","operator":"Lt","value":"9"})", kTaint, false},
        Case{R"({"key":"sla","operator":"Lt","value":"99999999999999999999"})", kNumber, false}));

const Seq<Taint> kTaints = {{"soft", "", {}, TaintEffect::kPreferNoSchedule},
                            {"new", "", {}, TaintEffect::kOther},
                            {"closed", "", {}, TaintEffect::kNoSchedule},
                            {"out", "", {}, TaintEffect::kNoExecute}};

TEST(Taints, ThatOnlyDiscourageDoNotRepel) {
  EXPECT_EQ(repelling_taint(kTaints, {})->key, "closed");
  EXPECT_EQ(evicting_taint(kTaints, {})->key, "out");
  EXPECT_EQ(disliked_taints(kTaints, {}), 1U);

  const Seq<Toleration> some = {{.key = "closed", .op = TolerationOperator::kExists}};
  EXPECT_EQ(repelling_taint(kTaints, some)->key, "out");
  const Seq<Toleration> all = {{.op = TolerationOperator::kExists}};
  EXPECT_EQ(repelling_taint(kTaints, all), nullptr);
  EXPECT_EQ(evicting_taint(kTaints, all), nullptr);
  EXPECT_EQ(disliked_taints(kTaints, all), 0U);
}

TEST(Taints, OfACordonedNodeAreToleratedByName) {
  EXPECT_FALSE(tolerates_cordon({}));
  EXPECT_TRUE(tolerates_cordon({{.key = "node.kubernetes.io/unschedulable",
                                 .op = TolerationOperator::kExists,
                                 .effect = TaintEffect::kNoSchedule}}));
  EXPECT_FALSE(tolerates_cordon({{.key = "node.kubernetes.io/unschedulable",
                                  .op = TolerationOperator::kExists,
                                  .effect = TaintEffect::kNoExecute}}));
}

}  // namespace
}  // namespace mainspring::kube
