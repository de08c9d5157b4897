#include "net/signals.h"

#include <boost/asio/signal_set.hpp>
#include <deque>

#include "net/asio_internal.h"
#include "net/notify.h"

namespace mainspring::net {

struct Signals::State : std::enable_shared_from_this<State> {
  explicit State(asio::io_context& io) : set(io) {}

  void listen() {
    set.async_wait([self = shared_from_this()](const boost::system::error_code& error, int number) {
      if (error) return;
      self->arrived.push_back(number);
      self->changed.notify_all();
      self->listen();
    });
  }

  asio::signal_set set;
  std::deque<int> arrived;
  Notify changed;
  bool closed = false;
};

Signals::Signals(EventLoop& loop, const std::vector<int>& numbers)
    : state_(std::make_shared<State>(loop.impl().io)) {
  for (const int number : numbers) state_->set.add(number);
  state_->listen();
}

Signals::~Signals() {
  state_->closed = true;
  // Both: clear() gives the signals back but leaves the wait, which holds the state, behind.
  boost::system::error_code ignored;
  state_->set.clear(ignored);
  state_->set.cancel(ignored);
  state_->changed.notify_all();
}

Task<Result<int>> Signals::next() {
  const auto state = state_;
  while (state->arrived.empty()) {
    if (state->closed) co_return fail(Code::kCancelled, "nobody listens for signals any more");
    MS_CO_CHECK(co_await state->changed.wait());
  }
  const int number = state->arrived.front();
  state->arrived.pop_front();
  co_return number;
}

}  // namespace mainspring::net
