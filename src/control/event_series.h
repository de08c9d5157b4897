// control/event_series.h
//
// What becomes of the events that controllers report: which are one event that happens again, which
// are one too many. Pure but for the clock that is passed in; the EventRecorder owns it and does
// the writing. Lives on the control loop; its memory is bounded.
//
// The same event (object, type, reason, action, note) within `window` of the last time becomes a
// series: one object in the API whose count goes up. It is written at the first repetition, then at
// most once a `window`. More than `similar_limit` different notes on one object for one reason
// within `similar_window` are written as one combined series. And each object has a budget of
// writes, so that one that fails in a loop does not fill the API server: a burst, then one at a
// time. Warnings have one of their own, and the first for a reason within `similar_window` is never
// refused: that something is wrong must not get lost among what goes well, or what else is wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "control/lru_map.h"
#include "json/value.h"
#include "kube/meta.h"
#include "kube/resource.h"

namespace mainspring::control {

// A corev1.ObjectReference.
struct ObjectRef {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;

  bool operator==(const ObjectRef&) const = default;
};

ObjectRef ref_to(const kube::Resource& resource, const kube::Meta& meta);

enum class EventType { kNormal, kWarning };

struct Event {
  ObjectRef regarding;
  EventType type = EventType::kNormal;
  std::string reason;  // Why, in one CamelCase word: "FailedDrain".
  std::string action;  // What was being done: "Draining".
  std::string note;    // For people.
  kube::Rare<ObjectRef> related;
};

// One Event object of the API.
struct EventRecord {
  std::string name;
  Event event;
  WallTime first;
  WallTime last;
  std::int64_t count = 1;
  // The count that the API server has; 0 while the object is not created.
  std::int64_t written = 0;
  bool queued = false;  // The recorder's.
  TimePoint seen_at;
  TimePoint written_at;

  // Where the object is kept: cluster-wide kinds have theirs in "default".
  std::string ns() const { return event.regarding.ns.empty() ? "default" : event.regarding.ns; }
  bool behind() const { return count > written; }
};

json::Value to_json(const EventRecord& record, std::string_view controller,
                    std::string_view instance);
// The merge patch that brings the count up to date; nothing else of an Event may change.
json::Value series_patch(const EventRecord& record);

class EventSeries {
 public:
  struct Options {
    Duration window = minutes(6);
    std::size_t similar_limit = 10;
    Duration similar_window = minutes(10);
    double burst = 25;
    Duration refill = minutes(5);  // For one more write.
    std::size_t memory = 4096;     // Events, kinds of events, and objects to remember.
  };
  using Record = std::shared_ptr<EventRecord>;

  EventSeries(const Clock& clock, Options options);

  struct Observed {
    Record write;  // To be written now; null where there is nothing to write yet.
    // A new event for which the object's budget is used up: it is lost. `first`: since there was
    // budget for one.
    bool refused = false;
    bool first_refusal = false;
  };
  Observed observe(Event event);

  // What has waited long enough to be written. Ends series that are over.
  std::vector<Record> due();
  // All that the API server has not heard of.
  std::vector<Record> behind();

  bool empty() const { return records_.empty(); }

 private:
  struct Similar {
    TimePoint since;
    std::vector<std::uint64_t> notes;  // Digests; few.
  };
  struct Budget {
    double left;
    TimePoint since;
    bool refused = false;
  };

  // Whether this note is one too many.
  bool combined(const std::string& similar_key, const std::string& note);
  // Whether there was no event for this reason for a while.
  bool is_new(const std::string& similar_key);
  Budget& budget(const Event& event);
  bool spend(const Event& event);
  std::string new_name(const Event& event);

  const Clock& clock_;
  Options options_;
  LruMap<Record> records_;
  LruMap<Similar> similar_;
  LruMap<Budget> budgets_;
  std::uint64_t last_stamp_ = 0;
};

}  // namespace mainspring::control
