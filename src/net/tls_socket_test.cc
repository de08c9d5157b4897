// TLS over real sockets: what the memory streams of tls_test.cc cannot show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "net/certs_testing.h"
#include "net/socket_network.h"
#include "net/streams_testing.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using ::testing::HasSubstr;

// A source whose certificate the test can exchange.
class Replaceable final : public TlsSource {
 public:
  std::shared_ptr<const TlsContext> current() override { return now; }
  std::shared_ptr<const TlsContext> now;
};

class TlsSockets : public ::testing::Test {
 protected:
  void SetUp() override {
    source->now = server_context(ca);
    TlsClientOptions trusting;
    trusting.ca_pem = ca.cert_pem();
    options.tls = TlsContext::client(trusting).value();
    ListenOptions listening;
    listening.tls = source;
    listener = network.listen(Endpoint::tcp("127.0.0.1", 0), listening).value();
    endpoint = Endpoint::tcp("127.0.0.1", listener->port());
  }

  static std::shared_ptr<const TlsContext> server_context(const TestCa& authority) {
    const TestCert cert = authority.issue_local();
    TlsServerOptions serving;
    serving.cert_pem = cert.cert_pem;
    serving.key_pem = cert.key_pem;
    return TlsContext::server(serving).value();
  }

  TestCa ca;
  EventLoop loop;
  SocketNetwork network{loop};
  std::shared_ptr<Replaceable> source = std::make_shared<Replaceable>();
  ConnectOptions options;
  std::unique_ptr<Listener> listener;
  Endpoint endpoint;
};

Task<Result<void>> call_and_compare(Network* network, Endpoint endpoint, ConnectOptions options,
                                    std::string bytes) {
  MS_CO_TRY(auto stream, co_await network->connect(std::move(endpoint), std::move(options)));
  const Context context = co_await current_context();
  TaskGroup writer(*context.executor, context.scope);
  writer.spawn(write_all_and_finish(stream.get(), bytes));
  MS_CO_TRY(const std::string answer, co_await read_to_end(stream.get()));
  MS_CO_CHECK(co_await writer.join());
  if (answer != bytes) co_return fail(Code::kInternal, "the echo differs");
  co_return Result<void>();
}

TEST_F(TlsSockets, CarryMegabytesBothWaysAtOnce) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  auto result = loop.run(call_and_compare(&network, endpoint, options, pattern(5 << 20)));
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
}

TEST_F(TlsSockets, ServeManyConnectionsAtOnce) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  TaskGroup clients(loop);
  for (std::size_t i = 0; i < 50; ++i) {
    clients.spawn(call_and_compare(&network, endpoint, options, pattern(1 + i * 997)));
  }
  auto result = loop.run(join_all(&clients));
  EXPECT_TRUE(result.has_value()) << result.error().to_string();
}

TEST_F(TlsSockets, AFailedHandshakeSaysWhereAndWhy) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  options.server_name = "api.example";
  auto stream = loop.run(network.connect(endpoint, options));
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::kInvalid);
  EXPECT_EQ(
      stream.error().to_string(),
      "connecting to " + endpoint.to_string() +
          ": TLS handshake: certificate is for localhost, 127.0.0.1, ::1, not for api.example");
}

TEST_F(TlsSockets, ASilentServerIsLeftWhenTheTimeIsUp) {
  options.timeout = milliseconds(20);  // Nobody accepts, so the kernel connects and all is quiet.
  auto stream = loop.run(network.connect(endpoint, options));
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code(), Code::kTimeout);
}

TEST_F(TlsSockets, ASlowClientDoesNotHoldUpTheNext) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  auto silent = loop.run(network.connect(endpoint, {}));
  ASSERT_TRUE(silent.has_value());
  EXPECT_TRUE(loop.run(call_and_compare(&network, endpoint, options, "hello")).has_value());
}

TEST_F(TlsSockets, NewHandshakesUseTheNewCertificateAndOldStreamsLiveOn) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  auto old = loop.run(network.connect(endpoint, options));
  ASSERT_TRUE(old.has_value()) << old.error().to_string();

  source->now = server_context(TestCa("the next authority"));
  auto refused = loop.run(network.connect(endpoint, options));
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().to_string(), HasSubstr("the next authority"));

  ASSERT_TRUE(loop.run((*old)->write("hello")).has_value());
  EXPECT_EQ(loop.run(read_exactly(old->get(), 5)), Result<std::string>("hello"));
}

TEST_F(TlsSockets, DestroyingTasksAnywhereInTheHandshakeIsSafe) {
  for (int turns = 0; turns < 12; ++turns) {
    TaskGroup group(loop);
    group.spawn(echo_server(listener.get(), &group));
    group.spawn(call_and_compare(&network, endpoint, options, "hello"));
    for (int i = 0; i < turns; ++i) ASSERT_TRUE(loop.run(sleep(Duration(0))).has_value());
  }
}

TEST_F(TlsSockets, CancellingAnywhereInACallGivesTheReason) {
  TaskGroup servers(loop);
  servers.spawn(echo_server(listener.get(), &servers));
  for (int micros = 0; micros < 4000; micros += 250) {
    auto result =
        loop.run(with_timeout(microseconds(micros), "the call",
                              call_and_compare(&network, endpoint, options, pattern(99'999))));
    if (!result) EXPECT_EQ(result.error().code(), Code::kTimeout) << result.error().to_string();
  }
}

}  // namespace
}  // namespace mainspring::net
