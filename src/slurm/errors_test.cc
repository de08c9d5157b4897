#include "slurm/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace mainspring::slurm {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

std::string recorded(const std::string& name) {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm/errors/" + name);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Result<void> judged(Endpoint endpoint, int status, const std::string& body) {
  json::Reader reader;
  return judge(endpoint, status, envelope_of(reader, body), body);
}

std::string with_error(int number, const std::string& text) {
  return R"({"errors":[{"description":"Trying","error_number":)" + std::to_string(number) +
         R"(,"error":")" + text + R"("}],"warnings":[]})";
}

TEST(Errors, EveryRecordedRefusalIsOneError) {
  struct Case {
    const char* file;
    Endpoint endpoint;
    int status;
    Code code;
    int number;
    const char* message;
  };
  const Case cases[] = {
      {"unknown_field.json", Endpoint::kSubmitJob, 422, Code::kInvalid, 9000,
       "Populated \"script\" field is required for job submission: Query empty or not RFC7320 "
       "compliant (Slurm error 9000); Ignoring unknown field \"nodesx\" of type string in "
       "DATA_PARSER_JOB_DESC_MSG"},
      {"no_job.json", Endpoint::kGetJob, 404, Code::kNotFound, 2017,
       "Unable to query JobId=99999: Invalid job id specified (Slurm error 2017)"},
      {"no_node.json", Endpoint::kGetNode, 200, Code::kNotFound, 0, "Failure to query node nope"},
      {"delete_no_node.json", Endpoint::kDeleteNode, 422, Code::kNotFound, 2018,
       "Failure to delete node nope: Invalid node name specified (Slurm error 2018)"},
      {"no_partition.json", Endpoint::kGetPartition, 200, Code::kNotFound, 2000,
       "Unable to find partition nope"},
      {"no_reservation.json", Endpoint::kGetReservation, 200, Code::kNotFound, 0,
       "Unable to query reservations"},
      {"cancel_no_job.json", Endpoint::kCancelJob, 200, Code::kNotFound, 2017,
       "Invalid job id specified (Slurm error 2017)"},
      {"nodes_busy.json", Endpoint::kAllocateJob, 422, Code::kThrottled, 2016,
       "Job allocation request failed: Requested nodes are busy (Slurm error 2016)"},
      {"nodes_busy.json", Endpoint::kDeleteNode, 422, Code::kConflict, 2016,
       "Job allocation request failed: Requested nodes are busy (Slurm error 2016)"},
      {"impossible.json", Endpoint::kAllocateJob, 422, Code::kInvalid, 2014,
       "Job allocation request failed: Requested node configuration is not available (Slurm error "
       "2014)"},
      {"not_admin.json", Endpoint::kCreateNode, 422, Code::kForbidden, 2010,
       "Failure to create node: Invalid user id (Slurm error 2010)"},
      {"batch_only.json", Endpoint::kRequeueJob, 422, Code::kInvalid, 2039,
       "Requeue JobID=15 failed: Only batch jobs are accepted or processed (Slurm error 2039)"},
      {"script_of_external_job.json", Endpoint::kSubmitJob, 500, Code::kInvalid, 2189,
       "Batch job submission failed: Invalid configuration for external job (Slurm error 2189)"},
      {"node_exists.json", Endpoint::kCreateNode, 422, Code::kAlreadyExists, 2168,
       "Failure to create node: Node already exists in the node table (Slurm error 2168)"},
      {"invalid_argument.json", Endpoint::kCreateNode, 500, Code::kInvalid, 22,
       "Failure to create node: Invalid argument (Slurm error 22)"},
      {"node_transition.json", Endpoint::kUpdateNode, 422, Code::kConflict, 2180,
       "Failure to update node node1: Invalid node state transition (Slurm error 2180)"},
      {"job_held.json", Endpoint::kUpdateJob, 422, Code::kConflict, 2042,
       "Job update requested failed: Job is in held state, pending scheduler release (Slurm error "
       "2042)"},
      {"unknown_path.txt", Endpoint::kGetJob, 404, Code::kUnsupported, 0,
       "slurmrestd answered 404: Unable to find requested URL endpoint. Please query the "
       "'/openapi/v3' endpoint or visit 'https://slurm.schedmd.com/rest_api.html' for the OpenAPI "
       "specification which includes a list of all possible slurmrestd endpoints."},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.file);
    const auto refused = judged(one.endpoint, one.status, recorded(one.file));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), one.code) << to_string(refused.error().code());
    EXPECT_EQ(refused.error().message(), one.message);
    ASSERT_NE(slurm_error(refused.error()), nullptr);
    EXPECT_EQ(slurm_error(refused.error())->number, one.number);
    EXPECT_EQ(slurm_error(refused.error())->http_status, one.status);
    EXPECT_EQ(refused_with(refused.error(), Errno::kNodesBusy), one.number == 2016);
  }
}

