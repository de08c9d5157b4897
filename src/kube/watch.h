// kube/watch.h
//
// A watch: the changes to a collection, one by one, as the API server sends them. Made by
// Api<T>::watch, owned by the task that reads it (a Reflector, mostly); dropping it ends the watch.
//
// A watch ends by itself after some minutes: next() gives nothing more, and one begins anew at the
// last resource version seen. kGone means that this version is too old: list again.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/line_reader.h"
#include "json/fields.h"
#include "kube/meta.h"
#include "net/task.h"

namespace mainspring::kube {

using net::Task;

struct WatchOptions {
  std::string label_selector;
  std::string field_selector;
  // Changes after this one. Empty: from any state the server likes, all objects first.
  std::string resource_version;
  bool bookmarks = true;
  // The present objects as ADDED events and then a bookmark that says so, instead of a list before
  // the watch. Servers without the feature answer kInvalid.
  bool send_initial_events = false;
  // After which the server ends the watch.
  Duration timeout = minutes(5);
};

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };

template <class T>
struct WatchEvent {
  WatchEventType type = WatchEventType::kBookmark;
  std::shared_ptr<const T> object;  // Null in a bookmark. The last state where it was deleted.
  std::string resource_version;     // Where to go on after this event.
  // All initial events have been sent, and this is the bookmark behind them.
  bool initial_events_end = false;
};

// A line of a watch without its object, which is decoded by what the caller wants of it.
class WatchLines {
 public:
  explicit WatchLines(std::unique_ptr<http::StreamingResponse> response);

  struct Line {
    WatchEventType type = WatchEventType::kBookmark;
    bool initial_events_end = false;
    std::string resource_version;  // Of a bookmark.
  };

  // Reads the object of a line into `out`.
  using Decode = void (*)(json::Reader& reader, void* out);

  // Reads the next line, its object by `decode` unless it is a bookmark. An error that the server
  // sends is this call's error. nullopt at the end of the watch. `out` must outlive the task.
  Task<Result<std::optional<Line>>> next(Decode decode, void* out);

 private:
  Result<Line> read_line(std::string_view text, Decode decode, void* out);

  std::unique_ptr<http::LineReader> lines_;
  std::unique_ptr<json::Reader> reader_;
};

template <class T>
class Watch {
 public:
  explicit Watch(std::unique_ptr<http::StreamingResponse> response) : lines_(std::move(response)) {}

  // The next event; nullopt where the server ended the watch.
  Task<Result<std::optional<WatchEvent<T>>>> next() {
    auto object = std::make_shared<T>();
    MS_CO_TRY(auto line, co_await lines_.next(&decode, object.get()));
    if (!line) co_return std::nullopt;
    WatchEvent<T> event{line->type, nullptr, std::move(line->resource_version),
                        line->initial_events_end};
    if (line->type != WatchEventType::kBookmark) {
      event.resource_version = object->meta.resource_version;
      event.object = std::move(object);
    }
    co_return event;
  }

 private:
  static void decode(json::Reader& reader, void* out) {
    using json::read;
    read(reader, *static_cast<T*>(out));
  }

  WatchLines lines_;
};

}  // namespace mainspring::kube
