// The part of ServerConnection that answers piece by piece.
#include <fmt/format.h>

#include "http/server_connection.h"
#include "http/status.h"
#include "net/task_group.h"

namespace mainspring::http {
namespace {

// How much may arrive behind a request that is answered by a stream.
constexpr std::size_t kMaxReadAhead = std::size_t{64} * 1024;

}  // namespace

class ServerConnection::Writer final : public ResponseWriter {
 public:
  Writer(ServerConnection& connection, bool bodyless)
      : connection_(connection), bodyless_(bodyless) {}

  Task<Result<void>> start(int status, Headers headers) override {
    if (status_ != 0) co_return fail(Code::kInternal, "the response was started twice");
    ResponseFraming framing;
    framing.http_1_0 = connection_.parser_.head().http_1_0;
    framing.keep_alive = false;
    framing.chunked = !framing.http_1_0;
    framing.until_close = framing.http_1_0;
    framing.date = connection_.state_.date();
    std::string& out = connection_.out_;
    out.clear();
    MS_CO_CHECK(append_response_head(out, status, headers, 0, framing));
    status_ = status;
    chunked_ = framing.chunked;
    bodyless_ = bodyless_ || status == 204 || status == 304;
    co_return co_await send(out);
  }

  Task<Result<void>> write(std::string_view data) override {
    if (status_ == 0) co_return fail(Code::kInternal, "the response was not started");
    bytes_ += data.size();
    if (bodyless_ || data.empty()) co_return Result<void>();
    if (!chunked_) co_return co_await send(data);
    std::string& out = connection_.out_;
    out.clear();
    append_chunk(out, data);
    co_return co_await send(out);
  }

  Task<Result<void>> end() {
    if (bodyless_ || !chunked_) co_return Result<void>();
    co_return co_await send(kLastChunk);
  }

  bool started() const { return status_ != 0; }
  // False when a write was given up half-way: nothing that follows would be understood.
  bool intact() const { return !in_write_; }
  int status() const { return status_; }
  std::size_t bytes() const { return bodyless_ ? 0 : bytes_; }

 private:
  Task<Result<void>> send(std::string_view bytes) {
    in_write_ = true;
    auto written = co_await connection_.write_now(bytes);
    if (written) in_write_ = false;
    co_return written;
  }

  ServerConnection& connection_;
  bool bodyless_;
  bool chunked_ = false;
  bool in_write_ = false;
  int status_ = 0;
  std::size_t bytes_ = 0;
};

// A client that goes away sends the end of its stream, which only a reader notices.
Task<Result<void>> ServerConnection::watch_peer(net::CancelScope* handler_scope) {
  for (;;) {
    // Whatever it sends now will not be answered on this connection.
    if (buffer_.view().size() >= kMaxReadAhead) co_return Result<void>();
    const auto more = co_await read_more();
    if (more) continue;
    handler_scope->cancel(Error(Code::kCancelled, "the client has gone away"));
    co_return Result<void>();
  }
}

Task<Result<ServerConnection::Next>> ServerConnection::stream_answer(const StreamHandler* handler,
                                                                     Request request) {
  const bool bodyless = request.method == Method::kHead;
  const std::size_t request_bytes = request.body.size();
  Writer writer(*this, bodyless);
  net::CancelScope handler_scope(&scope_);
  net::TaskGroup watcher(state_.executor, &scope_);
  watcher.spawn(watch_peer(&handler_scope));
  stream_scope_ = &handler_scope;
  auto result = co_await (*handler)(std::move(request), &writer).in(handler_scope);
  stream_scope_ = nullptr;
  // A stream that the shutdown ended is complete as far as it goes.
  const bool ended_by_shutdown = !result && state_.draining && !scope_.cancelled();
  std::optional<Error> error;
  if (!result) error = std::move(result).error();
  if (!writer.started() && !scope_.cancelled()) {
    const Response response = error ? failure_response(*error) : Response{204, {}, {}};
    MS_CO_CHECK(co_await write_response(&response, bodyless, false));
    record(response.status, request_bytes, bodyless ? 0 : response.body.size(),
           error ? &*error : nullptr);
  } else {
    if ((!error || ended_by_shutdown) && writer.intact()) MS_CO_CHECK(co_await writer.end());
    record(writer.status(), request_bytes, writer.bytes(), error ? &*error : nullptr);
  }
  watcher.cancel();
  (void)co_await watcher.join();
  if (error && !ended_by_shutdown && writer.started()) co_return fail(*std::move(error));
  co_return Next::kClose;
}

}  // namespace mainspring::http
