// slurm/governor.h
//
// Keeps us kind to one slurmrestd and the slurmctld behind it: how many requests may be under way,
// how many may begin in a second, and when to leave it alone. The number under way shrinks by half
// when answers get slow or fail and grows by one with as many good ones as it allows (AIMD), and
// with it, in proportion, how many may begin; after several failures in a row the circuit opens,
// calls fail at once, and one probe at a time finds out when the server is back. One per server,
// shared by every client of it in the process. Lives on the control loop. It does not know what a
// request is and how its answer is judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "net/executor.h"
#include "net/task.h"

namespace mainspring::slurm {

// Who goes first when there is a line. Writes and what somebody waits for never stand behind lists;
// yet every ninth place goes to who waits in a lower lane, so that a steady stream of urgent calls
// does not keep the others out for ever.
enum class Lane : std::uint8_t { kUrgent, kNormal, kBackground };

struct GovernorOptions {
  std::size_t most_at_once = 16;
  std::size_t least_at_once = 1;
  double most_per_second = 200;  // While most_at_once may be under way; less in proportion.
  // An answer to a small request that took this many times what such requests took at best of late
  // is a sign of trouble, if it took longer than `quick`. For who judges answers.
  double slow_times = 4;
  Duration quick = milliseconds(250);
  std::size_t failures_to_open = 5;  // In a row.
  Duration open_for = seconds(1);    // Then doubles up to open_at_most, with jitter.
  Duration open_at_most = seconds(30);
  Metrics* metrics = nullptr;
  std::string cluster;  // The label of the metrics, where there are several; "": none.
};

class Governor {
 public:
  // Leave to make one request. Give it back with how it went; dropped without a word it counts as
  // neither good nor bad.
  class Permit;
  enum class Outcome : std::uint8_t { kGood, kSlow, kFailed };

  // `random` and `executor` must outlive the governor and its permits.
  Governor(net::Executor& executor, Random& random, GovernorOptions options);
  // Who still waits gets kCancelled.
  ~Governor();
  Governor(const Governor&) = delete;
  Governor& operator=(const Governor&) = delete;

  // Waits its turn. kTransient at once, with how long, while the circuit is open.
  net::Task<Result<Permit>> enter(Lane lane);

  // Another server is behind it: where the circuit is open, the next call is the probe.
  void moved();

  bool open() const;  // The circuit: nothing goes through but a probe.
  std::size_t limit() const;
  std::size_t under_way() const;
  std::size_t waiting() const;
  const GovernorOptions& options() const;

 private:
  struct State;
  class Place;
  std::shared_ptr<State> state_;
};

class Governor::Permit {
 public:
  Permit(Permit&& other) noexcept;
  Permit& operator=(Permit&& other) noexcept;
  ~Permit();
  void done(Outcome outcome);

 private:
  friend class Governor;
  Permit(std::shared_ptr<State> state, bool probe);
  void drop();

  std::shared_ptr<State> state_;  // Null once given back.
  TimePoint began_;
  bool probe_ = false;
};

}  // namespace mainspring::slurm
