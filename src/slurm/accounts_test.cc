#include "slurm/accounts.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AccountingTest : public ApiTest {
 protected:
  Accounting accounting() { return Accounting(client()); }
  static AccountSpec physics() {
    AccountSpec spec;
    spec.name = "phys";
    spec.description = "physics";
    spec.organization = "uni";
    return spec;
  }
};

TEST_F(AccountingTest, ARecordIsWrittenAndReadAgain) {
  constexpr const char* kThere =
      R"({"accounts":[{"name":"phys","description":"physics","organization":"uni"}]})";
  answer_as("acct_create");
  answer(kThere);
  const auto made = run(accounting().accounts().write(physics()));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->organization, "uni");
  expect_asked_as("acct_create");
  EXPECT_EQ(asked(1), "GET /slurmdb/v0.0.45/account/phys?with_assocs=true&with_coords=true");
}

TEST_F(AccountingTest, ARecordThatIsNotAsWrittenIsAConflict) {
  answer();
  answer(R"({"accounts":[{"name":"phys","description":"old","organization":"uni"}]})");
  const auto made = run(accounting().accounts().write(physics()));
  EXPECT_EQ(code_of(made), Code::kConflict);
  EXPECT_THAT(why(made), HasSubstr(R"(description is "old", not "physics")"));
}

TEST_F(AccountingTest, NumbersInSlurmsShapeAreComparedByWhatWasSent) {
  answer(R"({"qos":[]})");
  answer_as("qos_create");
  answer(R"({"qos":[{"name":"high","description":"hi",)"
         R"("priority":{"set":true,"infinite":false,"number":100}}]})");
  QosSpec spec;
  spec.name = "high";
  spec.description = "hi";
  spec.priority = 100;
  const auto made = run(accounting().qos().write(spec));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->priority.value_or(0), 100);
  expect_asked_as("qos_create", 1);
}

TEST_F(AccountingTest, WhatAWriteOfAQosDoesNotNameIsSentAgainBecauseSlurmWouldClearIt) {
  constexpr const char* kIs = R"({"qos":[{"name":"high","flags":["DENY_LIMIT"],)"
                              R"("preempt":{"list":["low"],"mode":["CANCEL"]},)"
                              R"("priority":{"set":true,"infinite":false,"number":1}}]})";
  answer(kIs);
  answer();
  answer(kIs);
  QosSpec spec{.name = "high"};
  spec.priority = 2;
  EXPECT_THAT(why(run(accounting().qos().write(spec))), HasSubstr("priority.number is 1, not 2"));
  EXPECT_EQ(body(1), *json::parse(R"({"qos":[{"name":"high","priority":{"set":true,"number":2},)"
                                  R"("flags":["DENY_LIMIT"],"preempt":{"mode":["CANCEL"]}}]})"));
}

TEST_F(AccountingTest, AClusterThatIsThereIsNotWrittenAgain) {
  answer(R"({"clusters":[{"name":"main","flags":["REGISTERING"],
      "controller":{"host":"ctl","port":6817}}]})");
  const auto is = run(accounting().clusters().write({.name = "main"}));
  ASSERT_TRUE(is) << why(is);
  EXPECT_EQ(is->controller_host, "ctl");
  EXPECT_EQ(transport_.asked.size(), 1U);
}

TEST_F(AccountingTest, ADefaultThatSlurmdbdIgnoredIsAConflict) {
  answer();
  answer(R"({"users":[{"name":"bob","default":{"account":"chem","wckey":""}}]})");
  const auto made = run(accounting().users().write({.name = "bob", .default_account = "nope"}));
  EXPECT_EQ(code_of(made), Code::kConflict);
  EXPECT_THAT(why(made), HasSubstr(R"(default.account is "chem", not "nope")"));
}

TEST_F(AccountingTest, WhatSlurmdbdDoesNotKnowIsNotFoundInEveryShape) {
  answer(R"({"users":[],"warnings":[{"description":"slurmdb_users_get() found nothing"}]})");
  EXPECT_EQ(code_of(run(accounting().users().get("nope"))), Code::kNotFound);
  answer("", 304);
  EXPECT_EQ(code_of(run(accounting().users().remove("nope"))), Code::kNotFound);
  // 24.11
  answer(
      R"({"removed_qos":[],"warnings":[{"description":"slurmdb_qos_remove(0x7f) found nothing"}]})");
  EXPECT_EQ(code_of(run(accounting().qos().remove("nope"))), Code::kNotFound);
  answer(R"({"removed_qos":["high"]})");
  EXPECT_TRUE(run(accounting().qos().remove("high")));
}

