// tests/real/slurm_accounting.cc
//
// Every verb of our Slurm client on slurmdbd against a real one with a real database: each kind of
// record is made, read back, changed and removed, and what slurmdbd refuses, or says yes to and
// does not do, is an error. Leaves nothing behind.
#include <algorithm>
#include <set>

#include "slurm/accounts.h"
#include "slurm_api.h"

namespace mainspring::slurm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

class SlurmAccounting : public SlurmApi {
 protected:
  Accounting accounting() { return Accounting(client()); }

  // The account that most cases need, on our cluster.
  void add_account(const std::string& name) {
    AccountAssociation request;
    request.accounts = {name};
    request.clusters = {peer_.cluster};
    must(accounting().add_accounts(request));
  }
  UserAssociation user_in(const std::string& account) const {
    UserAssociation request;
    request.users = {"bob"};
    request.accounts = {account};
    request.clusters = {peer_.cluster};
    return request;
  }
  // A job that is over and of which slurmdbd knows.
  JobId past_job() {
    const JobId id = must(Jobs(client()).submit(batch_job())).job;
    must(Jobs(client()).cancel(id));
    wait_until(id, &JobState::is_over);
    Result<DbJob> past = fail(Code::kNotFound, "");
    EXPECT_TRUE(eventually([&] {
      past = run(accounting().job(id));
      return past && past->end_time != 0;
    })) << why(past);
    return id;
  }
};

TEST_F(SlurmAccounting, SlurmdbdSpeaksOfItself) {
  EXPECT_TRUE(must(accounting().ping()).front().responding);
  const DbDiag diag = must(accounting().diag());
  EXPECT_GT(diag.since, 0);
  EXPECT_FALSE(diag.by_type.empty());
  EXPECT_FALSE(diag.by_user.empty());
  if (!is_new()) {
    EXPECT_EQ(code_of(run(accounting().conf())), Code::kUnsupported);
    return;
  }
  EXPECT_GT(must(accounting().conf()).dbd_port, 0);
}

TEST_F(SlurmAccounting, AnAccountIsMadeChangedAndRemoved) {
  const auto accounts = accounting().accounts();
  EXPECT_EQ(code_of(run(accounts.get("physics"))), Code::kNotFound);
  AccountSpec physics{.name = "physics", .description = "of physics", .organization = "uni"};
  EXPECT_EQ(must(accounts.write(physics)).description, "of physics");
  physics.description = "of particles";
  EXPECT_EQ(must(accounts.write(physics)).description, "of particles");
  EXPECT_EQ(must(accounts.get("physics")).organization, "uni");
  std::set<std::string> names;
  for (const Account& each : must(accounts.list())) {
    names.insert(each.name);
    if (each.name == "test") {
      EXPECT_FALSE(each.associations.empty());
    }
  }
  EXPECT_THAT(names, Contains("physics"));

  EXPECT_EQ(code_of(run(accounts.write({}))), Code::kInvalid);
  physics.description.reset();  // Which Slurm wants, every time.
  EXPECT_EQ(code_of(run(accounts.write(physics))), Code::kInvalid);
  must(accounts.remove("physics"));
  EXPECT_EQ(code_of(run(accounts.remove("physics"))), Code::kNotFound);
}

TEST_F(SlurmAccounting, AccountsAndUsersArePutOnClusters) {
  AccountAssociation chem;
  chem.accounts = {"chem", "bio"};
  chem.clusters = {peer_.cluster};
  chem.description = "sciences";
  chem.fairshare = 10;
  EXPECT_EQ(must(accounting().add_accounts(chem)).size(), 2U);
  EXPECT_EQ(must(accounting().add_accounts(chem)).size(), 2U) << "again, and nothing to do";
  EXPECT_EQ(must(accounting().accounts().get("bio")).associations.size(), 1U);
  // 304, as if nothing were to be done.
  chem.fairshare = 20;
  EXPECT_THAT(why(run(accounting().add_accounts(chem))), HasSubstr("shares_raw is 10, not 20"));
  chem.fairshare.reset();
  chem.description = "other";
  EXPECT_EQ(code_of(run(accounting().add_accounts(chem))), Code::kConflict);
  chem.clusters = {"nope"};
  EXPECT_EQ(code_of(run(accounting().add_accounts(chem))), Code::kInvalid);
  chem.clusters = {};
  EXPECT_EQ(code_of(run(accounting().add_accounts(chem))), Code::kInvalid);

  UserAssociation bob = user_in("chem");
  bob.accounts = {"chem", "bio"};
  bob.partitions = {"compute"};
  bob.default_account = "chem";
  bob.administrator_level = {"Operator"};
  const auto made = must(accounting().add_users(bob));
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made.front().about.partition, "compute");
  EXPECT_EQ(made.front().about.user, "bob");
  bob.partitions = {"all"};
  EXPECT_EQ(must(accounting().add_users(bob)).size(), 2U);
  EXPECT_EQ(must(accounting().associations({{"user", "bob"}})).size(), 4U);
  EXPECT_EQ(code_of(run(accounting().add_users(user_in("nope")))), Code::kConflict);
  bob.fairshare = 77;
  EXPECT_EQ(code_of(run(accounting().add_users(bob))), Code::kConflict);

  must(accounting().users().remove("bob"));
  must(accounting().accounts().remove("chem"));
  must(accounting().accounts().remove("bio"));
}

