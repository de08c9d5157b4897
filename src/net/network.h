// net/network.h
//
// How streams come to be: Network connects and listens. An interface handed down from main
// (SocketNetwork, net/socket_network.h) or from a simulation, so that nothing above this room opens
// a socket by itself. Lives on one loop; shared by everybody on it.
#pragma once

#include <memory>
#include <string>

#include "net/endpoint.h"
#include "net/stream.h"
#include "net/task.h"

namespace mainspring::net {

class TlsSource;  // net/tls.h

struct ConnectOptions {
  // Null for a plain stream. Asked for its current certificates at each connect.
  std::shared_ptr<TlsSource> tls;
  // The name or IP address that the server's certificate must carry, and that is sent to it (SNI).
  // Empty: the endpoint's host.
  std::string server_name;
  // For all of it: resolving, connecting to each address in turn, and the TLS handshake.
  Duration timeout = seconds(30);
  // For one of several addresses, so that a dead one does not use up the time of the others.
  Duration timeout_per_address = seconds(5);
};

struct ListenOptions {
  // Null for plain streams. Asked for its current certificates at each accept.
  std::shared_ptr<TlsSource> tls;
  int backlog = 1024;
  // Permissions of a Unix socket's file.
  unsigned unix_mode = 0600;
};

class Network {
 public:
  virtual ~Network() = default;

  // With options.tls the handshake is done, and the server's certificate checked, when this
  // returns. Fails with kTransient where trying again may help: "connecting to 127.0.0.1:6443:
  // connection refused".
  virtual Task<Result<std::unique_ptr<Stream>>> connect(Endpoint endpoint,
                                                        ConnectOptions options) = 0;

  // Bound and listening when this returns. Port 0 takes a free one: see Listener::port(). The file
  // of a Unix socket that nobody listens on is replaced; a live one is kAlreadyExists.
  virtual Result<std::unique_ptr<Listener>> listen(const Endpoint& endpoint,
                                                   ListenOptions options) = 0;
};

}  // namespace mainspring::net
