#include "slurm/jobs.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class JobsTest : public ApiTest {
 protected:
  static JobRequest external() {
    JobRequest request;
    request.name = "al";
    request.partition = "all";
    request.flags = {std::string(kExternalJobFlag)};
    return request;
  }
};

TEST_F(JobsTest, OneIsReadByItsId) {
  answer_as("job_external_gpu");
  const auto job = run(Jobs(client()).get(JobId(2)));
  ASSERT_TRUE(job) << why(job);
  EXPECT_EQ(job->id, JobId(2));
  expect_asked_as("job_external_gpu");
}

TEST_F(JobsTest, OneThatSlurmForgotIsNotFound) {
  answer_as("err_job404", 404);
  EXPECT_EQ(code_of(run(Jobs(client()).get(JobId(99999)))), Code::kNotFound);
}

TEST_F(JobsTest, OneOfWhichNothingIsSaidIsNotGone) {
  for (const char* body : {kDone, R"({"jobs":[{"job_id":8}],"errors":[]})"}) {
    answer(body);
    EXPECT_EQ(code_of(run(Jobs(client()).get(JobId(7)))), Code::kInternal) << body;
  }
  for (const char* body :
       {R"({"jobs":[],"errors":[]})",
        R"({"jobs":[{"job_id":8,"array_job_id":{"set":true,"number":7}}],"errors":[]})"}) {
    answer(body);
    EXPECT_EQ(code_of(run(Jobs(client()).get(JobId(7)))), Code::kNotFound) << body;
  }
}

TEST_F(JobsTest, AskedForOneOfAFamilyGivesThatOne) {
  answer(R"({"jobs":[{"job_id":7},{"job_id":9},{"job_id":8}]})");
  const auto job = run(Jobs(client()).get(JobId(9)));
  ASSERT_TRUE(job) << why(job);
  EXPECT_EQ(job->id, JobId(9));
}

TEST_F(JobsTest, StatesOfAllComeInOneCall) {
  answer_as("jobs_state2");
  const auto states = run(Jobs(client()).states());
  ASSERT_TRUE(states) << why(states);
  EXPECT_EQ(states->size(), 13U);
  EXPECT_EQ(states->at(7).id, JobId(8));
  expect_asked_as("jobs_state2");
}

TEST_F(JobsTest, StatesOfSomeRepeatTheKeyAndGiveNoOthers) {
  answer(R"({"jobs":[{"job_id":"5+0","state":["PENDING"]},{"job_id":"6+1","state":["PENDING"]}]})");
  const auto states = run(Jobs(client()).states({JobId(5), JobId(99)}));
  ASSERT_TRUE(states) << why(states);
  ASSERT_EQ(states->size(), 1U);
  EXPECT_EQ(states->front().id, JobId(5));
  EXPECT_EQ(asked(), "GET /slurm/v0.0.45/jobs/state/?job_id=5&job_id=99");
}

TEST_F(JobsTest, StatesOfManyAreAskedForInPieces) {
  std::vector<JobId> ids;
  for (std::uint32_t i = 1; i <= 600; ++i) ids.emplace_back(i);
  for (int i = 0; i < 3; ++i) answer(R"({"jobs":[]})");
  ASSERT_TRUE(run(Jobs(client()).states(ids)));
  EXPECT_EQ(transport_.asked.size(), 3U);
  EXPECT_THAT(asked(2), ::testing::EndsWith("job_id=600"));
}

TEST_F(JobsTest, ASubmissionSaysItsNumberAndWhatSlurmThinksOfIt) {
  answer_as("job_submit_external_hold");
  JobRequest request = external();
  request.hold = true;
  const auto made = run(Jobs(client()).submit(request));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->job, JobId(5));
  EXPECT_THAT(made->warnings, ::testing::Contains(HasSubstr("held")));
}

TEST_F(JobsTest, ExternalJobsNeedAVersionThatKnowsThem) {
  speak(Version::k42);
  EXPECT_EQ(code_of(run(Jobs(client()).submit(external()))), Code::kUnsupported);
  EXPECT_EQ(code_of(run(Jobs(client()).submit_het({JobRequest(), external()}))),
            Code::kUnsupported);
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(JobsTest, AnAllocationNeverWaitsInSlurm) {
  answer_as("alloc_ext_as_alice");
  JobRequest request = external();
  request.immediate = false;
  CallOptions as_alice;
  as_alice.user = "alice";
  const auto made = run(Jobs(client(), as_alice).allocate_now(request));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->job, JobId(2018));
  EXPECT_EQ(*body().at_pointer("/job/immediate"), json::Value(true));
  EXPECT_EQ(asked(), "POST /slurm/v0.0.45/job/allocate");
}

TEST_F(JobsTest, AnAllocationThatCannotStartNowIsRefused) {
  answer_as("alloc_ext_imm", 422);
  const auto made = run(Jobs(client()).allocate_now(external()));
  ASSERT_FALSE(made);
  EXPECT_NE(slurm_error(made.error()), nullptr);
}