TEST(Errors, ARefusalForNowIsToldFromOneForGood) {
  const auto later = [](int number) {
    const auto refused = judged(Endpoint::kAllocateJob, 422, with_error(number, "no"));
    return !refused && may_start_later(refused.error());
  };
  // Busy nodes, licenses, limits of accounts and QOS, holds, begin times, reservations, topology:
  // what slurmctld itself keeps in its queue.
  for (const int number : {2013, 2015, 2016, 2035, 2038, 2040, 2042, 2050, 2055, 2056, 2068, 2074,
                           2100, 2101, 2125, 7203}) {
    EXPECT_TRUE(later(number)) << number;
  }
  for (const int number : {2000, 2002, 2014, 2045, 2053, 2066, 2189}) {
    EXPECT_FALSE(later(number)) << number;
  }
  EXPECT_FALSE(may_start_later(Error(Code::kTransient, "cut off")));
}

TEST(Errors, WarningsAloneAreNoRefusal) {
  EXPECT_TRUE(judged(Endpoint::kSubmitJob, 200, recorded("held.json")));
  EXPECT_TRUE(judged(Endpoint::kListJobs, 200, recorded("no_jobs.json")));
  EXPECT_TRUE(judged(Endpoint::kListPartitions, 200, recorded("no_partition.json")));
  EXPECT_TRUE(judged(Endpoint::kCancelJob, 200, recorded("cancelled.json")));
}

TEST(Errors, WhatSlurmdbCannotFindIsNotFoundOnlyWhereOneThingWasNamed) {
  const std::string nothing =
      R"-({"users":[],"errors":[],"warnings":[{"description":"slurmdb_users_get() found nothing"}]})-";
  const auto one = judged(Endpoint::kGetUser, 200, nothing);
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().code(), Code::kNotFound);
  EXPECT_TRUE(judged(Endpoint::kListUsers, 200, nothing));
}

TEST(Errors, AMissingPartitionIsNotFoundInTheWordsOfOlderSlurms) {
  const auto refused =
      judged(Endpoint::kGetPartition, 422,
             R"({"errors":[{"description":"Unable to find partition nope","error_number":9000,
          "error":"Query empty or not RFC7320 compliant","source":"op_handler_partition"}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kNotFound);
  EXPECT_TRUE(refused_with(refused.error(), Errno::kInvalidPartition));
}

TEST(Errors, CallsOnManyJobsTellHowEachWent) {
  const std::string body = recorded("cancel_no_job.json");
  EXPECT_TRUE(judged(Endpoint::kCancelJobs, 200, body));
  json::Reader reader;
  const Envelope envelope = envelope_of(reader, body);
  ASSERT_THAT(envelope.outcomes, ElementsAre(Field(&JobOutcome::job, "99999")));
  const Error error = outcome_error(Endpoint::kCancelJobs, envelope.outcomes[0]);
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_EQ(error.to_string(), "job 99999: Invalid job id specified (Slurm error 2017)");
}

TEST(Errors, OutcomesAreReadInEveryShapeThatTheyComeIn) {
  json::Reader reader;
  const Envelope update = envelope_of(
      reader, R"({"results":[{"job_id":4,"step_id":"4_1","error":"No error","error_code":0},
                             {"job_id":5,"error":"Bad","error_code":2021}]})");
  ASSERT_EQ(update.outcomes.size(), 2U);
  EXPECT_EQ(update.outcomes[0].job, "4_1");
  EXPECT_EQ(update.outcomes[1].job, "5");
  EXPECT_EQ(update.outcomes[1].number, 2021);
  const Envelope many =
      envelope_of(reader, R"({"status":[[{"job_id":4,"error_code":0}],[{"job_id":5}]]})");
  EXPECT_EQ(many.outcomes.size(), 2U);
  EXPECT_TRUE(envelope_of(reader, R"({"results":null,"status":"fine"})").outcomes.empty());
}

TEST(Errors, TheWayToSlurmctldAndTokensAreToldApartFromRefusals) {
  struct Case {
    int status;
    int number;
    Code code;
  };
  const Case cases[] = {
      {502, 1800, Code::kTransient},    {502, 1804, Code::kThrottled},
      {500, 1001, Code::kTransient},    {504, 5004, Code::kTransient},
      {511, 1007, Code::kUnauthorized}, {500, 7000, Code::kTransient},
      {500, 2027, Code::kTransient},    {422, 2002, Code::kForbidden},
      {500, 2090, Code::kInternal},     {500, 4711, Code::kInvalid},
      {500, 0, Code::kInternal},        {500, -1, Code::kTransient},
  };
  for (const Case& one : cases) {
    const auto refused = judged(Endpoint::kListNodes, one.status, with_error(one.number, "why"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), one.code) << one.status << " " << one.number;
  }
}

