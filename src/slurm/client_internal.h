// slurm/client_internal.h
//
// What the parts of the client share: client.cc (whole calls: versions, retries) and
// client_exchange.cc (one request and its answer). Nobody else includes this.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "json/reader.h"
#include "net/notify.h"
#include "slurm/client.h"

namespace mainspring::slurm {

struct Client::Impl {
  http::Transport& transport;
  net::Executor& executor;
  Random& random;
  Governor& governor;
  Options options;

  std::optional<Version> version = {};
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
  bool sent = false;          // The call itself, not the ping before it.
  bool shut_out = false;      // The circuit is open.
  bool unknown_path = false;  // Nothing was done: slurmrestd has no such path.
};

// One request of `call` in `version`, and its answer judged. Everything must outlive the task.
// `sink` is null where the answer is wanted whole.
Task<Result<Answer>> exchange(Client::Impl* impl, const Call* call, Version version,
                              ElementSink* sink, Progress* progress);

}  // namespace mainspring::slurm
