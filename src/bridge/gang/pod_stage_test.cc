#include "bridge/gang/pod_stage.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

PodStage stage(std::string_view yaml) { return stage_of(*pod_from(yaml), false); }

TEST(PodStage, APodWithoutANodeWaitsOrIsGone) {
  EXPECT_EQ(stage("metadata: {name: a}"), PodStage::kWaiting);
  EXPECT_EQ(stage("metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}"),
            PodStage::kGone);
}

TEST(PodStage, WhatIsBeingDeletedUsesItsNodeUntilTheKubeletSaysOtherwise) {
  EXPECT_EQ(stage(R"(
metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z', deletionGracePeriodSeconds: 0}
spec: {nodeName: n1}
status: {phase: Running, containerStatuses: [{name: m, containerID: x, state: {running: {}}}]}
)"),
            PodStage::kEnding);
  EXPECT_EQ(stage(R"(
metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}
spec: {nodeName: n1}
status: {phase: Running}
)"),
            PodStage::kEnding);
}

TEST(PodStage, IsOverByItsPhaseOrByItsContainers) {
  EXPECT_EQ(stage("{metadata: {name: a}, spec: {nodeName: n1}, status: {phase: Succeeded}}"),
            PodStage::kOver);
  EXPECT_EQ(stage(R"(
metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}
spec: {nodeName: n1, restartPolicy: Never}
status:
  phase: Running
  containerStatuses: [{name: m, containerID: x, state: {terminated: {exitCode: 0}}}]
)"),
            PodStage::kOver);
}

TEST(PodStage, OneContainerThatStillRunsIsEnough) {
  EXPECT_EQ(stage(R"(
metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}
spec: {nodeName: n1, restartPolicy: Never}
status:
  phase: Running
  containerStatuses:
  - {name: m, containerID: x, state: {terminated: {exitCode: 0}}}
  - {name: s, containerID: z, state: {running: {}}}
)"),
            PodStage::kEnding);
}

TEST(PodStage, AContainerThatIsYetToBeMadeMayStillStart) {
  constexpr auto kPod = R"(
metadata: {{name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}}
spec: {{nodeName: n1, restartPolicy: Never}}
status:
  phase: Running
  containerStatuses:
  - {{name: m, containerID: x, state: {{terminated: {{exitCode: 0}}}}}}
  - {{name: s, state: {{{}}}}}
)";
  EXPECT_EQ(stage(fmt::format(kPod, "waiting: {reason: ContainerCreating}")), PodStage::kEnding);
  EXPECT_EQ(stage(fmt::format(kPod, "terminated: {exitCode: 137, reason: ContainerStatusUnknown}")),
            PodStage::kOver);
}

// A pod of these that was deleted at 10:00:00, with 30 seconds to end in.
PodStage deleted(std::string_view policy, std::string_view terminated) {
  return stage(fmt::format(R"(
metadata: {{name: a, deletionTimestamp: '2026-11-16T10:00:30Z', deletionGracePeriodSeconds: 30}}
spec: {{nodeName: n1, restartPolicy: {}}}
status: {{phase: Running, containerStatuses: [{{name: m, containerID: x, state: {{{}}}}}]}}
)",
                           policy, terminated));
}

TEST(PodStage, AContainerThatMayHaveBeenStartedAgainHasNotEnded) {
  constexpr auto kBefore = "terminated: {exitCode: 1, finishedAt: '2026-11-16T09:59:59Z'}";
  constexpr auto kAfter = "terminated: {exitCode: 1, finishedAt: '2026-11-16T10:00:02Z'}";
  constexpr auto kSucceeded = "terminated: {exitCode: 0, finishedAt: '2026-11-16T09:59:59Z'}";
  EXPECT_EQ(deleted("Never", kBefore), PodStage::kOver);
  EXPECT_EQ(deleted("OnFailure", kBefore), PodStage::kEnding);
  EXPECT_EQ(deleted("OnFailure", kSucceeded), PodStage::kOver);
  EXPECT_EQ(deleted("Always", kSucceeded), PodStage::kEnding);
  EXPECT_EQ(deleted("Always", "terminated: {exitCode: 1}"), PodStage::kEnding);
  for (const auto* const policy : {"Never", "OnFailure", "Always"}) {
    EXPECT_EQ(deleted(policy, kAfter), PodStage::kOver) << policy;
  }
}

TEST(PodStage, WhatWasOnALostNodeIsOver) {
  const PodPtr pod =
      pod_from("{metadata: {name: a}, spec: {nodeName: n1}, status: {phase: Running}}");
  EXPECT_EQ(stage_of(*pod, true), PodStage::kOver);
  EXPECT_EQ(stage_of(*pod, false), PodStage::kRunning);
  kube::Node node;  // NotReady is no proof: its containers may be at work.
  EXPECT_FALSE(is_out_of_service(node));
  kube::Taint taint;
  taint.key = "node.kubernetes.io/out-of-service";
  node.taints = kube::Seq<kube::Taint>({taint});
  EXPECT_TRUE(is_out_of_service(node));
}

TEST(PodStage, TheExitCodeIsThatOfTheFirstContainerThatFailed) {
  EXPECT_EQ(exit_code_of(*pod_from(R"(
metadata: {name: a}
status:
  phase: Failed
  containerStatuses:
  - {name: m, state: {terminated: {exitCode: 0}}}
  - {name: s, state: {terminated: {exitCode: 3}}}
)")),
            3);
  EXPECT_EQ(exit_code_of(*pod_from("{metadata: {name: a}, status: {phase: Succeeded}}")), 0);
  EXPECT_EQ(exit_code_of(*pod_from("{metadata: {name: a}, status: {phase: Failed}}")), 1);
}

}  // namespace
}  // namespace mainspring::bridge
