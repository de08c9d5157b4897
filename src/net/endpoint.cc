#include "net/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace mainspring::net {
namespace {

constexpr std::string_view kUnixPrefix = "unix:";
// sizeof(sockaddr_un::sun_path) with the zero at its end.
constexpr std::size_t kMaxUnixPath = 107;

Result<Endpoint> invalid(std::string_view text, std::string_view why) {
  return fail(Code::kInvalid, fmt::format("\"{}\" is not an endpoint: {}", text, why));
}

bool printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

Result<Endpoint> parse_unix(std::string_view text) {
  const std::string_view path = text.substr(kUnixPrefix.size());
  if (path.empty()) return invalid(text, "a path must follow \"unix:\"");
  if (path.size() > kMaxUnixPath) {
    return invalid(text, "the path of a Unix socket has at most 107 characters");
  }
  if (path.find('\0') != std::string_view::npos) return invalid(text, "the path contains a zero");
  return Endpoint::unix_socket(std::string(path));
}

}  // namespace

Endpoint Endpoint::tcp(std::string host, std::uint16_t port) {
  Endpoint endpoint;
  endpoint.host = std::move(host);
  endpoint.port = port;
  return endpoint;
}

Endpoint Endpoint::unix_socket(std::string path) {
  Endpoint endpoint;
  endpoint.unix_path = std::move(path);
  return endpoint;
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  if (text.starts_with(kUnixPrefix)) return parse_unix(text);
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return invalid(text, "the port is missing, as in \"host:443\"");

  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[')) {
    if (!host.ends_with(']') || host.size() < 3) return invalid(text, "the \"[\" is never closed");
    host = host.substr(1, host.size() - 2);
    if (host.find(':') == std::string_view::npos) {
      return invalid(text, "brackets are for IPv6 addresses only");
    }
  } else if (host.find(':') != std::string_view::npos) {
    return invalid(text, "write an IPv6 address in brackets, as in \"[::1]:443\"");
  }
  if (!printable(host) || host.find_first_of("[]/@") != std::string_view::npos) {
    return invalid(text, "the host contains a character that no name or address has");
  }

  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return invalid(text, "the port must be a number from 0 to 65535");
  }
  return tcp(std::string(host), port);
}

std::string Endpoint::to_string() const {
  if (is_unix()) return std::string(kUnixPrefix) + unix_path;
  if (host.find(':') != std::string::npos) return fmt::format("[{}]:{}", host, port);
  return fmt::format("{}:{}", host, port);
}

}  // namespace mainspring::net
