#include "control/spare_memory.h"

#include <malloc.h>

#include <ctime>

#include "base/time.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

constexpr Duration kPace = seconds(2);
// Of the processor's time between two times. To walk through the free pieces takes a few
// milliseconds.
constexpr Duration kWork = seconds(1);

Duration processor_time() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

}  // namespace

net::Task<Result<void>> give_back_spare_memory() {
  Duration last = processor_time(), before = last;
  while (true) {
    MS_CO_CHECK(co_await net::sleep(kPace));
    const Duration now = processor_time();
    // In the middle of a burst it would be asked for again at once.
    const bool calm = now - before < kPace / 10;
    before = now;
    if (!calm || now - last < kWork) continue;
    malloc_trim(0);
    last = processor_time();
  }
}

}  // namespace mainspring::control
