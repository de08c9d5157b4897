#include "bridge/gang/parts_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

PodPtr pod(const std::string& name) {
  kube::Pod made;
  made.meta.name = name;
  return std::make_shared<const kube::Pod>(std::move(made));
}

PartMembers part(slurm::JobState::Base state, std::vector<std::pair<std::string, PodStage>> pods) {
  auto job = std::make_shared<slurm::Job>();
  job->state = slurm::JobState(state);
  PartMembers made{job, {}};
  for (const auto& [name, stage] : pods) made.members.push_back({pod(name), stage});
  return made;
}

std::vector<std::string> names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> out;
  for (const PodPtr& one : pods) out.push_back(one->meta.name);
  return out;
}

using Base = slurm::JobState::Base;

TEST(PartsPlan, PartsThatWaitCountTheirPodsTogether) {
  const auto parts = [](PodStage last) {
    return std::vector{part(Base::kPending, {{"a", PodStage::kWaiting}}),
                       part(Base::kPending, {{"b", PodStage::kWaiting}, {"c", last}})};
  };
  EXPECT_TRUE(plan_parts(parts(PodStage::kWaiting), 3).waiting);
  const JobPlan plan = plan_parts(parts(PodStage::kGone), 3);
  EXPECT_TRUE(plan.cancel);
  EXPECT_THAT(names(plan.detach), UnorderedElementsAre("a", "b"));
}

TEST(PartsPlan, AJobIsGivenBackOnlyWhenNothingOfAnyPartIsLeft) {
  JobPlan plan = plan_parts({part(Base::kRunning, {{"a", PodStage::kOver}}),
                             part(Base::kRunning, {{"b", PodStage::kEnding}})},
                            2);
  EXPECT_FALSE(plan.cancel);
  EXPECT_THAT(names(plan.let_go), ElementsAre("a"));
  plan = plan_parts({part(Base::kRunning, {{"a", PodStage::kOver}}), part(Base::kRunning, {})}, 2);
  EXPECT_TRUE(plan.cancel);
}

TEST(PartsPlan, APartThatEndedTakesItsOwnPodsOnly) {
  const JobPlan plan = plan_parts({part(Base::kRunning, {{"a", PodStage::kRunning}}),
                                   part(Base::kCancelled, {{"b", PodStage::kRunning}})},
                                  2);
  EXPECT_THAT(names(plan.remove), ElementsAre("b"));
  EXPECT_FALSE(plan.over);
  EXPECT_FALSE(plan.cancel);
}

TEST(PartsPlan, WhatIsLeftEndsWhereThePodsOfTheLivingPartsAreDone) {
  const JobPlan plan = plan_parts({part(Base::kTimeout, {{"a", PodStage::kEnding}}),
                                   part(Base::kRunning, {{"b", PodStage::kOver}})},
                                  2);
  EXPECT_TRUE(plan.cancel);
  EXPECT_FALSE(plan.over);
}

TEST(PartsPlan, NoPartWaitsForOneThatWasCancelled) {
  const JobPlan plan = plan_parts({part(Base::kPending, {{"a", PodStage::kWaiting}}),
                                   part(Base::kCancelled, {{"b", PodStage::kWaiting}})},
                                  1);
  EXPECT_THAT(names(plan.detach), ElementsAre("a"));
  EXPECT_THAT(names(plan.remove), ElementsAre("b"));
  EXPECT_TRUE(plan.cancel);
  EXPECT_FALSE(plan.waiting);
}

TEST(PartsPlan, IsOverWhenAllPartsAre) {
  const JobPlan plan = plan_parts({part(Base::kTimeout, {{"a", PodStage::kOver}}),
                                   part(Base::kTimeout, {{"b", PodStage::kOver}})},
                                  2);
  EXPECT_TRUE(plan.over);
  EXPECT_FALSE(plan.cancel);
  EXPECT_THAT(plan.remove, IsEmpty());
}

}  // namespace
}  // namespace mainspring::bridge
