#include "base/backoff.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace mainspring {
namespace {

// NaN counts as `low`.
double clamp(double value, double low, double high) {
  return value >= low ? std::min(value, high) : low;
}

// Without the undefined conversion of a double that the integer cannot hold.
Duration scaled(Duration delay, double factor, Duration limit) {
  const double grown = static_cast<double>(delay.count()) * factor;
  if (grown >= static_cast<double>(limit.count())) return limit;
  return Duration(static_cast<Duration::rep>(grown));
}

}  // namespace

Backoff::Backoff(Options options) : options_(options) {
  options_.first = std::max(options_.first, Duration::zero());
  options_.max = std::max(options_.max, options_.first);
  options_.factor = clamp(options_.factor, 1.0, std::numeric_limits<double>::max());
  options_.jitter = clamp(options_.jitter, 0.0, 1.0);
  delay_ = options_.first;
}

Duration Backoff::next(Random& random) {
  const Duration delay = scaled(delay_, 1.0 - options_.jitter * random.fraction(), delay_);
  delay_ = scaled(delay_, options_.factor, options_.max);
  if (attempts_ < std::numeric_limits<int>::max()) ++attempts_;
  return delay;
}

void Backoff::reset() {
  delay_ = options_.first;
  attempts_ = 0;
}

}  // namespace mainspring
