// slurm/alarm.h
//
// Sleeping until a time that others may move while we sleep. One task waits, anybody on the loop
// sets. At rest it costs one timer. Owned by who sleeps: the change cache has one for each of its
// turns.
#pragma once

#include "net/one_shot.h"

namespace mainspring::slurm {

class Alarm {
 public:
  static constexpr TimePoint kNever = TimePoint::max();

  // A task that waits looks at the new time at once.
  void set(TimePoint due);
  // Until the time that was set last has come. kCancelled if told to stop.
  net::Task<Result<void>> wait();

 private:
  TimePoint due_ = kNever;
  net::OneShot<net::Unit> changed_;
};

}  // namespace mainspring::slurm
