// kube/pods.h
//
// What can be done to a pod besides reading and writing it: binding it to a node, evicting it, and
// reading its log. For the bridge, the operator and the CLI. `client` must outlive each task here;
// errors are kube/status.h's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "http/transport.h"
#include "kube/client.h"

namespace mainspring::kube {

struct BindOptions {
  // Written to the pod together with its node, in one step. A server before 1.35 leaves the labels
  // out.
  std::map<std::string, std::string> annotations, labels;
  bool dry_run = false;
};

// Puts a pod on a node. `uid` is the pod that was decided about: one that has taken its name since
// is not bound. kConflict where it has, or where the pod has a node already; after a lost
// connection (kTransient) only a look at the pod tells whether it was bound.
Task<Result<void>> bind_pod(Client* client, std::string ns, std::string pod, std::string uid,
                            std::string node, BindOptions options = {});

struct EvictOptions {
  std::string uid;  // Evict only this one. Empty: whoever has the name.
  std::optional<std::int64_t> grace_seconds;
  bool dry_run = false;
};

// Deletes a pod unless a PodDisruptionBudget forbids it now, which is kThrottled and is not waited
// for: see blocked_by_budget(). Success means that the pod has been told to end.
Task<Result<void>> evict_pod(Client* client, std::string ns, std::string pod,
                             EvictOptions options = {});

// Whether a budget forbade the eviction, and not a server with too much to do.
bool blocked_by_budget(const Error& error);

struct LogOptions {
  std::string container;  // Empty: the pod's only one.
  bool follow = false;    // Go on until the container ends.
  bool previous = false;  // Of the container before the last restart.
  bool timestamps = false;
  std::optional<std::int64_t> tail_lines;
  std::optional<Duration> since;  // Rounded up to seconds.
  std::optional<std::int64_t> limit_bytes;
};

// The log as it comes; http::LineReader makes lines of it. A following log may be silent for ever.
Task<Result<std::unique_ptr<http::StreamingResponse>>> open_log(Client* client, std::string ns,
                                                                std::string pod,
                                                                LogOptions options = {});

}  // namespace mainspring::kube
