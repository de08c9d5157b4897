// slurm/client_internal.h
//
// What the parts of the client share: client.cc (whole calls: versions, retries) and
// client_exchange.cc (one request and its answer). Nobody else includes this.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "json/reader.h"
#include "net/notify.h"
#include "slurm/client.h"
#include "slurm/usual_time.h"

namespace mainspring::slurm {

// Where a path is that slurmrestd does not know in the version we speak.
struct Elsewhere {
  std::optional<Version> older;  // Unset: in none.
  TimePoint until;               // Then it is looked for again.
};

// What was said about when our token ends.
struct TokenWatch {
  Gauge ends;
  std::optional<WallTime> warned_of;
};

struct Client::Impl {
  http::Transport& transport;
  net::Executor& executor;
  Random& random;
  Governor& governor;
  Options options;

  std::optional<Version> version = {};
  std::string release = {};     // That answered last.
  std::string slurm = {};       // The ClusterName of what answered last.
  std::uint64_t moves = 0;      // How often move_to() was told.
  bool must_be_same = false;    // The ClusterName is still to be compared after a move.
  bool version_is_old = false;  // Another release answers since the version was asked for.
  std::map<Endpoint, Elsewhere> elsewhere = {};
  std::map<Endpoint, UsualTime> usual = {};
  TokenWatch token_watch = {};
  bool negotiating = false;
  net::Notify negotiated = {};
  json::Reader reader = {};

  TimePoint now() const { return executor.now(); }
  const std::string& user_of(const Call& call) const {
    return call.user.empty() ? options.user : call.user;
  }
};

// Where the elements of a streamed list go.
struct ElementSink {
  std::string list;
  Client::OnElement on_element;
  bool handed_out = false;
  bool refused = false;  // on_element ended the call.
};

// What became of an attempt, for who decides about another.
struct Progress {
  TimePoint deadline;
  std::uint64_t moves = 0;             // At its beginning.
  bool sent = false;                   // The call itself, not the ping before it.
  bool shut_out = false;               // The circuit is open.
  bool unknown_path = false;           // Nothing was done: slurmrestd has no such path.
  std::optional<Version> spoken = {};  // By the server, as far as it was found out.
};

// One request of `call` in `version`, and its answer judged. Everything must outlive the task.
// `sink` is null where the answer is wanted whole.
Task<Result<Answer>> exchange(Client::Impl* impl, const Call* call, Version version,
                              ElementSink* sink, Progress* progress);

}  // namespace mainspring::slurm
