// net/cancel.h
//
// CancelScope: the right to tell a piece of work to stop. Every task runs in a scope and hands it
// to the tasks it awaits; whatever suspends (a timer, a socket) listens to its scope and, when the
// scope is cancelled, returns the scope's reason as an ordinary error. Scopes nest: cancelling one
// cancels those inside it, never the one around it. Lives on one loop: no locks.
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"

namespace mainspring::net {

class CancelScope {
 public:
  CancelScope() : CancelScope(nullptr) {}
  // Cancelled together with `parent`, which must outlive this.
  explicit CancelScope(CancelScope* parent);
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  // The first reason stays; later calls do nothing. Listeners run inside the call.
  void cancel(Error why = Error(Code::kCancelled, "cancelled"));

  bool cancelled() const { return reason_.has_value(); }
  const std::optional<Error>& reason() const { return reason_; }

  // Calls `on_cancel` at most once, when `scope` (which may be null) is cancelled while this lives.
  // A scope that is cancelled already calls nothing: look at cancelled() first.
  class Listener {
   public:
    Listener(CancelScope* scope, std::function<void()> on_cancel);
    ~Listener() { unlink(); }
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

   private:
    friend class CancelScope;
    void unlink();

    CancelScope* scope_ = nullptr;  // Null when not linked.
    Listener* previous_ = nullptr;
    Listener* next_ = nullptr;
    std::function<void()> on_cancel_;
  };

 private:
  std::optional<Error> reason_;
  Listener* first_ = nullptr;
  std::optional<Listener> parent_link_;
};

}  // namespace mainspring::net
