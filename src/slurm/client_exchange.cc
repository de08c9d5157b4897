#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "http/status.h"
#include "json/list_splitter.h"
#include "net/wait.h"
#include "slurm/client_internal.h"

namespace mainspring::slurm {
namespace {

using Outcome = Governor::Outcome;

// What slurmrestd says about a refusal is short.
constexpr std::size_t kMaxRefusal = std::size_t{1} << 20;

// What came back, as far as it came.
struct Received {
  bool answered = false;
  int status = 0;
  std::size_t bytes = 0;
  std::optional<Duration> retry_after;
  Envelope envelope;
  std::string body;
};

// Whether an answer took much longer than such answers take when all is well.
bool is_slow(Client::Impl* impl, const EndpointInfo& called, Duration duration) {
  if (called.cost != Cost::kSmall) return false;
  const GovernorOptions& options = impl->governor.options();
  UsualTime& usual = impl->usual[called.endpoint];
  const Duration least = usual.least(impl->now());
  usual.add(duration, impl->now());
  const auto much = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double, Duration::period>(least) * options.slow_times);
  return duration > std::max(options.quick, much);
}

// What the attempt says about slurmrestd and slurmctld, as opposed to the request.
std::optional<Outcome> outcome_of(Client::Impl* impl, const EndpointInfo& called,
                                  const Error* error, bool answered, Duration duration) {
  if (error == nullptr) return is_slow(impl, called, duration) ? Outcome::kSlow : Outcome::kGood;
  if (error->code() == Code::kCancelled) return std::nullopt;
  if (asks_for_patience(*error)) return Outcome::kSlow;
  // Who waits for a moment only learns nothing of a server that is good for everybody else.
  const bool impatient = error->code() == Code::kTimeout && duration < impl->options.timeout / 3;
  if (impatient) return std::nullopt;
  if (!answered) {
    // Ours, not the server's: a request that cannot be made, an answer that is more than we take.
    const bool ours = error->code() == Code::kInvalid || error->code() == Code::kTooLarge;
    return ours ? std::nullopt : std::optional(Outcome::kFailed);
  }
  if (error->code() == Code::kTransient || error->code() == Code::kTimeout) {
    // slurmdbd, behind an answer that came, is not slurmctld: other calls need not suffer for it.
    if (called.path.starts_with("/slurmdb/")) return std::nullopt;
    return Outcome::kFailed;
  }
  return is_slow(impl, called, duration) ? Outcome::kSlow : Outcome::kGood;
}

// Minted tokens are renewed in time; one that somebody else has to renew may be forgotten, and then
// every call is refused. Said ahead, and once of each token.
void watch_token(Client::Impl* impl, const TokenSource& tokens) {
  constexpr Duration kAhead = minutes(10);
  const std::optional<WallTime> ends = tokens.expires(impl->options.user);
  if (!ends) return;
  const auto since_epoch = std::chrono::duration<double>(ends->time_since_epoch());
  impl->token_watch.ends.set(since_epoch.count());
  const Duration left = *ends - impl->executor.clock().wall_now();
  if (left > kAhead || !tokens.needs_user_header() || impl->token_watch.warned_of == ends) return;
  impl->token_watch.warned_of = ends;
  impl->options.log.warn(
      left > Duration::zero() ? "the Slurm token ends soon: replace it"
                              : "the Slurm token has ended: replace it, slurmrestd refuses it",
      {{"server", impl->options.server.to_string()}, {"user", impl->options.user}, {"left", left}});
}

Task<Result<Governor::Permit>> enter(Client::Impl* impl, Lane lane, Progress* progress) {
  auto permit = co_await net::with_timeout(progress->deadline - impl->now(),
                                           "waiting for a turn to ask slurmrestd",
                                           impl->governor.enter(lane));
  progress->shut_out = !permit && permit.error().code() == Code::kTransient;
  co_return permit;
}

// Why there is no token says who we are not, and nothing of what the call is about: a key file that
// "does not exist" must not be taken for a job that does not.
Error without_token(Error error) {
  if (error.retryable() || error.code() == Code::kCancelled) return error;
  return Error(Code::kUnauthorized, "there is no token for slurmrestd: " + error.to_string());
}

// A failure on the way there is never Slurm's own verdict, whatever code it came with (a proxy's
// refusal, a name that nobody knows).
Error on_the_way(Error error) {
  switch (error.code()) {
    case Code::kNotFound:
    case Code::kAlreadyExists:
    case Code::kConflict:
    case Code::kGone:
      return Error(Code::kTransient, "slurmrestd was not reached: " + error.to_string());
    default:
      return error;
  }
}

Task<Result<void>> add_identity(Client::Impl* impl, const Call* call, http::Headers* headers,
                                TimePoint deadline) {
  TokenSource* tokens = impl->options.tokens.get();
  if (tokens == nullptr) co_return Result<void>();
  const std::string& user = impl->user_of(*call);
  const auto token = co_await net::with_timeout(deadline - impl->now(), "getting a Slurm token",
                                                tokens->token(user));
  if (!token) co_return fail(without_token(token.error()));
  watch_token(impl, *tokens);
  headers->set("X-SLURM-USER-TOKEN", token->reveal());
  if (tokens->needs_user_header() && user != impl->options.user) {
    headers->set("X-SLURM-USER-NAME", user);
  }
  co_return Result<void>();
}

Task<Result<http::Request>> make_request(Client::Impl* impl, const Call* call, Version version,
                                         TimePoint deadline) {
  http::Request request;
  request.method = info(call->endpoint).method;
  request.url = impl->options.server;
  // A server behind a prefix, as some gateways have it.
  if (request.url.path.ends_with('/')) request.url.path.pop_back();
  MS_CO_TRY(const std::string path, path_of(call->endpoint, version, call->path));
  request.url.path += path;
  for (const auto& [name, value] : call->query) request.url.add_query(name, value);
  request.headers.set("Accept", "application/json");
  if (!call->body.empty()) request.headers.set("Content-Type", "application/json");
  request.body = call->body;
  request.limits.max_body = impl->options.max_body;
  MS_CO_CHECK(co_await add_identity(impl, call, &request.headers, deadline));
  if (request.url.host.empty()) {
    co_return fail(Code::kTransient, "the address of slurmrestd is not known yet");
  }
  request.limits.timeout = deadline - impl->now();
  co_return request;
}

Task<Result<void>> receive_whole(Client::Impl* impl, http::Request request, Received* received) {
  MS_CO_TRY(http::Response response, co_await impl->transport.send(std::move(request)));
  received->answered = true;
  received->status = response.status;
  received->bytes = response.body.size();
  received->retry_after = http::retry_after(response.headers, impl->executor.clock().wall_now());
  received->body = std::move(response.body);
  received->envelope = envelope_of(impl->reader, received->body);
  co_return Result<void>();
}

Error not_as_expected(const Error& error) {
  return {error.code() == Code::kTooLarge ? Code::kTooLarge : Code::kInternal,
          "the answer of slurmrestd cannot be read: " + error.to_string()};
}

Task<Result<void>> read_list(Client::Impl* impl, http::StreamingResponse* response,
                             ElementSink* sink, Received* received) {
  json::ListSplitter splitter({.list = sink->list});
  const auto hand_out = [&](std::string_view element) {
    sink->handed_out = true;
    Result<void> taken = sink->on_element(element);
    sink->refused = !taken;
    return taken;
  };
  for (;;) {
    MS_CO_TRY(const std::string_view piece, co_await response->next_chunk());
    if (piece.empty()) break;
    received->bytes += piece.size();
    if (auto fed = splitter.feed(piece, hand_out); !fed) {
      if (sink->refused) co_return fed;
      co_return fail(not_as_expected(fed.error()));
    }
  }
  const auto rest = splitter.finish();
  if (!rest) co_return fail(not_as_expected(rest.error()));
  received->envelope = envelope_of(impl->reader, *rest);
  received->body = std::string(rest->substr(0, 256));
  if (received->envelope.understood && received->envelope.errors.empty() && !splitter.has_list()) {
    co_return fail(no_list(sink->list));
  }
  co_return Result<void>();
}

Task<Result<void>> receive_list(Client::Impl* impl, http::Request request, ElementSink* sink,
                                TimePoint deadline, Received* received) {
  MS_CO_TRY(const auto response, co_await impl->transport.open(std::move(request)));
  received->answered = true;
  received->status = response->status();
  received->retry_after = http::retry_after(response->headers(), impl->executor.clock().wall_now());
  const Duration left = deadline - impl->now();
  if (received->status == 200) {
    co_return co_await net::with_timeout(left, "reading a list from slurmrestd",
                                         read_list(impl, response.get(), sink, received));
  }
  MS_CO_TRY(received->body,
            co_await net::with_timeout(left, "reading a refusal from slurmrestd",
                                       http::read_all(response.get(), kMaxRefusal)));
  received->bytes = received->body.size();
  received->envelope = envelope_of(impl->reader, received->body);
  co_return Result<void>();
}

Result<void> judge_received(const Call& call, const Received& received) {
  auto verdict = judge(call.endpoint, received.status, received.envelope, received.body);
  if (verdict || !received.retry_after) return verdict;
  return fail(std::move(verdict).error().with_retry_after(*received.retry_after));
}

}  // namespace