TEST_F(AccountingTest, AnAssociationThatSlurmdbdIgnoredIsAConflict) {
  answer_as("assoc_create");
  answer(R"({"associations":[]})");
  AssociationSpec spec;
  spec.account = "phys";
  spec.cluster = "cluster_a_sid";
  const auto made = run(accounting().write_association(spec));
  EXPECT_EQ(code_of(made), Code::kConflict);
  EXPECT_EQ(asked(1), "GET /slurmdb/v0.0.45/associations/?account=phys&cluster=cluster_a_sid");
}

TEST_F(AccountingTest, AnAccountsOwnAssociationIsNotThatOfOneOfItsUsers) {
  answer();
  answer(R"({"associations":[
      {"account":"phys","cluster":"main","user":"bob","partition":"","shares_raw":5},
      {"account":"phys","cluster":"main","user":"","partition":"","shares_raw":1}]})");
  AssociationSpec spec{.account = "phys", .cluster = "main", .user = {}};
  spec.shares_raw = 5;
  const auto made = run(accounting().write_association(spec));
  EXPECT_THAT(why(made), HasSubstr("shares_raw is 1, not 5"));
}

TEST_F(AccountingTest, OneAssociationIsReadAndRemoved) {
  answer(R"({"associations":[{"account":"phys","cluster":"main","user":"bob","id":7}]})");
  const auto one = run(accounting().association({{"user", "bob"}}));
  ASSERT_TRUE(one) << why(one);
  EXPECT_EQ(one->about.id, 7);
  EXPECT_EQ(asked(0), "GET /slurmdb/v0.0.45/association/?user=bob");
  answer(R"({"associations":[],"errors":[{"error_number":9211,
      "error":"Request matched more than one object to query.",
      "description":"Ambiguous request"}]})",
         500);
  EXPECT_EQ(code_of(run(accounting().association({{"account", "phys"}}))), Code::kInvalid);
  answer(R"({"removed_associations":["C = main A = phys U = bob"]})");
  EXPECT_TRUE(run(accounting().remove_association({{"user", "bob"}})));
  EXPECT_EQ(asked(2), "DELETE /slurmdb/v0.0.45/association/?user=bob");
  answer("", 304);
  EXPECT_EQ(code_of(run(accounting().remove_association({{"user", "bob"}}))), Code::kNotFound);
}

TEST_F(AccountingTest, AWorkloadKeyIsFoundByItsName) {
  answer(R"({"wckeys":[{"name":"key","cluster":"main","user":"bob","id":3}]})");
  const auto keys = run(accounting().wckey("key"));
  ASSERT_TRUE(keys) << why(keys);
  EXPECT_EQ(keys->at(0).user, "bob");
  EXPECT_EQ(asked(0), "GET /slurmdb/v0.0.45/wckey/key");
  answer(R"({"wckeys":[]})");
  EXPECT_EQ(code_of(run(accounting().wckey("other"))), Code::kNotFound);
  answer(R"({"deleted_wckeys":["C = main W = key U = bob"]})");
  EXPECT_TRUE(run(accounting().remove_wckey("key")));
  EXPECT_EQ(asked(2), "DELETE /slurmdb/v0.0.45/wckey/key");
  answer(R"({"deleted_wckeys":[]})");
  EXPECT_EQ(code_of(run(accounting().remove_wckey("key"))), Code::kNotFound);
  // Another user's is not the one that was asked for.
  answer();
  answer(R"({"wckeys":[{"name":"key","cluster":"main","user":"carl","id":4}]})");
  EXPECT_EQ(code_of(run(accounting().add_wckey({"key", "main", "bob"}))), Code::kConflict);
}

TEST_F(AccountingTest, OneInstanceIsRead) {
  answer(R"({"instances":[{"node_name":"cloud1","instance_id":"i-1"}]})");
  const auto one = run(accounting().instance({{"instance_id", "i-1"}}));
  ASSERT_TRUE(one) << why(one);
  EXPECT_EQ(one->node_name, "cloud1");
  EXPECT_EQ(asked(0), "GET /slurmdb/v0.0.45/instance/?instance_id=i-1");
  answer(R"({"warnings":[{"description":"slurmdb_instances_get() found nothing"}]})");
  EXPECT_EQ(code_of(run(accounting().instance({{"instance_id", "i-2"}}))), Code::kNotFound);
}

