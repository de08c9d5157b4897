// HTTP on loopback sockets. Without arguments a Google Benchmark of our client against our server;
// bench/http_compare uses the other two modes:
//
//   http_bench --serve PORT
//       our server with GET /payload, 1 KiB; prints its port
//   http_bench --tls-memory COUNT CERT KEY
//       memory per idle TLS stream, each end in a process of its own; prints "server BYTES" and
//       "client BYTES"
#include <benchmark/benchmark.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "http/client.h"
#include "http/server.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"

namespace mainspring::http {
namespace {

constexpr std::size_t kPayload = 1024;

Task<Result<Response>> payload(Request) {
  co_return Response{200, {{"Content-Type", "text/plain"}}, std::string(kPayload, 'x')};
}

Router payload_router() {
  Router router;
  router.add(Method::kGet, "/payload", payload);
  return router;
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "http_bench: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  return *std::move(result);
}

int serve(const std::string& port) {
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  const auto number = static_cast<std::uint16_t>(std::atoi(port.c_str()));
  auto listener = must(network.listen(net::Endpoint::tcp("127.0.0.1", number), {}));
  std::printf("%d\n", listener->port());
  std::fflush(stdout);
  Server server(loop, {}, payload_router());
  const auto ended = loop.run(server.serve(std::move(listener)));
  return ended ? 0 : 1;
}

// Client and server share the loop and thus one core: the figure is for both together.
struct Pair {
  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Server server{loop, {}, payload_router()};
  Client client{loop, network, {}};
  std::optional<net::TaskGroup> serving;
  Request request;

  Pair() {
    auto listener = must(network.listen(net::Endpoint::tcp("127.0.0.1", 0), {}));
    request.url =
        must(Url::parse("http://127.0.0.1:" + std::to_string(listener->port()) + "/payload"));
    serving.emplace(loop);
    serving->spawn(server.serve(std::move(listener)));
  }
};

Task<Result<void>> send_some(Client* client, Request request, int count) {
  for (int i = 0; i < count; ++i) {
    MS_CO_TRY(const Response response, co_await client->send(request));
    if (response.body.size() != kPayload) co_return fail(Code::kInternal, "short body");
  }
  co_return Result<void>();
}

Task<Result<void>> send_side_by_side(Pair* pair, int lanes, int count) {
  net::TaskGroup group(pair->loop);
  for (int i = 0; i < lanes; ++i) group.spawn(send_some(&pair->client, pair->request, count));
  co_return co_await group.join();
}

void http_keepalive_client(benchmark::State& state) {
  Pair pair;
  const auto lanes = static_cast<int>(state.range(0));
  constexpr int kPerLane = 100;
  for (auto _ : state) {
    const auto sent = pair.loop.run(send_side_by_side(&pair, lanes, kPerLane));
    if (!sent) state.SkipWithError(sent.error().to_string().c_str());
  }
  state.SetItemsProcessed(state.iterations() * lanes * kPerLane);
}
BENCHMARK(http_keepalive_client)->Arg(1)->Arg(16)->UseRealTime()->Unit(benchmark::kMillisecond);

std::string read_file(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

long resident_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6) * 1024;
  }
  return 0;
}

// The handshake of an accepted stream happens in its first call, so one byte goes each way.
Task<Result<void>> greet(net::Stream* stream, int* greeted) {
  char byte = 0;
  MS_CO_CHECK(co_await stream->read_some({&byte, 1}));
  MS_CO_CHECK(co_await stream->write("y"));
  ++*greeted;
  co_return Result<void>();
}

Task<Result<void>> accept_idle(net::Listener* listener, int count, net::TaskGroup* group,
                               std::vector<std::unique_ptr<net::Stream>>* streams, int* greeted) {
  for (int i = 0; i < count; ++i) {
    MS_CO_TRY(auto stream, co_await listener->accept());
    streams->push_back(std::move(stream));
    group->spawn(greet(streams->back().get(), greeted));
  }
  co_return co_await group->join();
}

Task<Result<void>> connect_idle(net::Network* network, net::Endpoint where,
                                std::shared_ptr<net::TlsSource> tls, int count,
                                std::vector<std::unique_ptr<net::Stream>>* streams) {
  for (int i = 0; i < count; ++i) {
    net::ConnectOptions options;
    options.tls = tls;
    options.server_name = "localhost";
    MS_CO_TRY(auto stream, co_await network->connect(where, options));
    char byte = 0;
    MS_CO_CHECK(co_await stream->write("x"));
    MS_CO_CHECK(co_await stream->read_some({&byte, 1}));
    streams->push_back(std::move(stream));
  }
  co_return Result<void>();
}

void report(const char* who, long before, int count) {
  std::printf("%s %ld\n", who, (resident_bytes() - before) / count);
  std::fflush(stdout);
}

void client_side(int ready, int done, int count, const std::string& ca) {
  std::uint16_t port = 0;
  if (::read(ready, &port, sizeof(port)) != sizeof(port)) std::exit(1);
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  net::TlsClientOptions options;
  options.ca_pem = ca;
  std::shared_ptr<net::TlsSource> tls = must(net::TlsContext::client(options));
  std::vector<std::unique_ptr<net::Stream>> streams;
  const net::Endpoint where = net::Endpoint::tcp("127.0.0.1", port);
  // The first one pays for what all share.
  (void)loop.run(connect_idle(&network, where, tls, 1, &streams));
  const long before = resident_bytes();
  const auto connected = loop.run(connect_idle(&network, where, tls, count, &streams));
  if (!connected) {
    std::fprintf(stderr, "http_bench: %s\n", connected.error().to_string().c_str());
    std::exit(1);
  }
  report("client", before, count);
  // The server measures with all streams open.
  char byte = 0;
  (void)!::read(done, &byte, 1);
  std::exit(0);
}

int tls_memory(int count, const char* cert_file, const char* key_file) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  const std::string cert = read_file(cert_file);
  int ready[2];
  int done[2];
  if (::pipe(ready) != 0 || ::pipe(done) != 0) return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(done[1]);
    client_side(ready[0], done[0], count, cert);
  }
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  net::TlsServerOptions server;
  server.cert_pem = cert;
  server.key_pem = read_file(key_file);
  net::ListenOptions listen;
  listen.tls = must(net::TlsContext::server(server));
  auto listener = must(network.listen(net::Endpoint::tcp("127.0.0.1", 0), listen));
  const std::uint16_t port = listener->port();
  if (::write(ready[1], &port, sizeof(port)) != sizeof(port)) return 1;
  std::vector<std::unique_ptr<net::Stream>> streams;
  int greeted = 0;
  net::TaskGroup group(loop);
  (void)loop.run(accept_idle(listener.get(), 1, &group, &streams, &greeted));
  const long before = resident_bytes();
  const auto accepted = loop.run(accept_idle(listener.get(), count, &group, &streams, &greeted));
  if (accepted) report("server", before, count);
  ::close(done[1]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return accepted && greeted == count + 1 && status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mainspring::http

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--serve") {
    return mainspring::http::serve(arguments[1]);
  }
  if (arguments.size() == 4 && arguments[0] == "--tls-memory") {
    return mainspring::http::tls_memory(std::atoi(argv[2]), argv[3], argv[4]);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