Task<Result<Answer>> exchange(Client::Impl* impl, const Call* call, Version version,
                              ElementSink* sink, Progress* progress) {
  const EndpointInfo& called = info(call->endpoint);
  MS_CO_CHECK(require(version, call->endpoint));
  MS_CO_TRY(Governor::Permit permit, co_await enter(impl, call->lane, progress));
  MS_CO_TRY(http::Request request, co_await make_request(impl, call, version, progress->deadline));
  // Whether that is the Slurm that the call is meant for is found out first.
  if (progress->moves != impl->moves) {
    co_return fail(Code::kTransient, "slurmrestd has another address by now");
  }

  if (called.effect == Effect::kWrite && impl->options.may_write) {
    MS_CO_TRY(const Duration allowed, impl->options.may_write());
    request.limits.timeout = std::min(request.limits.timeout.value_or(allowed), allowed);
  }

  progress->sent = true;
  const TimePoint start = impl->now();
  Received received;
  Result<void> verdict;
  if (sink == nullptr) {
    verdict = co_await receive_whole(impl, std::move(request), &received);
  } else {
    verdict = co_await receive_list(impl, std::move(request), sink, progress->deadline, &received);
  }
  if (verdict) {
    verdict = judge_received(*call, received);
  } else if (!received.answered) {
    verdict = fail(on_the_way(std::move(verdict).error()));
  }

  const Duration duration = impl->now() - start;
  if (impl->options.on_attempt) {
    impl->options.on_attempt({called.what, received.status, duration, received.bytes});
  }
  if (sink != nullptr && sink->refused) {
    permit.done(Outcome::kGood);
    co_return fail(std::move(verdict).error());
  }
  const Error* error = verdict ? nullptr : &verdict.error();
  if (const auto outcome = outcome_of(impl, called, error, received.answered, duration)) {
    permit.done(*outcome);
  }
  progress->unknown_path = received.answered && is_unknown_path(received.status, received.envelope);
  if (!verdict) co_return fail(std::move(verdict).error());
  const bool unchanged = is_unchanged(received.status, received.envelope);
  co_return Answer{.status = received.status,
                   .not_modified = unchanged,
                   .envelope = std::move(received.envelope),
                   .body = sink == nullptr ? std::move(received.body) : std::string()};
}

}  // namespace mainspring::slurm
