#include "control/reflector.h"

#include <algorithm>

#include "base/metrics.h"
#include "http/lazy_deadline.h"
#include "kube/status.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

// A server that ends each watch at once is asked no more often than this.
constexpr Duration kMinWatchInterval = seconds(1);
// By then the server has ended the watch itself, or nobody is there any more.
constexpr Duration kWatchSlack = seconds(30);
// Initial events and the bookmark behind them come in one go.
constexpr Duration kInitialSilence = seconds(20);
constexpr int kMaxStreamingFailures = 2;
// Between two pages the server may compact their snapshot away. A server that keeps doing so is
// asked for everything at once.
constexpr int kPagedAttempts = 3;
// A server that is there and again and again fails to go on from our version may have lost it, or
// not have it yet ("too large resource version"), and cannot be trusted to say so.
constexpr int kMaxRefusals = 3;
constexpr Duration kMaxRetryAfter = minutes(5);
// A server that does not serve a kind begins to when it is updated.
constexpr Duration kUnservedPause = minutes(1);

kube::RawApi scoped(const kube::RawApi& api, const WatchScope& scope) {
  return scope.ns.empty() ? api : kube::RawApi(api.client(), api.resource(), scope.ns);
}

}  // namespace

struct ReflectorCore::Counters {
  Counter lists;
  Counter watches;
  Counter events;
  Counter errors;

  Counters() = default;
  Counters(Metrics& metrics, std::string resource) {
    const Labels labels{{"name", std::move(resource)}};
    lists = metrics.counter("reflector_lists_total", "Lists begun", labels);
    watches = metrics.counter("reflector_watches_total", "Watches opened", labels);
    events = metrics.counter("reflector_watch_events_total", "Watch events read", labels);
    errors = metrics.counter("reflector_errors_total", "Lists and watches that failed", labels);
  }
};

ReflectorCore::ReflectorCore(const kube::RawApi& api, ReflectorTarget& target,
                             ReflectorOptions options)
    : api_(scoped(api, options.scope)),
      target_(target),
      options_(std::move(options)),
      log_(options_.log.with({{"resource", api_.resource().to_string()}})),
      counters_(options_.metrics == nullptr
                    ? std::make_unique<Counters>()
                    : std::make_unique<Counters>(*options_.metrics, api_.resource().to_string())),
      streaming_(options_.streaming_list),
      resume_(options_.backoff),
      relist_(options_.backoff) {}

ReflectorCore::~ReflectorCore() = default;

Task<Result<void>> ReflectorCore::run() {
  const net::Context context = co_await net::current_context();
  while (true) {
    net::CancelScope scope(context.scope);
    round_ = &scope;
    static_cast<void>(co_await round().in(scope));
    round_ = nullptr;
    if (context.scope != nullptr && context.scope->cancelled()) {
      co_return fail(*context.scope->reason());
    }
  }
}

void ReflectorCore::renew() {
  ++renewals_;
  if (round_ != nullptr) {
    round_->cancel(Error(Code::kCancelled, "what is stored is about to be listed anew"));
  }
}

Task<Result<void>> ReflectorCore::round() {
  const net::Context context = co_await net::current_context();
  const auto now = [&context] { return context.executor->now(); };
  opened_.reset();
  Result<void> ended = co_await sync_and_follow();
  // What was staged of an unfinished list is of no use any more.
  target_.abandon_replace();
  if (context.scope->cancelled()) co_return fail(*context.scope->reason());
  if (opened_ && now() - *opened_ >= options_.backoff.max) {
    resume_.reset();
    relist_.reset();
  }
  Duration wait{};
  if (!ended) wait = after_failure(std::move(ended).error());
  if (opened_) wait = std::max(wait, *opened_ + kMinWatchInterval - now());
  if (wait > Duration(0)) MS_CO_CHECK(co_await net::sleep(wait));
  co_return Result<void>();
}

