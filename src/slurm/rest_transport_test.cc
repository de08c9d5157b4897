// From the flags of a program to an answer of slurmrestd: TLS and a proxy on this machine.
#include "slurm/rest_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/random.h"
#include "http/fake_network.h"
#include "http/server.h"
#include "net/certificate.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"
#include "net/virtual_executor.h"
#include "slurm/client.h"

namespace mainspring::slurm {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Wide enough for the machine's clock.
constexpr net::Validity kLong{WallTime(seconds(1'500'000'000)), WallTime(seconds(4'000'000'000))};

net::CertifiedKey new_ca(const char* name) { return net::make_ca({name, kLong}).value(); }

Task<Result<http::Response>> ping(http::Request request) {
  EXPECT_EQ(request.headers.get("X-SLURM-USER-TOKEN"), "a.b.c");
  co_return http::json_response(200, R"({"pings":[{"hostname":"c","responding":true}]})");
}

class RestTransport : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  // A slurmrestd behind a certificate of `ca`.
  std::string start() {
    http::Router router;
    router.add(http::Method::kGet, "/slurm/v0.0.45/ping/", ping);
    server.emplace(loop, http::Server::Options{}, std::move(router));
    const auto cert =
        net::issue(ca,
                   {.common_name = "slurmrestd", .ip_addresses = {"127.0.0.1"}, .validity = kLong})
            .value();
    net::TlsServerOptions rules;
    rules.cert_pem = cert.cert_pem;
    rules.key_pem = cert.key_pem.reveal();
    net::ListenOptions options;
    options.tls = net::TlsContext::server(rules).value();
    auto listener = network.listen(net::Endpoint::tcp("127.0.0.1", 0), options);
    const std::string url = "https://127.0.0.1:" + std::to_string((*listener)->port());
    group.spawn(server->serve(*std::move(listener)));
    return url;
  }

  std::string write(const std::string& text) {
    std::ofstream(folder / "ca.crt") << text;
    return (folder / "ca.crt").string();
  }

  // "ok", or the error.
  std::string ask(http::Client& transport, const std::string& url) {
    Governor governor(loop, random, {});
    Client client(transport, loop, random, governor,
                  {.server = http::Url::parse(url).value(),
                   .tokens = static_token(Secret("a.b.c")),
                   .timeout = minutes(1),
                   .version = Version::k45});
    const auto answer = loop.run(client.send({.endpoint = Endpoint::kPing}));
    return answer ? "ok" : answer.error().to_string();
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  net::CertifiedKey ca = new_ca("ours");
  Random random{1};
  std::optional<http::Server> server;
  net::TaskGroup group{loop};
  fs::path folder;
};

TEST_F(RestTransport, SpeaksHttpsToWhomTheNamedAuthorityVouchesFor) {
  const std::string url = start();
  const auto ours =
      rest_transport({.executor = loop, .network = network, .ca_file = write(ca.cert_pem)});
  ASSERT_TRUE(ours) << ours.error().to_string();
  EXPECT_EQ(ask(**ours, url), "ok");
}

TEST_F(RestTransport, SaysNoTokenToWhomNobodyVouchesFor) {
  const std::string url = start();
  const auto machine = rest_transport({.executor = loop, .network = network});
  ASSERT_TRUE(machine);
  EXPECT_THAT(ask(**machine, url), HasSubstr("certificate"));
  const auto other = rest_transport(
      {.executor = loop, .network = network, .ca_file = write(new_ca("another").cert_pem)});
  ASSERT_TRUE(other);
  EXPECT_THAT(ask(**other, url), HasSubstr("certificate"));
}

TEST_F(RestTransport, AFileWithoutACertificateIsAnErrorAtTheStart) {
  const auto missing =
      rest_transport({.executor = loop, .network = network, .ca_file = "/no/such/ca.crt"});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().to_string(), HasSubstr("/no/such/ca.crt"));
  EXPECT_FALSE(rest_transport({.executor = loop, .network = network, .ca_file = write("none")}));
}

TEST(RestTransportProxy, GoesThroughTheProxyOfTheEnvironmentAndAroundItWhereToldTo) {
  net::VirtualExecutor executor;
  http::FakeNetwork connections;
  std::optional<std::string> around;
  const auto env = [&around](std::string_view name) -> std::optional<std::string> {
    if (name == "HTTP_PROXY") return "http://proxy:3128";
    return name == "NO_PROXY" ? around : std::nullopt;
  };
  const auto ask = [&] {
    const auto made = rest_transport({.executor = executor, .network = connections, .env = env});
    http::Request request;
    request.url = http::Url::parse("http://slurm-restapi.slurm:6820/openapi").value();
    EXPECT_FALSE(executor.run((*made)->send(std::move(request))));
  };
  ask();
  around = ".slurm";
  ask();
  EXPECT_THAT(connections.connected, ElementsAre("proxy:3128", "slurm-restapi.slurm:6820"));
}

}  // namespace
}  // namespace mainspring::slurm
