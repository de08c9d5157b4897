// kube/client.h
//
// One API server: adds who we are to each call, retries what may be retried, and turns refusals
// into Errors. Knows nothing of kinds; Api<T> (kube/api.h) is what controllers use. One per process
// and loop, owned by main or a test; it must outlive its calls and every Api made from it.
//
// Retries: 429, and 5xx with Retry-After, always: the server asks for it and has done nothing.
// Other 5xx and lost connections only where sending twice is the same as sending once (reads,
// apply, update, delete): a create may have taken effect. All within the call's deadline.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/random.h"
#include "http/transport.h"
#include "kube/credentials.h"

namespace mainspring::kube {

using net::Task;

// On whose behalf, where it is not our own: the API server checks that we may.
struct Impersonation {
  std::string user;
  std::string uid;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, std::string>> extra;
};

struct Call {
  http::Method method = http::Method::kGet;
  std::string path;  // Percent-encoded: Resource::path().
  std::vector<std::pair<std::string, std::string>> query;
  std::string body;
  std::string content_type = "application/json";
  std::string accept = "application/json";
  http::Headers headers;  // More of them, for upgrades.
  // What the call is, in errors and metrics: "list pods".
  std::string what;
  // For all attempts together; unset: the client's own.
  std::optional<Duration> timeout;
  // Sending it twice is sending it once. Unset: by its method (PATCH is not).
  std::optional<bool> idempotent;
  // Exempt from Options::may_write: the lease itself, which is how leave to write is obtained.
  bool always_allowed = false;
  // False where 429 means no rather than later, as in an eviction that a budget forbids.
  bool retry_throttled = true;
  // Between two pieces of a streamed body; unset: silence is fine.
  std::optional<Duration> idle_timeout;
  std::optional<std::size_t> max_body;
};

class Client {
 public:
  using MayWrite = std::function<Result<Duration>()>;

  // One finished attempt, for metrics. The views are valid during the call.
  struct Attempt {
    std::string_view verb;  // GET, POST, ...
    std::string_view what;
    int status = 0;  // 0 where there was no answer.
    Duration duration{};
  };

  struct Options {
    http::Url server;
    std::shared_ptr<Credentials> credentials;  // May be null.
    Impersonation impersonate;
    Duration timeout = seconds(30);
    Backoff::Options backoff{.first = milliseconds(100), .max = seconds(10)};
    // Asked before every attempt of a call that changes something: how long writing is allowed, or
    // why it is not. The attempt ends within that time; a refusal is the call's result. This is how
    // a leader that lost its lease is kept from writing.
    MayWrite may_write;
    std::function<void(const Attempt&)> on_attempt;
  };

  // All three must outlive the client.
  Client(http::Transport& transport, const Clock& clock, Random& random, Options options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The whole answer, 2xx.
  Task<Result<http::Response>> send(Call call);
  // A streamed answer, 2xx. The deadline counts until its head is here.
  Task<Result<std::unique_ptr<http::StreamingResponse>>> open(Call call);
  // A connection for a websocket. Never retried.
  Task<Result<http::Upgraded>> upgrade(Call call);

  void set_may_write(MayWrite may_write) { options_.may_write = std::move(may_write); }

  const Clock& clock() const { return clock_; }
  Random& random() { return random_; }
  const Options& options() const { return options_; }

 private:
  enum class Mode { kSend, kOpen, kUpgrade };
  struct Answer;

  Task<Result<Answer>> run(const Call* call, Mode mode);
  Task<Result<Answer>> attempt(const Call* call, Mode mode, TimePoint deadline);
  Task<Result<http::Request>> make_request(const Call* call, TimePoint deadline);
  Result<Duration> time_for(const Call& call, Mode mode, TimePoint deadline) const;
  void note(const Call& call, int status, TimePoint start) const;

  http::Transport& transport_;
  const Clock& clock_;
  Random& random_;
  Options options_;
};

}  // namespace mainspring::kube
