// net/socket_address.h
//
// An address as the operating system wants it, for IPv4, IPv6 and Unix sockets. A value.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainspring::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  static SocketAddress of(const sockaddr* address, socklen_t size);
  static Result<SocketAddress> of_unix(std::string_view path);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  std::uint16_t port() const;

  // "127.0.0.1:80", "[::1]:80", "unix".
  std::string to_string() const;
};

}  // namespace mainspring::net
