#include "net/event_loop.h"

#include <boost/asio/post.hpp>

#include "net/asio_internal.h"

namespace mainspring::net {

EventLoop::EventLoop(Options options) : impl_(std::make_unique<Impl>(options.worker_threads)) {}

EventLoop::~EventLoop() {
  // What a timer owns may drop other timers when it is destroyed: one at a time, queue in order.
  while (!impl_->timers.empty()) const Action dropped = impl_->timers.take_first();
}

void EventLoop::post(Action action) { asio::post(impl_->io, std::move(action)); }

Executor::TimerId EventLoop::run_at(TimePoint due, Action action) {
  const TimerId id = impl_->timers.add(due, std::move(action));
  arm();
  return id;
}

void EventLoop::drop_timer(TimerId id) { impl_->timers.remove(id); }

void EventLoop::run_off_loop(Action work) { impl_->workers.submit(std::move(work)); }

void EventLoop::run() {
  impl_->io.restart();
  impl_->io.run();
}

// Posted rather than done at once, so that it cannot fall between restart() and run() and be lost.
void EventLoop::stop() {
  post([this] { leave(); });
}

void EventLoop::leave() { impl_->io.stop(); }

void EventLoop::arm() {
  Impl& impl = *impl_;
  if (impl.timers.empty()) return;
  const TimePoint due = impl.timers.next_due();
  if (impl.alarm_due && *impl.alarm_due <= due) return;
  impl.alarm_due = due;
  // SystemClock counts from the steady clock's own origin.
  impl.alarm.expires_at(std::chrono::steady_clock::time_point(due.time_since_epoch()));
  impl.alarm.async_wait([this](const boost::system::error_code& error) {
    if (!error) fire();
  });
}

void EventLoop::fire() {
  Impl& impl = *impl_;
  impl.alarm_due.reset();
  // Read once: actions that add timers due at once must not keep the sockets waiting.
  const TimePoint until = now();
  while (!impl.timers.empty() && impl.timers.next_due() <= until) impl.timers.take_first()();
  arm();
}

}  // namespace mainspring::net
