// http/router.h
//
// Which handler answers a request: by method and path pattern. Built once, then only read; the
// server owns it. Patterns are "/fixed/{name}/path", and "{name...}" at the end takes all that is
// left, also nothing. A fixed segment wins over a {name}, and that over a {name...}, whatever the
// order of adding. Segments are compared decoded, so an escaped slash never splits one.
//
// HEAD is answered by the GET handler where it has none of its own, OPTIONS by the list of methods.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/transport.h"

namespace mainspring::http {

// A failure becomes an error response with the status of its code (http/status.h).
using Handler = std::function<Task<Result<Response>>(Request)>;

// The way out of a handler that answers piece by piece.
class ResponseWriter {
 public:
  virtual ~ResponseWriter() = default;
  // Sends the head; once, before write().
  virtual Task<Result<void>> start(int status, Headers headers) = 0;
  // Sends one piece of the body at once. `data` must live until the task ends.
  virtual Task<Result<void>> write(std::string_view data) = 0;
};

// Runs in a scope that is cancelled when the client goes away or the server shuts down. A failure
// before start() becomes an error response; after it, the response is visibly cut off.
using StreamHandler = std::function<Task<Result<void>>(Request, ResponseWriter*)>;

class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  // A pattern that is malformed, or was added before for this method, ends the process: patterns
  // are written in the program.
  Router& add(Method method, std::string_view pattern, Handler handler);
  Router& add_stream(Method method, std::string_view pattern, StreamHandler handler);

  struct Match {
    // At most one is set; neither means `refusal` is the answer: 404, 405, or the answer to
    // OPTIONS.
    const Handler* handler = nullptr;
    const StreamHandler* stream = nullptr;
    PathParameters parameters;
    Response refusal;
  };
  Match match(Method method, std::string_view path) const;

  // Answers without a connection, for simulations: a streamed answer is collected first. `request`
  // gets its parameters here.
  Task<Result<Response>> handle(Request request) const;

 private:
  struct Node;
  struct Route;
  Route& route(Method method, std::string_view pattern);

  std::unique_ptr<Node> root_;
};

}  // namespace mainspring::http
