// Client and server over real sockets of this machine, with and without TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "http/client.h"
#include "http/line_reader.h"
#include "http/server.h"
#include "net/certs_testing.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Task<Result<Response>> whoami(Request request) {
  const net::PeerCertificate* peer = request.peer_certificate;
  co_return text_response(200, peer != nullptr && peer->verified ? peer->common_name : "nobody");
}
Task<Result<Response>> echo(Request request) { co_return text_response(200, request.body); }
Task<Result<void>> three_lines(Request, ResponseWriter* out) {
  MS_CO_CHECK(co_await out->start(200, {}));
  for (const char* line : {"one\n", "two\n", "three\n"}) {
    MS_CO_CHECK(co_await out->write(line));
    MS_CO_CHECK(co_await net::sleep(milliseconds(1)));
  }
  co_return Result<void>();
}
Task<Result<Response>> brief_pause(Request) {
  MS_CO_CHECK(co_await net::sleep(milliseconds(50)));
  co_return text_response(200, "done");
}

class LoopbackTest : public ::testing::Test {
 protected:
  void start(const std::shared_ptr<net::TlsSource>& tls = nullptr) {
    Router router;
    router.add(Method::kGet, "/whoami", whoami);
    router.add(Method::kPost, "/echo", echo);
    router.add(Method::kGet, "/pause", brief_pause);
    router.add_stream(Method::kGet, "/lines", three_lines);
    server_.emplace(loop_, Server::Options{}, std::move(router));
    net::ListenOptions options;
    options.tls = tls;
    auto listener = network_.listen(net::Endpoint::tcp("127.0.0.1", 0), options);
    ASSERT_TRUE(listener.has_value()) << listener.error().to_string();
    base_ =
        (tls ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string((*listener)->port());
    group_.spawn(server_->serve(*std::move(listener)));
  }
  Request get(std::string_view path) const {
    Request request;
    request.url = *Url::parse(base_ + std::string(path));
    return request;
  }

  net::EventLoop loop_;
  net::SocketNetwork network_{loop_};
  std::optional<Server> server_;
  std::string base_;
  net::TaskGroup group_{loop_};
};

TEST_F(LoopbackTest, KeepsAConnectionAcrossRequests) {
  start();
  Client client(loop_, network_, {});
  for (int i = 0; i < 10; ++i) {
    Request request = get("/echo");
    request.method = Method::kPost;
    request.body = std::string(static_cast<std::size_t>(i) * 40'000, 'x');
    const auto response = loop_.run(client.send(request));
    ASSERT_TRUE(response.has_value()) << response.error().to_string();
    EXPECT_EQ(response->body, request.body);
    EXPECT_EQ(server_->connections(), 1u);
  }
  EXPECT_EQ(client.idle_connections(), 1u);
}

Task<Result<std::vector<std::string>>> lines(Client* client, Request request) {
  MS_CO_TRY(auto response, co_await client->open(std::move(request)));
  LineReader reader(std::move(response), 100);
  std::vector<std::string> seen;
  for (;;) {
    MS_CO_TRY(const auto line, co_await reader.next());
    if (!line) co_return seen;
    seen.emplace_back(*line);
  }
}

TEST_F(LoopbackTest, StreamsLines) {
  start();
  Client client(loop_, network_, {});
  EXPECT_THAT(loop_.run(lines(&client, get("/lines"))).value(), ElementsAre("one", "two", "three"));
}

Task<Result<void>> one_of_many(Client* client, Request request, int* answered) {
  MS_CO_TRY(const Response response, co_await client->send(std::move(request)));
  *answered += response.status == 200 ? 1 : 0;
  co_return Result<void>();
}
Task<Result<void>> join(net::TaskGroup* group) { co_return co_await group->join(); }

TEST_F(LoopbackTest, AnswersAThousandRequestsAtOnce) {
  start();
  Client::Options options;
  options.pool.max_per_origin = 50;
  Client client(loop_, network_, options);
  int answered = 0;
  net::TaskGroup many(loop_);
  for (int i = 0; i < 1000; ++i) many.spawn(one_of_many(&client, get("/whoami"), &answered));
  const auto all = loop_.run(join(&many));
  EXPECT_TRUE(all.has_value()) << all.error().to_string();
  EXPECT_EQ(answered, 1000);
}

TEST_F(LoopbackTest, KnowsAClientByItsCertificate) {
  const net::TestCa authority;
  const net::TestCert server_cert = authority.issue_local();
  net::TlsServerOptions server;
  server.cert_pem = server_cert.cert_pem;
  server.key_pem = server_cert.key_pem;
  server.client_auth = net::ClientAuth::kRequest;
  server.client_ca_pem = authority.cert_pem();
  start(*net::TlsContext::server(server));

  net::TlsClientOptions anonymous;
  anonymous.ca_pem = authority.cert_pem();
  Client::Options options;
  options.tls = *net::TlsContext::client(anonymous);
  Client nobody(loop_, network_, options);
  const auto unknown = loop_.run(nobody.send(get("/whoami")));
  ASSERT_TRUE(unknown.has_value()) << unknown.error().to_string();
  EXPECT_EQ(unknown->body, "nobody");

  net::TestCertOptions alice;
  alice.common_name = "alice";
  const net::TestCert client_cert = authority.issue(alice);
  net::TlsClientOptions known = anonymous;
  known.cert_pem = client_cert.cert_pem;
  known.key_pem = client_cert.key_pem;
  options.tls = *net::TlsContext::client(known);
  Client somebody(loop_, network_, options);
  EXPECT_EQ(loop_.run(somebody.send(get("/whoami")))->body, "alice");
  EXPECT_THAT(loop_.run(lines(&somebody, get("/lines"))).value(),
              ElementsAre("one", "two", "three"));
}

TEST_F(LoopbackTest, RefusesAServerThatNobodyVouchesFor) {
  const net::TestCa authority;
  const net::TestCa other;
  const net::TestCert cert = authority.issue_local();
  net::TlsServerOptions server;
  server.cert_pem = cert.cert_pem;
  server.key_pem = cert.key_pem;
  start(*net::TlsContext::server(server));
  net::TlsClientOptions trusting_another;
  trusting_another.ca_pem = other.cert_pem();
  Client::Options options;
  options.tls = *net::TlsContext::client(trusting_another);
  Client client(loop_, network_, options);
  EXPECT_FALSE(loop_.run(client.send(get("/whoami"))).has_value());
}

TEST_F(LoopbackTest, ShutdownLetsARequestFinish) {
  start();
  Client client(loop_, network_, {});
  int answered = 0;
  net::TaskGroup asking(loop_);
  asking.spawn(one_of_many(&client, get("/pause"), &answered));
  auto shut_down = [](Server* server, net::TaskGroup* serving) -> Task<Result<void>> {
    while (server->requests_in_flight() == 0) MS_CO_CHECK(co_await net::sleep(milliseconds(1)));
    server->shutdown(seconds(60));
    co_return co_await serving->join();
  };
  EXPECT_TRUE(loop_.run(shut_down(&*server_, &group_)).has_value());
  EXPECT_TRUE(loop_.run(join(&asking)).has_value());
  EXPECT_EQ(answered, 1);
  EXPECT_FALSE(loop_.run(client.send(get("/whoami"))).has_value());
}

// A proxy that only knows CONNECT, to a fixed server.
Task<Result<void>> pump(net::Stream* from, net::Stream* to) {
  char buffer[4096];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await from->read_some(buffer));
    if (count == 0) co_return co_await to->finish();
    MS_CO_CHECK(co_await to->write({buffer, count}));
  }
}
Task<Result<void>> proxy(std::unique_ptr<net::Listener> listener, net::Network* network,
                         net::Endpoint target, net::Executor* executor, std::string* seen) {
  MS_CO_TRY(auto client, co_await listener->accept());
  while (seen->find("\r\n\r\n") == std::string::npos) {
    char buffer[512];
    MS_CO_TRY(const std::size_t count, co_await client->read_some(buffer));
    seen->append(buffer, count);
  }
  MS_CO_TRY(auto server, co_await network->connect(std::move(target), {}));
  MS_CO_CHECK(co_await client->write("HTTP/1.1 200 Connection established\r\n\r\n"));
  net::TaskGroup both(*executor);
  both.spawn(pump(client.get(), server.get()));
  both.spawn(pump(server.get(), client.get()));
  co_return co_await both.join();
}

