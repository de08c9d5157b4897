// bench/kube_process.h
//
// What the parts of kube_client share: our client on a real loop, configured by KUBECONFIG; what
// this process has used; and a line of JSON as bench/informer prints it.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "kube/api.h"
#include "kube/config.h"
#include "kube/connect.h"
#include "net/event_loop.h"
#include "net/socket_network.h"

namespace mainspring::bench {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "kube_client: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

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

inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// A line of /proc/self/status in bytes: "VmRSS:", "VmHWM:".
inline long memory(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size()) * 1024;
  }
  return 0;
}

inline void print_line(const json::Value& line) {
  std::printf("%s\n", json::to_text(line).c_str());
  std::fflush(stdout);
}

}  // namespace mainspring::bench
