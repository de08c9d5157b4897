// http/server.h
//
// An HTTP/1.1 server on one loop, its own or a shared one. Owned by main or a test. TLS is the
// listener's matter. It takes any listener, so it runs in memory as well as on sockets.
//
// Everything a client can make it hold is limited: head and body size, time for a head, a body and
// for taking the answer, connections, requests at work. Pipelined requests are answered in order.
// It writes no log by itself: see Options::access_log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "http/codec.h"
#include "http/router.h"
#include "net/stream.h"

namespace mainspring::http {

// One answered request. The views are valid during the call.
struct AccessRecord {
  std::string_view peer;
  std::string_view method;
  std::string_view target;
  int status = 0;
  std::size_t request_bytes = 0;
  std::size_t response_bytes = 0;
  Duration duration{};
  // Set where the handler failed, or a stream ended before its time.
  const Error* error = nullptr;
};

struct ServerState;

class Server {
 public:
  struct Options {
    ParserLimits request_limits{std::size_t{32} * 1024, 100, std::uint64_t{8} * 1024 * 1024};
    Duration idle_timeout = seconds(120);   // Between two requests of a connection.
    Duration header_timeout = seconds(10);  // For one head, and for a new connection to send one.
    Duration body_timeout = seconds(60);
    Duration write_timeout = seconds(30);  // For the client to take one response or piece of it.
    // Beyond it idle connections are closed to make room; if none is idle, accepting waits.
    std::size_t max_connections = 4096;
    // Beyond it the answer is 503 with Retry-After.
    std::size_t max_requests_in_flight = 1024;
    std::function<void(const AccessRecord&)> access_log;
  };

  Server(net::Executor& executor, Options options, Router router);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Until shutdown() has been obeyed, or the awaiter's scope is cancelled, which ends everything at
  // once. May run for several listeners side by side. The server must outlive it.
  Task<Result<void>> serve(std::unique_ptr<net::Listener> listener);

  // Stops accepting, closes idle connections, ends streams, and lets requests at work finish within
  // `grace`; what is left then is cancelled. serve() returns when all is over.
  void shutdown(Duration grace);

  std::size_t connections() const;
  std::size_t requests_in_flight() const;

 private:
  std::unique_ptr<ServerState> state_;
};

}  // namespace mainspring::http
