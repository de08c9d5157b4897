#include "base/clock.h"

#include <time.h>

namespace mainspring {

TimePoint SystemClock::now() const {
  // Unlike the monotonic clock this one counts while the machine is suspended: a leader that wakes
  // up must see that its lease has run out.
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return TimePoint(seconds(time.tv_sec) + nanoseconds(time.tv_nsec));
}

WallTime SystemClock::wall_now() const {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace mainspring
