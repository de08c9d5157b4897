#include "slurm/accounts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace mainspring::slurm {
namespace {

using json::Value;

// A value as it was meant and as it came back: texts, numbers, and numbers in Slurm's own shape.
// Lists and nested limits come back in other forms than they were sent.
bool comparable(const Value& sent) {
  if (sent.is_object()) return sent.find("number") != nullptr;
  return !sent.is_array() && !sent.is_null();
}
bool same(const Value& sent, const Value& is) {
  if (!sent.is_object()) return sent == is;
  for (const auto& [key, value] : sent.members()) {
    const Value* other = is.find(key);
    if (other == nullptr || *other != value) return false;
  }
  return true;
}

// The first member that is not as it was sent: "description is 'a', not 'b'". "" if all are.
std::string difference(const Value& sent, const Value& is) {
  for (const auto& [key, value] : sent.members()) {
    const Value* other = is.find(key);
    // A field that this version writes and does not show cannot be checked.
    if (other == nullptr || !comparable(value) || same(value, *other)) continue;
    return fmt::format("{} is {}, not {}", key, json::to_text(*other), json::to_text(value));
  }
  return {};
}

Result<void> check_written(const std::string& subject, const Value& sent, const Value* list) {
  if (list == nullptr || list->empty()) return fail(not_done(subject, "there is none"));
  if (const std::string other = difference(sent, list->at(0)); !other.empty()) {
    return fail(not_done(subject, other));
  }
  return {};
}

std::string text_of(const Value& record, std::string_view key) {
  const Value* value = record.find(key);
  return value == nullptr ? std::string() : std::string(value->as_string().value_or(""));
}

// What selects exactly the association that `record` is about.
DbQuery identity_of(const Value& record) {
  DbQuery query;
  for (const std::string_view key : {"account", "cluster", "user", "partition"}) {
    query.emplace_back(key, text_of(record, key));
  }
  std::erase_if(query, [](const auto& part) { return part.second.empty(); });
  return query;
}

std::string text_of(const DbQuery& query) {
  std::string text = "association of";
  for (const auto& [key, value] : query) text += fmt::format(" {} {}", key, value);
  return text;
}

// Slurm says which it removed under one of several names, and nothing, or 304, where none was.
Result<bool> removed_any(const Answer& answer) {
  if (answer.not_modified) return false;
  MS_TRY(const Value body, json::parse(answer.body));
  for (const auto& [key, value] : body.members()) {
    const bool told = key.starts_with("removed_") || key.starts_with("deleted_");
    if (told && value.is_array()) return !value.empty();
  }
  return true;
}

}  // namespace

Call RawDbRecords::list_call(DbQuery query) const {
  Call call = calls_.make(kind_->all);
  call.query = std::move(query);
  return call;
}

Call RawDbRecords::get_call(std::string name, DbQuery query) const {
  std::string subject = fmt::format("{} {}", kind_->word, name);
  Call call = calls_.make(kind_->one, {std::move(name)}, std::move(subject));
  call.query = std::move(query);
  return call;
}

Task<Result<void>> RawDbRecords::write(std::string name, Value body) const {
  if (name.empty()) {
    co_return fail(Code::kInvalid, fmt::format("a {} is written under its name", kind_->word));
  }
  const std::string subject = fmt::format("{} {}", kind_->word, name);
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(kind_->write, body, subject)));
  auto is = co_await calls_.client().raw(get_call(std::move(name), {}));
  if (!is && is.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject, "there is none"));
  }
  MS_CO_CHECK(is);
  co_return check_written(subject, body[kind_->list].at(0), is->find(kind_->list));
}

Task<Result<void>> RawDbRecords::remove(std::string name) const {
  const std::string subject = fmt::format("{} {}", kind_->word, name);
  MS_CO_TRY(const Answer answer,
            co_await calls_.client().send(calls_.make(kind_->remove, {std::move(name)}, subject)));
  MS_CO_TRY(const bool any, removed_any(answer));
  if (!any) co_return fail(not_there(subject));
  co_return Result<void>();
}

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
  co_return co_await calls_.send(calls_.with_body(Endpoint::kLoadDbConfig, config, "accounting"));
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
  co_return co_await calls_.list<Instance>(std::move(call), "instances");
}

Task<Result<std::vector<Wckey>>> Accounting::wckeys(DbQuery query) const {
  Call call = calls_.make(Endpoint::kListWckeys);
  call.query = std::move(query);
  co_return co_await calls_.list<Wckey>(std::move(call), "wckeys");
}

Task<Result<Wckey>> Accounting::add_wckey(WckeySpec spec) const {
  const std::string subject = fmt::format("wckey {} of user {}", spec.name, spec.user);
  const Value body = to_json(std::span<const WckeySpec>(&spec, 1));
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(Endpoint::kCreateWckeys, body, subject)));
  DbQuery query{{"name", spec.name}, {"user", spec.user}, {"cluster", spec.cluster}};
  MS_CO_TRY(std::vector<Wckey> found, co_await wckeys(std::move(query)));
  if (found.empty()) co_return fail(not_done(subject, "there is none"));
  co_return std::move(found.front());
}

Task<Result<void>> Accounting::remove_wckey(std::int64_t id) const {
  const std::string text = std::to_string(id);
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.make(
                                     Endpoint::kDeleteWckey, {text}, fmt::format("wckey {}", id))));
  MS_CO_TRY(const bool any, removed_any(answer));
  if (!any) co_return fail(not_there(fmt::format("wckey {}", id)));
  co_return Result<void>();
}

