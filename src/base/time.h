// base/time.h
//
// The two kinds of time and their unit. `TimePoint` is monotonic: deadlines, ages and back-off are
// measured in it. `WallTime` is what people and APIs read; it can jump and is never used to wait.
#pragma once

#include <chrono>
#include <cstdint>

namespace mainspring {

using Duration = std::chrono::nanoseconds;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Time since an origin that only the Clock it came from knows.
struct MonotonicTag {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<MonotonicTag>;
  static constexpr bool is_steady = true;
};
using TimePoint = MonotonicTag::time_point;

// Time since the Unix epoch, UTC.
using WallTime = std::chrono::sys_time<Duration>;

}  // namespace mainspring
