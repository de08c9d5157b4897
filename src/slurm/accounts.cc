#include "slurm/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <span>

#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

using json::Value;

std::string text_of(const Value& record, std::string_view key) {
  const Value* value = record.find(key);
  return value == nullptr ? std::string() : std::string(value->as_string().value_or(""));
}

// What tells a record from the others of its kind: "name bob", "account chem cluster main".
std::string identity_of(const Value& record) {
  std::string text;
  for (const std::string_view key : {"name", "account", "cluster", "user", "partition"}) {
    const std::string value = text_of(record, key);
    if (!value.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : " ", key, value);
  }
  return text;
}

std::string association_of(const DbQuery& query) {
  std::string text = "association of";
  for (const auto& [key, value] : query) text += fmt::format(" {} {}", key, value);
  return text;
}

template <class Spec>
Value record_of(const Spec& spec, std::string_view list) {
  return to_json(std::span<const Spec>(&spec, 1))[list].at(0);
}

Result<Association> find_written(const Value& expected, const Value& answer) {
  const std::string subject = "association of " + identity_of(expected);
  const Value* const list = answer.find("associations");
  const Value none = Value::array();
  for (const Value& each : list == nullptr ? none : *list) {
    if (identity_of(each) != identity_of(expected)) continue;
    if (const std::string other = value_difference(expected, each); !other.empty()) {
      return fail(not_done(subject, other));
    }
    json::Reader reader;
    return json::decode<Association>(reader, json::to_text(each));
  }
  return fail(not_done(subject, "there is none"));
}

// What `config` has and `is` has not: "users: name bob". "" if nothing.
std::string not_loaded(const Value& config, const Value& is) {
  for (const std::string_view list :
       {"accounts", "associations", "clusters", "qos", "users", "wckeys"}) {
    const Value* const asked = config.find(list);
    if (asked == nullptr) continue;
    std::set<std::string> there;
    if (const Value* const found = is.find(list)) {
      for (const Value& each : *found) there.insert(identity_of(each));
    }
    for (const Value& each : *asked) {
      const std::string identity = identity_of(each);
      if (!there.contains(identity)) return fmt::format("{}: {}", list, identity);
    }
  }
  return {};
}

std::vector<Value> expected_of(const AccountAssociation& request, const std::string& account) {
  AssociationSpec spec{.account = account, .cluster = {}, .user = {}};
  spec.parent_account = request.parent;
  spec.default_qos = request.default_qos;
  spec.qos = request.qos;
  spec.shares_raw = request.fairshare;
  std::vector<Value> expected;
  for (const std::string& cluster : request.clusters) {
    spec.cluster = cluster;
    expected.push_back(record_of(spec, "associations"));
  }
  return expected;
}

std::vector<Value> expected_of(const UserAssociation& request, const std::string& user) {
  AssociationSpec spec{.account = {}, .cluster = {}, .user = user};
  spec.default_qos = request.default_qos;
  spec.qos = request.qos;
  spec.shares_raw = request.fairshare;
  const std::vector<std::string> everywhere{""};
  std::vector<Value> expected;
  for (const std::string& account : request.accounts) {
    for (const std::string& cluster : request.clusters) {
      for (const auto& partition : request.partitions.empty() ? everywhere : request.partitions) {
        spec.account = account;
        spec.cluster = cluster;
        spec.partition = partition;
        expected.push_back(record_of(spec, "associations"));
      }
    }
  }
  return expected;
}

Result<void> check_named(bool named, std::string_view what) {
  if (named) return {};
  return fail(Code::kInvalid, fmt::format("associations are made for {}: name them", what));
}

// slurmdbd leaves a list out where there is nothing to put into it.
template <class T>
Task<Result<std::vector<T>>> listed(const Calls* calls, Call call, std::string_view list) {
  co_return co_await calls->member<std::vector<T>>(std::move(call), list);
}

}  // namespace

Task<Result<std::vector<Ping>>> Accounting::ping() const {
  co_return co_await calls_.list<Ping>(calls_.make(Endpoint::kDbPing), "pings");
}

Task<Result<DbDiag>> Accounting::diag() const {
  co_return co_await calls_.member<DbDiag>(calls_.make(Endpoint::kDbDiag), "statistics");
}

Task<Result<DbConf>> Accounting::conf() const {
  co_return co_await calls_.member<DbConf>(calls_.make(Endpoint::kDbConf), "slurmdbd_conf");
}

