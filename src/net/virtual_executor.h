// net/virtual_executor.h
//
// An executor whose time stands still until there is nothing left to do, and then jumps to the next
// timer. An hour of back-off takes microseconds, and the same program gives the same run. For tests
// and simulations; single-threaded.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "net/task.h"
#include "net/timer_queue.h"

namespace mainspring::net {

class VirtualExecutor final : public Executor {
 public:
  const Clock& clock() const override { return clock_; }
  void post(Action action) override { ready_.push_back(std::move(action)); }
  TimerId run_at(TimePoint due, Action action) override {
    return timers_.add(due, std::move(action));
  }
  void drop_timer(TimerId id) override { timers_.remove(id); }

  // Runs what is ready now. Time does not move.
  void run_ready();
  // Runs everything due until `by` from now, each at its own time, and leaves the clock there.
  void advance(Duration by);
  // Moves to the next timer and runs it; false if there is none.
  bool step();

  // Runs `task` to its end, letting time jump as needed. kInternal if it waits for something that
  // can never happen; it is then destroyed.
  template <class T>
  Result<T> run(Task<Result<T>> task, CancelScope* scope = nullptr) {
    std::optional<Result<T>> result;
    RootTask root = store_result(std::move(task), &result);
    root.start(Context{this, scope});
    run_ready();
    while (!root.done() && step()) {
    }
    if (!result) return fail(Code::kInternal, "the task waits for something that never happens");
    return *std::move(result);
  }

 private:
  ManualClock clock_;
  std::deque<Action> ready_;
  TimerQueue timers_;
};

}  // namespace mainspring::net
