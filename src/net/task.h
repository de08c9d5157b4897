// net/task.h
//
// Task<T>: a coroutine that runs on an executor when it is awaited, and not before.
//
// A task inherits the executor and the cancel scope of whoever awaits it, so neither is passed by
// hand. It is owned by its awaiter: destroying an unfinished task destroys everything it is waiting
// for, and nothing of it runs afterwards. A task that can fail or wait is a Task<Result<T>>;
// cancellation is an error like any other. An exception that leaves a task ends the process.
//
// Rules: parameters by value (a reference dies at the first suspension); no capturing lambda as a
// coroutine; one task runs on one loop for its whole life.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/result.h"
#include "net/cancel.h"
#include "net/executor.h"

namespace mainspring::net {

// What a running task knows about its surroundings.
struct Context {
  Executor* executor = nullptr;
  CancelScope* scope = nullptr;
};

namespace detail {

struct PromiseBase {
  Context context;
  std::coroutine_handle<> continuation = std::noop_coroutine();

  struct Final {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      return self.promise().continuation;
    }
    void await_resume() const noexcept {}
  };

  std::suspend_always initial_suspend() const noexcept { return {}; }
  Final final_suspend() const noexcept { return {}; }
  [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
};

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  void return_void() const noexcept {}
  void take() const noexcept {}
};

}  // namespace detail

template <class T>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::Promise<T> {
    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
  };

  Task(Task&& other) noexcept
      : coroutine_(std::exchange(other.coroutine_, nullptr)),
        scope_(std::exchange(other.scope_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_) coroutine_.destroy();
  }

  // Runs inside `scope` instead of the awaiter's own. The scope must outlive the task.
  Task in(CancelScope& scope) && {
    scope_ = &scope;
    return std::move(*this);
  }

  class Awaiter {
   public:
    Awaiter(std::coroutine_handle<promise_type> coroutine, CancelScope* scope)
        : coroutine_(coroutine), scope_(scope) {}
    bool await_ready() const noexcept { return false; }
    template <class Awaiting>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Awaiting> awaiting) noexcept {
      auto& promise = coroutine_.promise();
      promise.continuation = awaiting;
      promise.context = awaiting.promise().context;
      if (scope_ != nullptr) promise.context.scope = scope_;
      return coroutine_;
    }
    T await_resume() { return coroutine_.promise().take(); }

   private:
    std::coroutine_handle<promise_type> coroutine_;
    CancelScope* scope_;
  };
  Awaiter operator co_await() && { return Awaiter(coroutine_, scope_); }

 private:
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
  CancelScope* scope_ = nullptr;
};

// `const Context context = co_await current_context();`
struct CurrentContext {
  Context context;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> self) noexcept {
    context = self.promise().context;
    return false;
  }
  Context await_resume() const noexcept { return context; }
};
inline CurrentContext current_context() { return {}; }

// The outermost frame of a chain of tasks: started by hand, told where it runs. Destroying it
// destroys the chain. TaskGroup and the executors' run() are built on it; use those.
class RootTask {
 public:
  struct promise_type {
    Context context;
    RootTask get_return_object() {
      return RootTask(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }
  };

  RootTask(RootTask&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  RootTask& operator=(RootTask&&) = delete;
  ~RootTask() {
    if (coroutine_) coroutine_.destroy();
  }

  void start(Context context) {
    coroutine_.promise().context = context;
    coroutine_.resume();
  }
  bool done() const { return coroutine_.done(); }

 private:
  explicit RootTask(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

// A root that stores what `task` returns. `out` must outlive it.
template <class T>
RootTask store_result(Task<T> task, std::optional<T>* out) {
  out->emplace(co_await std::move(task));
}

}  // namespace mainspring::net
