#include "http/websocket_handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/base64.h"
#include "base/digest.h"
#include "base/text.h"

namespace mainspring::http {
namespace {

Result<void> require_token(const Headers& headers, std::string_view name, std::string_view token) {
  if (headers.has_token(name, token)) return {};
  return fail(Code::kInvalid, fmt::format("no websocket handshake: {} must name {}, found {}", name,
                                          token, quoted(headers.get(name).value_or(""))));
}

}  // namespace

std::string websocket_accept_key(std::string_view key) {
  const auto digest = sha1(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
  return base64_encode(std::string(digest.begin(), digest.end()));
}

WebSocketOffer WebSocketOffer::make(Random& random, std::vector<std::string> protocols) {
  std::string nonce;
  for (int i = 0; i < 16; ++i) nonce.push_back(static_cast<char>(random.below(256)));
  return {base64_encode(nonce), std::move(protocols)};
}

void WebSocketOffer::add_to(Headers& headers) const {
  headers.set("Upgrade", "websocket");
  headers.set("Sec-WebSocket-Version", "13");
  headers.set("Sec-WebSocket-Key", key);
  if (!protocols.empty()) headers.set("Sec-WebSocket-Protocol", join(protocols, ", "));
}

Result<std::string> WebSocketOffer::check(const Headers& answer) const {
  MS_CHECK(require_token(answer, "Upgrade", "websocket"));
  MS_CHECK(require_token(answer, "Connection", "upgrade"));
  if (answer.get("Sec-WebSocket-Accept") != websocket_accept_key(key)) {
    return fail(Code::kInvalid, "no websocket handshake: Sec-WebSocket-Accept does not match");
  }
  if (answer.contains("Sec-WebSocket-Extensions")) {
    return fail(Code::kInvalid, "the server uses websocket extensions that were not asked for");
  }
  const std::string chosen(answer.get("Sec-WebSocket-Protocol").value_or(""));
  if (chosen.empty() && protocols.empty()) return chosen;
  if (std::find(protocols.begin(), protocols.end(), chosen) == protocols.end()) {
    return fail(Code::kUnsupported,
                fmt::format("the server chose websocket protocol {}, offered: {}", quoted(chosen),
                            join(protocols, ", ")));
  }
  return chosen;
}

Result<Response> accept_websocket(const Request& request,
                                  const std::vector<std::string>& supported) {
  MS_CHECK(require_token(request.headers, "Upgrade", "websocket"));
  MS_CHECK(require_token(request.headers, "Sec-WebSocket-Version", "13"));
  if (request.method != Method::kGet) return fail(Code::kInvalid, "a websocket begins with a GET");
  const auto key = request.headers.get("Sec-WebSocket-Key").value_or("");
  const auto nonce = base64_decode(key);
  if (!nonce || nonce->size() != 16) {
    return fail(Code::kInvalid, "Sec-WebSocket-Key is not 16 bytes in base64");
  }
  Response answer;
  answer.status = 101;
  answer.headers = {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}};
  answer.headers.set("Sec-WebSocket-Accept", websocket_accept_key(key));
  bool offered = false;
  for (const auto line : request.headers.all("Sec-WebSocket-Protocol")) {
    for (const auto item : split(line, ',')) {
      offered = true;
      const auto found = std::find(supported.begin(), supported.end(), trim(item));
      if (found == supported.end()) continue;
      answer.headers.set("Sec-WebSocket-Protocol", *found);
      return answer;
    }
  }
  if (offered) return fail(Code::kUnsupported, "none of the websocket protocols offered is known");
  return answer;
}

}  // namespace mainspring::http
