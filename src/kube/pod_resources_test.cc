#include "kube/pod_resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

using Amounts = std::map<std::string, std::string>;

PodSpec spec(std::string_view text) {
  json::Reader reader;
  auto value = json::decode<PodSpec>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string();
  return value.value_or(PodSpec());
}

Amounts words(const Result<ResourceTotals>& totals) {
  Amounts words;
  EXPECT_TRUE(totals);
  for (const auto& [name, amount] : *totals) words[name] = amount.to_string();
  return words;
}

struct Case {
  const char* what;
  std::string_view spec;
  Amounts requests;
  Amounts limits;
};

class PodResources : public testing::TestWithParam<Case> {};

TEST_P(PodResources, AsKubeSchedulerCountsThem) {
  const PodSpec pod = spec(GetParam().spec);
  EXPECT_EQ(words(pod_requests(pod)), GetParam().requests) << GetParam().what;
  EXPECT_EQ(words(pod_limits(pod)), GetParam().limits) << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    All, PodResources,
    testing::Values(
        Case{"nothing asked for", R"({"containers":[{"name":"a"}]})", {}, {}},
        Case{"containers add up",
             R"({"containers":[{"resources":{"requests":{"cpu":"500m"},"limits":{"cpu":"1"}}},
                               {"resources":{"requests":{"cpu":"700m","memory":"1Gi"}}}]})",
             {{"cpu", "1200m"}, {"memory", "1Gi"}},
             {{"cpu", "1"}}},
        Case{"the largest init container counts where it needs more",
             R"({"containers":[{"resources":{"requests":{"cpu":"1","memory":"2Gi"}}}],
                 "initContainers":[{"resources":{"requests":{"cpu":"3"},"limits":{"cpu":"4"}}},
                                   {"resources":{"requests":{"cpu":"2","memory":"1Gi","x.com/d":"1"}}}]})",
             {{"cpu", "3"}, {"memory", "2Gi"}, {"x.com/d", "1"}},
             {{"cpu", "4"}}},
        Case{"sidecars add to the containers",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
                 "initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"200m"}}}]})",
             {{"cpu", "1200m"}},
             {}},
        Case{"an init container runs beside the sidecars before it, not those behind",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"}}}],
                 "initContainers":[{"resources":{"requests":{"cpu":"5"}}},
                                   {"restartPolicy":"Always","resources":{"requests":{"cpu":"2"}}},
                                   {"resources":{"requests":{"cpu":"4"}}},
                                   {"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}}]})",
             {{"cpu", "6"}},
             {}},
        Case{"overhead comes on top, and on limits only where there are some",
             R"({"containers":[{"resources":{"requests":{"cpu":"1"},"limits":{"cpu":"2"}}}],
                 "overhead":{"cpu":"250m","memory":"64Mi"}})",
             {{"cpu", "1250m"}, {"memory", "64Mi"}},
             {{"cpu", "2250m"}}},
        Case{"amounts of the whole pod replace sums, of cpu, memory and huge pages only",
             R"({"containers":[{"resources":{"requests":{"cpu":"1","x.com/d":"1"},
                                             "limits":{"cpu":"2"}}}],
                 "resources":{"requests":{"cpu":"4","hugepages-2Mi":"8Mi","x.com/d":"7"},
                              "limits":{"memory":"3Gi"}},
                 "overhead":{"cpu":"1"}})",
             {{"cpu", "5"}, {"hugepages-2Mi", "8Mi"}, {"x.com/d", "1"}},
             {{"cpu", "3"}, {"memory", "3Gi"}}}));

TEST(PodResourcesErrors, NameTheResource) {
  const auto totals =
      pod_requests(spec(R"({"containers":[{"resources":{"requests":{"cpu":"plenty"}}}]})"));
  ASSERT_FALSE(totals);
  EXPECT_THAT(totals.error().to_string(), testing::HasSubstr("cpu"));
}

}  // namespace
}  // namespace mainspring::kube
