// control/process.h
//
// A controller process as main makes it: the loop, the connection to the API server, logs, numbers,
// health, leader election and the manager, wired the usual way, from flags to exit status. The
// operator, the bridge and your own controller differ only in what they add to manager().
//
//   MS_TRY(auto process, Process::make({.name = "my-controller"}));
//   ... process->manager().add(...) ...
//   return process->run();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "control/health.h"
#include "control/manager.h"
#include "control/serving.h"
#include "kube/config.h"
#include "kube/connect.h"
#include "net/event_loop.h"
#include "net/network.h"

namespace mainspring::control {

class Process {
 public:
  struct Options {
    // A qualified name, under which its events and its lease are known.
    std::string name;
    kube::ConfigOptions config;  // The environment is filled in.
    std::vector<std::string> namespaces = {};
    // Where to serve /healthz and /readyz, and /metrics: ":8081". Empty: nowhere.
    std::string health_address = {};
    std::string metrics_address = {};
    // Serve metrics only to those who may see them, by TokenReview and SubjectAccessReview.
    bool metrics_secure = false;
    bool leader_elect = false;
    std::string leader_namespace = {};  // Empty: the one we run in.
    LogLevel log_level = LogLevel::kInfo;
  };

  // Reads the configuration and binds the ports; talks to nobody yet.
  static Result<std::unique_ptr<Process>> make(Options options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Manager& manager() { return *manager_; }
  kube::Client& client() { return *client_; }
  // Of the control loop.
  net::Network& network() { return *network_; }
  Serving& serving() { return serving_; }
  Metrics& metrics() { return metrics_; }
  Health& health() { return health_; }
  const Logger& log() const { return log_; }

  // Another way to the API server, for a client of the caller's own: one that may write without
  // leading, or one for handlers on the serving loop. Connects to nothing yet.
  enum class Loop { kControl, kServing };
  Result<kube::Connection> open_connection(Loop loop);

  // Runs until SIGTERM or SIGINT and then ends in order: 0. A second signal, a lost lease or failed
  // work ends it at once: 1.
  int run();

 private:
  explicit Process(Options options);
  Result<void> connect();
  Result<void> serve();
  Task<Result<void>> obey_signals(net::CancelScope* stop);

  Options options_;
  net::EventLoop loop_;
  Logger log_;
  std::unique_ptr<net::Network> network_;
  Metrics metrics_;
  Health health_;
  Random random_;
  std::optional<kube::Config> config_;
  std::optional<kube::Connection> connection_;
  std::optional<kube::Client> client_;
  Serving serving_;
  // Of the serving loop: its own way to the API server.
  struct Access;
  std::unique_ptr<Access> access_;
  std::optional<Manager> manager_;
};

}  // namespace mainspring::control
