// slurm/accounts.h
//
// Accounting: what can be done with slurmdbd's records. A light handle; the client must outlive it
// and its calls.
//
//   Accounting accounting(client);
//   MS_CO_TRY(Qos qos, co_await accounting.qos().get("high"));
//   MS_CO_CHECK(co_await accounting.accounts().remove("physics"));
//
// Writes read again what they wrote, values and all: slurmdbd answers 200 to much that it ignores
// (an association for an account that has none on the cluster, a user's default account that is not
// theirs) and 304 to what is there already, in whatever shape. kConflict then, with what is there.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "slurm/db_records.h"

namespace mainspring::slurm {

// Which past jobs; empty is all. Times are seconds since 1970; without a start Slurm gives today's.
struct DbJobFilter {
  std::vector<std::string> users, accounts, names, partitions, qos, states, nodes;
  std::string cluster;
  std::int64_t start = 0, end = 0;
  bool steps = false;  // Their steps as well, in the raw objects; dear.
};

class Accounting {
 public:
  explicit Accounting(Client& client, CallOptions options = {})
      : calls_(client, std::move(options)) {}

  Task<Result<std::vector<Ping>>> ping() const;
  Task<Result<DbDiag>> diag() const;
  Task<Result<DbConf>> conf() const;  // v0.0.45
  // All but jobs and instances at once, as it would be loaded again.
  Task<Result<DbConfig>> config() const;
  Task<Result<json::Value>> dump() const;
  // Adds and changes; removes nothing. Every record must be there afterwards; of their values only
  // the caller knows which this slurmdbd can take. Slurm refuses a part of a dump.
  Task<Result<void>> load(json::Value config) const;

  DbRecords<Account> accounts() const { return DbRecords<Account>(calls_); }
  DbRecords<User> users() const { return DbRecords<User>(calls_); }
  DbRecords<Qos> qos() const { return DbRecords<Qos>(calls_); }
  DbRecords<Cluster> clusters() const { return DbRecords<Cluster>(calls_); }
  Task<Result<std::vector<TresRecord>>> tres() const;
  // kUnsupported from a Slurm that was not built for developers: there slurmdbd learns of TRES from
  // slurm.conf (AccountingStorageTRES).
  Task<Result<TresRecord>> add_tres(TresSpec spec) const;

  // {{"node_list", "cloud1"}, {"instance_id", "i-1"}}
  Task<Result<std::vector<Instance>>> instances(DbQuery query = {}) const;
  // The one that matches; kNotFound where none does.
  Task<Result<Instance>> instance(DbQuery query) const;

  Task<Result<std::vector<Wckey>>> wckeys(DbQuery query = {}) const;
  // A workload key is a record for each user and cluster that has it. What Slurm's documents call
  // the {id} of one is its name. kNotFound where nobody has it.
  Task<Result<std::vector<Wckey>>> wckey(std::string name) const;
  Task<Result<Wckey>> add_wckey(WckeySpec spec) const;
  // From every user and cluster that has it: Slurm has no way to take it from one.
  Task<Result<void>> remove_wckey(std::string name) const;

  // {{"account", "physics"}, {"user", "alice"}}
  Task<Result<std::vector<Association>>> associations(DbQuery query = {}) const;
  // The one that matches; kNotFound where none does, kInvalid where several do.
  Task<Result<Association>> association(DbQuery query) const;
  // Changes what is there; an account or user gets its first by add_accounts or add_users.
  Task<Result<Association>> write_association(AssociationSpec spec) const;
  // The one that matches; kNotFound where none does, kInvalid where several do.
  Task<Result<void>> remove_association(DbQuery query) const;
  // All that match; kNotFound where none does. Both refuse an empty query.
  Task<Result<void>> remove_associations(DbQuery query) const;

  // Accounts, made where they do not exist, with an association on each of the clusters.
  Task<Result<std::vector<Association>>> add_accounts(AccountAssociation request) const;
  // The same for users in accounts, on each of the partitions where any are named.
  Task<Result<std::vector<Association>>> add_users(UserAssociation request) const;

  Task<Result<DbJob>> job(JobId id) const;
  Task<Result<void>> jobs(DbJobFilter filter, Source::OnRecord<DbJob> on_record) const;
  // What may be changed of a job that is over (v0.0.44).
  Task<Result<DbJob>> update_job(JobId id, DbJobUpdate update) const;
  // The same change of many in one call, in their order.
  Task<Result<std::vector<DbJob>>> update_jobs(std::vector<JobId> ids, DbJobUpdate update) const;

 private:
  // Each of `expected`, records of associations of one account, which must be there and so.
  Task<Result<std::vector<Association>>> check_associations(
      DbQuery query, std::vector<json::Value> expected) const;
  Task<Result<void>> remove_by(Endpoint endpoint, DbQuery query) const;
  Task<Result<DbJob>> check_job(JobId id, DbJobUpdate update) const;

  Calls calls_;
};

}  // namespace mainspring::slurm
