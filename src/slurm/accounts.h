// slurm/accounts.h
//
// Accounting: what can be done with slurmdbd's records. Light handles; the client must outlive them
// and their calls.
//
//   Accounting accounting(client);
//   MS_CO_TRY(Qos qos, co_await accounting.qos().get("high"));
//   MS_CO_CHECK(co_await accounting.accounts().remove("physics"));
//
// Writes read again what they wrote: slurmdbd answers 200 to much that it ignores (an association
// for an account that has none on the cluster). kConflict then, with what is there.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/accounting.h"
#include "slurm/accounting_request.h"
#include "slurm/calls.h"

namespace mainspring::slurm {

// Slurm's own names for what to select: {{"with_deleted", "true"}}.
using DbQuery = std::vector<std::pair<std::string, std::string>>;

// Where the records of one kind live.
struct DbKind {
  std::string_view word;  // "account"
  std::string_view list;  // The name of their list in answers and bodies.
  Endpoint all, one, write, remove;
};
template <class T>
inline constexpr DbKind kDbKind{};
template <>
inline constexpr DbKind kDbKind<Account>{"account",
                                         "accounts",
                                         Endpoint::kListAccounts,
                                         Endpoint::kGetAccount,
                                         Endpoint::kCreateAccounts,
                                         Endpoint::kDeleteAccount};
template <>
inline constexpr DbKind kDbKind<User>{"user",
                                      "users",
                                      Endpoint::kListUsers,
                                      Endpoint::kGetUser,
                                      Endpoint::kCreateUsers,
                                      Endpoint::kDeleteUser};
template <>
inline constexpr DbKind kDbKind<Qos>{"QOS",
                                     "qos",
                                     Endpoint::kListQos,
                                     Endpoint::kGetQos,
                                     Endpoint::kCreateQos,
                                     Endpoint::kDeleteQos};
template <>
inline constexpr DbKind kDbKind<Cluster>{"cluster",
                                         "clusters",
                                         Endpoint::kListClusters,
                                         Endpoint::kGetCluster,
                                         Endpoint::kCreateClusters,
                                         Endpoint::kDeleteCluster};

// How a record is asked for.
template <class T>
struct DbSpec;
template <>
struct DbSpec<Account> {
  using Type = AccountSpec;
};
template <>
struct DbSpec<User> {
  using Type = UserSpec;
};
template <>
struct DbSpec<Qos> {
  using Type = QosSpec;
};
template <>
struct DbSpec<Cluster> {
  using Type = ClusterSpec;
};

// The verbs on text, for any kind. DbRecords<T> adds the decoding and nothing else.
class RawDbRecords {
 public:
  RawDbRecords(Calls calls, const DbKind& kind) : calls_(std::move(calls)), kind_(&kind) {}

  Call list_call(DbQuery query) const;
  Call get_call(std::string name, DbQuery query) const;
  const Calls& calls() const { return calls_; }
  const DbKind& kind() const { return *kind_; }

  // Sends `body` and looks whether the record that it has is there as written.
  Task<Result<void>> write(std::string name, json::Value body) const;
  Task<Result<void>> remove(std::string name) const;

 private:
  Calls calls_;
  const DbKind* kind_;
};

template <class T>
class DbRecords {
 public:
  explicit DbRecords(Calls calls) : raw_(std::move(calls), kDbKind<T>) {}

  Task<Result<std::vector<T>>> list(DbQuery query = {}) const {
    co_return co_await raw_.calls().template list<T>(raw_.list_call(std::move(query)),
                                                     raw_.kind().list);
  }
  Task<Result<T>> get(std::string name, DbQuery query = {}) const {
    co_return co_await raw_.calls().template one<T>(
        raw_.get_call(std::move(name), std::move(query)), raw_.kind().list);
  }
  // Makes it, or changes it where it exists.
  Task<Result<T>> write(typename DbSpec<T>::Type spec) const {
    std::string name = spec.name;
    MS_CO_CHECK(co_await raw_.write(name, to_json(std::span<const decltype(spec)>(&spec, 1))));
    co_return co_await get(std::move(name));
  }
  // kNotFound where there is none.
  Task<Result<void>> remove(std::string name) const {
    co_return co_await raw_.remove(std::move(name));
  }

 private:
  RawDbRecords raw_;
};

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
  Task<Result<void>> load(json::Value config) const;

  DbRecords<Account> accounts() const { return DbRecords<Account>(calls_); }
  DbRecords<User> users() const { return DbRecords<User>(calls_); }
  DbRecords<Qos> qos() const { return DbRecords<Qos>(calls_); }
  DbRecords<Cluster> clusters() const { return DbRecords<Cluster>(calls_); }
  Task<Result<std::vector<TresRecord>>> tres() const;
  // kUnsupported from a Slurm that was not built for developers: there slurmdbd learns of TRES from
  // slurm.conf (AccountingStorageTRES).
  Task<Result<TresRecord>> add_tres(TresSpec spec) const;
  Task<Result<std::vector<Instance>>> instances(DbQuery query = {}) const;

  Task<Result<std::vector<Wckey>>> wckeys(DbQuery query = {}) const;
  Task<Result<Wckey>> add_wckey(WckeySpec spec) const;
  Task<Result<void>> remove_wckey(std::int64_t id) const;

  // {{"account", "physics"}, {"user", "alice"}}
  Task<Result<std::vector<Association>>> associations(DbQuery query = {}) const;
  // Changes what is there; an account or user gets its first by add_accounts or add_users.
  Task<Result<Association>> write_association(AssociationSpec spec) const;
  // What matches; kNotFound where nothing does. Refuses an empty query.
  Task<Result<void>> remove_associations(DbQuery query) const;

  // Accounts, made where they do not exist, with an association on each of the clusters.
  Task<Result<std::vector<Association>>> add_accounts(AccountAssociation request) const;
  // The same for users in accounts.
  Task<Result<std::vector<Association>>> add_users(UserAssociation request) const;

  Task<Result<DbJob>> job(JobId id) const;
  Task<Result<void>> jobs(DbJobFilter filter, Source::OnRecord<DbJob> on_record) const;
  // What may be changed of a job that is over (v0.0.44).
  Task<Result<DbJob>> update_job(JobId id, DbJobUpdate update) const;
  // The same change of many in one call, in their order.
  Task<Result<std::vector<DbJob>>> update_jobs(std::vector<JobId> ids, DbJobUpdate update) const;

 private:
  // The associations of all of these, each of which must be there.
  Task<Result<std::vector<Association>>> present(std::vector<std::string> accounts,
                                                 std::vector<std::string> clusters,
                                                 std::vector<std::string> users) const;

  Calls calls_;
};

}  // namespace mainspring::slurm