Task<Result<void>> ReflectorCore::sync_and_follow() {
  if (listed_ != renewals_) resource_version_.clear();
  if (resource_version_.empty()) {
    if (streaming_) {
      Result<void> ended = co_await follow(true);
      // A server that turns out not to stream is asked for a list without delay.
      if (ended || streaming_) co_return ended;
    }
    MS_CO_CHECK(co_await list());
  }
  co_return co_await follow(false);
}

Task<Result<void>> ReflectorCore::list() {
  for (int attempt = 0; attempt < kPagedAttempts; ++attempt) {
    Result<void> done = co_await list_pages(options_.page_size);
    if (done || done.error().code() != Code::kGone) co_return done;
    log_.info("a list expired between two pages; starting over", {{"error", done.error()}});
  }
  co_return co_await list_pages(0);
}

Task<Result<void>> ReflectorCore::list_pages(std::size_t page_size) {
  counters_->lists.add();
  listing_ = renewals_;
  target_.begin_replace();
  json::Reader reader;
  Page page;
  do {
    kube::ListOptions options{.label_selector = options_.scope.label_selector,
                              .field_selector = options_.scope.field_selector,
                              .limit = page_size,
                              .continue_token = std::move(page.continue_token)};
    MS_CO_TRY(std::string text, co_await api_.list(std::move(options)));
    MS_CO_TRY(page, read_page(reader, std::move(text)));
  } while (!page.continue_token.empty());
  finish_sync(std::move(page.resource_version));
  co_return Result<void>();
}

Result<ReflectorCore::Page> ReflectorCore::read_page(json::Reader& reader, std::string text) {
  Page page;
  reader.adopt(std::move(text));
  reader.object([&](std::string_view key) {
    if (key == "items") {
      page.has_items = true;
      reader.array([&] {
        if (decode(reader)) target_.put();
      });
    } else if (key == "metadata") {
      reader.object([&](std::string_view name) {
        if (name == "resourceVersion") reader.read(page.resource_version);
        if (name == "continue") reader.read(page.continue_token);
      });
    }
  });
  MS_CHECK(with_context(reader.finish(), "reading a list of " + api_.resource().to_string()));
  // An answer of somebody else's must not pass for an empty list: everything would seem deleted.
  if (!page.has_items || page.resource_version.empty()) {
    return fail(Code::kInvalid, "reading a list of " + api_.resource().to_string() +
                                    ": the answer has no items or no metadata.resourceVersion");
  }
  return page;
}

Task<Result<void>> ReflectorCore::follow(bool initial) {
  const net::Context context = co_await net::current_context();
  net::CancelScope scope(context.scope);
  http::LazyDeadline silence(*context.executor, scope);
  if (initial) {
    listing_ = renewals_;
    target_.begin_replace();
  }

  silence.set(options_.watch_timeout + kWatchSlack, "opening a watch");
  MS_CO_TRY(auto response, co_await open(initial).in(scope));
  counters_->watches.add();
  opened_ = context.executor->now();
  kube::WatchLines lines(std::move(response));
  const kube::WatchLines::Decode decode_object = [](json::Reader& reader, void* self) {
    static_cast<ReflectorCore*>(self)->decode(reader);
  };
  while (true) {
    silence.set(initial ? kInitialSilence : options_.watch_timeout + kWatchSlack,
                "waiting for a watch event");
    decoded_ = false;
    auto line = co_await lines.next(decode_object, this).in(scope);
    if (!line) {
      if (initial && line.error().code() == Code::kTimeout) note_streaming_failure();
      co_return fail(std::move(line).error());
    }
    if (!*line && initial) {
      note_streaming_failure();
      co_return fail(Code::kTransient, "the watch ended before all initial events had come");
    }
    if (!*line) co_return Result<void>();
    counters_->events.add();
    last_event_ = context.executor->now();
    MS_CO_CHECK(apply(**line, initial));
  }
}

