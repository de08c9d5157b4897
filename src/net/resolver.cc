#include "net/resolver.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cerrno>
#include <memory>

#include "net/os_error.h"
#include "net/run_blocking.h"

namespace mainspring::net {
namespace {

Result<std::vector<SocketAddress>> look_up(const std::string& host, std::uint16_t port, int flags) {
  // getaddrinfo takes text with a zero inside for the part before it.
  if (host.find('\0') != std::string::npos) {
    return fail(Code::kInvalid, "the host name contains a zero");
  }
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int failure = ::getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                    fmt::format("{}", port).c_str(), &hints, &list);
  if (failure != 0) {
    const std::string why = failure == EAI_SYSTEM ? os_error_text(errno) : ::gai_strerror(failure);
    // Never kNotFound, also where no name server knows the name: a Service that is about to be made
    // has none yet, and who asks a server for a thing must not take this for the server's "no".
    return fail(Code::kTransient, fmt::format("resolving \"{}\": {}", host, why));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, &::freeaddrinfo);
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    addresses.push_back(SocketAddress::of(entry->ai_addr, entry->ai_addrlen));
  }
  return addresses;
}

}  // namespace

Result<std::vector<SocketAddress>> resolve_literal(const std::string& host, std::uint16_t port) {
  return look_up(host, port, AI_NUMERICHOST | AI_PASSIVE);
}

Task<Result<std::vector<SocketAddress>>> resolve(std::string host, std::uint16_t port) {
  if (host.empty()) co_return fail(Code::kInvalid, "the host name is empty");
  if (auto literal = resolve_literal(host, port)) co_return literal;
  auto blocking = [host, port] { return look_up(host, port, AI_ADDRCONFIG); };
  co_return co_await run_blocking(std::move(blocking));
}

}  // namespace mainspring::net
