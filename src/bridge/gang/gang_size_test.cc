#include "bridge/gang/gang_size.h"

#include <gtest/gtest.h>

#include <limits>

#include "json/yaml.h"

namespace mainspring::bridge {
namespace {

template <class T>
T from(std::string_view yaml) {
  const auto value = json::parse_yaml(yaml);
  EXPECT_TRUE(value) << yaml;
  json::Reader reader;
  auto object = json::decode<T>(reader, json::to_text(*value));
  EXPECT_TRUE(object) << object.error().to_string();
  return *std::move(object);
}

constexpr std::string_view kSet = R"(
metadata: {name: train}
spec:
  replicatedJobs:
    - {name: driver, replicas: 1, template: {spec: {parallelism: 1, completions: 1}}}
    - {name: workers, replicas: 2, template: {spec: {parallelism: 3, completions: 3}}}
)";

TEST(GangSize, OfAJobCountsThoseThatHaveNotSucceeded) {
  auto job = from<kube::Job>("{spec: {parallelism: 4, completions: 4}}");
  EXPECT_EQ(pods_to_come(job), 4);
  job.succeeded = 3;
  EXPECT_EQ(pods_to_come(job), 1);
  job.succeeded = 9;
  EXPECT_EQ(pods_to_come(job), 0);
  // As many as work side by side, however many are to come.
  EXPECT_EQ(pods_to_come(from<kube::Job>("{spec: {parallelism: 2, completions: 9}}")), 2);
  EXPECT_EQ(pods_to_come(from<kube::Job>("{spec: {parallelism: 2}}")), 2);
}

TEST(GangSize, OfAJobSetIsThatOfItsJobsWithoutWhatHasSucceeded) {
  const auto set = from<kube::JobSet>(kSet);
  EXPECT_EQ(pods_to_come(set, {}), 7);
  EXPECT_EQ(pods_to_come(set, {{}, {{"train-driver-0", 1}, {"train-workers-1", 2}}}), 4);
  // Of another set whose name begins alike.
  EXPECT_EQ(pods_to_come(set, {{}, {{"train-workers-more-0", 1}}}), 7);
}

TEST(GangSize, JobsThatAreMadeAfterOthersCountOnceTheyAreThere) {
  auto set =
      from<kube::JobSet>(std::string(kSet) + "  startupPolicy: {startupPolicyOrder: InOrder}");
  EXPECT_EQ(pods_to_come(set, {}), 1);
  EXPECT_EQ(pods_to_come(set, {{"driver", "workers"}, {}}), 7);

  set = from<kube::JobSet>(R"(
metadata: {name: train}
spec:
  replicatedJobs:
    - {name: data, template: {spec: {parallelism: 2}}}
    - {name: node, dependsOn: [{name: data, status: Complete}], template: {spec: {parallelism: 5}}}
)");
  EXPECT_EQ(pods_to_come(set, {{"data"}, {}}), 2);
  EXPECT_EQ(pods_to_come(set, {{"data", "node"}, {}}), 7);
}

TEST(GangSize, NumbersThatNobodyMeansDoNotOverflow) {
  const auto set = from<kube::JobSet>(
      "{spec: {replicatedJobs: [{replicas: 2000000000, template: {spec: {parallelism: "
      "2000000000}}}]}}");
  EXPECT_EQ(pods_to_come(set, {}), std::numeric_limits<std::int32_t>::max());
}

}  // namespace
}  // namespace mainspring::bridge
