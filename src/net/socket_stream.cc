#include "net/socket_stream.h"

#include <sys/socket.h>

#include <cerrno>

#include "net/os_error.h"

namespace mainspring::net {
namespace {

// A peer that always has bytes for us must not keep the loop from everybody else: after this many
// calls that did not have to wait, wait once.
constexpr int kCallsPerTurn = 32;

struct State {
  std::shared_ptr<FdWatch> watch;
  std::string peer;
  int reads_this_turn = 0;
  int writes_this_turn = 0;
  // The last read took all there was: trying again at once would only cost a system call.
  bool drained = true;
};

std::optional<Error> reason_to_stop(const State& state, const Context& context) {
  if (context.scope != nullptr && context.scope->cancelled()) return context.scope->reason();
  if (state.watch->closed()) return Error(Code::kCancelled, "the stream was closed");
  return std::nullopt;
}

tl::unexpected<Error> failure(const char* doing, const State& state) {
  const int number = errno;
  return fail(os_error(number).with_context(doing + state.peer));
}

class SocketStream final : public Stream {
 public:
  SocketStream(std::shared_ptr<FdWatch> watch, std::string peer)
      : state_(std::make_shared<State>(State{std::move(watch), std::move(peer)})) {}
  ~SocketStream() override { close(); }

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    const auto state = state_;
    const Context context = co_await current_context();
    for (;;) {
      if (auto stop = reason_to_stop(*state, context)) co_return fail(*std::move(stop));
      if (state->drained || ++state->reads_this_turn > kCallsPerTurn) {
        MS_CO_CHECK(co_await state->watch->ready(FdWatch::For::kRead));
        state->reads_this_turn = 0;
        state->drained = false;
      }
      const ssize_t count =
          ::recv(state->watch->fd(), into.data(), into.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        state->drained = count > 0 && static_cast<std::size_t>(count) < into.size();
        co_return static_cast<std::size_t>(count);
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        state->drained = true;
      } else if (errno != EINTR) {
        co_return failure("reading from ", *state);
      }
    }
  }

  void pause_reading() override {
    state_->watch->quiet();
    state_->reads_this_turn = 0;
    state_->drained = false;
  }

  Task<Result<void>> write(std::string_view bytes) override {
    const auto state = state_;
    const Context context = co_await current_context();
    bool full = ++state->writes_this_turn > kCallsPerTurn;
    while (!bytes.empty()) {
      if (auto stop = reason_to_stop(*state, context)) co_return fail(*std::move(stop));
      if (full) {
        MS_CO_CHECK(co_await state->watch->ready(FdWatch::For::kWrite));
        state->writes_this_turn = 0;
        full = false;
      }
      const ssize_t count =
          ::send(state->watch->fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        full = true;
      } else if (errno != EINTR) {
        co_return failure("writing to ", *state);
      }
    }
    co_return Result<void>();
  }

  Task<Result<void>> finish() override {
    const auto state = state_;
    if (state->watch->closed()) co_return fail(Code::kCancelled, "the stream was closed");
    if (::shutdown(state->watch->fd(), SHUT_WR) != 0) co_return failure("finishing ", *state);
    co_return Result<void>();
  }

  void close() override { state_->watch->close(); }

  bool idle_and_open() const override {
    if (state_->watch->closed()) return false;
    char byte = 0;
    const ssize_t count = ::recv(state_->watch->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }

  std::string peer() const override { return state_->peer; }

 private:
  // Calls keep it while they are suspended, so the stream itself may go at any time.
  std::shared_ptr<State> state_;
};

}  // namespace

std::unique_ptr<Stream> make_socket_stream(std::shared_ptr<FdWatch> watch, std::string peer) {
  return std::make_unique<SocketStream>(std::move(watch), std::move(peer));
}

}  // namespace mainspring::net