TEST_F(SlurmAccounting, AUserIsChangedAndRemoved) {
  add_account("chem");
  add_account("bio");
  must(accounting().add_users(user_in("chem")));
  must(accounting().add_users(user_in("bio")));
  const auto users = accounting().users();
  const User before = must(users.get("bob"));
  EXPECT_EQ(before.default_account, "chem");
  EXPECT_EQ(before.associations.size(), 2U);

  UserSpec bob{.name = "bob", .default_account = "bio"};
  bob.administrator_level = {"Operator"};
  EXPECT_EQ(must(users.write(bob)).default_account, "bio");
  EXPECT_TRUE(must(users.get("bob")).administrator_level.contains("Operator"));
  // 200, and nothing.
  bob.default_account = "nope";
  EXPECT_THAT(why(run(users.write(bob))), HasSubstr("default.account is"));
  bob.default_account.reset();
  bob.administrator_level = {"Emperor"};
  EXPECT_EQ(code_of(run(users.write(bob))), Code::kInvalid);
  std::set<std::string> names;
  for (const User& each : must(users.list())) names.insert(each.name);
  EXPECT_THAT(names, Contains("bob"));

  must(users.remove("bob"));
  EXPECT_EQ(code_of(run(users.get("bob"))), Code::kNotFound);
  EXPECT_EQ(code_of(run(users.remove("bob"))), Code::kNotFound);
  must(accounting().accounts().remove("chem"));
  must(accounting().accounts().remove("bio"));
}

TEST_F(SlurmAccounting, AnAssociationIsReadChangedAndRemoved) {
  const DbQuery own{{"account", "chem"}, {"cluster", peer_.cluster}, {"user", "bob"}};
  EXPECT_EQ(code_of(run(accounting().association(own))), Code::kNotFound);
  add_account("chem");
  add_account("bio");
  must(accounting().add_users(user_in("bio")));  // Where bob's default is.
  must(accounting().add_users(user_in("chem")));
  EXPECT_EQ(must(accounting().association(own)).about.user, "bob");
  EXPECT_EQ(code_of(run(accounting().association({{"user", "bob"}}))), Code::kInvalid);

  AssociationSpec hers{.account = "chem", .cluster = peer_.cluster, .user = "bob"};
  hers.shares_raw = 44;
  hers.max_jobs = 5;
  hers.max_wall_clock = 70;
  const Association changed = must(accounting().write_association(hers));
  EXPECT_EQ(changed.shares_raw, 44);
  EXPECT_EQ(changed.max_jobs, Number(5));
  // The account's own, not one of its users'.
  AssociationSpec account{.account = "chem", .cluster = peer_.cluster, .user = {}};
  account.shares_raw = 3;
  EXPECT_EQ(must(accounting().write_association(account)).about.user, "");
  EXPECT_EQ(must(accounting().association(own)).shares_raw, 44);
  // 200, and nothing.
  account.account = "test2";
  EXPECT_EQ(code_of(run(accounting().write_association(account))), Code::kConflict);
  hers.comment = "not kept";
  EXPECT_EQ(code_of(run(accounting().write_association(hers))), Code::kConflict);
  EXPECT_EQ(code_of(run(accounting().write_association({}))), Code::kInvalid);

  EXPECT_EQ(code_of(run(accounting().remove_association({{"user", "bob"}}))), Code::kInvalid);
  EXPECT_EQ(code_of(run(accounting().remove_association({}))), Code::kInvalid);
  must(accounting().remove_association(own));
  EXPECT_EQ(code_of(run(accounting().remove_association(own))), Code::kNotFound);
  must(accounting().remove_associations({{"account", "chem"}}));
  EXPECT_EQ(code_of(run(accounting().remove_associations({{"account", "chem"}}))), Code::kNotFound);
  must(accounting().users().remove("bob"));
  must(accounting().accounts().remove("bio"));
  must(accounting().accounts().remove("chem"));
}

