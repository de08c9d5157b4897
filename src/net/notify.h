// net/notify.h
//
// Notify: several tasks wait until somebody says that something changed, then look again for
// themselves. Lives on one loop; owned by whatever they wait for. Waiting while it is destroyed is
// allowed and ends with kCancelled.
#pragma once

#include <utility>
#include <vector>

#include "net/one_shot.h"

namespace mainspring::net {

class Notify {
 public:
  Notify() = default;
  ~Notify() {
    for (const auto& waiter : waiters_) {
      waiter.set(fail(Code::kCancelled, "what was waited for is gone"));
    }
  }
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  // Until the next notify_all(). One that came before is not remembered.
  Task<Result<void>> wait() {
    std::erase_if(waiters_, [](const auto& waiter) { return waiter.is_set(); });
    const OneShot<Unit> woken;
    waiters_.push_back(woken);
    MS_CO_CHECK(co_await woken.wait());
    co_return Result<void>();
  }

  void notify_all() {
    for (const auto& waiter : std::exchange(waiters_, {})) waiter.set(Unit{});
  }

 private:
  std::vector<OneShot<Unit>> waiters_;
};

}  // namespace mainspring::net
