// bench/kube_process.h
//
// What the parts of kube_client share: our client on a real loop, configured by KUBECONFIG.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/connect.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "process_usage.h"

namespace mainspring::bench {

inline std::optional<std::string> from_environment(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// One loop with one client on it.
struct Process {
  Process()
      : config(must(kube::load_config({.env = from_environment}))),
        connection(must(kube::connect(config, {loop, network, {}}))),
        client(*connection.transport, loop.clock(), random, connection.client) {}

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random{1};
  kube::Config config;
  kube::Connection connection;
  kube::Client client;
};

}  // namespace mainspring::bench
