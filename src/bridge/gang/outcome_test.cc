#include "bridge/gang/outcome.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

// `end` is what stands in its only container's status; it began at 10:00:00.
PodPtr ended(std::string_view name, std::string_view phase, std::string_view end) {
  return pod_from(fmt::format(R"(
metadata: {{name: {0}, namespace: ns, uid: uid-{0}}}
status:
  phase: {1}
  startTime: '2026-11-16T10:00:00Z'
  containerStatuses: [{{name: m, {2}}}]
)",
                              name, phase, end));
}

constexpr auto kWell = "state: {terminated: {exitCode: 0, finishedAt: '2026-11-16T10:00:07Z'}}";

TEST(Outcome, OfOnePodThatEndedWellSlurmKnowsEnough) {
  Outcome outcome;
  outcome.add(*ended("a", "Succeeded", kWell), false);
  EXPECT_FALSE(outcome.is_worth_telling());
  EXPECT_EQ(outcome.text(), "7 s");
}

TEST(Outcome, AFailureIsToldWithItsReason) {
  Outcome outcome;
  outcome.add(*ended("a", "Failed", "state: {terminated: {exitCode: 137, reason: OOMKilled}}"),
              false);
  EXPECT_TRUE(outcome.is_worth_telling());
  EXPECT_EQ(outcome.text(), "pod ns/a failed with exit code 137: OOMKilled");
}

TEST(Outcome, PodsOfAGangAreCountedAsTheyGoAndTheWorstIsNamed) {
  Outcome outcome;
  const PodPtr failed = ended("b", "Failed",
                              "restartCount: 2, state: {terminated: {exitCode: 3, reason: Error, "
                              "finishedAt: '2026-11-16T10:05:11Z'}}");
  outcome.add(*ended("a", "Succeeded", kWell), false);
  outcome.add(*failed, false);
  outcome.add(*failed, false);
  outcome.add(*ended("c", "Failed", "state: {terminated: {exitCode: 1}}"), false);
  EXPECT_EQ(outcome.text(),
            "pod ns/b failed with exit code 3: Error; of 3 pods 1 succeeded; 2 restarts; 311 s");
}

TEST(Outcome, APodThatIsLostWithItsNodeDidNotSucceed) {
  Outcome outcome;
  outcome.add(
      *pod_from("{metadata: {name: a, namespace: ns, uid: u}, spec: {nodeName: n1}, status: "
                "{phase: Running}}"),
      true);
  EXPECT_EQ(outcome.text(), "pod ns/a was lost with node n1");
}

TEST(Outcome, AGangThatEndedWellIsTold) {
  Outcome outcome;
  outcome.add(*ended("a", "Succeeded", kWell), false);
  outcome.add(*ended("b", "Succeeded", kWell), false);
  EXPECT_TRUE(outcome.is_worth_telling());
  EXPECT_EQ(outcome.text(), "of 2 pods 2 succeeded; 7 s");
}

}  // namespace
}  // namespace mainspring::bridge
