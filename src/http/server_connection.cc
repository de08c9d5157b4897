#include "http/server_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "http/status.h"
#include "net/task_group.h"

namespace mainspring::http {
namespace {

// Below this, copying is cheaper than a second packet.
constexpr std::size_t kCopyBodyUpTo = std::size_t{64} * 1024;
// What is kept of a connection's output buffer between requests.
constexpr std::size_t kKeepOutput = std::size_t{16} * 1024;
// How much a client whose request was refused may still send before the connection is cut.
constexpr std::size_t kMaxLinger = std::size_t{256} * 1024;
constexpr Duration kLingerTime = seconds(2);

}  // namespace

class ServerConnection::InFlight {
 public:
  explicit InFlight(ServerState& state) : state_(state) { ++state_.in_flight; }
  ~InFlight() { --state_.in_flight; }
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

 private:
  ServerState& state_;
};

ServerConnection::ServerConnection(ServerState* state, std::unique_ptr<net::Stream> stream,
                                   net::CancelScope* scope)
    : state_(*state),
      stream_(std::move(stream)),
      scope_(*scope),
      place_(state->connections.insert(state->connections.end(), this)),
      peer_(stream_->peer()),
      deadline_(state->executor, *scope),
      parser_(state->options.request_limits) {}

ServerConnection::~ServerConnection() {
  state_.connections.erase(place_);
  state_.room_changed.notify_all();
}

void ServerConnection::close_idle() {
  idle_ = false;
  scope_.cancel(Error(Code::kCancelled, "an idle connection was closed to make room"));
}

void ServerConnection::drain() {
  const Error why(Code::kCancelled, "the server is shutting down");
  if (idle_) {
    scope_.cancel(why);
  } else if (stream_scope_ != nullptr) {
    stream_scope_->cancel(why);
  }
}

Task<Result<void>> ServerConnection::run() {
  for (;;) {
    MS_CO_TRY(const bool more, co_await read_head());
    if (!more) co_return Result<void>();
    first_request_ = false;
    MS_CO_TRY(const Next next, co_await serve_one());
    if (next == Next::kAnotherRequest) continue;
    deadline_.set(kLingerTime, "closing the connection");
    MS_CO_CHECK(co_await stream_->finish());
    if (next == Next::kCloseWithInputUnread) co_return co_await linger();
    co_return Result<void>();
  }
}

Task<Result<void>> ServerConnection::read_more() {
  MS_CO_TRY(const std::size_t count, co_await stream_->read_some(buffer_.space()));
  if (count == 0) co_return fail(Code::kTransient, "the client closed the connection");
  buffer_.commit(count);
  co_return Result<void>();
}

// False: the connection has ended between two requests, or a bad head was refused.
Task<Result<bool>> ServerConnection::read_head() {
  parser_.reset();
  idle_ = buffer_.empty();
  bool reading = false;
  if (idle_) {
    const auto& options = state_.options;
    deadline_.set(first_request_ ? options.header_timeout : options.idle_timeout,
                  "waiting for a request");
    if (state_.draining) co_return false;
    // A new one has not had the time to ask for anything: nobody is woken to close it.
    if (!first_request_) state_.room_changed.notify_all();
    buffer_.rest();
    MS_CO_TRY(const std::size_t count, co_await stream_->read_some(buffer_.space()));
    if (count == 0) co_return false;
    buffer_.commit(count);
    idle_ = false;
  }
  for (;;) {
    std::string_view input = buffer_.view();
    auto event = parser_.next(input);
    buffer_.keep_last(input.size());
    if (!event) {
      began_ = state_.executor.now();
      target_.clear();
      (void)co_await refuse(parser_.error_status(), event.error().message());
      deadline_.set(kLingerTime, "closing the connection");
      MS_CO_CHECK(co_await stream_->finish());
      MS_CO_CHECK(co_await linger());
      co_return false;
    }
    if (*event == ParserEvent::kHead) co_return true;
    // Once, from the first byte on: a client that sends a byte a second gets no second chance. A
    // head that comes in one piece never gets here.
    if (!std::exchange(reading, true)) {
      deadline_.set(state_.options.header_timeout, "reading the request head");
    }
    MS_CO_CHECK(co_await read_more());
  }
}

std::optional<Response> ServerConnection::check_head() const {
  const RequestHead& head = parser_.head();
  if (!head.method) return error_response(501, "the method is not known");
  const std::size_t hosts = head.headers.count("Host");
  if (hosts > 1 || (hosts == 0 && !head.http_1_0)) {
    return error_response(400, "a request must have exactly one Host header");
  }
  if (const auto expect = head.headers.get("Expect");
      expect && !equals_ignore_case(*expect, "100-continue")) {
    return error_response(417, "only 100-continue can be expected");
  }
  if (state_.in_flight >= state_.options.max_requests_in_flight) {
    Response busy = error_response(503, "too many requests at once");
    busy.headers.add("Retry-After", "1");
    return busy;
  }
  return std::nullopt;
}

Result<Request> ServerConnection::make_request() {
  RequestHead& head = parser_.mutable_head();
  Request request;
  request.method = *head.method;
  if (head.target.starts_with('/')) {
    MS_TRY(request.url, Url::parse_target(head.target));
  } else if (head.target == "*" && request.method == Method::kOptions) {
    request.url.path = "*";
  } else {
    // The absolute form, which every server must understand (RFC 9112, 3.2.2).
    MS_TRY(request.url, Url::parse(head.target));
  }
  request.headers = std::move(head.headers);
  request.peer = peer_;
  request.peer_certificate = stream_->peer_certificate();
  return request;
}

Task<Result<ServerConnection::Next>> ServerConnection::serve_one() {
  began_ = state_.executor.now();
  if (state_.options.access_log) target_ = parser_.head().target;
  const RequestHead& head = parser_.head();
  const bool has_body = head.has_body;
  if (auto refusal = check_head()) {
    const bool keep_alive = refusal->status == 503 && !has_body && head.keep_alive;
    MS_CO_CHECK(co_await write_response(&*refusal, head.method == Method::kHead, keep_alive));
    record(refusal->status, 0, refusal->body.size(), nullptr);
    co_return keep_alive ? Next::kAnotherRequest : Next::kCloseWithInputUnread;
  }
  const InFlight in_flight(state_);
  const bool wants_continue = has_body && !head.http_1_0 && head.headers.contains("Expect");
  const bool keep_alive = head.keep_alive;
  auto request = make_request();
  if (!request) co_return co_await refuse(400, request.error().message());
  if (has_body) {
    if (wants_continue && buffer_.empty()) MS_CO_CHECK(co_await write_now(kContinue));
    deadline_.set(state_.options.body_timeout, "reading the request body");
    if (auto body = co_await read_body(&request->body); !body) {
      if (body.error().code() != Code::kInvalid && body.error().code() != Code::kTooLarge) {
        co_return fail(std::move(body).error());
      }
      co_return co_await refuse(parser_.error_status(), body.error().message());
    }
  }
  deadline_.clear();
  co_return co_await answer(*std::move(request), keep_alive);
}

Task<Result<void>> ServerConnection::read_body(std::string* body) {
  if (const auto length = parser_.head().content_length) {
    body->reserve(std::min<std::uint64_t>(*length, kCopyBodyUpTo));
  }
  for (;;) {
    std::string_view input = buffer_.view();
    auto event = parser_.next(input);
    if (event && *event == ParserEvent::kBody) body->append(parser_.body());
    buffer_.keep_last(input.size());
    if (!event) co_return fail(std::move(event).error());
    if (*event == ParserEvent::kEnd) co_return Result<void>();
    if (*event == ParserEvent::kNeedMore) MS_CO_CHECK(co_await read_more());
  }
}

Task<Result<ServerConnection::Next>> ServerConnection::answer(Request request, bool keep_alive) {
  const bool bodyless = request.method == Method::kHead;
  const std::size_t request_bytes = request.body.size();
  Router::Match match = state_.router.match(request.method, request.url.path);
  request.parameters = std::move(match.parameters);
  if (match.stream != nullptr) co_return co_await stream_answer(match.stream, std::move(request));
  std::optional<Error> error;
  Response response = std::move(match.refusal);
  if (match.handler != nullptr) {
    auto answered = co_await (*match.handler)(std::move(request));
    if (answered) {
      response = *std::move(answered);
    } else {
      error = std::move(answered).error();
      response = failure_response(*error);
    }
  }
  keep_alive = keep_alive && !state_.draining;
  MS_CO_CHECK(co_await write_response(&response, bodyless, keep_alive));
  record(response.status, request_bytes, bodyless ? 0 : response.body.size(),
         error ? &*error : nullptr);
  co_return keep_alive ? Next::kAnotherRequest : Next::kClose;
}

Task<Result<ServerConnection::Next>> ServerConnection::refuse(int status,
                                                              std::string_view message) {
  const Response response = error_response(status, message);
  const bool bodyless = parser_.head().method == Method::kHead;
  MS_CO_CHECK(co_await write_response(&response, bodyless, false));
  record(status, 0, response.body.size(), nullptr);
  co_return Next::kCloseWithInputUnread;
}

Task<Result<void>> ServerConnection::write_now(std::string_view bytes) {
  deadline_.set(state_.options.write_timeout, "sending the response");
  auto written = co_await stream_->write(bytes);
  deadline_.clear();
  co_return written;
}

Task<Result<void>> ServerConnection::write_response(const Response* response, bool bodyless,
                                                    bool keep_alive) {
  ResponseFraming framing;
  framing.http_1_0 = parser_.head().http_1_0;
  framing.keep_alive = keep_alive;
  framing.date = state_.date();
  out_.clear();
  Response replacement;
  const bool possible = response->status >= 200 && response->status <= 599;
  if (!possible || !append_response_head(out_, response->status, response->headers,
                                         response->body.size(), framing)) {
    replacement = error_response(500, "the handler's response cannot be sent");
    response = &replacement;
    out_.clear();
    (void)append_response_head(out_, 500, replacement.headers, replacement.body.size(), framing);
  }
  const bool no_body = bodyless || response->status == 204 || response->status == 304;
  if (no_body || response->body.size() <= kCopyBodyUpTo) {
    if (!no_body) out_.append(response->body);
    MS_CO_CHECK(co_await write_now(out_));
  } else {
    MS_CO_CHECK(co_await write_now(out_));
    MS_CO_CHECK(co_await write_now(response->body));
  }
  if (out_.capacity() > kKeepOutput) out_ = std::string();
  co_return Result<void>();
}

// Reads on after an answer that says "close", so that the client gets to read the answer: closing
// a socket with unread input would tell the client that the connection was reset.
Task<Result<void>> ServerConnection::linger() {
  deadline_.set(kLingerTime, "waiting for the client to close");
  std::array<char, 4096> unread;
  for (std::size_t total = 0; total < kMaxLinger;) {
    MS_CO_TRY(const std::size_t count, co_await stream_->read_some(unread));
    if (count == 0) break;
    total += count;
  }
  co_return Result<void>();
}

void ServerConnection::record(int status, std::size_t request_bytes, std::size_t response_bytes,
                              const Error* error) const {
  if (!state_.options.access_log) return;
  AccessRecord entry;
  entry.peer = peer_;
  entry.method = parser_.head().method_text;
  entry.target = target_;
  entry.status = status;
  entry.request_bytes = request_bytes;
  entry.response_bytes = response_bytes;
  entry.duration = state_.executor.now() - began_;
  entry.error = error;
  state_.options.access_log(entry);
}

}  // namespace mainspring::http
