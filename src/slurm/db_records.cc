#include "slurm/db_records.h"

#include <fmt/format.h>

#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

using json::Value;

DbQuery asked_whole(DbQuery query, std::span<const std::string_view> with) {
  for (const std::string_view each : with) query.emplace_back(each, "true");
  return query;
}

// What Slurm takes for "none" where it is not named.
void repeat_unnamed(Value& sent, const Value& is) {
  const Value* const flags = is.find("flags");
  if (flags != nullptr && sent.find("flags") == nullptr) sent.set("flags", *flags);
  const Value* const mode = is.at_pointer("/preempt/mode");
  if (mode != nullptr && sent.at_pointer("/preempt/mode") == nullptr) {
    sent["preempt"].set("mode", *mode);
  }
}

}  // namespace

Call RawDbRecords::list_call(DbQuery query) const {
  Call call = calls_.make(kind_->all);
  call.query = asked_whole(std::move(query), kind_->list_with);
  return call;
}

Call RawDbRecords::get_call(std::string name, DbQuery query) const {
  std::string subject = fmt::format("{} {}", kind_->word, name);
  Call call = calls_.make(kind_->one, {std::move(name)}, std::move(subject));
  call.query = asked_whole(std::move(query), kind_->get_with);
  return call;
}

Task<Result<RawDbRecords::Found>> RawDbRecords::find(std::string name) const {
  auto answer = co_await calls_.client().send(get_call(std::move(name), {}));
  if (!answer && answer.error().code() == Code::kNotFound) co_return Found{};
  MS_CO_CHECK(answer);
  MS_CO_TRY(const Value body, json::parse(answer->body));
  const Value* const list = body.find(kind_->list);
  if (list == nullptr || list->empty()) co_return Found{};
  co_return Found{std::move(answer->body), list->at(0)};
}

Task<Result<std::string>> RawDbRecords::check(std::string name, Value expected) const {
  const std::string subject = fmt::format("{} {}", kind_->word, name);
  MS_CO_TRY(Found is, co_await find(std::move(name)));
  if (is.record.is_null()) co_return fail(not_done(subject, "there is none"));
  if (const std::string other = value_difference(expected, is.record); !other.empty()) {
    co_return fail(not_done(subject, other));
  }
  co_return std::move(is.text);
}

Task<Result<std::string>> RawDbRecords::write(std::string name, Value body) const {
  if (name.empty()) {
    co_return fail(Code::kInvalid, fmt::format("a {} is written under its name", kind_->word));
  }
  Value& record = body[kind_->list].at(0);
  Value expected = record;
  if (kind_->clears) {
    MS_CO_TRY(Found is, co_await find(name));
    if (!is.record.is_null()) {
      if (value_difference(expected, is.record).empty()) co_return std::move(is.text);
      repeat_unnamed(record, is.record);
      expected = record;
    }
  }
  std::string subject = fmt::format("{} {}", kind_->word, name);
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(kind_->write, body, std::move(subject))));
  co_return co_await check(std::move(name), std::move(expected));
}

Task<Result<void>> RawDbRecords::remove(std::string name) const {
  const std::string subject = fmt::format("{} {}", kind_->word, name);
  MS_CO_TRY(const Answer answer,
            co_await calls_.client().send(calls_.make(kind_->remove, {std::move(name)}, subject)));
  co_return check_removed(answer, subject);
}

Result<void> check_removed(const Answer& answer, std::string_view subject) {
  if (answer.not_modified) return fail(not_there(subject));
  MS_TRY(const Value body, json::parse(answer.body));
  for (const auto& [key, value] : body.members()) {
    const bool told = key.starts_with("removed_") || key.starts_with("deleted_");
    if (told && value.is_array() && value.empty()) return fail(not_there(subject));
  }
  return {};
}

}  // namespace mainspring::slurm
