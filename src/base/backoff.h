// base/backoff.h
//
// How long to wait before trying again: longer each time, up to a limit, with chance mixed in so
// that many that failed together do not come back together. A value, owned by whatever retries. It
// does not wait and does not know what is retried.
#pragma once

#include "base/random.h"
#include "base/time.h"

namespace mainspring {

class Backoff {
 public:
  struct Options {
    Duration first = milliseconds(100);
    Duration max = seconds(30);
    double factor = 2.0;
    // The share of a delay that chance may take away, 0 to 1. Taken away, not added: `max` holds.
    double jitter = 0.5;
  };

  // Options that make no sense are moved to the nearest that do: no negative delay, `max` at least
  // `first`, a factor of at least 1, a jitter from 0 to 1.
  explicit Backoff(Options options);
  Backoff() : Backoff(Options()) {}

  // The delay before the next attempt.
  Duration next(Random& random);

  // After a success: the next delay is the first one again.
  void reset();

  // Delays handed out since the start or the last reset.
  int attempts() const { return attempts_; }

 private:
  Options options_;
  Duration delay_;
  int attempts_ = 0;
};

}  // namespace mainspring