TEST_F(AccountingTest, SlurmdbdLeavesAListOutWhereItHasNothing) {
  answer();
  const auto none = run(accounting().instances());
  ASSERT_TRUE(none) << why(none);
  EXPECT_TRUE(none->empty());
  answer();  // 24.11, of a single one.
  EXPECT_EQ(code_of(run(accounting().instance({{"instance_id", "i-2"}}))), Code::kNotFound);
}

TEST_F(AccountingTest, WhatWasLoadedMustBeThere) {
  const json::Value config = *json::parse(R"({"users":[{"name":"bob"},{"name":"carl"}]})");
  answer();
  answer(R"({"users":[{"name":"bob"}]})");
  EXPECT_THAT(why(run(accounting().load(config))), HasSubstr("users: name carl is missing"));
  answer();
  answer(R"({"users":[{"name":"carl"},{"name":"bob"}]})");
  EXPECT_TRUE(run(accounting().load(config)));
}

TEST_F(AccountingTest, AssociationsAreNeverAllRemovedByAccident) {
  EXPECT_EQ(code_of(run(accounting().remove_associations({}))), Code::kInvalid);
  EXPECT_EQ(code_of(run(accounting().remove_association({}))), Code::kInvalid);
  EXPECT_THAT(transport_.asked, IsEmpty());
}

TEST_F(AccountingTest, UsersArePutIntoAccounts) {
  answer_as("users_assoc_create");
  answer_as("assoc_list");
  answer(R"({"users":[{"name":"alice","administrator_level":["None"]}]})");
  UserAssociation request;
  request.users = {"alice"};
  request.accounts = {"chem"};
  request.clusters = {"cluster_a_sid"};
  request.fairshare = 5;
  request.administrator_level = {"None"};
  const auto made = run(accounting().add_users(request));
  ASSERT_TRUE(made) << why(made);
  ASSERT_EQ(made->size(), 1U);
  EXPECT_EQ(made->front().about.user, "alice");
  expect_asked_as("users_assoc_create");
  // They were there already, with other shares.
  answer("", 304);
  answer_as("assoc_list");
  request.fairshare = 6;
  EXPECT_THAT(why(run(accounting().add_users(request))), HasSubstr("shares_raw is 5, not 6"));
  request.clusters = {};
  EXPECT_EQ(code_of(run(accounting().add_users(request))), Code::kInvalid);
}

TEST_F(AccountingTest, PastJobsAreSelected) {
  answer_as("db_job");
  const auto job = run(accounting().job(JobId(4)));
  ASSERT_TRUE(job) << why(job);
  expect_asked_as("db_job");

  answer(R"({"jobs":[]})");
  DbJobFilter filter;
  filter.users = {"alice", "bob"};
  filter.start = 1794804000;
  EXPECT_TRUE(run(accounting().jobs(filter, [](const auto&) {})));
  EXPECT_EQ(asked(1),
            "GET /slurmdb/v0.0.45/jobs/"
            "?users=alice&users=bob&start_time=uts1794804000&skip_steps=true");
}

TEST_F(AccountingTest, APastJobIsCommentedOn) {
  answer_as("job_admin_comment_db");
  answer(R"({"jobs":[{"job_id":4,"comment":{"administrator":"from db"}}]})");
  DbJobUpdate update;
  update.admin_comment = "from db";
  EXPECT_TRUE(run(accounting().update_job(JobId(4), update)));
  expect_asked_as("job_admin_comment_db");
  answer();
  answer(R"({"jobs":[{"job_id":4,"comment":{"administrator":""}}]})");
  EXPECT_EQ(code_of(run(accounting().update_job(JobId(4), update))), Code::kConflict);
  answer("", 304);
  EXPECT_EQ(code_of(run(accounting().update_job(JobId(9999), update))), Code::kNotFound);
}

