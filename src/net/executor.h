// net/executor.h
//
// Where coroutines run: a queue of actions and a set of timers on one thread. Everything that waits
// waits here, so replacing the executor replaces time itself: EventLoop is the real one,
// VirtualExecutor the one of tests and simulations. Owned by main or by the test.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/clock.h"

namespace mainspring::net {

class Executor {
 public:
  using Action = std::function<void()>;
  enum class TimerId : std::uint64_t {};

  virtual ~Executor() = default;

  virtual const Clock& clock() const = 0;
  TimePoint now() const { return clock().now(); }

  // Runs `action` on the loop's thread after everything already queued. Never runs it inside the
  // call, so the caller's state is settled when it runs. Safe from any thread.
  virtual void post(Action action) = 0;

  // Runs `action` once, at `due` or soon after. Loop thread only, as is drop_timer, after which a
  // timer that has not run yet never does; dropping one that has run is allowed.
  virtual TimerId run_at(TimePoint due, Action action) = 0;
  virtual void drop_timer(TimerId id) = 0;

  // Runs `work`, which may block, where it holds up nobody: on another thread if this executor has
  // any. run_blocking (net/run_blocking.h) waits for its answer.
  virtual void run_off_loop(Action work) { post(std::move(work)); }
};

// A pending run_at that is dropped when this goes out of scope.
class Timer {
 public:
  Timer(Executor& executor, Duration delay, Executor::Action action)
      : executor_(executor), id_(executor.run_at(executor.now() + delay, std::move(action))) {}
  ~Timer() { executor_.drop_timer(id_); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  Executor& executor_;
  Executor::TimerId id_;
};

}  // namespace mainspring::net
