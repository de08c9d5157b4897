// http/url.h
//
// http and https addresses: parsing, writing, percent-encoding and building queries. Plain values.
//
// Parsing is strict, because two readers who disagree about a URL are how requests reach the wrong
// host: no user info, no spaces, control or non-ASCII bytes, no backslash, no fragment, no broken
// percent escapes, and only hosts that are names, IPv4 addresses or IPv6 literals in brackets. Path
// and query are kept as they were written, encoded; nothing is normalised.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace mainspring::http {

struct Url {
  std::string scheme = "http";  // "http" or "https"
  std::string host;             // Lower case; an IPv6 literal without its brackets.
  std::uint16_t port = 0;       // 0: the scheme's own.
  std::string path = "/";       // Begins with '/'; percent-encoded.
  std::string query;            // Without the '?'; percent-encoded.

  static Result<Url> parse(std::string_view text);
  // The origin form of a request line: "/path?query".
  static Result<Url> parse_target(std::string_view target);

  bool is_https() const { return scheme == "https"; }
  std::uint16_t effective_port() const;
  // What goes into Host: the port only where it is not the scheme's own, brackets around IPv6.
  std::string authority() const;
  // "host:port", always with the port, for CONNECT and for connecting.
  std::string host_and_port() const;
  // "https://host:port": what decides whether a connection can be shared.
  std::string origin() const;
  std::string target() const;
  std::string to_string() const;

  // Adds a decoded path segment, encoding what must be: "/api" + "a/b" is "/api/a%2Fb".
  Url& append_segment(std::string_view segment);
  Url& add_query(std::string_view name, std::string_view value);

  // The decoded value of a query parameter; nullopt if it is absent.
  std::optional<std::string> query_value(std::string_view name) const;
  std::vector<std::pair<std::string, std::string>> query_pairs() const;

  bool operator==(const Url&) const = default;
};

// Escapes all but the unreserved characters (letters, digits, "-._~").
std::string percent_encode(std::string_view text);
// kInvalid if an escape is broken. '+' stays a plus except in queries, where it means a space.
Result<std::string> percent_decode(std::string_view text, bool plus_is_space = false);

// Host and port of "host:port", "[::1]:port", "host" or "[::1]"; the port is 0 where there is none.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool operator==(const HostPort&) const = default;
};
Result<HostPort> parse_host_port(std::string_view text);

}  // namespace mainspring::http
