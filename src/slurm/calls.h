// slurm/calls.h
//
// What the typed verbs (nodes.h, jobs.h, ...) share: calls made for somebody and in some lane, and
// the way from an answer to records. Values over a Client, which must outlive them and their calls.
// Knows no endpoint and no record by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/fields.h"
#include "slurm/client.h"
#include "slurm/source.h"

namespace mainspring::slurm {

// How a handle makes its calls.
struct CallOptions {
  std::string user;  // On whose behalf; "": the client's own user.
  Lane lane = Lane::kNormal;
  std::optional<Duration> timeout;
};

class Calls {
 public:
  Calls(Client& client, CallOptions options) : client_(&client), options_(std::move(options)) {}

  Client& client() const { return *client_; }
  const CallOptions& options() const { return options_; }

  // A call of `endpoint`, about what `path` names.
  Call make(Endpoint endpoint, std::vector<std::string> path = {}, std::string subject = {}) const;
  Call with_body(Endpoint endpoint, const json::Value& body, std::string subject) const;

  // For answers that carry nothing but errors and warnings.
  Task<Result<void>> send(Call call) const;

  // The elements of the top-level list `list`; kInternal where the answer does not have it.
  template <class T>
  Task<Result<std::vector<T>>> list(Call call, std::string_view list) const;
  // The first of them; kNotFound where there is none, in whichever way Slurm says that.
  template <class T>
  Task<Result<T>> one(Call call, std::string_view list) const;
  // The top-level member `name`.
  template <class T>
  Task<Result<T>> member(Call call, std::string_view name) const;
  // Elements are handed out as they arrive. With `since`, none where nothing changed.
  template <class T>
  Task<Result<Listed>> stream(Call call, std::string_view list, std::int64_t since,
                              Source::OnRecord<T> on_record) const;

 private:
  Client* client_;
  CallOptions options_;
};

// What stands under `name` in an answer, as a T; a T of its own where nothing does.
template <class T>
Result<T> decode_member(std::string body, std::string_view name) {
  T out{};
  if (body.empty()) return out;
  json::Reader reader;
  reader.adopt(std::move(body));
  using json::read;
  reader.object([&](std::string_view key) {
    if (key == name) read(reader, out);
  });
  MS_CHECK(reader.finish());
  return out;
}

// The list `name` of an answer, which must have it.
template <class T>
Result<std::vector<T>> decode_list(std::string body, std::string_view name) {
  if (body.empty()) return fail(no_list(name));
  std::vector<T> out;
  bool there = false;
  json::Reader reader;
  reader.adopt(std::move(body));
  using json::read;
  reader.object([&](std::string_view key) {
    if (key != name || reader.kind() != json::Reader::Kind::kArray) return;
    there = true;
    read(reader, out);
  });
  MS_CHECK(reader.finish());
  if (!there) return fail(no_list(name));
  return out;
}

// kConflict: Slurm said yes and the thing is not as it was asked to be, so read and decide again.
Error not_done(std::string_view subject, std::string_view what_is);
Error not_there(std::string_view subject);
// A single thing that slurmctld had not among others that it has: REST_INVALID_QUERY.
bool says_missing(const Error& error);

template <class T>
Task<Result<T>> Calls::member(Call call, std::string_view name) const {
  MS_CO_TRY(Answer answer, co_await client_->send(std::move(call)));
  co_return decode_member<T>(std::move(answer.body), name);
}

template <class T>
Task<Result<std::vector<T>>> Calls::list(Call call, std::string_view list) const {
  MS_CO_TRY(Answer answer, co_await client_->send(std::move(call)));
  co_return decode_list<T>(std::move(answer.body), list);
}

template <class T>
Task<Result<T>> Calls::one(Call call, std::string_view list) const {
  std::string subject = call.subject;
  auto found = co_await this->list<T>(std::move(call), list);
  if (found ? found->empty() : says_missing(found.error())) co_return fail(not_there(subject));
  MS_CO_CHECK(found);
  co_return std::move(found->front());
}

template <class T>
Task<Result<Listed>> Calls::stream(Call call, std::string_view list, std::int64_t since,
                                   Source::OnRecord<T> on_record) const {
  if (since > 0) call.query.emplace_back("update_time", std::to_string(since));
  json::Reader reader;
  Client::OnElement each = [&](std::string_view text) -> Result<void> {
    auto record = std::make_shared<T>();
    reader.open(text);
    using json::read;
    read(reader, *record);
    MS_CHECK(reader.finish());
    on_record(std::move(record));
    return {};
  };
  MS_CO_TRY(const Answer answer,
            co_await client_->stream(std::move(call), std::string(list), std::move(each)));
  // "Nothing changed" comes with a last_update of 0, or with none.
  if (answer.not_modified) co_return Listed{.not_modified = true, .last_update = since};
  co_return Listed{.not_modified = false, .last_update = answer.envelope.last_update};
}

}  // namespace mainspring::slurm
