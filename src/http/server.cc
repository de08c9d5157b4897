#include "http/server.h"

#include <algorithm>

#include "http/server_connection.h"
#include "http/server_state.h"
#include "http/status.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

// Out of descriptors, most likely: wait for connections to end rather than spin.
constexpr Duration kAcceptRetry = milliseconds(50);

Task<Result<void>> serve_connection(ServerState* state, std::unique_ptr<net::Stream> stream) {
  --state->starting;
  const net::Context context = co_await net::current_context();
  net::CancelScope scope(context.scope);
  ServerConnection connection(state, std::move(stream), &scope);
  // How one client's connection ended is no concern of the others.
  (void)co_await connection.run().in(scope);
  co_return Result<void>();
}

Task<Result<void>> wait_for_room(ServerState* state) {
  while (state->connections.size() + state->starting >= state->options.max_connections) {
    const auto idle = std::find_if(state->connections.begin(), state->connections.end(),
                                   [](const ServerConnection* c) { return c->idle(); });
    if (idle != state->connections.end()) (*idle)->close_idle();
    MS_CO_CHECK(co_await state->room_changed.wait());
  }
  co_return Result<void>();
}

Task<Result<void>> accept_all(ServerState* state, net::Listener* listener,
                              net::TaskGroup* connections) {
  for (;;) {
    auto stream = co_await listener->accept();
    if (stream) {
      MS_CO_CHECK(co_await wait_for_room(state));
      ++state->starting;
      connections->spawn(serve_connection(state, *std::move(stream)));
    } else if (stream.error().code() == Code::kTransient) {
      MS_CO_CHECK(co_await net::sleep(kAcceptRetry));
    } else {
      co_return fail(std::move(stream).error());
    }
  }
}

// Keeps the server's list of accepting scopes right also when serve() is destroyed half-way.
class Registration {
 public:
  Registration(std::list<net::CancelScope*>& list, net::CancelScope* scope)
      : list_(list), place_(list.insert(list.end(), scope)) {}
  ~Registration() { list_.erase(place_); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

 private:
  std::list<net::CancelScope*>& list_;
  std::list<net::CancelScope*>::iterator place_;
};

}  // namespace

void ServerState::format_date(WallTime now) {
  date_from = std::chrono::floor<seconds>(now);
  date_text = format_http_date(now);
}

Server::Server(net::Executor& executor, Options options, Router router)
    : state_(std::make_unique<ServerState>(executor, std::move(options), std::move(router))) {}
Server::~Server() = default;

Task<Result<void>> Server::serve(std::unique_ptr<net::Listener> listener) {
  ServerState* const state = state_.get();
  const net::Context context = co_await net::current_context();
  net::TaskGroup connections(state->executor, context.scope);
  net::CancelScope accepting(context.scope);
  const Registration registration(state->acceptors, &accepting);
  Result<void> ended;
  if (!state->draining) {
    ended = co_await accept_all(state, listener.get(), &connections).in(accepting);
  }
  listener->close();
  if (!state->draining) {
    // Cancelled from outside, or the listener broke: nothing to be graceful about.
    connections.cancel(ended.error());
    (void)co_await connections.join();
    co_return ended;
  }
  const Duration left = std::max(Duration(0), state->drain_until - state->executor.now());
  const net::Timer grace(state->executor, left, [&connections] {
    connections.cancel(Error(Code::kCancelled, "the server is shutting down"));
  });
  co_return co_await connections.join();
}

void Server::shutdown(Duration grace) {
  if (state_->draining) return;
  state_->draining = true;
  state_->drain_until = state_->executor.now() + grace;
  const Error why(Code::kCancelled, "the server is shutting down");
  // Cancelling may end tasks that change these lists.
  for (net::CancelScope* scope : std::list(state_->acceptors)) scope->cancel(why);
  for (ServerConnection* connection : std::list(state_->connections)) connection->drain();
}

std::size_t Server::connections() const { return state_->connections.size(); }
std::size_t Server::requests_in_flight() const { return state_->in_flight; }

}  // namespace mainspring::http
