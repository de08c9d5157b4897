// control/event_recorder.h
//
// EventRecorder: tells people what a controller does, as Events (events.k8s.io/v1) on the object
// that it concerns: `kubectl describe` shows them.
//
//   recorder.event(ref_to(NodeSet::kResource, nodeset.meta), EventType::kWarning, "FailedDrain",
//                  "Draining", "node gpu-0 did not drain within 10 minutes");
//
// event() never waits and never fails: it takes note, and run() writes in the background. Events
// are for people, not for programs: repetitions are counted instead of repeated, floods are cut
// (control/event_series.h), and what cannot be written in the end is counted in metrics and logged.
// Events on objects whose namespace is going or gone are dropped without a word.
//
// One per process, owned by main; lives on the control loop. At shutdown: cancel run(), then
// flush().
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "control/event_series.h"
#include "kube/api.h"
#include "net/notify.h"

namespace mainspring::control {

using net::Task;

class EventRecorder {
 public:
  struct Options {
    std::string controller;  // A qualified name: "slinky.slurm.net/mainspring-operator".
    std::string instance;    // Which process: the pod's name.
    std::size_t queue = 1000;
    // For one event, before it is given up, on top of the client's own.
    int attempts = 5;
    Backoff::Options backoff{.first = seconds(1), .max = seconds(30)};
    EventSeries::Options series = {};
    Logger log = {};
    Metrics* metrics = nullptr;
  };
  // `client` must outlive it.
  EventRecorder(kube::Client& client, Options options);

  // `reason` and `action`: 1 to 128 bytes. A longer note is cut to 1024 bytes.
  void event(ObjectRef regarding, EventType type, std::string_view reason, std::string_view action,
             std::string note, std::optional<ObjectRef> related = std::nullopt);

  // Writes until cancelled.
  Task<Result<void>> run();

  // Writes what is left, once each, within `limit`; the rest is lost.
  Task<Result<void>> flush(Duration limit);

 private:
  using Record = EventSeries::Record;

  void enqueue(const Record& record);
  Record take();
  void lost(std::string_view why, const Event& event, bool tell, const Error* error = nullptr);
  Task<Result<void>> write_patiently(Record record);
  Task<Result<void>> write(Record record);
  Task<Result<void>> drain();
  void sweep();

  kube::Client& client_;
  Options options_;
  EventSeries series_;
  std::deque<Record> queue_;
  net::Notify wake_;
  TimePoint next_sweep_;
  bool full_ = false;
  Counter written_;
};

}  // namespace mainspring::control
