// http/websocket_handshake.h
//
// How an HTTP request becomes a WebSocket (RFC 6455, 4): what a client asks, what a server answers,
// and the check that the answer is to this question. Pure functions over headers; the frames that
// follow are http/websocket.h's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "http/message.h"

namespace mainspring::http {

// What a client sends, and keeps until the answer is here.
struct WebSocketOffer {
  std::string key;
  // In order of preference; may be empty.
  std::vector<std::string> protocols;

  static WebSocketOffer make(Random& random, std::vector<std::string> protocols);
  // Adds the fields of the request, which must be a GET.
  void add_to(Headers& headers) const;
  // The protocol that a server chose in its "101 Switching Protocols"; empty if it chose none,
  // which it may only where none was offered. kInvalid where this is no answer to this offer.
  Result<std::string> check(const Headers& answer) const;
};

// A server's 101 for a request, with the first of the client's protocols that is in `supported`.
// Where the client offers some and none is, kUnsupported; kInvalid where it asks wrongly.
Result<Response> accept_websocket(const Request& request,
                                  const std::vector<std::string>& supported);

// Sec-WebSocket-Accept for a Sec-WebSocket-Key.
std::string websocket_accept_key(std::string_view key);

}  // namespace mainspring::http