TEST(Errors, AnswersThatAreNotSlurmsAreJudgedByTheirStatus) {
  struct Case {
    int status;
    Code code;
  };
  const Case cases[] = {
      {200, Code::kInternal},     {302, Code::kInternal},     {400, Code::kInvalid},
      {401, Code::kUnauthorized}, {403, Code::kForbidden},    {404, Code::kUnsupported},
      {405, Code::kUnsupported},  {413, Code::kTooLarge},     {429, Code::kThrottled},
      {500, Code::kInternal},     {502, Code::kTransient},    {503, Code::kTransient},
      {504, Code::kTransient},    {511, Code::kUnauthorized},
  };
  for (const Case& one : cases) {
    for (const std::string body : {"", "<html>\x01\n\xff</html>", "[1]", R"({"errors":7})"}) {
      const auto refused = judged(Endpoint::kGetNode, one.status, body);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code(), one.code) << one.status << body;
      EXPECT_THAT(refused.error().message(), Not(HasSubstr("\n")));
    }
  }
  EXPECT_TRUE(judged(Endpoint::kListNodes, 304, ""));
}

TEST(Errors, AMentionOfWhatDoesNotExistIsAnInvalidRequest) {
  for (const int number : {2000, 2017, 2018, 2053}) {
    const auto refused = judged(Endpoint::kSubmitJob, 422, with_error(number, "no such"));
    EXPECT_EQ(refused.error().code(), Code::kInvalid) << number;
  }
  EXPECT_EQ(judged(Endpoint::kDeletePartition, 422, with_error(2000, "no")).error().code(),
            Code::kNotFound);
  EXPECT_EQ(judged(Endpoint::kDeleteReservation, 422, with_error(2053, "no")).error().code(),
            Code::kNotFound);
}

// As recorded from 26.05 and 24.11 with slurmctld killed: each call says it in its own way.
TEST(Errors, EveryCallThatCannotReachSlurmctldIsTransient) {
  struct Case {
    Endpoint endpoint;
    int status;
    int number;
  };
  const Case cases[] = {
      {Endpoint::kListNodes, 502, 1800},  {Endpoint::kGetPartition, 502, 1800},
      {Endpoint::kJobStates, 500, -1},    {Endpoint::kGetJob, 500, -1},
      {Endpoint::kGetResources, 500, -1}, {Endpoint::kShares, 500, -1},
      {Endpoint::kUpdateJob, 500, 1000},  {Endpoint::kCancelJob, 403, 1},
      {Endpoint::kCancelJob, 500, 1},     {Endpoint::kCancelJobs, 403, 1},
  };
  for (const Case& one : cases) {
    const auto refused = judged(one.endpoint, one.status, with_error(one.number, "away"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kTransient) << info(one.endpoint).what;
  }
  EXPECT_EQ(judged(Endpoint::kUpdateNode, 403, with_error(1, "no")).error().code(),
            Code::kForbidden);
}

TEST(Errors, ANodeIsNotMissingBecauseSlurmctldIs) {
  EXPECT_EQ(judged(Endpoint::kGetNode, 200, with_error(1800, "away")).error().code(),
            Code::kTransient);
  EXPECT_EQ(judged(Endpoint::kListNodes, 200, with_error(0, "No error")).error().code(),
            Code::kInvalid);
}

TEST(Errors, TheNumberedComplaintSpeaksForAll) {
  const auto refused =
      judged(Endpoint::kUpdateNode, 500,
             R"({"errors":[{"description":"first"},{"description":"second","error_number":2010,
          "error":"Invalid user id"}]})");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kForbidden);
}

TEST(Errors, LongTextIsCutShort) {
  const auto refused = judged(Endpoint::kGetNode, 500, with_error(2010, std::string(100'000, 'x')));
  EXPECT_LT(refused.error().message().size(), 2'000U);
}

TEST(Errors, AMissingPathIsNotAMissingJob) {
  json::Reader reader;
  EXPECT_TRUE(is_unknown_path(404, envelope_of(reader, recorded("unknown_path.txt"))));
  EXPECT_FALSE(is_unknown_path(404, envelope_of(reader, recorded("no_job.json"))));
  EXPECT_FALSE(is_unknown_path(405, envelope_of(reader, recorded("unknown_path.txt"))));
}

TEST(Errors, NoChangeIsToldByStatusOrBySentence) {
  json::Reader reader;
  EXPECT_TRUE(is_unchanged(304, {}));
  EXPECT_TRUE(is_unchanged(200, envelope_of(reader, recorded("jobs_unchanged.json"))));
  EXPECT_FALSE(is_unchanged(200, envelope_of(reader, recorded("no_jobs.json"))));
  EXPECT_FALSE(is_unchanged(404, envelope_of(reader, recorded("no_job.json"))));
}

TEST(Errors, TheEnvelopeSaysWhoAnswered) {
  json::Reader reader;
  const Envelope envelope = envelope_of(reader, recorded("held.json"));
  EXPECT_TRUE(envelope.understood);
  EXPECT_EQ(envelope.release, "26.05.5");
  EXPECT_EQ(envelope.cluster, "cluster_a_sid");
  EXPECT_EQ(envelope.warnings.size(), 2U);
  EXPECT_EQ(envelope_of(reader, R"({"last_update":{"set":true,"number":17}})").last_update, 17);
  EXPECT_EQ(envelope_of(reader, R"({"last_update":18})").last_update, 18);
}

}  // namespace
}  // namespace mainspring::slurm
