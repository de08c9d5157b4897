#include "bridge/gang/pod_stage.h"

#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

PodStage stage(std::string_view yaml) {
  const kube::Node node;
  return stage_of(*pod_from(yaml), &node);
}

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
spec: {nodeName: n1}
status:
  phase: Running
  containerStatuses: [{name: m, containerID: x, state: {terminated: {exitCode: 0}}}]
)"),
            PodStage::kOver);
}

TEST(PodStage, OneContainerThatStillRunsIsEnough) {
  EXPECT_EQ(stage(R"(
metadata: {name: a, deletionTimestamp: '2026-11-16T10:00:00Z'}
spec: {nodeName: n1}
status:
  phase: Running
  containerStatuses:
  - {name: m, containerID: x, state: {terminated: {exitCode: 0}}}
  - {name: s, containerID: z, state: {running: {}}}
)"),
            PodStage::kEnding);
}

TEST(PodStage, ANodeIsLostWhenItIsNotThereOrIsDeclaredSo) {
  const PodPtr pod =
      pod_from("{metadata: {name: a}, spec: {nodeName: n1}, status: {phase: Running}}");
  EXPECT_EQ(stage_of(*pod, nullptr), PodStage::kOver);
  kube::Node silent;  // NotReady is no proof: its containers may be at work.
  EXPECT_EQ(stage_of(*pod, &silent), PodStage::kRunning);
  kube::Taint taint;
  taint.key = "node.kubernetes.io/out-of-service";
  kube::Node declared;
  declared.taints = kube::Seq<kube::Taint>({taint});
  EXPECT_EQ(stage_of(*pod, &declared), PodStage::kOver);
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
