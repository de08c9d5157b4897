// net/fd_watch.h
//
// A file descriptor that tasks can wait on. It owns the descriptor and knows nothing of what is
// read or written: callers try their system call first and wait here when it would block. So no
// buffer of theirs is ever in the hands of the system while they are suspended, and a task can be
// destroyed at any time. Lives on its loop; held by shared_ptr because a wait may outlive the
// object above.
//
// A wait may end early without cause: try the call again and, if it still would block, wait again.
#pragma once

#include <array>
#include <coroutine>
#include <memory>
#include <optional>

#include "net/event_loop.h"
#include "net/task.h"

namespace mainspring::net {

class FdWatch : public std::enable_shared_from_this<FdWatch> {
 public:
  enum class For { kRead, kWrite };

  // Takes over `fd`, which must be non-blocking, and closes it on failure.
  static Result<std::shared_ptr<FdWatch>> own(EventLoop& loop, int fd);
  ~FdWatch();
  FdWatch(const FdWatch&) = delete;
  FdWatch& operator=(const FdWatch&) = delete;

  // -1 once closed.
  int fd() const { return fd_; }
  bool closed() const { return fd_ < 0; }
  // Waits end with kCancelled.
  void close();

  // Until the next wait nothing that happens here wakes the loop, as it otherwise does even when
  // nobody waits. Also forgets a wait for writability, which else would wake each later wait for
  // bytes once in vain. Does nothing while somebody waits.
  void quiet();

  class Awaiter {
   public:
    Awaiter(std::shared_ptr<FdWatch> watch, For what) : watch_(std::move(watch)), what_(what) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter();

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
      return suspend(self, self.promise().context.scope);
    }
    Result<void> await_resume() const;

   private:
    bool suspend(std::coroutine_handle<> self, CancelScope* scope);

    std::shared_ptr<FdWatch> watch_;
    For what_;
    CancelScope* scope_ = nullptr;
    std::optional<CancelScope::Listener> on_cancel_;
  };
  // `Result<void> ready = co_await watch->ready(FdWatch::For::kRead);` One waiter for each.
  Awaiter ready(For what) { return Awaiter(shared_from_this(), what); }

 private:
  struct Side {
    std::coroutine_handle<> waiter;
    bool armed = false;  // The system has been asked and has not answered yet.
  };
  struct Impl;

  explicit FdWatch(EventLoop& loop);
  Side& side(For what) { return sides_[what == For::kRead ? 0 : 1]; }
  // Closes the descriptor where it fails.
  void attach();
  void arm(For what);
  void wake(For what);

  EventLoop& loop_;
  int fd_ = -1;
  bool attached_ = false;            // The loop is woken by what happens here.
  std::optional<Error> why_closed_;  // Unset: by a call of close().
  std::array<Side, 2> sides_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mainspring::net
