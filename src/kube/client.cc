#include "kube/client.h"

#include <algorithm>

#include "kube/status.h"
#include "net/wait.h"

namespace mainspring::kube {
namespace {

// What an API server says about a refusal is short.
constexpr std::size_t kMaxErrorBody = std::size_t{1} << 20;

bool changes_something(http::Method method) {
  return method != http::Method::kGet && method != http::Method::kHead &&
         method != http::Method::kOptions;
}

bool is_idempotent(const Call& call) {
  return call.idempotent.value_or(http::is_idempotent(call.method));
}

// Whether the same call may be sent again after `error`, by the rules in the header.
bool may_retry(const Call& call, const Error& error) {
  if (error.code() == Code::kThrottled) return call.retry_throttled;
  if (error.code() != Code::kTransient) return false;
  return is_idempotent(call) || error.retry_after().has_value();
}

void add_impersonation(const Impersonation& who, http::Headers& headers) {
  if (who.user.empty()) return;
  headers.add("Impersonate-User", who.user);
  if (!who.uid.empty()) headers.add("Impersonate-Uid", who.uid);
  for (const auto& group : who.groups) headers.add("Impersonate-Group", group);
  for (const auto& [key, value] : who.extra) {
    headers.add("Impersonate-Extra-" + http::percent_encode(key), value);
  }
}

}  // namespace

struct Client::Answer {
  http::Response response;
  std::unique_ptr<http::StreamingResponse> stream;
  std::optional<http::Upgraded> upgraded;
};

Client::Client(http::Transport& transport, const Clock& clock, Random& random, Options options)
    : transport_(transport), clock_(clock), random_(random), options_(std::move(options)) {}

Task<Result<http::Response>> Client::send(Call call) {
  MS_CO_TRY(Answer answer, co_await run(&call, Mode::kSend));
  co_return std::move(answer.response);
}

Task<Result<std::unique_ptr<http::StreamingResponse>>> Client::open(Call call) {
  MS_CO_TRY(Answer answer, co_await run(&call, Mode::kOpen));
  co_return std::move(answer.stream);
}

Task<Result<http::Upgraded>> Client::upgrade(Call call) {
  MS_CO_TRY(Answer answer, co_await run(&call, Mode::kUpgrade));
  co_return *std::move(answer.upgraded);
}

Task<Result<Client::Answer>> Client::run(const Call* call, Mode mode) {
  const TimePoint deadline = clock_.now() + call->timeout.value_or(options_.timeout);
  Backoff backoff(options_.backoff);
  bool refreshed = false;
  while (true) {
    Result<Answer> answer = co_await attempt(call, mode, deadline);
    if (answer) co_return answer;

    Error error = std::move(answer).error();
    if (error.code() == Code::kUnauthorized && !refreshed && options_.credentials &&
        options_.credentials->refresh()) {
      refreshed = true;
      continue;
    }
    if (mode == Mode::kUpgrade || !may_retry(*call, error)) co_return fail(std::move(error));
    const Duration own = backoff.next(random_);
    const Duration wait = std::max(own, error.retry_after().value_or(own));
    // The answer in hand says more than a deadline that is sure to pass.
    if (clock_.now() + wait >= deadline) co_return fail(std::move(error));
    MS_CO_CHECK(co_await net::sleep(wait));
  }
}

Task<Result<Client::Answer>> Client::attempt(const Call* call, Mode mode, TimePoint deadline) {
  MS_CO_TRY(http::Request request, co_await make_request(call, deadline));
  // Last, as credentials may have taken their time and leave to write may have passed meanwhile.
  MS_CO_TRY(request.limits.timeout, time_for(*call, mode, deadline));
  const TimePoint start = clock_.now();
  Answer answer;
  Result<void> sent;
  if (mode == Mode::kSend) {
    auto response = co_await transport_.send(std::move(request));
    if (response) {
      answer.response = *std::move(response);
    } else {
      sent = fail(std::move(response).error());
    }
  } else if (mode == Mode::kOpen) {
    auto stream = co_await transport_.open(std::move(request));
    if (stream) {
      answer.stream = *std::move(stream);
      answer.response.status = answer.stream->status();
    } else {
      sent = fail(std::move(stream).error());
    }
  } else {
    auto upgraded = co_await transport_.upgrade(std::move(request));
    if (upgraded) {
      answer.upgraded = *std::move(upgraded);
    } else {
      sent = fail(std::move(upgraded).error());
    }
  }
  note(*call, sent ? answer.response.status : 0, start);
  if (!sent) co_return fail(std::move(sent).error().with_context(call->what));
  if (answer.response.ok()) co_return answer;

  if (answer.stream) {
    answer.response.headers = answer.stream->headers();
    MS_CO_TRY(answer.response.body,
              co_await net::with_timeout(deadline - clock_.now(), "reading the refusal",
                                         http::read_all(answer.stream.get(), kMaxErrorBody)));
  }
  co_return fail(error_of(answer.response, call->what, clock_.wall_now()));
}

// How long an attempt that is sent now may last.
Result<Duration> Client::time_for(const Call& call, Mode mode, TimePoint deadline) const {
  const Duration left = deadline - clock_.now();
  // An upgrade is a GET by name, and exec may do anything.
  const bool writes = changes_something(call.method) || mode == Mode::kUpgrade;
  if (!options_.may_write || !writes || call.always_allowed) return left;
  const Result<Duration> allowed = options_.may_write();
  if (!allowed) return fail(Error(allowed.error()).with_context(call.what));
  return std::min(left, *allowed);
}

Task<Result<http::Request>> Client::make_request(const Call* call, TimePoint deadline) {
  http::Request request;
  request.method = call->method;
  request.url = options_.server;
  // A server behind a prefix, as some gateways have it.
  if (request.url.path.ends_with('/')) request.url.path.pop_back();
  request.url.path += call->path;
  for (const auto& [name, value] : call->query) request.url.add_query(name, value);
  request.headers = call->headers;
  request.headers.set("Accept", call->accept);
  if (!call->body.empty()) request.headers.set("Content-Type", call->content_type);
  request.body = call->body;
  request.limits.idle_timeout = call->idle_timeout;
  request.limits.max_body = call->max_body;
  add_impersonation(options_.impersonate, request.headers);
  if (options_.credentials) {
    auto added = co_await net::with_timeout(deadline - clock_.now(), "getting credentials",
                                            options_.credentials->add_to(&request.headers));
    if (!added) co_return fail(std::move(added).error().with_context(call->what));
  }
  co_return request;
}

void Client::note(const Call& call, int status, TimePoint start) const {
  if (!options_.on_attempt) return;
  options_.on_attempt({http::to_string(call.method), call.what, status, clock_.now() - start});
}

}  // namespace mainspring::kube
