// control/serving.h
//
// The serving loop: a thread of its own for whatever answers requests (health, metrics, webhooks,
// aggregated APIs), so that a busy control loop never delays an answer and a slow client never
// delays the control loop. Owned by main. What its handlers touch lives on its loop or is safe from
// any thread (Health, Metrics, immutable snapshots); they never see the control loop's objects.
//
// Wire it up first (listen, add_task), then start(). A kube::Client for its handlers is made on
// loop() and network().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "http/router.h"
#include "http/server.h"
#include "net/event_loop.h"
#include "net/network.h"
#include "net/one_shot.h"
#include "net/task_group.h"

namespace mainspring::control {

class Serving {
 public:
  explicit Serving(Logger log);
  // Stops at once what still runs.
  ~Serving();
  Serving(const Serving&) = delete;
  Serving& operator=(const Serving&) = delete;

  net::EventLoop& loop() { return loop_; }
  net::Network& network() { return *network_; }

  // Bound when this returns, so that a port in use is known before anything starts; served after
  // start(). Gives the port, for those who asked for any.
  Result<std::uint16_t> listen(const std::string& name, const net::Endpoint& at,
                               http::Router router, std::shared_ptr<net::TlsSource> tls = nullptr);
  // Runs on the loop until stop(), which cancels it. Its failure is logged.
  void add_task(std::string name, net::Task<Result<void>> task);

  void start();
  // Lets requests at work finish within `grace` and ends the thread. Any thread but its own.
  void stop(Duration grace);

 private:
  struct Door {
    std::string name;
    std::unique_ptr<http::Server> server;
    std::unique_ptr<net::Listener> listener;
  };
  net::Task<Result<void>> serve();
  net::Task<Result<void>> watch_over(std::string name, net::Task<Result<void>> task);

  Logger log_;
  net::EventLoop loop_;
  std::unique_ptr<net::Network> network_;
  std::vector<Door> doors_;
  net::TaskGroup tasks_;
  net::TaskGroup serving_;
  net::OneShot<net::Unit> stopping_;
  std::thread thread_;
};

}  // namespace mainspring::control
