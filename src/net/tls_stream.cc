#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "net/notify.h"
#include "net/tls_internal.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

// What an idle stream waits with. A read that fills it is followed by larger ones, until one is
// smaller than it: streams that move much get large reads, thousands of idle ones cost little.
constexpr std::size_t kIdleBuffer = 1'024;
constexpr std::size_t kBusyBuffer = 32'768;
// Plain bytes encrypted before they are handed on: two full records.
constexpr std::size_t kWriteChunk = 32'768;
constexpr Duration kAlertTime = seconds(1);

// OpenSSL reads from and writes to memory only; the coroutines below move the bytes.
struct Wire {
  std::unique_ptr<char[]> in;
  std::size_t in_capacity = 0;
  std::size_t in_begin = 0;
  std::size_t in_end = 0;
  bool busy = false;
  std::string out;
};

int wire_read(BIO* bio, char* into, int size) {
  auto& wire = *static_cast<Wire*>(BIO_get_data(bio));
  BIO_clear_retry_flags(bio);
  const std::size_t count = std::min(static_cast<std::size_t>(size), wire.in_end - wire.in_begin);
  if (count == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(into, wire.in.get() + wire.in_begin, count);
  wire.in_begin += count;
  return static_cast<int>(count);
}

int wire_write(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  static_cast<Wire*>(BIO_get_data(bio))->out.append(bytes, static_cast<std::size_t>(size));
  return size;
}

long wire_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* wire_method() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "mainspring");
    BIO_meth_set_read(made, wire_read);
    BIO_meth_set_write(made, wire_write);
    BIO_meth_set_ctrl(made, wire_control);
    return made;
  }();
  return method;
}

struct State {
  std::unique_ptr<Stream> raw;
  std::shared_ptr<const TlsContext> context;
  TlsVerdict verdict;
  Wire wire;
  SslPtr ssl;
  bool established = false;
  bool handshaking = false;
  bool writing = false;
  Notify handshake_ended;
  std::optional<Error> broken;  // Every later call fails with it.
  std::optional<PeerCertificate> peer;
};
using StatePtr = std::shared_ptr<State>;

tl::unexpected<Error> break_with(State& state, Error error) {
  if (!state.broken) state.broken = std::move(error);
  return fail(*state.broken);
}

