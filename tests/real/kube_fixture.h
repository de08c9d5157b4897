// tests/real/kube_fixture.h
//
// What the programs that speak to a real API server share: our client, configured by KUBECONFIG as
// a user's would be, on a real loop; and a namespace for each test, gone afterwards.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/connect.h"
#include "kube/core_objects.h"
#include "kube/status.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/wait.h"

namespace mainspring::kube {

inline std::vector<std::string> whole_environment() {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) all.emplace_back(*entry);
  return all;
}

inline std::optional<std::string> from_environment(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

// One loop with one client on it.
struct Peer {
  explicit Peer(std::string kubeconfig = {}, std::function<void(Client::Options&)> change = {}) {
    ConfigOptions options;
    options.env = from_environment;
    options.kubeconfig = std::move(kubeconfig);
    auto config = load_config(options);
    if (!config) ADD_FAILURE() << config.error().to_string();
    auto made = connect(*config, {loop, network, whole_environment()});
    if (!made) ADD_FAILURE() << made.error().to_string();
    connection = *std::move(made);
    if (change) change(connection.client);
    client.emplace(*connection.transport, loop.clock(), random, connection.client);
  }

  template <class T>
  Result<T> run(Task<Result<T>> task) {
    return loop.run(net::with_timeout(seconds(60), "the test's call", std::move(task)));
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random{1};
  Connection connection;
  std::optional<Client> client;
};

class KubeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    json::Value object;
    object["apiVersion"] = "v1";
    object["kind"] = "Namespace";
    object["metadata"]["generateName"] = "conformance-";
    auto made = peer_.run(Api<Namespace>(client()).create(object));
    ASSERT_TRUE(made) << made.error().to_string();
    ns_ = made->meta.name;
  }
  void TearDown() override { EXPECT_TRUE(peer_.run(Api<Namespace>(client()).remove(ns_))); }

  Client& client() { return *peer_.client; }
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    return peer_.run(std::move(task));
  }
  Api<ConfigMap> config_maps() { return Api<ConfigMap>(client(), ns_); }

  json::Value config_map(std::string_view name, std::string_view value) {
    json::Value object;
    object["apiVersion"] = "v1";
    object["kind"] = "ConfigMap";
    object["metadata"]["name"] = name;
    object["metadata"]["namespace"] = ns_;
    object["data"]["key"] = value;
    return object;
  }

  Peer peer_;
  std::string ns_;
};

template <class T>
std::string why(const Result<T>& result) {
  return result ? std::string("ok") : result.error().to_string();
}

}  // namespace mainspring::kube
