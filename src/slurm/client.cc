#include "slurm/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "http/not_sent.h"
#include "net/wait.h"
#include "slurm/client_internal.h"

namespace mainspring::slurm {
namespace {

// While it lives, one task asks for the version and the others wait for what it finds.
class Negotiation {
 public:
  explicit Negotiation(Client::Impl* impl) : impl_(impl) { impl_->negotiating = true; }
  Negotiation(const Negotiation&) = delete;
  Negotiation& operator=(const Negotiation&) = delete;
  ~Negotiation() {
    impl_->negotiating = false;
    impl_->negotiated.notify_all();
  }

 private:
  Client::Impl* impl_;
};

// Newest first. A version that slurmrestd does not speak is a path that it does not know; ping
// answers whatever the token is worth.
Task<Result<Version>> ask_for_version(Client::Impl* impl, const Call* call, Progress* progress) {
  Call ping;
  ping.lane = call->lane;
  ping.user = call->user;
  for (const Version version : kVersions) {
    auto answer = co_await exchange(impl, &ping, version, nullptr, progress);
    progress->sent = false;
    if (answer) co_return version;
    if (!std::exchange(progress->unknown_path, false)) {
      co_return fail(std::move(answer).error().with_context("asking slurmrestd for its version"));
    }
  }
  co_return fail(
      Code::kUnsupported,
      fmt::format("{} speaks no version of Slurm's REST API from {} to {}: it must be the "
                  "slurmrestd of Slurm {} or later",
                  impl->options.server.to_string(), to_string(kVersions.back()),
                  to_string(kVersions.front()), slurm_release(kVersions.back())));
}

Task<Result<Version>> find_version(Client::Impl* impl, const Call* call, Progress* progress) {
  while (!impl->version) {
    if (impl->negotiating) {
      MS_CO_CHECK(co_await net::with_timeout(progress->deadline - impl->now(),
                                             "waiting for the version of slurmrestd",
                                             impl->negotiated.wait()));
      continue;
    }
    const Negotiation negotiation(impl);
    MS_CO_TRY(impl->version, co_await ask_for_version(impl, call, progress));
  }
  co_return *impl->version;
}

Duration time_for(const Client::Impl& impl, const Call& call) {
  if (call.timeout) return *call.timeout;
  const EndpointInfo& called = info(call.endpoint);
  const bool large = called.cost == Cost::kLarge && called.effect == Effect::kRead;
  return large ? impl.options.list_timeout : impl.options.timeout;
}

bool may_retry(const Call& call, const Error& error, const Progress& progress,
               const ElementSink* sink) {
  if (progress.shut_out) return false;
  if (error.code() != Code::kTransient && error.code() != Code::kThrottled) return false;
  if (sink != nullptr && sink->handed_out) return false;
  return info(call.endpoint).effect == Effect::kRead || !progress.sent;
}

Error in_context(const Call& call, Error error) {
  std::string what(info(call.endpoint).what);
  if (!call.subject.empty()) {
    return std::move(error).with_context(std::move(what)).with_context(call.subject);
  }
  for (const std::string& name : call.path) what += " " + name;
  return std::move(error).with_context(std::move(what));
}

Task<Result<Answer>> attempt(Client::Impl* impl, const Call* call, ElementSink* sink,
                             Progress* progress) {
  MS_CO_TRY(const Version version, co_await find_version(impl, call, progress));
  auto answer = co_await exchange(impl, call, version, sink, progress);
  // Not if another call has found out already.
  if (progress->unknown_path && !impl->options.version && impl->version == version) {
    impl->version.reset();
  }
  co_return answer;
}

Task<Result<Answer>> run(std::shared_ptr<Client::Impl> impl, const Call* call, ElementSink* sink) {
  const TimePoint deadline = impl->now() + time_for(*impl, *call);
  Backoff backoff(impl->options.backoff);
  bool renewed = false;
  bool renegotiated = impl->options.version.has_value();
  for (;;) {
    Progress progress{.deadline = deadline};
    Result<Answer> answer = co_await attempt(impl.get(), call, sink, &progress);
    if (answer) co_return answer;

    Error error = std::move(answer).error();
    if (progress.unknown_path && !renegotiated) {
      renegotiated = true;
      continue;
    }
    TokenSource* tokens = impl->options.tokens.get();
    if (error.code() == Code::kUnauthorized && slurm_error(error) != nullptr && !renewed &&
        tokens != nullptr && tokens->refused(impl->user_of(*call))) {
      renewed = true;
      continue;
    }
    if (!progress.sent && slurm_error(error) == nullptr) error = http::not_sent(std::move(error));
    if (!may_retry(*call, error, progress, sink)) co_return fail(in_context(*call, error));
    const Duration own = backoff.next(impl->random);
    const Duration wait = std::max(own, error.retry_after().value_or(own));
    // The answer in hand says more than a deadline that is sure to pass.
    if (impl->now() + wait >= deadline) co_return fail(in_context(*call, error));
    MS_CO_CHECK(co_await net::sleep(wait));
  }
}

}  // namespace

Client::Client(http::Transport& transport, net::Executor& executor, Random& random,
               Governor& governor, Options options)
    : impl_(new Impl{.transport = transport,
                     .executor = executor,
                     .random = random,
                     .governor = governor,
                     .options = std::move(options)}) {
  impl_->version = impl_->options.version;
}

Task<Result<Version>> Client::version() {
  const std::shared_ptr<Impl> impl = impl_;
  if (!impl->version) {
    const Call ping;
    MS_CO_CHECK(co_await run(impl, &ping, nullptr));
  }
  co_return *impl->version;
}
std::optional<Version> Client::known_version() const { return impl_->version; }

Task<Result<Answer>> Client::send(Call call) { co_return co_await run(impl_, &call, nullptr); }

Task<Result<json::Value>> Client::raw(Call call) {
  MS_CO_TRY(const Answer answer, co_await run(impl_, &call, nullptr));
  if (answer.body.empty()) co_return json::Value();
  auto value = json::parse(answer.body);
  if (!value) {
    co_return fail(in_context(call, Error(Code::kInternal,
                                          "the answer of slurmrestd cannot be "
                                          "read: " +
                                              value.error().to_string())));
  }
  co_return value;
}

Task<Result<Answer>> Client::stream(Call call, std::string list, OnElement on_element) {
  ElementSink sink{.list = std::move(list), .on_element = std::move(on_element)};
  co_return co_await run(impl_, &call, &sink);
}

const Clock& Client::clock() const { return impl_->executor.clock(); }

}  // namespace mainspring::slurm