// Set while a coroutine is inside; if that coroutine is destroyed there, the stream is broken,
// because nobody knows how far it came.
class Inside {
 public:
  Inside(StatePtr state, bool State::*flag) : state_(std::move(state)), flag_(flag) {
    (*state_).*flag_ = true;
  }
  ~Inside() {
    (*state_).*flag_ = false;
    if (!left_) (void)break_with(*state_, Error(Code::kCancelled, "an earlier call was abandoned"));
    if (flag_ == &State::handshaking) state_->handshake_ended.notify_all();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  void leave() { left_ = true; }

 private:
  StatePtr state_;
  bool State::*flag_;
  bool left_ = false;
};

Task<Result<void>> flush(StatePtr state) {
  Inside inside(state, &State::writing);
  // A loop, because a reader that fails meanwhile leaves its alert here.
  while (!state->wire.out.empty()) {
    const std::string bytes = std::exchange(state->wire.out, {});
    auto written = co_await state->raw->write(bytes);
    if (!written) {
      inside.leave();
      co_return break_with(*state, std::move(written).error());
    }
  }
  inside.leave();
  co_return Result<void>();
}

// Tells the peer why, if it still listens, and remembers the failure.
Task<tl::unexpected<Error>> give_up(StatePtr state, Error error) {
  (void)break_with(*state, std::move(error));
  if (!state->writing && !state->wire.out.empty()) {
    (void)co_await with_timeout(kAlertTime, "sending a TLS alert", flush(state));
  }
  co_return fail(*state->broken);
}

// Gets more bytes for OpenSSL, which has used up all it had.
Task<Result<void>> fill(StatePtr state) {
  Wire& wire = state->wire;
  const std::size_t wanted = wire.busy ? kBusyBuffer : kIdleBuffer;
  if (wire.in_capacity != wanted) {
    wire.in.reset(new char[wanted]);
    wire.in_capacity = wanted;
  }
  wire.in_begin = 0;
  wire.in_end = 0;
  auto count = co_await state->raw->read_some(std::span(wire.in.get(), wanted));
  if (!count) co_return break_with(*state, std::move(count).error());
  if (*count == 0) {
    co_return break_with(
        *state, Error(Code::kTransient, state->established
                                            ? "the connection was cut: it ended without TLS's "
                                              "close_notify, so bytes may be missing"
                                            : "the other side closed the connection during the "
                                              "TLS handshake"));
  }
  wire.in_end = *count;
  wire.busy = *count >= kIdleBuffer;
  co_return Result<void>();
}

void settle(State& state) {
  state.established = true;
  const TlsContext::Impl& rules = state.context->impl();
  state.peer = describe_peer(state.ssl.get(), !rules.insecure);
}

Task<Result<void>> shake_hands(StatePtr state) {
  const Context context = co_await current_context();
  const auto now = std::chrono::floor<seconds>(context.executor->clock().wall_now());
  X509_VERIFY_PARAM_set_time(SSL_get0_param(state->ssl.get()), now.time_since_epoch().count());
  for (;;) {
    ERR_clear_error();
    const int done = SSL_do_handshake(state->ssl.get());
    const int want = SSL_get_error(state->ssl.get(), done);
    if (done == 1) settle(*state);
    if (done != 1 && want != SSL_ERROR_WANT_READ) {
      co_return co_await give_up(state, tls_error(state->verdict).with_context("TLS handshake"));
    }
    if (!state->wire.out.empty()) MS_CO_CHECK(co_await flush(state));
    if (done == 1) co_return Result<void>();
    MS_CO_CHECK(co_await fill(state));
  }
}

// The first caller does it, others wait for the outcome.
Task<Result<void>> handshake(StatePtr state) {
  while (state->handshaking) MS_CO_CHECK(co_await state->handshake_ended.wait());
  if (state->broken) co_return fail(*state->broken);
  if (state->established) co_return Result<void>();
  Inside inside(state, &State::handshaking);
  auto result = co_await shake_hands(state);
  inside.leave();
  co_return result;
}

// Takes what is here of all records, because OpenSSL gives out one a call. Says why it stopped.
int take(State& state, std::span<char> into, std::size_t& taken) {
  while (taken < into.size()) {
    const std::span<char> rest = into.subspan(taken);
    std::size_t count = 0;
    const int done = SSL_read_ex(state.ssl.get(), rest.data(), rest.size(), &count);
    if (done != 1) return SSL_get_error(state.ssl.get(), done);
    taken += count;
  }
  return SSL_ERROR_NONE;
}

bool is_failure(int want) {
  return want != SSL_ERROR_NONE && want != SSL_ERROR_WANT_READ && want != SSL_ERROR_ZERO_RETURN;
}

class TlsStream final : public Stream {
 public:
  explicit TlsStream(StatePtr state) : state_(std::move(state)) {}
  ~TlsStream() override { state_->raw->close(); }

  Task<Result<void>> shake_hands_now() { return handshake(state_); }

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    const StatePtr state = state_;
    if (!state->established) MS_CO_CHECK(co_await handshake(state));
    for (;;) {
      if (state->broken) co_return fail(*state->broken);
      ERR_clear_error();
      std::size_t taken = 0;
      const int want = take(*state, into, taken);
      if (taken > 0 && !is_failure(want)) co_return taken;
      if (want == SSL_ERROR_ZERO_RETURN) co_return std::size_t{0};
      if (is_failure(want)) {
        auto failure = co_await give_up(state, tls_error(state->verdict));
        if (taken == 0) co_return failure;
        co_return taken;
      }
      MS_CO_CHECK(co_await fill(state));
    }
  }

  void pause_reading() override { state_->raw->pause_reading(); }