Task<Result<std::vector<Association>>> Accounting::associations(DbQuery query) const {
  Call call = calls_.make(Endpoint::kListAssociations);
  call.query = std::move(query);
  co_return co_await calls_.list<Association>(std::move(call), "associations");
}

Task<Result<Association>> Accounting::write_association(AssociationSpec spec) const {
  const Value body = to_json(std::span<const AssociationSpec>(&spec, 1));
  const Value& record = *body.at_pointer("/associations/0");
  const DbQuery identity = identity_of(record);
  const std::string subject = text_of(identity);
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(Endpoint::kCreateAssociations, body, subject)));
  Call again = calls_.make(Endpoint::kListAssociations);
  again.query = identity;
  MS_CO_TRY(Answer answer, co_await calls_.client().send(std::move(again)));
  MS_CO_TRY(const Value is, json::parse(answer.body));
  MS_CO_CHECK(check_written(subject, record, is.find("associations")));
  using Found = std::vector<Association>;
  MS_CO_TRY(Found found, decode_member<Found>(std::move(answer.body), "associations"));
  co_return std::move(found.front());
}

Task<Result<void>> Accounting::remove_associations(DbQuery query) const {
  if (query.empty()) {
    co_return fail(Code::kInvalid,
                   "associations are removed by account, user, cluster, partition or id: a query "
                   "without any of them would remove all");
  }
  const std::string subject = text_of(query);
  Call call = calls_.make(Endpoint::kDeleteAssociations);
  call.subject = subject;
  call.query = std::move(query);
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(std::move(call)));
  MS_CO_TRY(const bool any, removed_any(answer));
  if (!any) co_return fail(not_there(subject));
  co_return Result<void>();
}

Task<Result<std::vector<Association>>> Accounting::add_accounts(AccountAssociation request) const {
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kCreateAccountAssociations, to_json(request), "accounts")));
  co_return co_await present(std::move(request.accounts), std::move(request.clusters), {});
}

Task<Result<std::vector<Association>>> Accounting::add_users(UserAssociation request) const {
  MS_CO_CHECK(co_await calls_.send(
      calls_.with_body(Endpoint::kCreateUserAssociations, to_json(request), "users")));
  co_return co_await present(std::move(request.accounts), std::move(request.clusters),
                             std::move(request.users));
}

Task<Result<std::vector<Association>>> Accounting::present(std::vector<std::string> accounts,
                                                           std::vector<std::string> clusters,
                                                           std::vector<std::string> users) const {
  if (users.empty()) users.emplace_back();
  std::vector<Association> all;
  for (const std::string& account : accounts) {
    MS_CO_TRY(std::vector<Association> found, co_await associations({{"account", account}}));
    for (const std::string& cluster : clusters) {
      for (const std::string& user : users) {
        const auto own = std::find_if(found.begin(), found.end(), [&](const Association& each) {
          return each.about.cluster == cluster && each.about.user == user;
        });
        if (own == found.end()) {
          co_return fail(not_done(
              fmt::format("association of account {} cluster {} user '{}'", account, cluster, user),
              "there is none"));
        }
        all.push_back(*own);
      }
    }
  }
  co_return all;
}

Task<Result<DbJob>> Accounting::job(JobId id) const {
  co_return co_await calls_.one<DbJob>(calls_.make(Endpoint::kGetDbJob, {std::string(id.text())},
                                                   fmt::format("accounted job {}", id.text())),
                                       "jobs");
}

Task<Result<void>> Accounting::jobs(DbJobFilter filter, Source::OnRecord<DbJob> on_record) const {
  Call call = calls_.make(Endpoint::kListDbJobs);
  const auto add = [&](const char* key, const std::vector<std::string>& values) {
    for (const std::string& value : values) call.query.emplace_back(key, value);
  };
  add("users", filter.users);
  add("account", filter.accounts);
  add("job_name", filter.names);
  add("partition", filter.partitions);
  add("qos", filter.qos);
  add("state", filter.states);
  add("node", filter.nodes);
  if (!filter.cluster.empty()) call.query.emplace_back("cluster", filter.cluster);
  if (filter.start > 0) call.query.emplace_back("start_time", fmt::format("uts{}", filter.start));
  if (filter.end > 0) call.query.emplace_back("end_time", fmt::format("uts{}", filter.end));
  if (!filter.steps) call.query.emplace_back("skip_steps", "true");
  MS_CO_CHECK(co_await calls_.stream<DbJob>(std::move(call), "jobs", 0, std::move(on_record)));
  co_return Result<void>();
}

Task<Result<DbJob>> Accounting::update_job(JobId id, DbJobUpdate update) const {
  const std::string subject = fmt::format("accounted job {}", id.text());
  Call call = calls_.with_body(Endpoint::kUpdateDbJob, to_json(update), subject);
  call.path = {std::string(id.text())};
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(std::move(call)));
  if (answer.not_modified) co_return fail(not_there(subject));
  co_return co_await job(id);
}

Task<Result<std::vector<DbJob>>> Accounting::update_jobs(std::vector<JobId> ids,
                                                         DbJobUpdate update) const {
  std::vector<DbJob> changed;
  if (ids.empty()) co_return changed;
  const std::string subject = fmt::format("{} accounted jobs", ids.size());
  MS_CO_TRY(const Answer answer, co_await calls_.client().send(calls_.with_body(
                                     Endpoint::kUpdateDbJobs, to_json(update, ids), subject)));
  if (answer.not_modified) co_return fail(not_there(subject));
  for (const JobId id : ids) {
    MS_CO_TRY(DbJob one, co_await job(id));
    changed.push_back(std::move(one));
  }
  co_return changed;
}

}  // namespace mainspring::slurm
