#include "net/socket_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace mainspring::net {

SocketAddress SocketAddress::of(const sockaddr* address, socklen_t size) {
  SocketAddress result;
  result.size = std::min(size, static_cast<socklen_t>(sizeof(result.storage)));
  std::memcpy(&result.storage, address, result.size);
  return result;
}

Result<SocketAddress> SocketAddress::of_unix(std::string_view path) {
  sockaddr_un address{};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return fail(Code::kInvalid,
                fmt::format("\"{}\": the path of a Unix socket has 1 to {} characters", path,
                            sizeof(address.sun_path) - 1));
  }
  address.sun_family = AF_UNIX;
  std::copy(path.begin(), path.end(), address.sun_path);
  std::size_t size = offsetof(sockaddr_un, sun_path) + path.size();
  if (path.front() == '@') {
    address.sun_path[0] = '\0';
  } else {
    size += 1;
  }
  return of(reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(size));
}

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  if (family() == AF_INET6)
    return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return 0;
}

std::string SocketAddress::to_string() const {
  if (family() != AF_INET && family() != AF_INET6) return "unix";
  char host[NI_MAXHOST] = "";
  if (::getnameinfo(get(), size, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) != 0) return "?";
  if (family() == AF_INET6) return fmt::format("[{}]:{}", host, port());
  return fmt::format("{}:{}", host, port());
}

}  // namespace mainspring::net
