// From a Config to answered requests, against a server of our own on this machine.
#include "kube/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
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

namespace mainspring::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Wide enough for the machine's clock.
constexpr net::Validity kLong{WallTime(seconds(1'500'000'000)), WallTime(seconds(4'000'000'000))};

net::CertifiedKey new_ca(const char* name) { return net::make_ca({name, kLong}).value(); }

// Who the server sees, and 401 for a certificate or token that it calls old.
Task<Result<http::Response>> whoami(http::Request request) {
  const net::PeerCertificate* peer = request.peer_certificate;
  std::string text = peer != nullptr && peer->verified ? peer->common_name : "nobody";
  for (const char* header : {"Authorization", "Impersonate-User", "User-Agent"}) {
    if (const auto value = request.headers.get(header)) text += " " + std::string(*value);
  }
  co_return http::text_response(text.find("old") == std::string::npos ? 200 : 401, text);
}

class Connect : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  // With TLS, and asking for certificates of our authority.
  Config start(bool tls = true) {
    http::Router router;
    router.add(http::Method::kGet, "/whoami", whoami);
    server.emplace(loop, http::Server::Options{}, std::move(router));
    net::ListenOptions options;
    if (tls) {
      const auto cert = net::issue(ca, {.common_name = "server",
                                        .dns_names = {"localhost"},
                                        .ip_addresses = {"127.0.0.1"},
                                        .validity = kLong})
                            .value();
      net::TlsServerOptions rules;
      rules.cert_pem = cert.cert_pem;
      rules.key_pem = cert.key_pem.reveal();
      rules.client_auth = net::ClientAuth::kRequest;
      rules.client_ca_pem = ca.cert_pem;
      options.tls = net::TlsContext::server(rules).value();
    }
    auto listener = network.listen(net::Endpoint::tcp("127.0.0.1", 0), options);
    Config config;
    config.origin = "kubeconfig /x";
    config.server = http::Url::parse((tls ? "https://127.0.0.1:" : "http://127.0.0.1:") +
                                     std::to_string((*listener)->port()))
                        .value();
    if (tls) config.ca.text = Secret(ca.cert_pem);
    group.spawn(server->serve(*std::move(listener)));
    return config;
  }

  net::CertifiedKey person(const std::string& name) const {
    return net::issue(ca, {.common_name = name, .validity = kLong, .for_clients = true}).value();
  }

  std::string write(const char* name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }

  // What the server says, or the error.
  std::string ask(Client& client) {
    Call call;
    call.path = "/whoami";
    call.what = "asking";
    const auto response = loop.run(client.send(std::move(call)));
    return response ? response->body : response.error().to_string();
  }
  std::string ask(const Config& config) {
    const auto connection = connect(config, {loop, network, {}, "ms"});
    if (!connection) return connection.error().to_string();
    Client client(*connection->transport, loop.clock(), random, connection->client);
    return ask(client);
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  net::CertifiedKey ca = new_ca("ours");
  Random random{1};
  std::optional<http::Server> server;
  net::TaskGroup group{loop};
  fs::path folder;
};

TEST_F(Connect, CertificatesAsTextOrInFiles) {
  Config config = start();
  const net::CertifiedKey ann = person("ann");
  config.client_cert.text = Secret(ann.cert_pem);
  config.client_key.text = ann.key_pem;
  EXPECT_EQ(ask(config), "ann ms");

  Config files = config;
  files.ca = {{}, write("ca.crt", ca.cert_pem)};
  files.client_cert = {{}, write("tls.crt", ann.cert_pem)};
  files.client_key = {{}, write("tls.key", ann.key_pem.reveal())};
  EXPECT_EQ(ask(files), "ann ms");
}

TEST_F(Connect, AServerThatTheAuthorityDoesNotKnowIsRefusedUnlessToldNotToCare) {
  Config config = start();
  config.ca.text = Secret(new_ca("other").cert_pem);
  EXPECT_THAT(ask(config), HasSubstr("certificate"));
  config.ca.text = Secret();
  config.insecure_skip_tls_verify = true;
  EXPECT_EQ(ask(config), "nobody ms");
}

TEST_F(Connect, TheServersNameCanBeAnother) {
  Config config = start();
  config.tls_server_name = "localhost";
  EXPECT_EQ(ask(config), "nobody ms");
  config.tls_server_name = "elsewhere";
  EXPECT_THAT(ask(config), HasSubstr("elsewhere"));
}

