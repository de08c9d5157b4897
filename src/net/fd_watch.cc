#include "net/fd_watch.h"

#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "net/asio_internal.h"
#include "net/os_error.h"

namespace mainspring::net {

struct FdWatch::Impl {
  explicit Impl(asio::posix::stream_descriptor from) : descriptor(std::move(from)) {}
  asio::posix::stream_descriptor descriptor;
};

FdWatch::FdWatch(EventLoop& loop)
    : loop_(loop), impl_(std::make_unique<Impl>(asio::posix::stream_descriptor(loop.impl().io))) {}

Result<std::shared_ptr<FdWatch>> FdWatch::own(EventLoop& loop, int fd) {
  std::shared_ptr<FdWatch> watch(new FdWatch(loop));
  watch->fd_ = fd;
  watch->attach();
  if (watch->closed()) return fail(*watch->why_closed_);
  return watch;
}

FdWatch::~FdWatch() { close(); }

void FdWatch::close() {
  if (closed()) return;
  const int fd = std::exchange(fd_, -1);
  boost::system::error_code ignored;
  if (attached_) {
    impl_->descriptor.close(ignored);
  } else {
    ::close(fd);
  }
}

void FdWatch::attach() {
  boost::system::error_code error;
  impl_->descriptor.assign(fd_, error);
  attached_ = !error;
  if (attached_) return;
  close();
  why_closed_ = os_error(error.value());
}

void FdWatch::quiet() {
  if (!attached_ || closed() || side(For::kRead).armed || side(For::kWrite).armed) return;
  impl_->descriptor.release();
  attached_ = false;
}

void FdWatch::arm(For what) {
  if (side(what).armed) return;
  side(what).armed = true;
  const auto event = what == For::kRead ? asio::posix::stream_descriptor::wait_read
                                        : asio::posix::stream_descriptor::wait_write;
  impl_->descriptor.async_wait(event,
                               [self = shared_from_this(), what](const boost::system::error_code&) {
                                 self->side(what).armed = false;
                                 self->wake(what);
                               });
}

// Resumes inside the caller, which must be the loop itself.
void FdWatch::wake(For what) {
  if (auto waiter = std::exchange(side(what).waiter, nullptr)) waiter.resume();
}

FdWatch::Awaiter::~Awaiter() {
  // Only set if the waiting task is destroyed while it waits.
  if (watch_ && on_cancel_) watch_->side(what_).waiter = nullptr;
}

bool FdWatch::Awaiter::suspend(std::coroutine_handle<> self, CancelScope* scope) {
  scope_ = scope;
  if (!watch_->attached_ && !watch_->closed()) watch_->attach();
  if (watch_->closed() || (scope != nullptr && scope->cancelled())) return false;
  watch_->side(what_).waiter = self;
  watch_->arm(what_);
  on_cancel_.emplace(scope, [watch = watch_.get(), what = what_] {
    watch->loop_.post([self = watch->shared_from_this(), what] { self->wake(what); });
  });
  return true;
}

Result<void> FdWatch::Awaiter::await_resume() const {
  if (scope_ != nullptr && scope_->cancelled()) return fail(*scope_->reason());
  if (watch_->closed()) {
    return fail(watch_->why_closed_.value_or(Error(Code::kCancelled, "the socket was closed")));
  }
  return {};
}

}  // namespace mainspring::net
