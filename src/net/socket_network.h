// net/socket_network.h
//
// The Network of the machine: TCP and Unix sockets, with TLS where asked for. Made by main, one per
// loop, which must outlive it. TCP streams send at once (TCP_NODELAY) and find out within a minute
// that a silent peer is gone (keepalive).
#pragma once

#include "net/event_loop.h"
#include "net/network.h"

namespace mainspring::net {

class SocketNetwork final : public Network {
 public:
  explicit SocketNetwork(EventLoop& loop) : loop_(loop) {}

  Task<Result<std::unique_ptr<Stream>>> connect(Endpoint endpoint, ConnectOptions options) override;
  // The host must be an IP address, "localhost" or empty: names are not looked up here.
  Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint,
                                           ListenOptions options) override;

 private:
  EventLoop& loop_;
};

}  // namespace mainspring::net