TEST_F(SlurmAccounting, ADefaultAccountIsNotTakenAway) {
  add_account("chem");
  add_account("bio");
  must(accounting().add_users(user_in("chem")));
  must(accounting().add_users(user_in("bio")));
  EXPECT_EQ(code_of(run(accounting().remove_association({{"account", "chem"}, {"user", "bob"}}))),
            Code::kConflict);
  must(accounting().users().remove("bob"));
  must(accounting().accounts().remove("bio"));
  must(accounting().accounts().remove("chem"));
}

TEST_F(SlurmAccounting, AQosKeepsWhatAWriteDoesNotName) {
  const auto all = accounting().qos();
  EXPECT_EQ(code_of(run(all.get("high"))), Code::kNotFound);
  QosSpec high{.name = "high", .description = "first"};
  high.flags = Names{"DENY_LIMIT", "NO_DECAY"};
  high.preempts = Names{"normal"};
  high.preempt_mode = Names{"CANCEL"};
  high.priority = 100;
  high.max_jobs_per_user = 4;
  high.max_wall_clock_per_job = 60;
  const Qos made = must(all.write(high));
  EXPECT_EQ(made.priority, Number(100));
  EXPECT_EQ(made.max_jobs_per_user, Number(4));

  QosSpec changes{.name = "high"};
  changes.priority = 50;
  changes.max_wall_clock_per_job = Number::infinite();
  const Qos changed = must(all.write(changes));
  EXPECT_EQ(changed.priority, Number(50));
  EXPECT_FALSE(changed.max_wall_clock_per_job.set());
  EXPECT_EQ(changed.flags, made.flags);
  EXPECT_EQ(changed.preempt_mode, made.preempt_mode);
  EXPECT_EQ(changed.preempts, made.preempts);
  EXPECT_EQ(changed.description, "first");
  changes.flags = Names{};
  EXPECT_THAT(must(all.write(changes)).flags, IsEmpty());

  changes.flags = Names{"BOGUS"};
  EXPECT_EQ(code_of(run(all.write(changes))), Code::kInvalid);
  changes.flags.reset();
  changes.preempts = Names{"nope"};
  EXPECT_EQ(code_of(run(all.write(changes))), Code::kInvalid);
  EXPECT_EQ(code_of(run(all.write({}))), Code::kInvalid);
  must(all.remove("high"));
  EXPECT_EQ(code_of(run(all.remove("high"))), Code::kNotFound);
}

TEST_F(SlurmAccounting, AClusterIsMadeAndOneThatRunsIsLeftAlone) {
  const auto clusters = accounting().clusters();
  EXPECT_EQ(code_of(run(clusters.get("other"))), Code::kNotFound);
  EXPECT_EQ(must(clusters.write({.name = "other"})).name, "other");
  const Cluster ours = must(clusters.get(peer_.cluster));
  EXPECT_GT(ours.controller_port, 0);
  EXPECT_EQ(must(clusters.write({.name = peer_.cluster})), ours);
  EXPECT_EQ(must(clusters.get(peer_.cluster)), ours);
  EXPECT_EQ(must(clusters.list()).size(), 2U);
  EXPECT_EQ(code_of(run(clusters.write({}))), Code::kInvalid);
  must(clusters.remove("other"));
  EXPECT_EQ(code_of(run(clusters.remove("other"))), Code::kNotFound);
}

