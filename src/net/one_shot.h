// net/one_shot.h
//
// OneShot<T>: the bridge from a callback to a coroutine. Somebody calls set() once, on the loop;
// one task awaits wait(). Copies share the same slot, so a callback can keep one and outlive the
// waiter harmlessly. The waiter is resumed from the loop's queue, never inside set().
#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <utility>

#include "net/task.h"

namespace mainspring::net {

template <class T>
class OneShot {
  struct Slot {
    std::optional<Result<T>> value;
    std::coroutine_handle<> waiter;
    Executor* executor = nullptr;
  };

  static void fill(const std::shared_ptr<Slot>& slot, Result<T> value) {
    if (slot->value) return;
    slot->value.emplace(std::move(value));
    if (!slot->waiter) return;
    slot->executor->post([slot] {
      // Null if the waiting task was destroyed in the meantime.
      if (auto waiter = std::exchange(slot->waiter, nullptr)) waiter.resume();
    });
  }

 public:
  OneShot() : slot_(std::make_shared<Slot>()) {}

  // The first value stays; later calls, and calls after a cancelled wait, do nothing.
  void set(Result<T> value) const { fill(slot_, std::move(value)); }
  bool is_set() const { return slot_->value.has_value(); }

  class Awaiter {
   public:
    explicit Awaiter(std::shared_ptr<Slot> slot) : slot_(std::move(slot)) {}
    Awaiter(const Awaiter&) = delete;
    Awaiter& operator=(const Awaiter&) = delete;
    ~Awaiter() { slot_->waiter = nullptr; }

    bool await_ready() const { return slot_->value.has_value(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> self) {
      const Context context = self.promise().context;
      if (context.scope != nullptr && context.scope->cancelled()) {
        slot_->value.emplace(fail(*context.scope->reason()));
        return false;
      }
      slot_->executor = context.executor;
      slot_->waiter = self;
      on_cancel_.emplace(context.scope, [slot = slot_, scope = context.scope] {
        fill(slot, fail(*scope->reason()));
      });
      return true;
    }
    Result<T> await_resume() { return std::move(*slot_->value); }

   private:
    std::shared_ptr<Slot> slot_;
    std::optional<CancelScope::Listener> on_cancel_;
  };
  // Awaitable once: `Result<T> value = co_await one_shot.wait();`
  Awaiter wait() const { return Awaiter(slot_); }

 private:
  std::shared_ptr<Slot> slot_;
};

struct Unit {
  bool operator==(const Unit&) const = default;
};

}  // namespace mainspring::net