Task<Result<DbConfig>> Accounting::config() const {
  MS_CO_TRY(Answer answer, co_await calls_.client().send(calls_.make(Endpoint::kGetDbConfig)));
  json::Reader reader;
  co_return json::decode_body<DbConfig>(reader, std::move(answer.body));
}

Task<Result<Value>> Accounting::dump() const {
  MS_CO_TRY(Value config, co_await calls_.client().raw(calls_.make(Endpoint::kGetDbConfig)));
  for (const char* key : {"meta", "errors", "warnings"}) config.erase(key);
  co_return config;
}

Task<Result<void>> Accounting::load(Value config) const {
  MS_CO_CHECK(
      co_await calls_.send(calls_.with_body(Endpoint::kLoadDbConfig, config, "accounting")));
  MS_CO_TRY(const Value is, co_await dump());
  const std::string missing = not_loaded(config, is);
  if (!missing.empty()) co_return fail(not_done("accounting", missing + " is missing"));
  co_return Result<void>();
}

Task<Result<std::vector<TresRecord>>> Accounting::tres() const {
  co_return co_await calls_.list<TresRecord>(calls_.make(Endpoint::kListTres), "TRES");
}

Task<Result<TresRecord>> Accounting::add_tres(TresSpec spec) const {
  const std::string subject = fmt::format("TRES {}/{}", spec.type, spec.name);
  const Value body = to_json(std::span<const TresSpec>(&spec, 1));
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(Endpoint::kCreateTres, body, subject)));
  MS_CO_TRY(const std::vector<TresRecord> all, co_await tres());
  for (const TresRecord& each : all) {
    if (each.type == spec.type && each.name == spec.name) co_return each;
  }
  co_return fail(not_done(subject, "there is none"));
}

Task<Result<std::vector<Instance>>> Accounting::instances(DbQuery query) const {
  Call call = calls_.make(Endpoint::kListInstances);
  call.query = std::move(query);
  co_return co_await listed<Instance>(&calls_, std::move(call), "instances");
}

Task<Result<Instance>> Accounting::instance(DbQuery query) const {
  const std::string subject = "such instance";
  Call call = calls_.make(Endpoint::kGetInstance, {}, subject);
  call.query = std::move(query);
  auto found = co_await listed<Instance>(&calls_, std::move(call), "instances");
  if (found ? found->empty() : says_missing(found.error())) co_return fail(not_there(subject));
  MS_CO_CHECK(found);
  co_return std::move(found->front());
}

Task<Result<std::vector<Wckey>>> Accounting::wckeys(DbQuery query) const {
  Call call = calls_.make(Endpoint::kListWckeys);
  call.query = std::move(query);
  co_return co_await listed<Wckey>(&calls_, std::move(call), "wckeys");
}

Task<Result<std::vector<Wckey>>> Accounting::wckey(std::string name) const {
  const std::string subject = fmt::format("wckey {}", name);
  Call call = calls_.make(Endpoint::kGetWckey, {std::move(name)}, subject);
  MS_CO_TRY(std::vector<Wckey> found, co_await listed<Wckey>(&calls_, std::move(call), "wckeys"));
  if (found.empty()) co_return fail(not_there(subject));
  co_return found;
}

Task<Result<Wckey>> Accounting::add_wckey(WckeySpec spec) const {
  const std::string subject =
      fmt::format("wckey {} of user {} on cluster {}", spec.name, spec.user, spec.cluster);
  const Value body = to_json(std::span<const WckeySpec>(&spec, 1));
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(Endpoint::kCreateWckeys, body, subject)));
  MS_CO_TRY(const std::vector<Wckey> found, co_await wckeys({{"name", spec.name}}));
  for (const Wckey& each : found) {
    if (each.user == spec.user && each.cluster == spec.cluster) co_return each;
  }
  co_return fail(not_done(subject, "there is none"));
}

Task<Result<void>> Accounting::remove_wckey(std::string name) const {
  const std::string subject = fmt::format("wckey {}", name);
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.make(
                                     Endpoint::kDeleteWckey, {std::move(name)}, subject)));
  co_return check_removed(answer, subject);
}

Task<Result<std::vector<Association>>> Accounting::associations(DbQuery query) const {
  Call call = calls_.make(Endpoint::kListAssociations);
  call.query = std::move(query);
  co_return co_await listed<Association>(&calls_, std::move(call), "associations");
}

