// net/endpoint.h
//
// Where to connect to or listen at: a host and a port, or the path of a Unix socket. A value; it
// resolves nothing and opens nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainspring::net {

struct Endpoint {
  // A name or an IP address, an IPv6 one without brackets. When listening, empty means every
  // address of the machine.
  std::string host;
  std::uint16_t port = 0;
  // The socket's path; host and port are then unused. A leading '@' means Linux's abstract names.
  std::string unix_path;

  static Endpoint tcp(std::string host, std::uint16_t port);
  static Endpoint unix_socket(std::string path);

  // "host:port", "[::1]:6443", ":8080", "unix:/run/x.sock". A port is required.
  static Result<Endpoint> parse(std::string_view text);

  bool is_unix() const { return !unix_path.empty(); }
  // The form that parse() reads.
  std::string to_string() const;

  bool operator==(const Endpoint&) const = default;
};

}  // namespace mainspring::net
