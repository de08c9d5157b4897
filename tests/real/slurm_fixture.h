// tests/real/slurm_fixture.h
//
// What the programs that speak to a real slurmrestd share: our client on a real loop, told where by
// SLURM_ENDPOINT, the file that `dev/slurm endpoint` writes.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/random.h"
#include "http/client.h"
#include "json/value.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/wait.h"
#include "slurm/client.h"

namespace mainspring::slurm {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What `dev/slurm endpoint` said.
struct Endpoints {
  std::string cluster, release, url, key;

  static Endpoints from_environment() {
    const char* const path = std::getenv("SLURM_ENDPOINT");
    const auto said = json::parse(file_text(path == nullptr ? "" : path));
    if (!said) {
      ADD_FAILURE() << "SLURM_ENDPOINT: " << said.error().to_string();
      return {};
    }
    const auto text = [&](std::string_view name) {
      const json::Value* value = said->find(name);
      return value == nullptr ? std::string() : std::string(value->as_string().value_or(""));
    };
    return {text("name"), text("version"), text("url"), file_text(text("jwt_key"))};
  }
};

// One loop with one client on it, which speaks `version`, or the newest.
struct Peer {
  explicit Peer(std::optional<Version> version = {}) {
    const Endpoints at = Endpoints::from_environment();
    cluster = at.cluster;
    release = at.release;
    Client::Options options;
    auto server = http::Url::parse(at.url);
    if (!server) ADD_FAILURE() << server.error().to_string();
    options.server = *std::move(server);
    options.tokens = minted_tokens(Secret(at.key), loop.clock());
    options.version = version;
    options.timeout = seconds(90);  // The machine may be busy; how long a call takes is not tested.
    client.emplace(transport, loop, random, governor, std::move(options));
  }

  template <class T>
  Result<T> run(Task<Result<T>> task) {
    return loop.run(net::with_timeout(seconds(120), "the test's call", std::move(task)));
  }

  std::string cluster, release;
  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random{1};
  http::Client transport{loop, network, {}};
  Governor governor{loop, random, {}};
  std::optional<Client> client;
};

template <class T>
std::string why(const Result<T>& result) {
  return result ? std::string("ok") : result.error().to_string();
}

}  // namespace mainspring::slurm