TEST_F(LoopbackTest, HttpsGoesThroughAProxyTunnel) {
  const net::TestCa authority;
  const net::TestCert cert = authority.issue([] {
    net::TestCertOptions options;
    options.dns_names = {"api.example"};
    return options;
  }());
  net::TlsServerOptions server;
  server.cert_pem = cert.cert_pem;
  server.key_pem = cert.key_pem;
  start(*net::TlsContext::server(server));
  auto listener = *network_.listen(net::Endpoint::tcp("127.0.0.1", 0), {});
  const std::string proxy_url = "http://user:pw@127.0.0.1:" + std::to_string(listener->port());
  std::string seen;
  net::TaskGroup proxying(loop_);
  proxying.spawn(proxy(std::move(listener), &network_,
                       net::Endpoint::tcp("127.0.0.1", get("/").url.port), &loop_, &seen));
  net::TlsClientOptions trust;
  trust.ca_pem = authority.cert_pem();
  Client::Options options;
  options.tls = *net::TlsContext::client(trust);
  options.proxy = *ProxyConfig::from_env([&](std::string_view name) {
    return name == "HTTPS_PROXY" ? std::optional<std::string>(proxy_url) : std::nullopt;
  });
  Client client(loop_, network_, options);
  Request request;
  request.url = *Url::parse("https://api.example/whoami");
  const auto response = loop_.run(client.send(request));
  ASSERT_TRUE(response.has_value()) << response.error().to_string();
  EXPECT_EQ(response->body, "nobody");
  EXPECT_THAT(seen, HasSubstr("CONNECT api.example:443 HTTP/1.1\r\nHost: api.example:443\r\n"));
  EXPECT_THAT(seen, HasSubstr("Proxy-Authorization: Basic "));
}

}  // namespace
}  // namespace mainspring::http
