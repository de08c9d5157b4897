// http/server_connection.h
//
// The server's end of one connection: reads requests one after the other and answers each before it
// reads the next. Owned by the task that runs it, on the server's loop. Internal to this room.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "http/codec.h"
#include "http/lazy_deadline.h"
#include "http/read_buffer.h"
#include "http/server_state.h"

namespace mainspring::http {

class ServerConnection {
 public:
  // `scope` is the one that run() runs in. All must outlive this.
  ServerConnection(ServerState* state, std::unique_ptr<net::Stream> stream,
                   net::CancelScope* scope);
  ~ServerConnection();
  ServerConnection(const ServerConnection&) = delete;
  ServerConnection& operator=(const ServerConnection&) = delete;

  Task<Result<void>> run();

  // Between two requests, with nothing of the next one here.
  bool idle() const { return idle_; }
  void close_idle();
  // The server shuts down: ends at once if idle, else after the answer at work.
  void drain();

 private:
  class Writer;
  class InFlight;
  enum class Next { kAnotherRequest, kClose, kCloseWithInputUnread };

  Task<Result<bool>> read_head();
  Task<Result<void>> read_body(std::string* body);
  Task<Result<Next>> serve_one();
  Task<Result<Next>> answer(Request request, bool keep_alive);
  Task<Result<Next>> stream_answer(const StreamHandler* handler, Request request);
  Task<Result<Next>> refuse(int status, std::string_view message);
  std::optional<Response> check_head() const;
  Result<Request> make_request();
  Task<Result<void>> write_response(const Response* response, bool bodyless, bool keep_alive);
  Task<Result<void>> write_now(std::string_view bytes);
  Task<Result<void>> read_more();
  Task<Result<void>> watch_peer(net::CancelScope* handler_scope);
  Task<Result<void>> linger();
  void record(int status, std::size_t request_bytes, std::size_t response_bytes,
              const Error* error) const;

  ServerState& state_;
  std::unique_ptr<net::Stream> stream_;
  net::CancelScope& scope_;
  std::list<ServerConnection*>::iterator place_;
  std::string peer_;
  LazyDeadline deadline_;
  ReadBuffer buffer_;
  RequestParser parser_;
  std::string out_;
  // Copies for the access log; the head itself is handed to the handler.
  std::string target_;
  TimePoint began_;
  bool first_request_ = true;
  bool idle_ = false;
  net::CancelScope* stream_scope_ = nullptr;  // Of the stream handler at work.
};

}  // namespace mainspring::http
