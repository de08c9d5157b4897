// kube/channel_socket.h
//
// The websocket under exec, attach and port-forward: every message begins with a byte that names
// its channel. Owned by the session above it, on the client's loop. Internal to those files.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/websocket.h"
#include "kube/client.h"
#include "net/task_group.h"

namespace mainspring::kube {

class ChannelSocket {
 public:
  // Opens it by `call`, a GET, in one of the `protocols`. `client` must outlive the task, and its
  // Random the socket.
  static Task<Result<std::unique_ptr<ChannelSocket>>> open(Client* client, Call call,
                                                           std::vector<std::string> protocols);
  ChannelSocket(std::unique_ptr<net::Stream> stream, Random& random, net::Executor& executor,
                std::string protocol);

  const std::string& protocol() const { return protocol_; }
  http::WebSocket& socket() { return socket_; }
  const http::WebSocket& socket() const { return socket_; }

  struct Piece {
    unsigned char channel = 0;
    std::string_view data;  // Not empty; valid until the next call of next().
  };
  // The next piece of any channel; nullopt once the server has closed.
  Task<Result<std::optional<Piece>>> next();
  // Splits what is long, so that other channels are heard in between. `data` must live until the
  // task ends.
  Task<Result<void>> send(unsigned char channel, std::string_view data);

 private:
  http::WebSocket socket_;
  std::string protocol_;
  net::TaskGroup background_;
};

}  // namespace mainspring::kube
