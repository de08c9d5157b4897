// net/resolver.h
//
// From a host name to addresses. The system's own resolver is asked (files, DNS, search domains),
// on a worker thread, because it blocks. Nothing is cached: connections are kept alive, and a
// Service whose address changed must be found again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/socket_address.h"
#include "net/task.h"

namespace mainspring::net {

// In the order in which they should be tried; never empty. An IP address is answered at once.
// kTransient when the name servers do not answer or know no such name, which may change.
Task<Result<std::vector<SocketAddress>>> resolve(std::string host, std::uint16_t port);

// The same for IP addresses only, without waiting. An empty host is every address of the machine.
Result<std::vector<SocketAddress>> resolve_literal(const std::string& host, std::uint16_t port);

}  // namespace mainspring::net
