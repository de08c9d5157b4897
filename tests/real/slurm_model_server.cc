// The in-memory Slurm of tests/sim behind a real port, so that slurm_differential_test.py can ask
// it what it asks the real one. Prints the port; runs until it is killed.
#include <cstdio>
#include <string_view>

#include "http/server.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {
namespace {

http::Task<Result<http::Response>> pass_on(SlurmApi* api, http::Request request) {
  co_return co_await api->send(std::move(request));
}

int run() {
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  SlurmApi api(loop, {});
  http::Router router;
  for (const http::Method method :
       {http::Method::kGet, http::Method::kPost, http::Method::kDelete}) {
    router.add(method, "/{path...}",
               [&api](http::Request request) { return pass_on(&api, std::move(request)); });
  }
  http::Server server(loop, {}, std::move(router));
  auto listener = network.listen(net::Endpoint::tcp("127.0.0.1", 0), {});
  if (!listener) {
    std::fprintf(stderr, "%s\n", listener.error().to_string().c_str());
    return 1;
  }
  std::printf("%u\n", static_cast<unsigned>((*listener)->port()));
  std::fflush(stdout);
  const auto ended = loop.run(server.serve(*std::move(listener)));
  if (!ended) std::fprintf(stderr, "%s\n", ended.error().to_string().c_str());
  return ended ? 0 : 1;
}

}  // namespace
}  // namespace mainspring::sim

int main() { return mainspring::sim::run(); }
