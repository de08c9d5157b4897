// net/socket_stream.h
//
// Stream over a connected TCP or Unix socket. Made by SocketNetwork and its listeners.
#pragma once

#include <memory>
#include <string>

#include "net/fd_watch.h"
#include "net/stream.h"

namespace mainspring::net {

std::unique_ptr<Stream> make_socket_stream(std::shared_ptr<FdWatch> watch, std::string peer);

}  // namespace mainspring::net
