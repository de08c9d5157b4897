// http/server_state.h
//
// What the server's connections share with it: options, routes, counts. Owned by the Server; lives
// on its loop. Internal to this room.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>

#include "http/router.h"
#include "http/server.h"
#include "net/notify.h"

namespace mainspring::http {

class ServerConnection;

struct ServerState {
  ServerState(net::Executor& on, Server::Options with, Router routes)
      : executor(on), options(std::move(with)), router(std::move(routes)) {}

  // The Date field's value, formatted at most once a second.
  std::string_view date() {
    const WallTime now = executor.clock().wall_now();
    if (now < date_from || now >= date_from + seconds(1)) format_date(now);
    return date_text;
  }
  void format_date(WallTime now);

  net::Executor& executor;
  const Server::Options options;
  const Router router;

  bool draining = false;
  TimePoint drain_until;
  std::size_t in_flight = 0;
  std::list<ServerConnection*> connections;  // Oldest first.
  std::size_t starting = 0;                  // Accepted and not yet among them.
  std::list<net::CancelScope*> acceptors;
  net::Notify room_changed;  // A connection has ended, or is idle and can be closed.

  WallTime date_from;
  std::string date_text;
};

}  // namespace mainspring::http