  Task<Result<void>> write(std::string_view bytes) override {
    const StatePtr state = state_;
    if (!state->established) MS_CO_CHECK(co_await handshake(state));
    while (!bytes.empty()) {
      if (state->broken) co_return fail(*state->broken);
      ERR_clear_error();
      std::size_t count = 0;
      const std::size_t chunk = std::min(bytes.size(), kWriteChunk);
      if (SSL_write_ex(state->ssl.get(), bytes.data(), chunk, &count) != 1) {
        co_return co_await give_up(state, tls_error(state->verdict));
      }
      bytes.remove_prefix(count);
      MS_CO_CHECK(co_await flush(state));
    }
    co_return Result<void>();
  }

  Task<Result<void>> finish() override {
    const StatePtr state = state_;
    if (!state->established) MS_CO_CHECK(co_await handshake(state));
    if (state->broken) co_return fail(*state->broken);
    ERR_clear_error();
    if (SSL_shutdown(state->ssl.get()) < 0) {
      co_return co_await give_up(state, tls_error(state->verdict));
    }
    MS_CO_CHECK(co_await flush(state));
    co_return co_await state->raw->finish();
  }

  void close() override {
    (void)break_with(*state_, Error(Code::kCancelled, "the stream was closed"));
    state_->raw->close();
  }

  bool idle_and_open() const override {
    const State& state = *state_;
    return state.established && !state.broken && SSL_has_pending(state.ssl.get()) == 0 &&
           state.wire.in_begin == state.wire.in_end && SSL_get_shutdown(state.ssl.get()) == 0 &&
           state.raw->idle_and_open();
  }

  std::string peer() const override { return state_->raw->peer(); }

  const PeerCertificate* peer_certificate() const override {
    return state_->peer ? &*state_->peer : nullptr;
  }

 private:
  // Calls keep it while they are suspended, so the stream itself may go at any time.
  StatePtr state_;
};

StatePtr new_state(std::unique_ptr<Stream> raw, std::shared_ptr<const TlsContext> context) {
  auto state = std::make_shared<State>();
  state->raw = std::move(raw);
  state->ssl.reset(SSL_new(context->impl().ctx.get()));
  state->verdict.client_auth = context->impl().client_auth;
  state->context = std::move(context);
  SSL_set_app_data(state->ssl.get(), &state->verdict);
  BIO* bio = BIO_new(wire_method());
  BIO_set_data(bio, &state->wire);
  BIO_set_init(bio, 1);
  SSL_set_bio(state->ssl.get(), bio, bio);
  return state;
}

bool is_ip_address(const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

Result<void> expect_server(SSL* ssl, const std::string& name) {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  // Names in the subject have not counted since RFC 2818; Go and browsers ignore them too.
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  const bool is_ip = is_ip_address(name);
  const bool accepted = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(param, name.c_str()) == 1
                              : SSL_set1_host(ssl, name.c_str()) == 1 &&
                                    SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
  if (accepted) return {};
  ERR_clear_error();
  return fail(Code::kInvalid, fmt::format("\"{}\" cannot be a server's name", name));
}

}  // namespace

Task<Result<std::unique_ptr<Stream>>> tls_connect(std::unique_ptr<Stream> raw,
                                                  std::shared_ptr<const TlsContext> context,
                                                  std::string server_name) {
  if (!context) {
    co_return fail(Code::kInvalid, "TLS: there are no certificates to check the server by");
  }
  const bool insecure = context->impl().insecure;
  StatePtr state = new_state(std::move(raw), std::move(context));
  SSL_set_connect_state(state->ssl.get());
  if (!server_name.empty()) {
    MS_CO_CHECK(expect_server(state->ssl.get(), server_name));
  } else if (!insecure) {
    co_return fail(Code::kInvalid, "TLS needs the server's name, to check its certificate");
  }
  state->verdict.server_name = std::move(server_name);
  auto stream = std::make_unique<TlsStream>(std::move(state));
  MS_CO_CHECK(co_await stream->shake_hands_now());
  co_return std::unique_ptr<Stream>(std::move(stream));
}

std::unique_ptr<Stream> tls_accept(std::unique_ptr<Stream> raw,
                                   std::shared_ptr<const TlsContext> context) {
  StatePtr state = new_state(std::move(raw), std::move(context));
  SSL_set_accept_state(state->ssl.get());
  return std::make_unique<TlsStream>(std::move(state));
}

}  // namespace mainspring::net