Task<Result<Association>> Accounting::association(DbQuery query) const {
  Call call = calls_.make(Endpoint::kGetAssociation, {}, association_of(query));
  call.query = std::move(query);
  co_return co_await calls_.one<Association>(std::move(call), "associations");
}

Task<Result<std::vector<Association>>> Accounting::check_associations(
    DbQuery query, std::vector<Value> expected) const {
  Call call = calls_.make(Endpoint::kListAssociations);
  call.query = std::move(query);
  MS_CO_TRY(const Value answer, co_await calls_.client().raw(std::move(call)));
  std::vector<Association> all;
  for (const Value& each : expected) {
    MS_CO_TRY(Association found, find_written(each, answer));
    all.push_back(std::move(found));
  }
  co_return all;
}

Task<Result<Association>> Accounting::write_association(AssociationSpec spec) const {
  if (spec.account.empty() || spec.cluster.empty()) {
    co_return fail(Code::kInvalid, "an association is that of an account on a cluster: name both");
  }
  const Value body = to_json(std::span<const AssociationSpec>(&spec, 1));
  // An empty user would select every user's and not the account's own.
  DbQuery query{{"account", spec.account}, {"cluster", spec.cluster}};
  if (!spec.user.empty()) query.emplace_back("user", spec.user);
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kCreateAssociations, body, association_of(query))));
  std::vector<Value> expected{record_of(spec, "associations")};
  MS_CO_TRY(std::vector<Association> found,
            co_await check_associations(std::move(query), std::move(expected)));
  co_return std::move(found.front());
}

Task<Result<void>> Accounting::remove_by(Endpoint endpoint, DbQuery query) const {
  if (query.empty()) {
    co_return fail(Code::kInvalid,
                   "associations are removed by account, user, cluster, partition or id: a query "
                   "without any of them would remove all");
  }
  const std::string subject = association_of(query);
  Call call = calls_.make(endpoint, {}, subject);
  call.query = std::move(query);
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(std::move(call)));
  co_return check_removed(answer, subject);
}

Task<Result<void>> Accounting::remove_association(DbQuery query) const {
  return remove_by(Endpoint::kDeleteAssociation, std::move(query));
}

Task<Result<void>> Accounting::remove_associations(DbQuery query) const {
  return remove_by(Endpoint::kDeleteAssociations, std::move(query));
}

Task<Result<std::vector<Association>>> Accounting::add_accounts(AccountAssociation request) const {
  MS_CO_CHECK(check_named(!request.accounts.empty(), "accounts"));
  MS_CO_CHECK(check_named(!request.clusters.empty(), "clusters"));
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kCreateAccountAssociations, to_json(request), "accounts")));
  const RawDbRecords records(calls_, kDbKind<Account>);
  std::vector<Association> all;
  for (const std::string& account : request.accounts) {
    MS_CO_TRY(std::vector<Association> found,
              co_await check_associations({{"account", account}}, expected_of(request, account)));
    std::move(found.begin(), found.end(), std::back_inserter(all));
    if (!request.description && !request.organization) continue;
    const AccountSpec own{account, request.description, request.organization};
    MS_CO_CHECK(co_await records.check(account, record_of(own, "accounts")));
  }
  co_return all;
}

Task<Result<std::vector<Association>>> Accounting::add_users(UserAssociation request) const {
  MS_CO_CHECK(check_named(!request.users.empty(), "users"));
  MS_CO_CHECK(check_named(!request.accounts.empty(), "accounts"));
  MS_CO_CHECK(check_named(!request.clusters.empty(), "clusters"));
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kCreateUserAssociations, to_json(request), "users")));
  const RawDbRecords records(calls_, kDbKind<User>);
  std::vector<Association> all;
  for (const std::string& user : request.users) {
    MS_CO_TRY(std::vector<Association> found,
              co_await check_associations({{"user", user}}, expected_of(request, user)));
    std::move(found.begin(), found.end(), std::back_inserter(all));
    if (!request.default_account && request.administrator_level.empty()) continue;
    const UserSpec own{user, request.default_account, {}, request.administrator_level};
    MS_CO_CHECK(co_await records.check(user, record_of(own, "users")));
  }
  co_return all;
}

}  // namespace mainspring::slurm
