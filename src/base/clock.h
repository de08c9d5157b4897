// base/clock.h
//
// The only way to ask what time it is. Handed down from main (SystemClock) or from a simulation
// (ManualClock), so that every wait can be replayed. Thread-safe to read.
#pragma once

#include <atomic>

#include "base/time.h"

namespace mainspring {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
  virtual WallTime wall_now() const = 0;
};

// The machine's clocks.
class SystemClock final : public Clock {
 public:
  TimePoint now() const override;
  WallTime wall_now() const override;
};

// Stands still until it is told to move. Wall time moves with it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(WallTime start = WallTime(seconds(1'700'000'000))) : start_(start) {}

  TimePoint now() const override { return TimePoint(Duration(elapsed_.load())); }
  WallTime wall_now() const override { return start_ + Duration(elapsed_.load()); }

  void advance(Duration by) { elapsed_ += by.count(); }

 private:
  WallTime start_;
  std::atomic<Duration::rep> elapsed_ = 0;
};

}  // namespace mainspring
