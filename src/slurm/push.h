// slurm/push.h
//
// Where slurmctld's own scripts tell us that a job started or ended: a POST from a one-line
// PrologSlurmctld/EpilogSlurmctld (docs/slurm-push.md), so that the change cache looks at once
// instead of at its next turn. What it says is a hint where to look; nobody acts on it alone.
//
// Part of the serving router. The callback runs on the loop that serves: whoever keeps a cache on
// another loop posts to it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"
#include "http/router.h"
#include "slurm/cache.h"

namespace mainspring::slurm {

inline constexpr std::string_view kPushPath = "/slurm/events";
// A job id and a hostlist. What is longer is not ours.
inline constexpr std::size_t kMaxPushBytes = std::size_t{16} * 1024;

// {"event":"start","job_id":"123","nodes":"n[1-3]"}, or the same as a form, which is what
// `curl --data-urlencode` sends: event=start&job_id=123&nodes=n%5B1-3%5D. The event is start, end
// or another word; nodes may be left out. Unknown fields are ignored.
Result<PushedEvent> parse_push(std::string_view body);

// The key as it is now; asked at every event, so that it may be replaced at any time.
using PushKey = std::function<Secret()>;
// What the file holds, without white space around it. Empty where it cannot be read.
PushKey push_key_file(std::string path);

// The request is there for the parameters of its path.
using OnPush = std::function<void(const http::Request&, PushedEvent)>;

// POST `path` with "Authorization: Bearer <key>": 204, 401 for another key, 400 for a body that
// cannot be read, 413 for one that is too long. An empty key accepts nobody.
void add_push_route(http::Router& router, std::string_view path, PushKey key, OnPush on_event);

}  // namespace mainspring::slurm
