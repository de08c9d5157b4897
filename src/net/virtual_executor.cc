#include "net/virtual_executor.h"

#include <algorithm>

namespace mainspring::net {

void VirtualExecutor::run_ready() {
  while (!ready_.empty()) {
    const Action action = std::move(ready_.front());
    ready_.pop_front();
    action();
  }
}

bool VirtualExecutor::step() {
  run_ready();
  if (timers_.empty()) return false;
  const TimePoint due = timers_.next_due();
  const Action action = timers_.take_first();
  clock_.advance(std::max(Duration(0), due - clock_.now()));
  action();
  run_ready();
  return true;
}

void VirtualExecutor::advance(Duration by) {
  const TimePoint end = clock_.now() + by;
  run_ready();
  while (!timers_.empty() && timers_.next_due() <= end) step();
  clock_.advance(std::max(Duration(0), end - clock_.now()));
}

}  // namespace mainspring::net
