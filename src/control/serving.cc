#include "control/serving.h"

#include <utility>

#include "net/socket_network.h"

namespace mainspring::control {

Serving::Serving(Logger log)
    : log_(std::move(log)),
      network_(std::make_unique<net::SocketNetwork>(loop_)),
      tasks_(loop_),
      serving_(loop_) {}

Serving::~Serving() { stop(Duration::zero()); }

Result<std::uint16_t> Serving::listen(const std::string& name, const net::Endpoint& at,
                                      http::Router router, std::shared_ptr<net::TlsSource> tls) {
  net::ListenOptions options;
  options.tls = std::move(tls);
  auto listener = network_->listen(at, std::move(options));
  if (!listener) return fail(std::move(listener).error().with_context("serving " + name));
  const std::uint16_t port = (*listener)->port();
  log_.info("listening", {{"what", name}, {"port", port}});
  doors_.push_back(
      {name, std::make_unique<http::Server>(loop_, http::Server::Options(), std::move(router)),
       *std::move(listener)});
  return port;
}

void Serving::add_task(std::string name, net::Task<Result<void>> task) {
  tasks_.spawn(watch_over(std::move(name), std::move(task)));
}

void Serving::start() {
  for (Door& door : doors_) {
    serving_.spawn(watch_over(door.name, door.server->serve(std::move(door.listener))));
  }
  thread_ = std::thread([this] {
    // Ends when stop() has made every door and task end.
    static_cast<void>(loop_.run(serve()));
  });
}

net::Task<Result<void>> Serving::serve() {
  // Not when the doors have closed: there may be none, and tasks run until they are told.
  MS_CO_CHECK(co_await stopping_.wait());
  MS_CO_CHECK(co_await serving_.join());
  tasks_.cancel();
  co_return co_await tasks_.join();
}

net::Task<Result<void>> Serving::watch_over(std::string name, net::Task<Result<void>> task) {
  const Result<void> ended = co_await std::move(task);
  if (!ended && ended.error().code() != Code::kCancelled) {
    log_.error("no longer served", {{"what", name}, {"error", ended.error()}});
  }
  co_return Result<void>();
}

void Serving::stop(Duration grace) {
  if (!thread_.joinable()) return;
  loop_.post([this, grace] {
    for (const Door& door : doors_) door.server->shutdown(grace);
    stopping_.set(net::Unit{});
  });
  thread_.join();
}

}  // namespace mainspring::control
