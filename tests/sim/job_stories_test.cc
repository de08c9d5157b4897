#include "sim/job_stories.h"

#include <gmock/gmock.h>

#include <utility>

namespace mainspring::sim {
namespace {

using slurm::Job;
using slurm::JobId;
using slurm::JobState;
using Base = JobState::Base;
using testing::ElementsAre;
using testing::IsEmpty;

class JobStoriesTest : public testing::Test {
 protected:
  void tell(JobState state, int restarts = 0) {
    auto job = std::make_shared<Job>();
    job->id = JobId(1);
    job->state = state;
    job->restart_count = restarts;
    store_.put(std::move(job));
  }
  void forget() { store_.erase({{}, "1"}); }

  Store<Job> store_;
  JobStories stories_{store_};
};

TEST_F(JobStoriesTest, KnowWhatWasTold) {
  tell(Base::kPending);
  EXPECT_FALSE(stories_.told_start("1") || stories_.told_end("1"));
  tell(Base::kRunning);
  EXPECT_TRUE(stories_.told_start("1"));
  tell(Base::kCompleted);
  EXPECT_TRUE(stories_.told_start("1") && stories_.told_end("1"));
  EXPECT_FALSE(stories_.told_start("2") || stories_.told_end("2"));
  EXPECT_THAT(stories_.complaints, IsEmpty());
}

TEST_F(JobStoriesTest, TakeAForgottenJobForEnded) {
  tell(Base::kRunning);
  forget();
  EXPECT_TRUE(stories_.told_end("1"));
}

TEST_F(JobStoriesTest, ComplainAboutJobsThatGoBackOrComeBack) {
  tell(Base::kRunning);
  tell(Base::kPending);
  EXPECT_THAT(stories_.complaints, ElementsAre("job 1 went back to PENDING"));
  tell(Base::kCancelled);
  tell(Base::kRunning);
  EXPECT_EQ(stories_.complaints.size(), 2);
  forget();
  tell(Base::kRunning);
  EXPECT_THAT(stories_.complaints.back(), "job 1 came back");
}

TEST_F(JobStoriesTest, LetARequeueAndALostStateGoBack) {
  tell(Base::kRunning);
  tell(Base::kPending, 1);
  tell(Base::kRunning, 1);
  stories_.slurmctld_was_killed();
  tell(Base::kPending, 1);
  EXPECT_THAT(stories_.complaints, IsEmpty());
  tell(Base::kRunning, 1);
  tell(Base::kPending, 1);
  EXPECT_EQ(stories_.complaints.size(), 1) << "once only";
}

}  // namespace
}  // namespace mainspring::sim
