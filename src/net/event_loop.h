// net/event_loop.h
//
// The real executor: one thread that waits for sockets, timers, signals and posted actions. Owned
// by main, one per thread (control loop, serving loop). Streams, listeners and task groups made on
// a loop must be gone before it is. Only post() and stop() may be called from other threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "net/task.h"

namespace mainspring::net {

class EventLoop final : public Executor {
 public:
  struct Options {
    // At most this many threads for run_off_loop; none is started before it is needed.
    std::size_t worker_threads = 4;
  };
  EventLoop() : EventLoop(Options{.worker_threads = 4}) {}
  explicit EventLoop(Options options);
  ~EventLoop() override;
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  const Clock& clock() const override { return clock_; }
  void post(Action action) override;
  TimerId run_at(TimePoint due, Action action) override;
  void drop_timer(TimerId id) override;
  void run_off_loop(Action work) override;

  // Makes the calling thread the loop's thread until stop().
  void run();
  // Ends run(), or the next one if none is under way. What waits stays as it is. Any thread.
  void stop();

  // Drives `task` to its end on the calling thread, with everything else on the loop. kCancelled if
  // stop() comes first; the task is then destroyed.
  template <class T>
  Result<T> run(Task<Result<T>> task, CancelScope* scope = nullptr) {
    std::optional<Result<T>> result;
    const RootTask root = start(store_and_leave(std::move(task), &result, this), scope);
    if (!result) run();
    if (!result) return fail(Code::kCancelled, "the event loop was stopped");
    return *std::move(result);
  }

  // For the files of this room that wait on descriptors (net/asio_internal.h).
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  template <class T>
  static RootTask store_and_leave(Task<T> task, std::optional<T>* out, EventLoop* loop) {
    out->emplace(co_await std::move(task));
    loop->leave();
  }
  RootTask start(RootTask root, CancelScope* scope) {
    root.start(Context{this, scope});
    return root;
  }
  void leave();
  void arm();
  void fire();

  SystemClock clock_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainspring::net
