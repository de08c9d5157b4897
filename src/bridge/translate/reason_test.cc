#include "bridge/translate/reason.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "slurm/errors.h"

namespace mainspring::bridge {
namespace {

using slurm::JobState;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

slurm::Job waiting(std::string_view reason) {
  slurm::Job job;
  job.id = slurm::JobId(42);
  job.state = JobState::Base::kPending;
  job.reason = reason;
  return job;
}

TEST(WaitingText, HasSlurmsReasonAndWhatItMeans) {
  EXPECT_EQ(waiting_text(waiting("Resources")),
            "Slurm job 42 is waiting: Resources (it starts as soon as enough of a node is free).");
  EXPECT_THAT(waiting_text(waiting("Priority")), HasSubstr("(others with a higher priority"));
  EXPECT_THAT(waiting_text(waiting("PartitionTimeLimit")), HasSubstr("lower timelimit"));
  EXPECT_THAT(waiting_text(waiting("JobHeldUser")), HasSubstr("scontrol release"));
}

TEST(WaitingText, KnowsWholeFamiliesOfLimits) {
  EXPECT_THAT(waiting_text(waiting("QOSMaxJobsPerUserLimit")),
              HasSubstr("QOSMaxJobsPerUserLimit (it is beyond a limit of the QOS"));
  EXPECT_THAT(waiting_text(waiting("QOSGrpGRES")), HasSubstr("all jobs of the QOS together"));
  EXPECT_THAT(waiting_text(waiting("AssocGrpCpuLimit")),
              HasSubstr("all jobs of the account together"));
  EXPECT_THAT(waiting_text(waiting("MaxGRESPerAccount")), HasSubstr("jobs of the account"));
}

TEST(WaitingText, KeepsAWordThatItDoesNotKnow) {
  EXPECT_EQ(waiting_text(waiting("MoonPhase")), "Slurm job 42 is waiting: MoonPhase.");
  EXPECT_THAT(waiting_text(waiting("")), HasSubstr("None (it has just been submitted)"));
}

TEST(WaitingText, AddsWhatSlurmAdds) {
  slurm::Job job = waiting("ReqNodeNotAvail");
  job.reason_text = "ReqNodeNotAvail, UnavailableNodes:n[1-2]";
  EXPECT_THAT(waiting_text(job), HasSubstr("[ReqNodeNotAvail, UnavailableNodes:n[1-2]]."));
  job.reason_text = "ReqNodeNotAvail";
  EXPECT_THAT(waiting_text(job), Not(HasSubstr("[")));
}

TEST(WaitingText, HasTheStartThatSlurmExpects) {
  slurm::Job job = waiting("Priority");
  job.submit_time = 1'794'000'000;
  job.start_time = 1'794'841'200;
  EXPECT_THAT(waiting_text(job), HasSubstr(". Expected to start at 2026-11-16T15:00:00Z."));
  for (const std::int64_t nonsense :
       {std::int64_t{0}, std::int64_t{1'793'000'000}, std::int64_t{4'000'000'000'000'000}}) {
    job.start_time = nonsense;
    EXPECT_THAT(waiting_text(job), Not(HasSubstr("Expected"))) << nonsense;
  }
}

std::string ended(JobState state) {
  slurm::Job job = waiting("None");
  job.state = state;
  return ended_text(job);
}

TEST(EndedText, SaysByWhoseDoingForEveryEnding) {
  using State = JobState::Base;
  EXPECT_EQ(ended(State::kCancelled), "Slurm job 42 was cancelled (CANCELLED)");
  EXPECT_EQ(ended(State::kCompleted), "Slurm job 42 has completed (COMPLETED)");
  EXPECT_EQ(ended(State::kPreempted),
            "Slurm job 42 had to make way for a job of higher priority (PREEMPTED)");
  EXPECT_THAT(ended(State::kTimeout), HasSubstr("raise timelimit"));
  EXPECT_THAT(ended(State::kNodeFail), HasSubstr("lost a node"));
  EXPECT_THAT(ended(State::kBootFail), HasSubstr("did not boot"));
  EXPECT_THAT(ended(State::kDeadline), HasSubstr("deadline"));
  EXPECT_THAT(ended(State::kOutOfMemory), HasSubstr("ran out of memory"));
  EXPECT_THAT(ended(State::kFailed), HasSubstr("has failed"));
}

TEST(EndedText, SaysSoWhereTheJobOnlyLeftItsNodes) {
  EXPECT_EQ(ended({JobState::Base::kPreempted, {JobState::Flag::kRequeued}}),
            "Slurm job 42 was put back into the queue (PREEMPTED,REQUEUED)");
  EXPECT_THAT(ended(JobState::Base::kPending), HasSubstr("was put back into the queue"));
  EXPECT_THAT(ended(JobState::Base::kSuspended), HasSubstr("given to others"));
  EXPECT_THAT(ended({}), HasSubstr("not known"));
}

TEST(EndedText, HasTheExitStatusAndSlurmsComment) {
  slurm::Job job = waiting("None");
  job.state = JobState::Base::kFailed;
  job.exit_code = 3;
  job.exit_signal = 9;
  job.system_comment = "node n1 rebooted";
  EXPECT_EQ(ended_text(job),
            "Slurm job 42 has failed (FAILED), exit code 3, signal 9: node n1 rebooted");
}

// What the client makes of an answer with this number.
Error refused(std::int32_t number, const std::string& text) {
  slurm::Envelope envelope;
  envelope.understood = true;
  envelope.errors = {
      {.number = number, .error = text, .description = "Batch job submission failed"}};
  auto judged = slurm::judge(slurm::Endpoint::kSubmitJob, 422, envelope, "");
  EXPECT_FALSE(judged);
  return std::move(judged).error();
}

TEST(RefusalText, SaysWhatIsWrongAndWhatToDo) {
  const Refusal refusal =
      refusal_text(refused(2045, "Invalid account or account/partition combination specified"));
  EXPECT_THAT(refusal.text,
              AllOf(StartsWith("Slurm refused the job: Slurm does not know the account"),
                    HasSubstr("correct the account annotation"),
                    HasSubstr("(\"Invalid account or account/partition combination specified\", "
                              "Slurm error 2045)")));
  EXPECT_TRUE(refusal.lasting);
}

TEST(RefusalText, KnowsWhatLastsAndWhatPasses) {
  for (const std::int32_t number : {2000, 2002, 2003, 2005, 2006, 2010, 2014, 2015, 2029, 2044,
                                    2048, 2051, 2052, 2053, 2057, 2066, 2072, 2099, 2119, 2130}) {
    const Refusal refusal = refusal_text(refused(number, "text"));
    EXPECT_TRUE(refusal.lasting) << number;
    EXPECT_THAT(refusal.text, HasSubstr("Slurm refused the job: ")) << number;
    EXPECT_THAT(refusal.text, HasSubstr("Slurm error " + std::to_string(number)));
  }
  for (const std::int32_t number : {2007, 2016, 2050, 2070, 2105, 1800, 1804}) {
    EXPECT_FALSE(refusal_text(refused(number, "text")).lasting) << number;
  }
}

TEST(RefusalText, KeepsSlurmsWordsForANumberThatItDoesNotKnow) {
  const Refusal refusal = refusal_text(refused(2123, "Nice value invalid"));
  EXPECT_THAT(refusal.text, AllOf(StartsWith("Slurm refused the job: "),
                                  HasSubstr("Nice value invalid (Slurm error 2123)")));
  EXPECT_TRUE(refusal.lasting);
}

TEST(RefusalText, DoesNotBlameTheWorkloadWhereSlurmIsAway) {
  for (const Code code : {Code::kTransient, Code::kTimeout, Code::kThrottled, Code::kUnauthorized,
                          Code::kInternal, Code::kCancelled, Code::kConflict}) {
    EXPECT_FALSE(refusal_text(Error(code, "connection refused")).lasting);
  }
  EXPECT_THAT(refusal_text(Error(Code::kTransient, "connection refused")).text,
              HasSubstr("which is tried again: connection refused"));
}

TEST(RefusalText, OfOurOwnIsNotSaidToBeSlurms) {
  const Refusal refusal = refusal_text(Error(Code::kInvalid, "annotation x is y"));
  EXPECT_EQ(refusal.text, "annotation x is y");
  EXPECT_TRUE(refusal.lasting);
}

}  // namespace
}  // namespace mainspring::bridge
