#include "net/cancel.h"

namespace mainspring::net {

CancelScope::CancelScope(CancelScope* parent) {
  if (parent == nullptr) return;
  if (parent->cancelled()) {
    reason_ = parent->reason_;
    return;
  }
  parent_link_.emplace(parent, [this, parent] { cancel(*parent->reason_); });
}

CancelScope::~CancelScope() {
  while (first_ != nullptr) first_->unlink();
}

void CancelScope::cancel(Error why) {
  if (reason_) return;
  reason_ = std::move(why);
  // A listener may destroy others, or this scope's last user: take them one at a time from the
  // front, and never look at one after it was called.
  while (first_ != nullptr) {
    Listener* listener = first_;
    listener->unlink();
    const auto on_cancel = std::exchange(listener->on_cancel_, nullptr);
    on_cancel();
  }
}

CancelScope::Listener::Listener(CancelScope* scope, std::function<void()> on_cancel)
    : on_cancel_(std::move(on_cancel)) {
  if (scope == nullptr || scope->cancelled()) return;
  scope_ = scope;
  next_ = scope->first_;
  if (next_ != nullptr) next_->previous_ = this;
  scope->first_ = this;
}

void CancelScope::Listener::unlink() {
  if (scope_ == nullptr) return;
  if (previous_ != nullptr) {
    previous_->next_ = next_;
  } else {
    scope_->first_ = next_;
  }
  if (next_ != nullptr) next_->previous_ = previous_;
  scope_ = nullptr;
  previous_ = nullptr;
  next_ = nullptr;
}

}  // namespace mainspring::net
