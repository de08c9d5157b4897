#include "slurm/push.h"

#include <string>
#include <utility>

#include "base/digest.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "http/status.h"
#include "json/fields.h"
#include "net/small_file.h"

namespace mainspring::slurm {
namespace {

struct Body {
  std::string event, job_id, nodes;
};

// Scripts write the number as text, people as a number.
void read_job_id(json::Reader& reader, Body& body) {
  if (reader.kind() == json::Reader::Kind::kString) {
    reader.read(body.job_id);
    return;
  }
  std::uint32_t number = 0;
  if (reader.read(number)) body.job_id = std::to_string(number);
}

constexpr auto json_fields(json::Tag<Body>) {
  return json::fields(json::field("event", &Body::event), json::field("job_id", read_job_id),
                      json::field("nodes", &Body::nodes));
}

Result<Body> parse_form(std::string_view text) {
  Body body;
  for (const std::string_view pair : split(text, '&')) {
    const std::size_t equals = pair.find('=');
    const std::string_view name = pair.substr(0, equals);
    std::string* const field = name == "event"    ? &body.event
                               : name == "job_id" ? &body.job_id
                               : name == "nodes"  ? &body.nodes
                                                  : nullptr;
    if (field == nullptr || equals == std::string_view::npos) continue;
    MS_TRY(*field, http::percent_decode(pair.substr(equals + 1), true));
  }
  return body;
}

// Also slurmctld's own words for it, SLURM_SCRIPT_CONTEXT, so that one script does for both.
PushedEvent::Kind kind_of(std::string_view event) {
  if (event == "start" || event == "prolog_slurmctld") return PushedEvent::Kind::kJobStarted;
  if (event == "end" || event == "epilog_slurmctld") return PushedEvent::Kind::kJobEnded;
  return PushedEvent::Kind::kOther;
}

bool authorized(const http::Request& request, const Secret& key) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string_view value = request.headers.get("Authorization").value_or("");
  if (key.empty() || !starts_with_ignore_case(value, kScheme)) return false;
  return equal_in_constant_time(trim(value.substr(kScheme.size())), key.reveal());
}

http::Response answer(const http::Request& request, const PushKey& key, const OnPush& on_event) {
  if (!authorized(request, key())) {
    http::Response refused = http::error_response(
        401, "the Authorization header has no key, or not the one that this endpoint knows");
    refused.headers.set("WWW-Authenticate", "Bearer");
    return refused;
  }
  if (request.body.size() > kMaxPushBytes) {
    return http::error_response(413, "an event has at most 16 KiB");
  }
  Result<PushedEvent> event = parse_push(request.body);
  if (!event) return http::error_response(400, event.error().to_string());
  on_event(request, *std::move(event));
  return {.status = 204, .headers = {}, .body = {}};
}

net::Task<Result<http::Response>> ready(http::Response response) { co_return response; }

}  // namespace

Result<PushedEvent> parse_push(std::string_view text) {
  const std::string_view trimmed = trim(text);
  Body body;
  if (trimmed.starts_with('{')) {
    json::Reader reader;
    MS_TRY(body, with_context(json::decode<Body>(reader, trimmed), "reading the event"));
  } else {
    MS_TRY(body, with_context(parse_form(trimmed), "reading the event"));
  }
  const auto number = parse_integer<std::uint32_t>(body.job_id);
  if (!number || *number == 0) {
    return fail(Code::kInvalid, "job_id must be the number of a job, as SLURM_JOB_ID has it; got " +
                                    quoted(body.job_id));
  }
  const auto names = expand_hostlist(body.nodes, 1);
  if (!names && names.error().code() != Code::kTooLarge) {
    return fail(Error(names.error()).with_context("nodes"));
  }
  return PushedEvent{
      .kind = kind_of(body.event), .job = JobId(*number), .nodes = std::move(body.nodes)};
}

PushKey push_key_file(std::string path) {
  return [path = std::move(path)] {
    const auto text = net::read_small_file(path, kMaxPushBytes);
    return text ? Secret(std::string(trim(*text))) : Secret();
  };
}

void add_push_route(http::Router& router, std::string_view path, PushKey key, OnPush on_event) {
  router.add(http::Method::kPost, path,
             [key = std::move(key), on_event = std::move(on_event)](const http::Request& request) {
               return ready(answer(request, key, on_event));
             });
}

}  // namespace mainspring::slurm
