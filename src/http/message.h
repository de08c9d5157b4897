// http/message.h
//
// Requests and responses as plain values, the same on both sides of a connection, so that a router
// can stand behind a Transport in a simulation without a socket between them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "http/headers.h"
#include "http/url.h"

namespace mainspring::net {
struct PeerCertificate;  // net/tls.h
}

namespace mainspring::http {

enum class Method { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions, kConnect, kTrace };

std::string_view to_string(Method method);
// Methods are case-sensitive. nullopt for one that is not listed above.
std::optional<Method> parse_method(std::string_view text);
// Sending it twice has the effect of sending it once, so a lost connection may be tried again.
bool is_idempotent(Method method);

// What a route pattern's {names} stood for, decoded. Few, so a list.
using PathParameters = std::vector<std::pair<std::string, std::string>>;

struct Request {
  Method method = Method::kGet;
  Url url;
  Headers headers;
  std::string body;

  // For the sender. Framing fields (Content-Length, Transfer-Encoding, Connection) are the codec's.
  struct Limits {
    // For all of send(), or until open() has the response head. Unset: the client's own.
    std::optional<Duration> timeout;
    // Between two pieces of an open() body. Unset: a watch may be silent for ever.
    std::optional<Duration> idle_timeout;
    // The largest body that send() accepts, decompressed. Unset: the client's own.
    std::optional<std::size_t> max_body;
  } limits;

  // For the handler, filled by server and router.
  PathParameters parameters;
  std::string peer;
  // What a TLS client showed, null if nothing; lives as long as the handler runs.
  const net::PeerCertificate* peer_certificate = nullptr;

  // "" for a name that the pattern does not have.
  std::string_view parameter(std::string_view name) const;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;

  bool ok() const { return status >= 200 && status < 300; }
};

Response text_response(int status, std::string body);
Response json_response(int status, std::string body);
// {"error":{"code":404,"message":"..."}}, for people and programs alike.
Response error_response(int status, std::string_view message);

}  // namespace mainspring::http
