// slurm/client.h
//
// One slurmrestd: finds out which version it speaks, adds who we are, keeps within the governor's
// budget, retries what may be retried, and turns every kind of refusal into one Error. Knows no
// records; nodes.h, jobs.h, ... are what others use. One per cluster and loop, owned by main or a
// test; it must outlive its calls.
//
// Retries: reads, on lost connections, 502, 503, 504 and when asked for patience, with backoff
// within the call's deadline. A write is sent once: Slurm has no idempotency keys, so whoever
// writes looks whether it took effect. A refused token (511, 401) is renewed and the call sent once
// more, as nothing was done with it. While the governor's circuit is open calls fail at once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "http/transport.h"
#include "json/value.h"
#include "slurm/errors.h"
#include "slurm/governor.h"
#include "slurm/tokens.h"
#include "slurm/versions.h"

namespace mainspring::slurm {

using net::Task;

struct Call {
  Endpoint endpoint = Endpoint::kPing;
  std::vector<std::string> path;  // What stands for the {names} of the endpoint's path, in order.
  std::vector<std::pair<std::string, std::string>> query;  // Keys may repeat (job_id).
  std::string body;
  std::string user;  // On whose behalf; "": the client's own user.
  Lane lane = Lane::kNormal;
  std::optional<Duration> timeout;  // For all attempts together.
  std::string subject;              // For errors: "node gpu-3".
};

struct Answer {
  int status = 200;
  bool not_modified = false;  // 304; for jobs, the warning that says so.
  Envelope envelope;
  std::string body;  // "" for 304 and for lists that were streamed.
};

class Client {
 public:
  struct Attempt {
    std::string_view what;
    int status = 0;  // 0 where there was no answer.
    Duration duration{};
    std::size_t bytes = 0;
  };
  struct Options {
    http::Url server;  // Without a host: not known yet; calls fail until move_to().
    std::string user = "slurm";
    std::shared_ptr<TokenSource> tokens;  // Null: a server that asks for none, as in tests.
    Duration timeout = seconds(15);
    Duration list_timeout = minutes(2);            // For reads whose cost grows with the cluster.
    std::size_t max_body = std::size_t{64} << 20;  // Of an answer that is not streamed.
    Backoff::Options backoff{.first = milliseconds(100), .max = seconds(5)};
    // Unset: asked of the server.
    std::optional<Version> version;
    // How long a path that slurmrestd did not know is asked for in the older version that knows it,
    // or not at all: its plugins may be others after a restart.
    Duration remember_paths = minutes(5);
    Logger log = {};             // Told of a token that nobody renewed.
    Metrics* metrics = nullptr;  // slurm_client_token_expires_seconds, of `user`.
    std::string cluster;         // The label of the metrics, where there are several; "": none.
    std::function<void(const Attempt&)> on_attempt;
    // Asked before every call that changes something: how long writing is allowed, or why it is
    // not. The call ends within that time; a refusal is its result. Unset: always.
    std::function<Result<Duration>()> may_write;
  };

  // All must outlive the client.
  Client(http::Transport& transport, net::Executor& executor, Random& random, Governor& governor,
         Options options);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // From now on this server is asked, first of all for its version. Calls that are under way end
  // where they began. It must be of the same Slurm: while its ClusterName is another, nothing is
  // asked of it and calls fail.
  void move_to(http::Url server);

  // The newest that both know. Asked once, and again after an upgrade of Slurm: where another
  // release answers, or this version is unknown. A path unknown in it is asked for in older ones.
  Task<Result<Version>> version();
  // What is spoken now; unset until the server has been asked.
  std::optional<Version> known_version() const;

  Task<Result<Answer>> send(Call call);
  // The answer as a tree, for what the records leave out.
  Task<Result<json::Value>> raw(Call call);
  // Hands out the elements of the top-level list `list` one by one as they arrive, so that the
  // answer never exists as a whole. `on_element` is called on the loop and must not keep the view;
  // an error from it ends the call. A retry begins after nothing was handed out, never later. A
  // refusal may stand behind the list, so what was handed out counts only once this succeeded.
  using OnElement = std::function<Result<void>(std::string_view element)>;
  Task<Result<Answer>> stream(Call call, std::string list, OnElement on_element);

  const Clock& clock() const;

  struct Impl;  // client_internal.h

 private:
  std::shared_ptr<Impl> impl_;
};

}  // namespace mainspring::slurm
