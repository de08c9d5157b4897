#include "sim/watch_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "net/wait.h"
#include "sim/listing.h"
#include "sim/meta.h"
#include "sim/refusals.h"

namespace mainspring::sim {

using json::Value;

WatchStream::WatchStream(net::Executor& executor, Storage& storage, const std::uint64_t& epoch,
                         WatchRequest request)
    : executor_(executor),
      storage_(storage),
      epoch_(epoch),
      opened_in_(epoch),
      request_(std::move(request)),
      headers_({{"Content-Type", "application/json"}}),
      ends_(executor.now() + request_.timeout),
      next_bookmark_(executor.now() + request_.bookmark_every),
      seen_(request_.from) {
  begin();
}

void WatchStream::begin() {
  if (request_.all_first) {
    seen_ = storage_.version();
    for (const auto& [key, object] : storage_.all(request_.kind->collection())) {
      if (selects(*object)) add_event("ADDED", render(*request_.kind, *object));
    }
    if (request_.mark_the_end) add_bookmark(true);
  } else if (seen_ < storage_.compacted()) {
    add_event("ERROR", status_body(expired(fmt::format("too old resource version: {} ({})", seen_,
                                                       storage_.compacted() + 1))));
    ended_ = true;
  }
}

bool WatchStream::selects(const Value& object) const {
  return (request_.ns.empty() || namespace_of(object) == request_.ns) &&
         request_.selector.matches(object);
}

void WatchStream::add_event(std::string_view type, Value object) {
  pending_ += to_text(Value::object({{"type", type}, {"object", std::move(object)}}));
  pending_ += '\n';
}

void WatchStream::add_bookmark(bool initial_end) {
  Value object = render(*request_.kind, Value::object());
  object["metadata"]["resourceVersion"] = std::to_string(seen_);
  if (initial_end) object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true";
  add_event("BOOKMARK", std::move(object));
}

// What a change means to somebody who sees only part of the collection: an object that leaves the
// selection is gone, one that enters it is new.
void WatchStream::add_change(const Change& change) {
  const bool was = change.before != nullptr && selects(*change.before);
  const bool is = change.after != nullptr && selects(*change.after);
  if (is) return add_event(was ? "MODIFIED" : "ADDED", render(*request_.kind, *change.after));
  if (!was) return;
  Value last = render(*request_.kind, change.last == nullptr ? *change.before : *change.last);
  last["metadata"]["resourceVersion"] = std::to_string(change.version);
  add_event("DELETED", std::move(last));
}

void WatchStream::fill() {
  constexpr std::size_t kEnough = std::size_t{64} * 1024;
  if (!storage_.can_follow(seen_)) {
    add_event("ERROR", status_body(expired(fmt::format("too old resource version: {} ({})", seen_,
                                                       storage_.compacted() + 1))));
    ended_ = true;
    return;
  }
  const std::string collection = request_.kind->collection();
  while (pending_.size() < kEnough) {
    const Change* change = storage_.next_change(collection, seen_);
    if (change == nullptr) {
      // A watch may begin in the future, and waits there.
      seen_ = std::max(seen_, storage_.version());
      break;
    }
    seen_ = change->version;
    add_change(*change);
  }
  if (!request_.bookmarks || !pending_.empty() || executor_.now() < next_bookmark_) return;
  next_bookmark_ = executor_.now() + request_.bookmark_every;
  add_bookmark(false);
}

http::Task<Result<std::string_view>> WatchStream::next_chunk() {
  const net::Context context = co_await net::current_context();
  for (;;) {
    if (epoch_ != opened_in_) co_return fail(Code::kTransient, "the API server closed the watch");
    if (pending_.empty() && !ended_) fill();
    if (!pending_.empty()) {
      given_ = std::exchange(pending_, {});
      co_return std::string_view(given_);
    }
    if (ended_ || executor_.now() >= ends_) co_return std::string_view();
    const TimePoint until = request_.bookmarks ? std::min(ends_, next_bookmark_) : ends_;
    const auto woken = co_await net::with_timeout(until - executor_.now(), "waiting for a change",
                                                  storage_.changed().wait());
    if (woken || woken.error().code() == Code::kTimeout) {
      if (context.scope == nullptr || !context.scope->cancelled()) continue;
      co_return fail(*context.scope->reason());
    }
    co_return fail(woken.error());
  }
}

}  // namespace mainspring::sim
