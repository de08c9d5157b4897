// http/lazy_deadline.h
//
// One time limit that moves often: a connection's. Moving it later costs a store, not a timer,
// because a timer that fires too early only looks again. Owned by the connection whose scope it
// cancels.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "net/cancel.h"
#include "net/executor.h"

namespace mainspring::http {

class LazyDeadline {
 public:
  // Both must outlive this.
  LazyDeadline(net::Executor& executor, net::CancelScope& scope)
      : executor_(executor), scope_(scope) {}
  ~LazyDeadline() {
    if (timer_) executor_.drop_timer(*timer_);
  }
  LazyDeadline(const LazyDeadline&) = delete;
  LazyDeadline& operator=(const LazyDeadline&) = delete;

  // Cancels the scope with kTimeout unless set or cleared again within `limit`. `what` must be a
  // literal.
  void set(Duration limit, std::string_view what) {
    due_ = executor_.now() + limit;
    what_ = what;
    if (!timer_ || timer_due_ > *due_) arm(*due_);
  }
  void clear() { due_.reset(); }

 private:
  void arm(TimePoint at) {
    if (timer_) executor_.drop_timer(*timer_);
    timer_due_ = at;
    timer_ = executor_.run_at(at, [this] { fire(); });
  }
  void fire() {
    timer_.reset();
    if (!due_) return;
    if (executor_.now() < *due_) return arm(*due_);
    scope_.cancel(Error(Code::kTimeout, "timed out while " + std::string(what_)));
  }

  net::Executor& executor_;
  net::CancelScope& scope_;
  std::optional<TimePoint> due_;
  TimePoint timer_due_;
  std::optional<net::Executor::TimerId> timer_;
  std::string_view what_;
};

}  // namespace mainspring::http