TEST_F(SlurmAccounting, AWorkloadKeyIsThatOfEveryUserWhoHasIt) {
  add_account("chem");
  UserAssociation both = user_in("chem");
  both.users = {"bob", "carl"};
  must(accounting().add_users(both));
  EXPECT_EQ(code_of(run(accounting().wckey("key"))), Code::kNotFound);
  for (const std::string& user : both.users) {
    EXPECT_EQ(must(accounting().add_wckey({"key", peer_.cluster, user})).user, user);
  }
  must(accounting().add_wckey({"other", peer_.cluster, "bob"}));
  EXPECT_EQ(must(accounting().wckey("key")).size(), 2U);
  EXPECT_EQ(must(accounting().wckeys({{"user", "bob"}})).size(), 2U);
  UserSpec bob{.name = "bob", .default_wckey = "other"};
  EXPECT_EQ(must(accounting().users().write(bob)).default_wckey, "other");
  // 200, and nothing.
  EXPECT_EQ(code_of(run(accounting().add_wckey({"key", "nope", "bob"}))), Code::kConflict);

  must(accounting().remove_wckey("key"));
  EXPECT_EQ(must(accounting().wckeys()).size(), 1U);
  EXPECT_EQ(code_of(run(accounting().remove_wckey("key"))), Code::kNotFound);
  must(accounting().remove_wckey("other"));
  must(accounting().users().remove("bob"));
  must(accounting().users().remove("carl"));
  must(accounting().accounts().remove("chem"));
}

TEST_F(SlurmAccounting, TresAndInstancesAreRead) {
  std::set<std::string> names;
  for (const TresRecord& each : must(accounting().tres())) names.insert(each.full_name());
  EXPECT_THAT(names, Contains("cpu"));
  EXPECT_EQ(code_of(run(accounting().add_tres({.type = "gres", .name = "fpga"}))),
            Code::kUnsupported);
  must(accounting().instances());
  EXPECT_EQ(code_of(run(accounting().instance({{"instance_id", "nope"}}))), Code::kNotFound);
}

TEST_F(SlurmAccounting, AllIsDumpedAndLoaded) {
  add_account("chem");
  const DbConfig config = must(accounting().config());
  EXPECT_EQ(config.clusters.size(), must(accounting().clusters().list()).size());
  EXPECT_EQ(config.qos.size(), must(accounting().qos().list()).size());
  const json::Value dump = must(accounting().dump());
  must(accounting().load(dump));
  EXPECT_EQ(must(accounting().config()).accounts.size(), config.accounts.size());
  must(accounting().accounts().remove("chem"));
  EXPECT_EQ(code_of(run(accounting().load(json::Value::object()))), Code::kInvalid);
}

TEST_F(SlurmAccounting, PastJobsAreRemembered) {
  const JobId id = past_job();
  EXPECT_EQ(must(accounting().job(id)).name, "batch");
  std::set<std::uint32_t> found;
  DbJobFilter filter;
  filter.names = {"batch"};
  must(accounting().jobs(
      filter, [&](const std::shared_ptr<const DbJob>& job) { found.insert(job->id.number()); }));
  EXPECT_THAT(found, Contains(id.number()));
  filter.states = {"BOGUS"};
  EXPECT_EQ(code_of(run(accounting().jobs(filter, [](const auto&) {}))), Code::kInvalid);
  EXPECT_EQ(code_of(run(accounting().job(JobId(999999)))), Code::kNotFound);
}

TEST_F(SlurmAccounting, PastJobsAreCommentedOn) {
  const JobId first = past_job(), second = past_job();
  DbJobUpdate update;
  update.admin_comment = "seen";
  if (!is_new()) {
    EXPECT_EQ(code_of(run(accounting().update_job(first, update))), Code::kUnsupported);
    EXPECT_EQ(code_of(run(accounting().update_jobs({first, second}, update))), Code::kUnsupported);
    return;
  }
  EXPECT_EQ(must(accounting().update_job(first, update)).admin_comment, "seen");
  EXPECT_EQ(code_of(run(accounting().update_job(JobId(999999), update))), Code::kNotFound);
  update.admin_comment = "both";
  update.extra = "more";
  update.derived_exit_code = 3;
  const auto changed = must(accounting().update_jobs({first, second}, update));
  ASSERT_EQ(changed.size(), 2U);
  EXPECT_EQ(changed[1].admin_comment, "both");
  EXPECT_EQ(changed[1].extra, "more");
  EXPECT_EQ(changed[1].derived_exit_code.value_or(0), 3);
  EXPECT_EQ(code_of(run(accounting().update_jobs({first, JobId(999999)}, update))),
            Code::kNotFound);
}

}  // namespace
}  // namespace mainspring::slurm