Task<Result<std::unique_ptr<http::StreamingResponse>>> ReflectorCore::open(bool initial) {
  kube::WatchOptions options{.label_selector = options_.scope.label_selector,
                             .field_selector = options_.scope.field_selector,
                             .resource_version = initial ? std::string() : resource_version_,
                             .send_initial_events = initial,
                             .timeout = options_.watch_timeout};
  auto response = co_await api_.watch(std::move(options));
  if (response) {
    if (!initial) last_error_.reset();
    co_return response;
  }
  const Code code = response.error().code();
  if (initial && (code == Code::kInvalid || code == Code::kUnsupported)) {
    log_.info("the server does not stream lists; listing in pages", {{"error", response.error()}});
    streaming_ = false;
  }
  co_return response;
}

Result<void> ReflectorCore::apply(const kube::WatchLines::Line& line, bool& initial) {
  if (line.type == kube::WatchEventType::kBookmark) {
    if (!initial && !line.resource_version.empty()) resource_version_ = line.resource_version;
    if (initial && line.initial_events_end) {
      finish_sync(line.resource_version);
      initial = false;
    }
  } else {
    if (!decoded_) return fail(Code::kInvalid, "a watch event has no object");
    // Initial events come in any order, so that no version among them is a place to go on from.
    if (!initial) resource_version_ = target_.meta().resource_version;
    if (line.type == kube::WatchEventType::kDeleted) {
      target_.erase();
    } else {
      target_.put();
    }
  }
  if (initial) return {};
  resume_.reset();
  refusals_ = 0;
  last_error_.reset();
  return {};
}

bool ReflectorCore::decode(json::Reader& reader) {
  decoded_ = target_.decode(reader);
  const kube::Meta& meta = target_.meta();
  if (decoded_ && !meta.name.empty()) return true;
  reader.refuse("has no metadata.name");
  log_.error(
      "an object cannot be read; listing again until it can",
      {{"object", ObjectKey(meta.key()).to_string()}, {"resourceVersion", meta.resource_version}});
  return false;
}

void ReflectorCore::finish_sync(std::string resource_version) {
  target_.end_replace();
  resource_version_ = std::move(resource_version);
  listed_ = listing_;
  streaming_failures_ = 0;
  refusals_ = 0;
  synced_ = true;
  last_error_.reset();
  if (listed_ == renewals_) target_.confirm();
}

void ReflectorCore::note_streaming_failure() {
  if (++streaming_failures_ < kMaxStreamingFailures) return;
  log_.warn("the server does not complete streamed lists; listing in pages");
  streaming_ = false;
}

bool ReflectorCore::needs_list(const Error& error) {
  switch (error.code()) {
    case Code::kTransient:
      return kube::status_of(error) != nullptr && ++refusals_ >= kMaxRefusals;
    case Code::kTimeout:
    case Code::kThrottled:
    case Code::kCancelled:
    case Code::kUnauthorized:
    case Code::kForbidden:
      return false;
    default:
      return true;
  }
}

Duration ReflectorCore::after_failure(Error error) {
  if (options_.scope.optional && error.code() == Code::kNotFound) {
    // Once it has been served, what is known of it is not given up for an answer like this.
    if (!synced_) {
      target_.begin_replace();
      target_.end_replace();
    }
    target_.confirm();
    if (!synced_) return kUnservedPause;
  }
  counters_->errors.add();
  if (needs_list(error)) resource_version_.clear();
  Backoff& backoff = resource_version_.empty() ? relist_ : resume_;
  Duration wait = backoff.next(api_.client().random());
  if (const auto asked = error.retry_after()) {
    wait = std::max(wait, std::min<Duration>(*asked, kMaxRetryAfter));
  }
  // Connections come and go, and versions expire. What repeats or will not pass is worth a warning.
  const bool usual = error.code() == Code::kGone || error.retryable();
  log_.log(usual && backoff.attempts() == 1 ? LogLevel::kInfo : LogLevel::kWarn,
           resource_version_.empty() ? "listing again" : "watching again",
           {{"error", error}, {"after", wait}, {"attempt", backoff.attempts()}});
  last_error_ = std::move(error);
  return wait;
}

}  // namespace mainspring::control
