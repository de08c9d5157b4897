#include "bridge/gang/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

using slurm::JobState;
using testing::ElementsAre;
using testing::IsEmpty;

Member member(std::string_view name, PodStage stage) {
  return {pod_from("metadata: {name: " + std::string(name) + "}"), stage};
}

JobKnowledge job_in(JobState state) {
  slurm::Job job;
  job.id = slurm::JobId(7);
  job.state = state;
  return {JobKnowledge::Kind::kPresent, std::make_shared<const slurm::Job>(std::move(job))};
}

const JobKnowledge kForgotten{JobKnowledge::Kind::kForgotten, nullptr};

std::vector<std::string> names(const std::vector<PodPtr>& pods) {
  std::vector<std::string> out;
  for (const PodPtr& pod : pods) out.push_back(pod->meta.name);
  return out;
}

bool does_nothing(const JobPlan& plan) {
  return plan.bind.empty() && plan.remove.empty() && plan.detach.empty() && plan.let_go.empty() &&
         !plan.cancel;
}

TEST(GangPlan, WithoutSlurmsWordNothingIsDone) {
  for (const PodStage stage : {PodStage::kWaiting, PodStage::kGone, PodStage::kRunning,
                               PodStage::kEnding, PodStage::kOver}) {
    EXPECT_TRUE(does_nothing(plan_job({member("a", stage)}, JobKnowledge{}, 1)));
    // Nor on a word that is not known.
    EXPECT_TRUE(does_nothing(plan_job({member("a", stage)}, job_in(JobState()), 1)));
  }
}

TEST(GangPlan, PodsOfARunningJobAreBound) {
  const JobPlan plan = plan_job({member("a", PodStage::kRunning), member("b", PodStage::kWaiting)},
                                job_in(JobState::Base::kRunning), 2);
  EXPECT_THAT(names(plan.bind), ElementsAre("b"));
  EXPECT_FALSE(plan.cancel);
}

TEST(GangPlan, TheJobIsKeptUntilTheLastContainerIsGone) {
  const JobPlan plan = plan_job({member("a", PodStage::kOver), member("b", PodStage::kEnding)},
                                job_in(JobState::Base::kRunning), 2);
  EXPECT_FALSE(plan.cancel);
  EXPECT_THAT(names(plan.let_go), ElementsAre("a"));
}

TEST(GangPlan, TheJobEndsWithItsLastPod) {
  const JobPlan plan = plan_job({member("a", PodStage::kOver), member("b", PodStage::kGone)},
                                job_in(JobState::Base::kRunning), 2);
  EXPECT_TRUE(plan.cancel);
  EXPECT_THAT(names(plan.let_go), ElementsAre("a", "b"));
}

TEST(GangPlan, AJobThatWaitsIsWithdrawnWhenItsGangIsNoLongerWhole) {
  const std::vector<Member> members = {member("a", PodStage::kWaiting),
                                       member("b", PodStage::kGone)};
  const JobPlan plan = plan_job(members, job_in(JobState::Base::kPending), 2);
  EXPECT_TRUE(plan.cancel);
  EXPECT_THAT(names(plan.detach), ElementsAre("a"));
  EXPECT_THAT(names(plan.let_go), ElementsAre("b"));

  const JobPlan enough = plan_job(members, job_in(JobState::Base::kPending), 1);
  EXPECT_FALSE(enough.cancel);
  EXPECT_TRUE(enough.waiting);
  EXPECT_THAT(enough.detach, IsEmpty());
}

TEST(GangPlan, PodsEndWithTheirJob) {
  for (const JobState state :
       {JobState(JobState::Base::kCancelled), JobState(JobState::Base::kPreempted),
        JobState(JobState::Base::kTimeout), JobState(JobState::Base::kNodeFail)}) {
    const JobPlan plan = plan_job({member("a", PodStage::kRunning), member("b", PodStage::kEnding),
                                   member("c", PodStage::kOver), member("d", PodStage::kWaiting)},
                                  job_in(state), 4);
    EXPECT_THAT(names(plan.remove), ElementsAre("a", "d")) << state.to_string();
    EXPECT_THAT(names(plan.let_go), ElementsAre("c"));
    EXPECT_FALSE(plan.cancel);
    EXPECT_TRUE(plan.over);
  }
}

TEST(GangPlan, AJobThatWasPutBackIntoTheQueueHasNoPlaceForWhatRuns) {
  const JobPlan plan =
      plan_job({member("a", PodStage::kRunning)}, job_in(JobState::Base::kPending), 1);
  EXPECT_THAT(names(plan.remove), ElementsAre("a"));
  EXPECT_TRUE(plan.cancel);
}

TEST(GangPlan, NobodysWorkEndsBecauseSlurmForgotItsJob) {
  const JobPlan plan = plan_job({member("a", PodStage::kRunning), member("b", PodStage::kWaiting),
                                 member("c", PodStage::kOver)},
                                kForgotten, 1);
  EXPECT_THAT(plan.remove, IsEmpty());
  EXPECT_THAT(names(plan.detach), ElementsAre("b"));
  EXPECT_THAT(names(plan.let_go), ElementsAre("c"));
  EXPECT_FALSE(plan.cancel);
}

TEST(GangPlan, ASuspendedJobEndsOnceItsPodsHave) {
  const auto state = job_in(JobState::Base::kSuspended);
  EXPECT_THAT(names(plan_job({member("a", PodStage::kRunning)}, state, 1).remove),
              ElementsAre("a"));
  EXPECT_FALSE(plan_job({member("a", PodStage::kEnding)}, state, 1).cancel);
  EXPECT_TRUE(plan_job({member("a", PodStage::kOver)}, state, 1).cancel);
}

TEST(GangPlan, AGangThatIsNoLongerWholeDoesNotBeginAndOneThatHasBegunGoesOn) {
  std::vector<Member> members = {member("a", PodStage::kWaiting), member("b", PodStage::kGone)};
  EXPECT_TRUE(is_too_few_to_begin(members, 2));
  EXPECT_FALSE(is_too_few_to_begin(members, 1));
  for (const PodStage begun : {PodStage::kRunning, PodStage::kEnding, PodStage::kOver}) {
    members[1].stage = begun;
    EXPECT_FALSE(is_too_few_to_begin(members, 2));
  }
}

TEST(GangPlan, AGangIsWholeWithThoseOfItThatAreAtWork) {
  EXPECT_EQ(least_of(4, 0), 4);
  EXPECT_EQ(least_of(4, 3), 1);
  EXPECT_EQ(least_of(4, 9), 1);
  EXPECT_EQ(least_of(0, 0), 1);
}

}  // namespace
}  // namespace mainspring::bridge