TEST_F(AccountingTest, APastJobGetsAnExitCode) {
  answer();
  answer(R"({"jobs":[{"job_id":4,"derived_exit_code":{"return_code":{"set":true,"number":3}}}]})");
  const DbJobUpdate update{.derived_exit_code = 3};
  EXPECT_TRUE(run(accounting().update_job(JobId(4), update)));
  EXPECT_EQ(body(0), *json::parse(R"({"derived_exit_code":{"return_code":)"
                                  R"({"set":true,"number":768}}})"));
  answer();
  answer(R"({"jobs":[{"job_id":4,"derived_exit_code":{"return_code":{"set":true,"number":0}}}]})");
  EXPECT_THAT(why(run(accounting().update_job(JobId(4), update))),
              HasSubstr("derived_exit_code is 0, not 3"));
}

TEST_F(AccountingTest, PastJobsAreCommentedOnTogether) {
  answer(R"({"results":["4","5"],"errors":[],"warnings":[]})");
  answer(R"({"jobs":[{"job_id":4,"comment":{"job":"checked"}}]})");
  answer(R"({"jobs":[{"job_id":5,"comment":{"job":"checked"}}]})");
  DbJobUpdate update;
  update.comment = "checked";
  const auto changed = run(accounting().update_jobs({JobId(4), JobId(5)}, update));
  ASSERT_TRUE(changed) << why(changed);
  EXPECT_EQ(changed->size(), 2U);
  EXPECT_EQ(asked(0), "POST /slurmdb/v0.0.45/jobs/");
  EXPECT_EQ(body(0),
            *json::parse(R"({"job_id_list":["4","5"],"job_rec":{"comment":{"job":"checked"}}})"));
  answer("", 304);
  EXPECT_EQ(code_of(run(accounting().update_jobs({JobId(9)}, update))), Code::kNotFound);
  answer();
  answer(R"({"jobs":[{"job_id":4,"comment":{"job":"checked"}}]})");
  answer(R"({"jobs":[{"job_id":5,"comment":{"job":"old"}}]})");
  EXPECT_THAT(why(run(accounting().update_jobs({JobId(4), JobId(5)}, update))),
              HasSubstr("accounted job 5 and it is not there: comment is 'old', not 'checked'"));
}

TEST_F(AccountingTest, ATresThatSlurmdbdDidNotTakeIsAConflict) {
  answer();
  answer(R"({"TRES":[{"type":"gres","name":"gpu","id":1001}]})");
  const auto made = run(accounting().add_tres({.type = "gres", .name = "gpu"}));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->id, 1001);
  EXPECT_EQ(asked(0), "POST /slurmdb/v0.0.45/tres/");
  EXPECT_EQ(body(0), *json::parse(R"({"TRES":[{"type":"gres","name":"gpu"}]})"));
  answer();
  answer(R"({"TRES":[]})");
  EXPECT_EQ(code_of(run(accounting().add_tres({.type = "gres", .name = "fpga"}))), Code::kConflict);
}

TEST_F(AccountingTest, SlurmdbdSaysWhatItDid) {
  answer(R"({"statistics":{"time_start":1794770000,"rollups":{},
      "RPCs":[{"rpc":"DBD_GET_JOBS_COND","count":3,"time":{"average":200,"total":600}}],
      "users":[{"user":"alice","count":2,"time":{"average":5,"total":10}}]}})");
  const auto diag = run(accounting().diag());
  ASSERT_TRUE(diag) << why(diag);
  EXPECT_EQ(asked(), "GET /slurmdb/v0.0.45/diag/");
  EXPECT_EQ(diag->since, 1794770000);
  ASSERT_EQ(diag->by_type.size(), 1U);
  EXPECT_EQ(diag->by_type[0].total_time, 600);
  EXPECT_EQ(diag->by_user.at(0).user, "alice");
}

TEST_F(AccountingTest, TheRestIsRead) {
  answer_as("db_tres");
  answer_as("db_clusters");
  answer_as("db_users");
  answer_as("db_qos");
  answer_as("db_instances");
  EXPECT_FALSE(run(accounting().tres())->empty());
  EXPECT_FALSE(run(accounting().clusters().list())->empty());
  EXPECT_FALSE(run(accounting().users().list())->empty());
  EXPECT_EQ(run(accounting().qos().list({{"with_deleted", "true"}}))->front().name, "normal");
  EXPECT_EQ(run(accounting().instances())->size(), 4U);
  EXPECT_EQ(asked(3), "GET /slurmdb/v0.0.45/qos/?with_deleted=true");
}

}  // namespace
}  // namespace mainspring::slurm
