// control/event_recorder.cc
#include "control/event_recorder.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "control/cut_text.h"
#include "control/object_meta.h"
#include "kube/status.h"
#include "net/wait.h"

namespace mainspring::control {

namespace {

// Of reason, action and reporting instance, by the API's validation.
constexpr std::size_t kMaxWord = 128;
constexpr Duration kSweep = minutes(1);

const kube::Resource kEvents{"events.k8s.io", "v1", "events", "Event", true};

bool is_word(std::string_view text) { return !text.empty() && text.size() <= kMaxWord; }

// The object is going together with its namespace: nobody will look for its events.
bool namespace_is_gone(const Error& error) {
  const kube::Status* status = kube::status_of(error);
  return error.code() == Code::kNotFound ||
         (status != nullptr && status->has_cause("NamespaceTerminating"));
}

}  // namespace

EventRecorder::EventRecorder(kube::Client& client, Options options)
    : client_(client), options_(std::move(options)), series_(client.clock(), options_.series) {
  cut_text(options_.instance, kMaxWord);
  if (options_.metrics == nullptr) return;
  written_ = options_.metrics->counter("mainspring_events_written_total",
                                       "Writes of Events to the API server.");
}

void EventRecorder::event(ObjectRef regarding, EventType type, std::string_view reason,
                          std::string_view action, std::string note,
                          std::optional<ObjectRef> related) {
  Event event{std::move(regarding), type, std::string(reason), std::string(action),
              std::move(note),      {}};
  if (related) event.related = *std::move(related);
  if (!is_word(reason) || !is_word(action)) {
    return lost("invalid: reason and action need 1 to 128 bytes", event, true);
  }
  // The series takes the event, which must be there to be named if it is lost.
  const EventSeries::Observed observed = series_.observe(event);
  if (observed.refused) return lost("throttled", event, observed.first_refusal);
  if (observed.write) enqueue(observed.write);
}

void EventRecorder::enqueue(const Record& record) {
  if (queue_.size() >= options_.queue) {
    return lost("queue full", record->event, !std::exchange(full_, true));
  }
  full_ = false;
  record->queued = true;
  queue_.push_back(record);
  wake_.notify_all();
}

EventRecorder::Record EventRecorder::take() {
  Record record = std::move(queue_.front());
  queue_.pop_front();
  record->queued = false;
  return record;
}

void EventRecorder::lost(std::string_view why, const Event& event, bool tell, const Error* error) {
  if (options_.metrics != nullptr) {
    const std::string_view label = why.substr(0, why.find(':'));
    options_.metrics
        ->counter("mainspring_events_lost_total", "Events that were not written, by the cause.",
                  {{"cause", std::string(label)}})
        .add();
  }
  if (!tell) return;
  options_.log.warn("an event is lost",
                    {{"cause", why},
                     {"kind", event.regarding.kind},
                     {"object", ObjectKey(event.regarding.ns, event.regarding.name).to_string()},
                     {"reason", event.reason},
                     {"note", event.note},
                     {"error", error != nullptr ? error->to_string() : std::string()}});
}

Task<Result<void>> EventRecorder::run() {
  const net::Context context = co_await net::current_context();
  while (true) {
    while (!queue_.empty()) MS_CO_CHECK(co_await write_patiently(take()));
    if (series_.empty()) {
      MS_CO_CHECK(co_await wake_.wait());
      next_sweep_ = context.executor->now() + kSweep;
      continue;
    }
    const net::Timer timer(*context.executor, next_sweep_ - context.executor->now(),
                           [this] { wake_.notify_all(); });
    MS_CO_CHECK(co_await wake_.wait());
    if (context.executor->now() < next_sweep_) continue;
    next_sweep_ = context.executor->now() + kSweep;
    sweep();
  }
}

void EventRecorder::sweep() {
  for (const Record& record : series_.due()) enqueue(record);
}

// Fails only where we are told to stop; the record is back in the queue then.
Task<Result<void>> EventRecorder::write_patiently(Record record) {
  const net::Context context = co_await net::current_context();
  Backoff backoff(options_.backoff);
  record->queued = true;
  for (int attempt = 1;; ++attempt) {
    auto written = co_await write(record);
    if (!written && written.error().retryable() && attempt < options_.attempts) {
      const Duration asked = written.error().retry_after().value_or(Duration::zero());
      written = co_await net::sleep(std::max(asked, backoff.next(client_.random())));
      if (written) continue;
    }
    if (!written && context.scope != nullptr && context.scope->cancelled()) {
      queue_.push_front(std::move(record));
      co_return fail(std::move(written).error());
    }
    record->queued = false;
    if (!written) lost("refused", record->event, true, &written.error());
    co_return Result<void>();
  }
}

Task<Result<void>> EventRecorder::write(Record record) {
  const kube::Api<ObjectMeta> api(client_, kEvents, record->ns());
  // It may happen again while this is under way.
  const std::int64_t count = record->count;
  const kube::Patch patch{kube::PatchKind::kMerge, series_patch(*record)};
  Result<ObjectMeta> answer = fail(Code::kNotFound, "not created yet");
  if (record->written > 0) answer = co_await api.patch(record->name, patch);
  // Events live for an hour; a series may outlive its object in the API.
  if (!answer && answer.error().code() == Code::kNotFound) {
    json::Value object = to_json(*record, options_.controller, options_.instance);
    answer = co_await api.create(std::move(object));
  }
  // An earlier attempt got through, and its answer did not.
  if (!answer && answer.error().code() == Code::kAlreadyExists && count > 1) {
    answer = co_await api.patch(record->name, patch);
  }
  const bool there = answer || answer.error().code() == Code::kAlreadyExists;
  if (!there && !namespace_is_gone(answer.error())) co_return fail(std::move(answer).error());
  record->written = count;
  if (there) written_.add();
  co_return Result<void>();
}

Task<Result<void>> EventRecorder::drain() {
  while (!queue_.empty()) {
    Record record = take();
    auto written = co_await write(record);
    if (!written) lost("shutdown", record->event, true, &written.error());
  }
  co_return Result<void>();
}

Task<Result<void>> EventRecorder::flush(Duration limit) {
  for (const Record& record : series_.behind()) {
    record->queued = true;
    queue_.push_back(record);
  }
  auto drained = co_await net::with_timeout(limit, "writing the last events", drain());
  for (; !queue_.empty(); take()) lost("shutdown", queue_.front()->event, true);
  co_return drained;
}

}  // namespace mainspring::control
