// kube/connect.h
//
// From a Config to what kube::Client needs: the transport with its certificates and proxy, and the
// credentials. Called once by main; what it gives is owned there and lives on one loop. Connects to
// nothing and runs no plugin by itself: the first request does.
//
//   MS_TRY(kube::Connection connection, kube::connect(config, {executor, network, environment}));
//   kube::Client client(*connection.transport, clock, random, connection.client);
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "http/client.h"
#include "kube/client.h"
#include "kube/config.h"

namespace mainspring::kube {

struct ConnectOptions {
  // Both must outlive the connection.
  net::Executor& executor;
  net::Network& network;
  // "NAME=value", all of it: for credential plugins and for proxies.
  std::vector<std::string> environment;
  std::string user_agent = "mainspring";
  // Told of certificate files that were replaced and cannot be used.
  Logger log = {};
  Metrics* metrics = nullptr;
};

struct Connection {
  std::shared_ptr<http::Client> transport;
  // Server, credentials and impersonation; the rest as Client has it.
  Client::Options client;
};

// Files that are named must be readable now; they are read again when they change.
Result<Connection> connect(const Config& config, ConnectOptions options);

}  // namespace mainspring::kube
