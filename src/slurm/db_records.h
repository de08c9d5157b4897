// slurm/db_records.h
//
// DbRecords: reading, writing and removing one kind of slurmdbd's named records: accounts, users,
// QOS, clusters. Got from Accounting (accounts.h).
//
// Records come whole: slurmdbd leaves associations, coordinators and the defaults of a user out of
// an answer unless they are asked for. A write is read again and compared. A write of a QOS or a
// cluster that exists would clear the flags that it does not name, so it is looked at first; what
// is not asked for stays as it is, and where all is so already nothing is sent.
#pragma once

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

// Where the records of one kind live, and how.
struct DbKind {
  std::string_view word;  // "account"
  std::string_view list;  // The name of their list in answers and bodies.
  Endpoint all, one, write, remove;
  // Makes what is asked for come whole, in a list and of one.
  std::span<const std::string_view> list_with = {}, get_with = {};
  bool clears = false;  // Whether a write clears what it does not name.
};

namespace db {
inline constexpr std::string_view kAccounts[] = {"WithAssociations", "WithCoordinators"};
inline constexpr std::string_view kAccount[] = {"with_assocs", "with_coords"};
inline constexpr std::string_view kUser[] = {"with_assocs", "with_coords", "with_wckeys"};
}  // namespace db

template <class T>
inline constexpr DbKind kDbKind{};
template <>
inline constexpr DbKind kDbKind<Account>{.word = "account",
                                         .list = "accounts",
                                         .all = Endpoint::kListAccounts,
                                         .one = Endpoint::kGetAccount,
                                         .write = Endpoint::kCreateAccounts,
                                         .remove = Endpoint::kDeleteAccount,
                                         .list_with = db::kAccounts,
                                         .get_with = db::kAccount};
template <>
inline constexpr DbKind kDbKind<User>{.word = "user",
                                      .list = "users",
                                      .all = Endpoint::kListUsers,
                                      .one = Endpoint::kGetUser,
                                      .write = Endpoint::kCreateUsers,
                                      .remove = Endpoint::kDeleteUser,
                                      .list_with = db::kUser,
                                      .get_with = db::kUser};
template <>
inline constexpr DbKind kDbKind<Qos>{.word = "QOS",
                                     .list = "qos",
                                     .all = Endpoint::kListQos,
                                     .one = Endpoint::kGetQos,
                                     .write = Endpoint::kCreateQos,
                                     .remove = Endpoint::kDeleteQos,
                                     .clears = true};
template <>
inline constexpr DbKind kDbKind<Cluster>{.word = "cluster",
                                         .list = "clusters",
                                         .all = Endpoint::kListClusters,
                                         .one = Endpoint::kGetCluster,
                                         .write = Endpoint::kCreateClusters,
                                         .remove = Endpoint::kDeleteCluster,
                                         .clears = true};

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

  // The list with the record under `name`, which must be there and as `expected` says: kConflict
  // else.
  Task<Result<std::string>> check(std::string name, json::Value expected) const;
  // Sends `body` and checks the record that it has.
  Task<Result<std::string>> write(std::string name, json::Value body) const;
  Task<Result<void>> remove(std::string name) const;

 private:
  // As an answer has it. An empty text and null where there is none.
  struct Found {
    std::string text;
    json::Value record;
  };
  Task<Result<Found>> find(std::string name) const;

  Calls calls_;
  const DbKind* kind_;
};

// Slurm says which it removed under one of several names, and nothing, or 304, where none was.
Result<void> check_removed(const Answer& answer, std::string_view subject);

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
    json::Value body = to_json(std::span<const decltype(spec)>(&spec, 1));
    MS_CO_TRY(std::string text, co_await raw_.write(std::move(spec.name), std::move(body)));
    using List = std::vector<T>;
    MS_CO_TRY(List is, decode_member<List>(std::move(text), raw_.kind().list));
    co_return std::move(is.front());
  }
  // kNotFound where there is none.
  Task<Result<void>> remove(std::string name) const {
    co_return co_await raw_.remove(std::move(name));
  }

 private:
  RawDbRecords raw_;
};

}  // namespace mainspring::slurm
