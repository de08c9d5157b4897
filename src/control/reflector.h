// control/reflector.h
//
// Reflector<T>: keeps a Store like what the API server has of one kind, by a list and a watch, for
// as long as run() runs. The one writer of its store; owned, like the store, by whoever wires a
// controller up. Lives on the control loop; holds one page or one object at a time besides the
// store.
//
// The list comes in pages, or, if asked for and where the server offers it, as the beginning of the
// watch (sendInitialEvents). A lost connection goes on at the last resource version; a version that
// the server no longer has (410), and whatever cannot be read, leads to a new list. Until that is
// complete the store stays as it was. Resource versions are opaque: they are sent back, never
// compared.
//
// It never gives up: every failure is waited out with growing delays, and shows in last_error().
//
// A watch may lag, and nobody can tell by how much. Whoever has to see what was written before a
// certain moment calls renew() then: all is listed anew, by a request that begins after it and that
// the server answers from what is true (no resource version is named).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/backoff.h"
#include "base/log.h"
#include "base/store.h"
#include "kube/api.h"

namespace mainspring {
class Metrics;  // base/metrics.h
}

namespace mainspring::control {

using net::Task;

struct WatchScope {
  std::string ns;  // Empty: that of the Api.
  std::string label_selector;
  std::string field_selector;
  // A kind that the server may not serve: as long as it does not, there are none of it.
  bool optional = false;
};

struct ReflectorOptions {
  WatchScope scope;
  // Objects a page of a list; 0: all in one answer.
  std::size_t page_size = 500;
  // Whether to ask for the list as events of the watch (sendInitialEvents), where the server can:
  // kinder to a server's memory with huge collections, but each object comes as a message of its
  // own, and that costs more than twice the CPU of compressed pages here.
  bool streaming_list = false;
  // After which the server ends a watch, and we begin the next.
  Duration watch_timeout = minutes(5);
  Backoff::Options backoff{.first = milliseconds(200), .max = seconds(30)};
  Logger log;
  Metrics* metrics = nullptr;
};

// What is particular to a kind: how its objects are read and where they go.
class ReflectorTarget {
 public:
  virtual ~ReflectorTarget() = default;
  // Reads the object that comes next and keeps it. False for null and for what is broken.
  virtual bool decode(json::Reader& reader) = 0;
  // Of the object at hand, as far as it could be read.
  virtual const kube::Meta& meta() const = 0;
  // Hands on the object at hand.
  virtual void put() = 0;
  virtual void erase() = 0;

  virtual void begin_replace() = 0;
  virtual void end_replace() = 0;
  virtual void abandon_replace() = 0;
  // All that is stored was asked for after the last renew().
  virtual void confirm() = 0;
};

// All of a reflector that does not depend on the kind.
class ReflectorCore {
 public:
  ReflectorCore(const kube::RawApi& api, ReflectorTarget& target, ReflectorOptions options);
  ~ReflectorCore();
  ReflectorCore(const ReflectorCore&) = delete;
  ReflectorCore& operator=(const ReflectorCore&) = delete;

  Task<Result<void>> run();
  void renew();

  bool synced() const { return synced_; }
  const std::optional<Error>& last_error() const { return last_error_; }
  std::optional<TimePoint> last_event_time() const { return last_event_; }

 private:
  struct Counters;
  struct Page {
    std::string resource_version;
    std::string continue_token;
    bool has_items = false;
  };

  // A list if one is needed, a watch to its end, and the wait before the next.
  Task<Result<void>> round();
  Task<Result<void>> sync_and_follow();
  Task<Result<void>> list();
  Task<Result<void>> list_pages(std::size_t page_size);
  Result<Page> read_page(json::Reader& reader, std::string text);
  // One watch, to its end. `initial`: it begins with all objects.
  Task<Result<void>> follow(bool initial);
  Task<Result<std::unique_ptr<http::StreamingResponse>>> open(bool initial);
  Result<void> apply(const kube::WatchLines::Line& line, bool& initial);
  bool decode(json::Reader& reader);
  void finish_sync(std::string resource_version);
  void note_streaming_failure();
  bool needs_list(const Error& error);
  Duration after_failure(Error error);

  const kube::RawApi api_;
  ReflectorTarget& target_;
  const ReflectorOptions options_;
  const Logger log_;
  std::unique_ptr<Counters> counters_;

  std::string resource_version_;  // Where to go on; empty: with a list.
  // How often renew() was called before: now, when the list at hand began, and when that which is
  // stored did.
  std::uint64_t renewals_ = 0, listing_ = 0, listed_ = 0;
  net::CancelScope* round_ = nullptr;  // What is under way.
  bool streaming_;
  int streaming_failures_ = 0;
  int refusals_ = 0;      // Watches in a row that the server itself failed.
  bool decoded_ = false;  // Whether the line at hand had an object.
  Backoff resume_;
  Backoff relist_;
  std::optional<TimePoint> opened_;  // The watch at hand.

  bool synced_ = false;
  std::optional<Error> last_error_;
  std::optional<TimePoint> last_event_;
};

template <class T>
class Reflector final : private ReflectorTarget {
 public:
  // What is not to be kept is as if it were not there. Must always say the same of the same object.
  using Keep = std::function<bool(const T&)>;

  // The client of `api` and the store must outlive this.
  Reflector(kube::Api<T> api, Store<T>& store, ReflectorOptions options, Keep keep = nullptr)
      : store_(store),
        part_(options.scope.ns),
        keep_(std::move(keep)),
        core_(api.raw(), *this, std::move(options)) {}

  // Until cancelled, which is its only end.
  Task<Result<void>> run() { return core_.run(); }
  // What is stored is doubted until all has been listed by a request that begins from now on.
  void renew() {
    store_.doubt();
    core_.renew();
  }

  // For health. Whether the store has been complete once; what went wrong since the last success,
  // if anything; when the server last said something.
  bool synced() const { return core_.synced(); }
  const std::optional<Error>& last_error() const { return core_.last_error(); }
  std::optional<TimePoint> last_event_time() const { return core_.last_event_time(); }

 private:
  bool decode(json::Reader& reader) override {
    object_ = std::make_shared<T>();
    return read(reader, *object_);
  }
  const kube::Meta& meta() const override { return object_->meta; }
  void put() override {
    if (keep_ && !keep_(*object_)) return store_.erase(object_->meta.key());
    store_.put(std::move(object_));
  }
  void erase() override { store_.erase(object_->meta.key()); }
  void begin_replace() override { store_.begin_replace(part_); }
  void end_replace() override { store_.end_replace(part_); }
  void abandon_replace() override { store_.abandon_replace(part_); }
  void confirm() override { store_.confirm(part_); }

  Store<T>& store_;
  const std::string part_;  // The namespace that this reflector is for; empty: all.
  const Keep keep_;
  std::shared_ptr<T> object_;
  ReflectorCore core_;
};

}  // namespace mainspring::control
