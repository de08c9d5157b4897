// The in-memory Slurm of tests/sim behind a real port, so that slurm_differential_test.py can ask
// it what it asks the real one. Takes the file with the key of tokens, prints the port and runs
// until it is killed.
#include <cstdio>
#include <string_view>

#include "http/server.h"
#include "net/event_loop.h"
#include "net/small_file.h"
#include "net/socket_network.h"
#include "sim/slurm_api.h"

namespace mainspring::sim {
namespace {

http::Task<Result<http::Response>> pass_on(SlurmApi* api, http::Request request) {
  co_return co_await api->send(std::move(request));
}

int run(const char* key_file) {
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  auto key = net::read_small_file(key_file);
  if (!key) {
    std::fprintf(stderr, "%s\n", key.error().to_string().c_str());
    return 1;
  }
  SlurmApi api(loop, {.key = Secret(*std::move(key))});
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

int main(int count, char** words) {
  if (count == 2) return mainspring::sim::run(words[1]);
  std::fputs("usage: slurm_model_server KEY_FILE\n", stderr);
  return 2;
}