TEST_F(Connect, TokensPasswordsAndImpersonationGoIntoHeaders) {
  Config config = start(false);
  Config basic = config;
  EXPECT_EQ(ask(config), "nobody ms");
  config.token = Secret("t");
  config.impersonate.user = "boss";
  EXPECT_EQ(ask(config), "nobody Bearer t boss ms");
  config.token_file = write("token", "f\n");
  EXPECT_EQ(ask(config), "nobody Bearer f boss ms");
  basic.username = "ann";
  basic.password = Secret("pw");
  EXPECT_EQ(ask(basic), "nobody Basic YW5uOnB3 ms");
}

TEST_F(Connect, ARefusedTokenIsReadAgainWithinTheSameCall) {
  Config config = start(false);
  config.token_file = write("token", "old");
  const auto connection = connect(config, {loop, network, {}, "ms"});
  ASSERT_TRUE(connection.has_value());
  Client client(*connection->transport, loop.clock(), random, connection->client);
  write("token", "new");
  EXPECT_EQ(ask(client), "nobody Bearer new ms");
}

TEST_F(Connect, APluginsCertificateIsUsedAndABadOneIsItsFailure) {
  Config config = start();
  const auto give = [&](const std::string& name) {
    const net::CertifiedKey cert = person(name);
    json::Value answer = json::Value::object(
        {{"apiVersion", "client.authentication.k8s.io/v1"}, {"kind", "ExecCredential"}});
    answer["status"]["clientCertificateData"] = cert.cert_pem;
    answer["status"]["clientKeyData"] = cert.key_pem.reveal();
    write("answer", json::to_text(answer));
  };
  config.exec.emplace();
  config.exec->api_version = "client.authentication.k8s.io/v1";
  config.exec->command = write("plugin", "#!/bin/sh\nprintf %s \"$KUBERNETES_EXEC_INFO\" > " +
                                             (folder / "info").string() + "\n/bin/cat " +
                                             (folder / "answer").string() + "\n");
  ::chmod(config.exec->command.c_str(), 0700);
  config.exec->provide_cluster_info = true;
  give("ann");
  EXPECT_EQ(ask(config), "ann ms");
  std::string info;
  std::getline(std::ifstream(folder / "info"), info);
  EXPECT_THAT(info, HasSubstr("\"server\":\"" + config.server.to_string() + "\""));
  EXPECT_THAT(info, HasSubstr("certificate-authority-data"));

  // What is no certificate is the plugin's failure.
  write("answer",
        R"({"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":)"
        R"({"clientCertificateData":"x","clientKeyData":"y"}})");
  EXPECT_THAT(ask(config), HasSubstr("asking: credential plugin"));
}

TEST_F(Connect, FilesThatAreMissingAreAnErrorAtOnce) {
  Config config;
  config.origin = "kubeconfig /x";
  config.server = http::Url::parse("https://127.0.0.1:1").value();
  config.ca = {{}, "/nowhere/ca.crt"};
  EXPECT_EQ(ask(config), "kubeconfig /x: reading /nowhere/ca.crt: no such file or directory");
  config.ca = {};
  config.token_file = "/nowhere/token";
  EXPECT_EQ(ask(config), "kubeconfig /x: /nowhere/token does not exist");
}

TEST(ConnectProxy, TheConfigsProxyComesBeforeTheEnvironments) {
  net::VirtualExecutor executor;
  http::FakeNetwork network;
  Random random{1};
  Config config;
  config.server = http::Url::parse("http://kube.example:8080").value();
  for (const char* proxy : {"", "http://mine:1"}) {
    config.proxy_url = Secret(proxy);
    const auto connection =
        connect(config, {executor, network, {"HTTP_PROXY=http://theirs:2"}, "ms"});
    ASSERT_TRUE(connection.has_value());
    Client client(*connection->transport, executor.clock(), random, connection->client);
    Call call;
    call.path = "/version";
    call.timeout = milliseconds(1);
    EXPECT_FALSE(executor.run(client.send(std::move(call))).has_value());
  }
  EXPECT_THAT(network.connected, ElementsAre("theirs:2", "mine:1"));
}

}  // namespace
}  // namespace mainspring::kube
