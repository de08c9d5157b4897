// control/event_series.cc
#include "control/event_series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

#include "base/digest.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "control/cut_text.h"

namespace mainspring::control {

namespace {

// Limits of the API's validation.
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxName = 253;

constexpr std::string_view kCombined = "(combined from similar events): ";

// Of what events are told apart by only a digest is remembered: the texts are far longer than the
// rest of an entry, and there are thousands.
std::string key_of(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) (text += part) += '\0';
  const std::uint64_t digest = fnv1a_64(text);
  std::string key(sizeof digest, '\0');
  std::memcpy(key.data(), &digest, sizeof digest);
  return key;
}

std::string object_key(const ObjectRef& object) {
  return key_of({object.api_version, object.kind, object.ns, object.name, object.uid});
}

std::string_view to_string(EventType type) {
  return type == EventType::kWarning ? "Warning" : "Normal";
}

std::string micro_time(WallTime time) { return format_rfc3339(time, TimePrecision::kMicroseconds); }

json::Value to_json(const ObjectRef& object) {
  json::Value value = json::Value::object();
  const auto add = [&value](const char* name, const std::string& text) {
    if (!text.empty()) value[name] = text;
  };
  add("apiVersion", object.api_version);
  add("kind", object.kind);
  add("namespace", object.ns);
  add("name", object.name);
  add("uid", object.uid);
  return value;
}

json::Value series_of(const EventRecord& record) {
  return json::Value::object(
      {{"count", record.count}, {"lastObservedTime", micro_time(record.last)}});
}

}  // namespace

ObjectRef ref_to(const kube::Resource& resource, const kube::Meta& meta) {
  return {resource.api_version(), resource.kind, meta.ns, meta.name, meta.uid};
}

json::Value to_json(const EventRecord& record, std::string_view controller,
                    std::string_view instance) {
  const Event& event = record.event;
  json::Value value = json::Value::object({
      {"apiVersion", "events.k8s.io/v1"},
      {"kind", "Event"},
      {"metadata", json::Value::object({{"name", record.name}, {"namespace", record.ns()}})},
      {"eventTime", micro_time(record.first)},
      {"reportingController", controller},
      {"reportingInstance", instance},
      {"type", to_string(event.type)},
      {"reason", event.reason},
      {"action", event.action},
      {"note", event.note},
      {"regarding", to_json(event.regarding)},
  });
  if (event.related) value["related"] = to_json(*event.related);
  if (record.count > 1) value["series"] = series_of(record);
  return value;
}

json::Value series_patch(const EventRecord& record) {
  return json::Value::object({{"series", series_of(record)}});
}

EventSeries::EventSeries(const Clock& clock, Options options)
    : clock_(clock),
      options_(options),
      records_(options.memory),
      similar_(options.memory),
      budgets_(options.memory) {}

EventSeries::Observed EventSeries::observe(Event event) {
  const std::string similar_key =
      key_of({object_key(event.regarding), to_string(event.type), event.reason});
  const bool never_refused = event.type == EventType::kWarning && is_new(similar_key);
  std::string key;
  if (combined(similar_key, event.note)) {
    event.note = std::string(kCombined) + event.note;
    key = key_of({similar_key, kCombined});
  } else {
    key = key_of({similar_key, event.action, event.note,
                  event.related ? object_key(*event.related) : std::string()});
  }
  cut_text(event.note, kMaxNote);

  const TimePoint now = clock_.now();
  const WallTime wall_now = clock_.wall_now();
  Record* known = records_.find(key);
  const bool again = known != nullptr && now - (*known)->seen_at < options_.window &&
                     ((*known)->written > 0 || (*known)->queued);
  if (!again) {
    if (!spend(event) && !never_refused) {
      return {nullptr, true, !std::exchange(budget(event).refused, true)};
    }
    std::string name = new_name(event);
    auto record = std::make_shared<EventRecord>(EventRecord{.name = std::move(name),
                                                            .event = std::move(event),
                                                            .first = wall_now,
                                                            .last = wall_now,
                                                            .seen_at = now,
                                                            .written_at = now});
    return {records_.put(std::move(key), std::move(record))};
  }
  EventRecord& record = **known;
  ++record.count;
  record.last = wall_now;
  record.seen_at = now;
  const bool first_repetition = record.count == 2 && !record.queued;
  if (!first_repetition || !spend(record.event)) return {};
  record.written_at = now;
  return {*known};
}

std::vector<EventSeries::Record> EventSeries::due() {
  const TimePoint now = clock_.now();
  std::vector<Record> due;
  records_.erase_if([&](const Record& record) {
    const bool over = now - record->seen_at >= options_.window;
    if (record->queued) return false;
    if (record->written == 0 || !record->behind()) return over;
    if (now - record->written_at < options_.window) return false;
    if (!spend(record->event)) return false;
    record->written_at = now;
    due.push_back(record);
    return over;
  });
  return due;
}

std::vector<EventSeries::Record> EventSeries::behind() {
  std::vector<Record> behind;
  records_.erase_if([&](const Record& record) {
    if (record->written > 0 && record->behind() && !record->queued) behind.push_back(record);
    return false;
  });
  return behind;
}

bool EventSeries::is_new(const std::string& similar_key) {
  const Similar* const similar = similar_.find(similar_key);
  return similar == nullptr || clock_.now() - similar->since >= options_.similar_window;
}

bool EventSeries::combined(const std::string& similar_key, const std::string& note) {
  if (is_new(similar_key)) similar_.put(similar_key, {clock_.now(), {}});
  Similar* const similar = similar_.find(similar_key);
  const std::uint64_t hash = fnv1a_64(note);
  if (std::find(similar->notes.begin(), similar->notes.end(), hash) != similar->notes.end()) {
    return false;
  }
  if (similar->notes.size() >= options_.similar_limit) return true;
  similar->notes.push_back(hash);
  return false;
}

EventSeries::Budget& EventSeries::budget(const Event& event) {
  std::string key = key_of({object_key(event.regarding), to_string(event.type)});
  if (Budget* known = budgets_.find(key)) return *known;
  return budgets_.put(std::move(key), {options_.burst, clock_.now()});
}

bool EventSeries::spend(const Event& event) {
  Budget& budget = this->budget(event);
  const TimePoint now = clock_.now();
  const double refilled = std::chrono::duration<double>(now - budget.since) /
                          std::chrono::duration<double>(options_.refill);
  budget.left = std::min(options_.burst, budget.left + refilled);
  budget.since = now;
  // A refill in many small steps does not add up to a whole exactly.
  constexpr double kRounding = 1e-6;
  if (budget.left + kRounding < 1) return false;
  budget.left -= 1;
  budget.refused = false;
  return true;
}

// "NAME.<time in hex>", as other recorders name theirs. The time is never the same twice.
std::string EventSeries::new_name(const Event& event) {
  const auto now = static_cast<std::uint64_t>(clock_.wall_now().time_since_epoch().count());
  last_stamp_ = std::max(now, last_stamp_ + 1);
  const std::string stamp = fmt::format(".{:x}", last_stamp_);
  // Some kinds take names that an Event cannot have ("system:node").
  std::string name = is_dns1123_subdomain(event.regarding.name) ? event.regarding.name : "object";
  name.resize(std::min(name.size(), kMaxName - stamp.size()));
  while (name.ends_with('.') || name.ends_with('-')) name.pop_back();
  return name + stamp;
}

}  // namespace mainspring::control
