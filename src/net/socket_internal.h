// net/socket_internal.h
//
// What connecting and accepting share. For the .cc files of this room.
#pragma once

#include <memory>

#include "net/event_loop.h"
#include "net/network.h"
#include "net/socket_address.h"

namespace mainspring::net {

// TCP_NODELAY and keepalive. A socket that refuses them still works, so failures are ignored.
void tune_tcp(int fd);

Task<Result<std::unique_ptr<Stream>>> connect_socket(EventLoop* loop, SocketAddress address);

Result<std::unique_ptr<Listener>> listen_socket(EventLoop& loop, const Endpoint& endpoint,
                                                ListenOptions options);

}  // namespace mainspring::net