TEST_F(JobsTest, AnAllocationForAnotherOrWithAScriptIsRefusedBecauseSlurmWouldIgnoreThat) {
  JobRequest request = external();
  request.user_id = "2001";
  EXPECT_EQ(code_of(run(Jobs(client()).allocate_now(request))), Code::kInvalid);
  request = external();
  request.script = "#!/bin/sh\n";
  EXPECT_EQ(code_of(run(Jobs(client()).allocate_now(request))), Code::kInvalid);
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(JobsTest, AnUpdateIsReadAgain) {
  answer_as("job_update_running");
  answer(R"({"jobs":[{"job_id":2,"admin_comment":"n1"}]})");
  JobRequest changes;
  changes.admin_comment = "n2";
  changes.time_limit = 20;
  changes.extra = R"({"k":1})";
  const auto job = run(Jobs(client()).update(JobId(2), changes));
  expect_asked_as("job_update_running");
  EXPECT_EQ(code_of(job), Code::kConflict);
  EXPECT_THAT(why(job), HasSubstr("admin_comment is 'n1', not 'n2'"));
}

TEST_F(JobsTest, AReleaseThatLeftTheJobHeldIsSeen) {
  answer();
  answer(R"({"jobs":[{"job_id":5,"job_state":["PENDING"],"hold":true}]})");
  EXPECT_THAT(why(run(Jobs(client()).release(JobId(5)))), HasSubstr("still held"));
  EXPECT_EQ(body(), *json::parse(R"({"hold":false})"));
}

TEST_F(JobsTest, OneIsCanceledWithoutASignal) {
  answer_as("job_delete");
  EXPECT_TRUE(run(Jobs(client()).cancel(JobId(3))));
  expect_asked_as("job_delete");
}

TEST_F(JobsTest, NobodyCancelsOrSignalsForOneUserTheJobOfAnother) {
  const Jobs hers(client(), {.user = "alice"});
  const auto answer_with_bobs = [this] {
    answer(R"({"jobs":[{"job_id":3,"user_name":"bob"}]})");
    return transport_.asked.size() + 1;
  };
  std::size_t asked_then = answer_with_bobs();
  EXPECT_EQ(code_of(run(hers.cancel(JobId(3)))), Code::kForbidden);
  EXPECT_EQ(transport_.asked.size(), asked_then) << "slurmctld hangs when it is asked";
  asked_then = answer_with_bobs();
  EXPECT_EQ(code_of(run(hers.signal(JobId(3), "USR1"))), Code::kForbidden);
  EXPECT_EQ(transport_.asked.size(), asked_then);
  asked_then = answer_with_bobs();
  const auto left = run(hers.cancel_many({JobId(3)}));
  ASSERT_TRUE(left);
  ASSERT_EQ(left->size(), 1U);
  EXPECT_EQ(left->front().error.code(), Code::kForbidden);
  EXPECT_EQ(transport_.asked.size(), asked_then);

  JobSelection which;
  which.user_name = "bob";
  EXPECT_EQ(code_of(run(hers.cancel_matching(which))), Code::kForbidden);
  which = {};
  which.partition = "all";
  answer();
  EXPECT_TRUE(run(hers.cancel_matching(which)));
  EXPECT_EQ(body(transport_.asked.size() - 1),
            *json::parse(R"({"partition":"all","user_name":"alice"})"));

  answer(R"({"jobs":[{"job_id":4,"user_name":"alice"}]})");
  answer();
  EXPECT_TRUE(run(hers.cancel(JobId(4))));
}

TEST_F(JobsTest, CancelingWhatSlurmDoesNotKnowIsNotFoundAlthoughItSays200) {
  answer_as("err_jobdel");
  EXPECT_EQ(code_of(run(Jobs(client()).cancel(JobId(99999)))), Code::kNotFound);
}

TEST_F(JobsTest, CancelingWhatHasEndedIsGood) {
  answer(R"({"status":[{"error":{"string":"done","code":2021},"step_id":"1"}]})");
  EXPECT_TRUE(run(Jobs(client()).cancel(JobId(1))));
}

TEST_F(JobsTest, ManyAreCanceledInOneCallAndTheUnknownOnesNamed) {
  answer(R"({"status":[{"error":{"string":"already","code":2021},"step_id":"8"},)"
         R"({"error":{"string":"Invalid job id specified","code":2017},"step_id":"14"}]})");
  const auto left = run(Jobs(client()).cancel_many({JobId(8), JobId(14)}));
  ASSERT_TRUE(left) << why(left);
  expect_asked_as("jobs_bulk_delete");
  ASSERT_EQ(left->size(), 1U);
  EXPECT_EQ(left->front().job, "14");
  EXPECT_EQ(left->front().error.code(), Code::kNotFound);
}

TEST_F(JobsTest, ASelectionOfEverythingOrByAnotherSignalIsRefused) {
  EXPECT_EQ(code_of(run(Jobs(client()).cancel_matching({}))), Code::kInvalid);
  JobSelection which;
  which.partition = "all";
  which.signal = "SIGTERM";
  EXPECT_EQ(code_of(run(Jobs(client()).cancel_matching(which))), Code::kInvalid);
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(JobsTest, AnExternalJobIsNeverSentASignal) {
  answer_as("job_external_gpu");
  answer_as("job_external_gpu");
  EXPECT_EQ(code_of(run(Jobs(client()).signal(JobId(2), "TERM"))), Code::kInvalid);
  for (const http::Request& request : transport_.asked) {
    EXPECT_EQ(request.method, http::Method::kGet);
  }
}

TEST_F(JobsTest, NeitherIsAJobWithAnExternalPart) {
  answer(R"({"jobs":[{"job_id":6,"het_job_id":{"set":true,"number":5}}]})");
  answer(R"({"jobs":[{"job_id":5,"flags":["EXTERNAL_JOB"]},{"job_id":6}]})");
  EXPECT_EQ(code_of(run(Jobs(client()).signal(JobId(6), "TERM"))), Code::kInvalid);
  EXPECT_EQ(asked(1), "GET /slurm/v0.0.45/job/5");
}

TEST_F(JobsTest, NorOneWhoseKindThisVersionDoesNotShow) {
  speak(Version::k42);
  answer_as("ping");  // Of a 26.05.
  EXPECT_EQ(code_of(run(Jobs(client()).signal(JobId(6), "TERM"))), Code::kInvalid);
}

TEST_F(JobsTest, NorOneOfASlurmThatDoesNotSayItsRelease) {
  speak(Version::k42);
  answer(R"({"pings":[],"errors":[],"warnings":[]})");
  EXPECT_EQ(code_of(run(Jobs(client()).signal(JobId(6), "TERM"))), Code::kInvalid);
}

TEST_F(JobsTest, AJobWithProcessesGetsItsSignal) {
  answer(R"({"jobs":[{"job_id":6}]})");
  answer(R"({"jobs":[{"job_id":6}]})");
  answer_as("job_delete");
  EXPECT_TRUE(run(Jobs(client()).signal(JobId(6), "SIGUSR1")));
  EXPECT_EQ(asked(2), "DELETE /slurm/v0.0.45/job/6?signal=SIGUSR1");
}

TEST_F(JobsTest, OnlyBatchJobsAreRequeued) {
  answer_as("ext_requeue", 422);
  const auto done = run(Jobs(client()).requeue(JobId(15)));
  EXPECT_EQ(asked(0), "POST /slurm/v0.0.45/jobs/requeue");
  ASSERT_FALSE(done);
  EXPECT_TRUE(refused_with(done.error(), Errno::kBatchOnly));
}

TEST_F(JobsTest, ManyAreRequeuedInOneCall) {
  answer();
  EXPECT_TRUE(run(Jobs(client()).requeue_many({JobId(3), JobId(4)}, {.hold = true})));
  EXPECT_EQ(asked(0), "POST /slurm/v0.0.45/jobs/requeue");
  EXPECT_EQ(body(0), *json::parse(R"({"jobs":["3","4"],"flags":["Hold"]})"));
  EXPECT_TRUE(run(Jobs(client()).requeue_many({})));
  EXPECT_EQ(transport_.asked.size(), 1U);
  // As slurmrestd 26.05 says it of the one that it did not know.
  answer(R"({"status":[],"errors":[{"description":"Requeue JobId=99999 failed","error_number":2017,
      "error":"Invalid job id specified","source":"op_handler_jobs_requeue"}],"warnings":[]})",
         404);
  const auto done = run(Jobs(client()).requeue_many({JobId(3), JobId(99999)}));
  EXPECT_EQ(code_of(done), Code::kNotFound);
  EXPECT_THAT(why(done), HasSubstr("99999"));
}

TEST_F(JobsTest, AJobThatSlurmHasForgottenIsNotRequeued) {
  answer(R"({"status":[],"errors":[{"description":"Requeue JobId=99999 failed","error_number":2017,
      "error":"Invalid job id specified","source":"op_handler_jobs_requeue"}],"warnings":[]})",
         404);
  const auto done = run(Jobs(client()).requeue(JobId(99999)));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::kNotFound);
}

TEST_F(JobsTest, ResourcesAreTheSameFromEveryVersion) {
  answer_as("resources_external_gpu");
  const auto newer = run(Jobs(client()).resources(JobId(2)));
  ASSERT_TRUE(newer) << why(newer);
  expect_asked_as("resources_external_gpu");

  client_.reset();
  speak(Version::k42);
  answer_as("job_external_gpu");
  const auto older = run(Jobs(client()).resources(JobId(2)));
  ASSERT_TRUE(older) << why(older);
  EXPECT_EQ(*older, *newer);
  EXPECT_EQ(newer->front().gres.front().index, "0-1");
}

}  // namespace
}  // namespace mainspring::slurm
