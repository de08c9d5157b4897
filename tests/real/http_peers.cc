// Our HTTP client against the servers it is made for: kube-apiserver (mutual TLS, watches, gzip)
// and slurmrestd (plain HTTP, large answers). Run by kube_test.py, which starts both and says in
// the environment where they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "http/client.h"
#include "http/line_reader.h"
#include "json/reader.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"

namespace mainspring::http {
namespace {

using ::testing::HasSubstr;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  EXPECT_NE(value, nullptr) << name << " is not set; run tests/real/kube_test.py instead";
  return value == nullptr ? "" : value;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Request request(Method method, const std::string& url, std::string body = "") {
  Request made;
  made.method = method;
  made.url = *Url::parse(url);
  made.body = std::move(body);
  if (!made.body.empty()) made.headers.set("Content-Type", "application/json");
  return made;
}

class KubeApiserver : public ::testing::Test {
 protected:
  Client::Options options() {
    net::TlsClientOptions tls;
    tls.ca_pem = contents(variable("KUBE_CA"));
    tls.cert_pem = contents(variable("KUBE_CERT"));
    tls.key_pem = contents(variable("KUBE_KEY"));
    Client::Options made;
    made.tls = *net::TlsContext::client(tls);
    made.accept_gzip = true;
    return made;
  }
  std::string url(const std::string& path) { return variable("KUBE_URL") + path; }

  net::EventLoop loop_;
  net::SocketNetwork network_{loop_};
};

TEST_F(KubeApiserver, AnswersAClientCertificate) {
  Client client(loop_, network_, options());
  auto answer = loop_.run(client.send(request(Method::kGet, url("/version"))));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 200);
  EXPECT_THAT(answer->body, HasSubstr("\"gitVersion\": \"v1.36"));
}

TEST_F(KubeApiserver, RefusesAClientWithoutOne) {
  net::TlsClientOptions tls;
  tls.ca_pem = contents(variable("KUBE_CA"));
  Client::Options anonymous;
  anonymous.tls = *net::TlsContext::client(tls);
  Client client(loop_, network_, anonymous);
  auto answer = loop_.run(client.send(request(Method::kGet, url("/version"))));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 401);
}

TEST_F(KubeApiserver, IsNotTrustedByTheSystemsAuthorities) {
  net::TlsClientOptions tls;
  tls.system_roots = true;
  Client::Options strict;
  strict.tls = *net::TlsContext::client(tls);
  Client client(loop_, network_, strict);
  auto answer = loop_.run(client.send(request(Method::kGet, url("/version"))));
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().to_string(), HasSubstr("certificate"));
}

// Large answers come compressed, over one kept-alive connection.
TEST_F(KubeApiserver, SendsLargeAnswersCompressedAndKeepsTheConnection) {
  Client client(loop_, network_, options());
  for (int i = 0; i < 3; ++i) {
    auto answer = loop_.run(client.send(request(Method::kGet, url("/openapi/v2"))));
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->status, 200);
    EXPECT_GT(answer->body.size(), 1'000'000u);
    EXPECT_EQ(client.idle_connections(), 1u);
  }
}

Task<Result<std::string>> first_event(Transport* transport, Request watch) {
  MS_CO_TRY(auto response, co_await transport->open(std::move(watch)));
  if (response->status() != 200) co_return fail(Code::kInternal, "the watch was refused");
  LineReader lines(std::move(response), 1 << 20);
  MS_CO_TRY(const auto line, co_await lines.next());
  co_return std::string(line.value_or(""));
}

Task<Result<void>> create(Transport* transport, Request post) {
  MS_CO_TRY(const Response answer, co_await transport->send(std::move(post)));
  if (answer.status != 201) co_return fail(Code::kInternal, answer.body);
  co_return Result<void>();
}

TEST_F(KubeApiserver, StreamsAWatchWhileOtherRequestsRun) {
  Client client(loop_, network_, options());
  const std::string maps = url("/api/v1/namespaces/default/configmaps");
  const std::string body =
      R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"from-mainspring"}})";
  (void)loop_.run(client.send(request(Method::kDelete, maps + "/from-mainspring")));

  net::TaskGroup group(loop_);
  group.spawn(create(&client, request(Method::kPost, maps, body)));
  auto event = loop_.run(first_event(
      &client,
      request(Method::kGet, maps + "?watch=true&fieldSelector=metadata.name%3Dfrom-mainspring")));
  ASSERT_TRUE(event.has_value()) << event.error().to_string();

  json::Reader reader;
  std::string type;
  reader.open(*event);
  reader.object([&](std::string_view key) {
    if (key == "type") reader.read(type);
  });
  EXPECT_TRUE(reader.finish().has_value());
  EXPECT_EQ(type, "ADDED");
}

class Slurmrestd : public ::testing::Test {
 protected:
  Request get(const std::string& path) {
    Request made = request(Method::kGet, variable("SLURM_URL") + path);
    made.headers.set("X-SLURM-USER-TOKEN", variable("SLURM_TOKEN"));
    return made;
  }

  net::EventLoop loop_;
  net::SocketNetwork network_{loop_};
};

TEST_F(Slurmrestd, AnswersATokenOverAKeptConnection) {
  Client client(loop_, network_, {});
  for (int i = 0; i < 5; ++i) {
    auto answer = loop_.run(client.send(get("/slurm/v0.0.45/nodes/")));
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(client.idle_connections(), 1u);
  }
}

TEST_F(Slurmrestd, SaysNotModifiedWithoutABody) {
  Client client(loop_, network_, {});
  // Far in the future: nothing can have changed since.
  auto answer = loop_.run(client.send(get("/slurm/v0.0.45/nodes/?update_time=4102444800")));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 304);
  EXPECT_EQ(answer->body, "");
}

TEST_F(Slurmrestd, RefusesABadToken) {
  Client client(loop_, network_, {});
  Request bad = get("/slurm/v0.0.45/nodes/");
  bad.headers.set("X-SLURM-USER-TOKEN", "no.such.token");
  auto answer = loop_.run(client.send(std::move(bad)));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->status, 511);
}

}  // namespace
}  // namespace mainspring::http
