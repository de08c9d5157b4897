// http/transport.h
//
// How the rooms above speak HTTP: one interface, given to them by main (http/client.h) or by a
// simulation. Nothing above this room knows about connections. Lives on one loop.
//
// Every call runs in its caller's cancel scope: cancelling it closes the connection in use.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "net/stream.h"
#include "net/task.h"

namespace mainspring::http {

using net::Task;

// A response whose body is still arriving. Dropping it before the end gives up the connection.
class StreamingResponse {
 public:
  virtual ~StreamingResponse() = default;
  virtual int status() const = 0;
  virtual const Headers& headers() const = 0;
  // The next piece as soon as it is here; empty at the end of the body. The view is valid until the
  // next call. A body that is cut off is kTransient, never an end.
  virtual Task<Result<std::string_view>> next_chunk() = 0;
};

// What a connection became after "101 Switching Protocols".
struct Upgraded {
  Headers headers;
  std::unique_ptr<net::Stream> stream;
};

class Transport {
 public:
  virtual ~Transport() = default;

  // The whole response, whatever its status; kTooLarge if its body exceeds the limit. A redirect is
  // a response like any other and is not followed.
  virtual Task<Result<Response>> send(Request request) = 0;
  // Returns when status and headers are here.
  virtual Task<Result<std::unique_ptr<StreamingResponse>>> open(Request request) = 0;
  // The request names the protocol in its Upgrade field. A server that declines is an error made of
  // its status, as by status_error().
  virtual Task<Result<Upgraded>> upgrade(Request request) = 0;
};

// The rest of the body. kTooLarge beyond `limit`. `response` must outlive the task.
Task<Result<std::string>> read_all(StreamingResponse* response, std::size_t limit);

}  // namespace mainspring::http
