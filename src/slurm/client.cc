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

// Behind another address there must be the Slurm of before: of another one, numbers of jobs and
// names of nodes mean something else, and would be taken for the ends of jobs that run.
Result<void> check_same(Client::Impl* impl, const Envelope& answer) {
  if (impl->must_be_same && !answer.cluster.empty() && answer.cluster != impl->slurm) {
    return fail(Code::kTransient,
                fmt::format("{} is slurmrestd of the Slurm cluster {}, and the one before was of "
                            "{}: it is not asked. Correct the address; to change to that Slurm, "
                            "restart",
                            impl->options.server.to_string(), answer.cluster, impl->slurm));
  }
  impl->must_be_same = false;
  return {};
}

// Newest first. A version that slurmrestd does not speak is a path that it does not know; ping
// answers whatever the token is worth.
Task<Result<Version>> ask_for_version(Client::Impl* impl, const Call* call, Progress* progress) {
  Call ping;
  ping.lane = call->lane;
  ping.user = call->user;
  for (const Version version : kVersions) {
    auto answer = co_await exchange(impl, &ping, version, nullptr, progress);
    progress->sent = false;
    if (answer) {
      MS_CO_CHECK(check_same(impl, answer->envelope));
      co_return version;
    }
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
  while (!impl->version || impl->version_is_old) {
    if (impl->negotiating) {
      MS_CO_CHECK(co_await net::with_timeout(progress->deadline - impl->now(),
                                             "waiting for the version of slurmrestd",
                                             impl->negotiated.wait()));
      continue;
    }
    const Negotiation negotiation(impl);
    MS_CO_TRY(const Version found, co_await ask_for_version(impl, call, progress));
    if (impl->version != found) impl->elsewhere.clear();
    impl->version = found;
    impl->version_is_old = false;
  }
  co_return *impl->version;
}

// An upgraded slurmrestd goes on answering in the version of before, and speaks a newer one, too.
void note_who_answers(Client::Impl* impl, const Envelope& envelope) {
  if (!envelope.cluster.empty()) impl->slurm = envelope.cluster;
  const std::string& release = envelope.release;
  if (release.empty() || release == impl->release) return;
  const std::string before = std::exchange(impl->release, release);
  impl->version_is_old = !before.empty() && !impl->options.version;
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

Error unknown_to(const Client::Impl& impl, const Call& call, Version spoken) {
  return {
      Code::kUnsupported,
      fmt::format("{} has no path for \"{}\" in {} or an older version: is the plugin for {} "
                  "among those that it was started with (-s)?",
                  impl.options.server.to_string(), info(call.endpoint).what, to_string(spoken),
                  info(call.endpoint).path.starts_with("/slurmdb/") ? "slurmdbd" : "slurmctld")};
}

// Which version this call is made in; kUnsupported where its path was found in none.
Result<Version> version_for(Client::Impl* impl, const Call& call, Version spoken) {
  const auto known = impl->elsewhere.find(call.endpoint);
  if (known == impl->elsewhere.end()) return spoken;
  if (impl->now() >= known->second.until) {
    impl->elsewhere.erase(known);
    return spoken;
  }
  if (!known->second.older) return fail(unknown_to(*impl, call, spoken));
  return *known->second.older;
}

// After slurmrestd did not know the path of `call` in `spoken`: either it speaks another version
// now, or it lacks this path, which then is asked for in older versions. Good where another attempt
// makes sense.
Task<Result<void>> look_elsewhere(Client::Impl* impl, const Call* call, Version spoken,
                                  Version tried, Progress* progress) {
  if (impl->version != spoken) co_return Result<void>();  // Another call has found out already.
  if (tried == spoken) {
    MS_CO_TRY(const Version now, co_await ask_for_version(impl, call, progress));
    if (now != spoken) {
      impl->version = now;
      impl->elsewhere.clear();
      co_return Result<void>();
    }
  }
  const auto next =
      std::find_if(kVersions.begin(), kVersions.end(), [&](Version each) { return each < tried; });
  const bool has = next != kVersions.end() && *next >= info(call->endpoint).since;
  Elsewhere found{.older = std::nullopt, .until = impl->now() + impl->options.remember_paths};
  if (has) found.older = *next;
  impl->elsewhere.insert_or_assign(call->endpoint, found);
  if (!has) co_return fail(unknown_to(*impl, *call, spoken));
  co_return Result<void>();
}

Task<Result<Answer>> attempt(Client::Impl* impl, const Call* call, ElementSink* sink,
                             Progress* progress) {
  // As often as there are versions, and once more after an upgrade: servers of several versions
  // behind one address could have it go round for ever.
  for (std::size_t left = kVersions.size() + 1;; --left) {
    progress->moves = impl->moves;
    MS_CO_TRY(const Version spoken, co_await find_version(impl, call, progress));
    progress->spoken = spoken;
    MS_CO_TRY(const Version tried, version_for(impl, *call, spoken));
    auto answer = co_await exchange(impl, call, tried, sink, progress);
    if (answer && progress->moves == impl->moves) note_who_answers(impl, answer->envelope);
    const bool unknown = std::exchange(progress->unknown_path, false);
    if (!unknown || impl->options.version || left == 0) co_return answer;
    progress->sent = false;  // Nothing was done.
    MS_CO_CHECK(co_await look_elsewhere(impl, call, spoken, tried, progress));
  }
}

// `spoken`, where given, is the version of the server.
Task<Result<Answer>> run(std::shared_ptr<Client::Impl> impl, const Call* call, ElementSink* sink,
                         std::optional<Version>* spoken = nullptr) {
  const TimePoint deadline = impl->now() + time_for(*impl, *call);
  Backoff backoff(impl->options.backoff);
  bool renewed = false;
  std::optional<Error> cause;  // Why the attempt before failed.
  for (;;) {
    Progress progress{.deadline = deadline};
    Result<Answer> answer = co_await attempt(impl.get(), call, sink, &progress);
    if (spoken != nullptr) *spoken = progress.spoken;
    if (answer) co_return answer;

    Error error = std::move(answer).error();
    TokenSource* tokens = impl->options.tokens.get();
    if (error.code() == Code::kUnauthorized && slurm_error(error) != nullptr && !renewed &&
        tokens != nullptr && tokens->refused(impl->user_of(*call))) {
      renewed = true;
      continue;
    }
    if (!progress.sent && slurm_error(error) == nullptr) error = http::not_sent(std::move(error));
    // That others failed as well, so that nobody may try now, says less.
    if (progress.shut_out && cause) error = *std::move(cause);
    if (!may_retry(*call, error, progress, sink)) co_return fail(in_context(*call, error));
    const Duration own = backoff.next(impl->random);
    const Duration wait = std::max(own, error.retry_after().value_or(own));
    // The answer in hand says more than a deadline that is sure to pass.
    if (impl->now() + wait >= deadline) co_return fail(in_context(*call, error));
    MS_CO_CHECK(co_await net::sleep(wait));
    cause = std::move(error);
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
  if (impl_->options.metrics == nullptr) return;
  Labels of;
  if (!impl_->options.cluster.empty()) of.emplace_back("cluster", impl_->options.cluster);
  impl_->token_watch.ends =
      impl_->options.metrics->gauge("slurm_client_token_expires_seconds",
                                    "When the token for slurmrestd ends, as Unix time.", of);
}

void Client::move_to(http::Url server) {
  impl_->options.server = std::move(server);
  ++impl_->moves;
  impl_->must_be_same = !impl_->slurm.empty();
  impl_->version = impl_->options.version;
  impl_->version_is_old = false;
  impl_->release.clear();
  impl_->elsewhere.clear();
  impl_->usual.clear();
}

Task<Result<Version>> Client::version() {
  const std::shared_ptr<Impl> impl = impl_;
  if (impl->version && !impl->version_is_old) co_return *impl->version;
  const Call ping;
  std::optional<Version> spoken;
  MS_CO_CHECK(co_await run(impl, &ping, nullptr, &spoken));
  co_return *spoken;
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
