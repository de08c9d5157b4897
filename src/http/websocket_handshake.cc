#include "http/websocket_handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>

#include "base/base64.h"
#include "base/text.h"

namespace mainspring::http {
namespace {

// SHA-1 (RFC 3174). Long broken for trust, and here only to show that the other side speaks the
// protocol, which is why it lives here and not among the digests.
class Sha1 {
 public:
  static std::string digest(std::string message) {
    const std::uint64_t bits = std::uint64_t{message.size()} * 8;
    message.push_back('\x80');
    while (message.size() % 64 != 56) message.push_back('\0');
    for (int shift = 56; shift >= 0; shift -= 8)
      message.push_back(static_cast<char>(bits >> shift));
    Sha1 sha;
    for (std::size_t at = 0; at < message.size(); at += 64) {
      sha.add(std::string_view(message).substr(at, 64));
    }
    std::string out;
    for (const std::uint32_t word : sha.state_) {
      for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(word >> shift));
    }
    return out;
  }

 private:
  void add(std::string_view block) {
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 64; ++i) {
      w[i / 4] = w[i / 4] << 8 | static_cast<unsigned char>(block[i]);
    }
    for (std::size_t i = 16; i < w.size(); ++i) {
      w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    auto [a, b, c, d, e] = state_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t next = std::rotl(a, 5) + mix(i / 20, b, c, d) + e + w[i];
      e = d;
      d = c;
      c = std::rotl(b, 30);
      b = a;
      a = next;
    }
    const std::array<std::uint32_t, 5> sum{a, b, c, d, e};
    for (std::size_t i = 0; i < sum.size(); ++i) state_[i] += sum[i];
  }

  static std::uint32_t mix(std::size_t round, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    switch (round) {
      case 0:
        return ((b & c) | (~b & d)) + 0x5A827999;
      case 1:
        return (b ^ c ^ d) + 0x6ED9EBA1;
      case 2:
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC;
      default:
        return (b ^ c ^ d) + 0xCA62C1D6;
    }
  }

  std::array<std::uint32_t, 5> state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
};

Result<void> require_token(const Headers& headers, std::string_view name, std::string_view token) {
  if (headers.has_token(name, token)) return {};
  return fail(Code::kInvalid, fmt::format("no websocket handshake: {} must name {}, found {}", name,
                                          token, quoted(headers.get(name).value_or(""))));
}

}  // namespace

std::string websocket_accept_key(std::string_view key) {
  return base64_encode(Sha1::digest(std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
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
