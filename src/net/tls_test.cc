#include "net/tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "net/certs_testing.h"
#include "net/memory_stream.h"
#include "net/streams_testing.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const TestCa& ca() {
  static const TestCa made("our authority");
  return made;
}

TlsClientOptions trusting(const TestCa& authority = ca()) {
  TlsClientOptions options;
  options.ca_pem = authority.cert_pem();
  return options;
}

TlsServerOptions serving(const TestCert& cert) {
  TlsServerOptions options;
  options.cert_pem = cert.cert_pem;
  options.key_pem = cert.key_pem;
  return options;
}

std::shared_ptr<TlsContext> made(Result<std::shared_ptr<TlsContext>> context) {
  EXPECT_TRUE(context.has_value()) << context.error().to_string();
  return *context;
}

Task<Result<void>> connect_into(std::unique_ptr<Stream> raw,
                                std::shared_ptr<const TlsContext> context, std::string name,
                                std::unique_ptr<Stream>* out) {
  MS_CO_TRY(*out, co_await tls_connect(std::move(raw), std::move(context), std::move(name)));
  co_return Result<void>();
}

Task<Result<void>> first_read(Stream* stream) {
  char byte = 0;
  MS_CO_CHECK(co_await stream->read_some(std::span(&byte, 1)));
  co_return Result<void>();
}

// Both sides of a handshake in memory and virtual time.
struct Handshake {
  VirtualExecutor executor;
  std::unique_ptr<Stream> client;
  std::unique_ptr<Stream> server;
  Result<void> client_result;
  Result<void> server_result;

  void run(const TlsClientOptions& client_options, const TlsServerOptions& server_options,
           const std::string& name = "localhost") {
    auto [near, far] = make_memory_streams();
    server = tls_accept(std::move(far), made(TlsContext::server(server_options)));
    TaskGroup clients(executor);
    TaskGroup servers(executor);
    clients.spawn(
        connect_into(std::move(near), made(TlsContext::client(client_options)), name, &client));
    servers.spawn(first_read(server.get()));
    client_result = executor.run(join_all(&clients));
    if (client_result) client_result = executor.run(client->write("x"));
    server_result = executor.run(join_all(&servers));
  }
};

TEST(Tls, ClientAndServerAgree) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  EXPECT_TRUE(tls.client_result.has_value()) << tls.client_result.error().to_string();
  EXPECT_TRUE(tls.server_result.has_value()) << tls.server_result.error().to_string();
  ASSERT_NE(tls.client->peer_certificate(), nullptr);
  EXPECT_TRUE(tls.client->peer_certificate()->verified);
  EXPECT_THAT(tls.client->peer_certificate()->ip_addresses, ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(tls.server->peer_certificate(), nullptr);
}

TEST(Tls, AServerMayBeNamedByItsAddress) {
  for (const char* name : {"127.0.0.1", "::1"}) {
    Handshake tls;
    tls.run(trusting(), serving(ca().issue_local()), name);
    EXPECT_TRUE(tls.client_result.has_value()) << tls.client_result.error().to_string();
  }
}

void expect_refusal(const Result<void>& result, Code code, const char* text) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), code) << result.error().to_string();
  EXPECT_THAT(result.error().to_string(), HasSubstr(text));
}

TEST(Tls, ACertificateForAnotherNameIsRefused) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()), "api.example");
  expect_refusal(
      tls.client_result, Code::kInvalid,
      "TLS handshake: certificate is for localhost, 127.0.0.1, ::1, not for api.example");
  expect_refusal(tls.server_result, Code::kUnauthorized, "did not accept the certificate");
}

TEST(Tls, ACertificateForAnotherAddressIsRefused) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()), "10.0.0.1");
  expect_refusal(tls.client_result, Code::kInvalid, "not for 10.0.0.1");
}

TEST(Tls, ANameInTheSubjectDoesNotCount) {
  TestCertOptions options;
  options.common_name = "localhost";
  Handshake tls;
  tls.run(trusting(), serving(ca().issue(options)));
  expect_refusal(tls.client_result, Code::kInvalid, "no name at all");
}

TEST(Tls, AnExpiredCertificateIsRefused) {
  TestCertOptions options;
  options.common_name = "old";
  options.dns_names = {"localhost"};
  options.not_after = WallTime(seconds(1'600'000'000));
  Handshake tls;
  tls.run(trusting(), serving(ca().issue(options)));
  expect_refusal(tls.client_result, Code::kInvalid,
                 "certificate \"old\" has expired, on 2020-09-13T12:26:40Z");
}

TEST(Tls, ACertificateExpiresByTheExecutorsClock) {
  TestCertOptions options;
  options.dns_names = {"localhost"};
  options.not_after = WallTime(seconds(1'700'000'000) + hours(24));
  const TlsServerOptions server = serving(ca().issue(options));
  Handshake today;
  today.run(trusting(), server);
  EXPECT_TRUE(today.client_result.has_value());
  Handshake tomorrow;
  tomorrow.executor.advance(hours(25));
  tomorrow.run(trusting(), server);
  expect_refusal(tomorrow.client_result, Code::kInvalid, "has expired");
}

TEST(Tls, ACertificateFromTheFutureIsRefused) {
  TestCertOptions options;
  options.dns_names = {"localhost"};
  options.not_before = WallTime(seconds(1'800'000'000));
  Handshake tls;
  tls.run(trusting(), serving(ca().issue(options)));
  expect_refusal(tls.client_result, Code::kInvalid, "is not valid before 2027-01-15T08:00:00Z");
}

TEST(Tls, AnUnknownAuthorityIsRefused) {
  const TestCa other("their authority");
  Handshake tls;
  tls.run(trusting(), serving(other.issue_local()));
  expect_refusal(tls.client_result, Code::kInvalid,
                 "signed by an authority that is not trusted, \"their authority\"");
}

TEST(Tls, InsecureTakesAnyCertificateAndSaysThatItIsUnverified) {
  const TestCa other("their authority");
  TlsClientOptions careless = trusting();
  careless.insecure_skip_verify = true;
  Handshake tls;
  tls.run(careless, serving(other.issue_local()), "api.example");
  ASSERT_TRUE(tls.client_result.has_value()) << tls.client_result.error().to_string();
  EXPECT_FALSE(tls.client->peer_certificate()->verified);
}

TEST(Tls, WithoutAServerNameNothingIsTrusted) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()), "");
  expect_refusal(tls.client_result, Code::kInvalid, "needs the server's name");
}

// The first bytes that a client of `name` sends, which nobody has encrypted yet.
std::string hello_to(const std::string& name) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  std::unique_ptr<Stream> client;
  TaskGroup group(executor);
  group.spawn(connect_into(std::move(near), made(TlsContext::client(trusting())), name, &client));
  executor.run_ready();
  char buffer[4096];
  const auto count = executor.run(far->read_some(buffer));
  EXPECT_TRUE(count.has_value()) << count.error().to_string();
  return std::string(buffer, count.value_or(0));
}

// The extension server_name (RFC 6066, 3): each length counts all that follows it.
std::string server_name_extension(const std::string& name) {
  const auto length = [](std::size_t size) { return std::string{'\0', static_cast<char>(size)}; };
  const std::string host_name = std::string(1, '\0') + length(name.size()) + name;
  return std::string(2, '\0') + length(host_name.size() + 2) + length(host_name.size()) + host_name;
}

TEST(Tls, TheServerIsToldWhichOfItsNamesIsMeant) {
  EXPECT_THAT(hello_to("api.example"), HasSubstr(server_name_extension("api.example")));
}

TEST(Tls, AnAddressIsNotAServersName) {
  EXPECT_THAT(hello_to("127.0.0.1"), Not(HasSubstr("127.0.0.1")));
}

TestCert person() {
  TestCertOptions options;
  options.common_name = "front-proxy-client";
  options.organizations = {"system:masters", "ops"};
  return ca().issue(options);
}

TlsClientOptions trusting_as(const TestCert& cert) {
  TlsClientOptions options = trusting();
  options.cert_pem = cert.cert_pem;
  options.key_pem = cert.key_pem;
  return options;
}

TlsServerOptions asking(ClientAuth auth) {
  TlsServerOptions options = serving(ca().issue_local());
  options.client_auth = auth;
  options.client_ca_pem = ca().cert_pem();
  return options;
}

TEST(MutualTls, TheServerLearnsWhoTheClientIs) {
  Handshake tls;
  tls.run(trusting_as(person()), asking(ClientAuth::kRequire));
  ASSERT_TRUE(tls.server_result.has_value()) << tls.server_result.error().to_string();
  const PeerCertificate* peer = tls.server->peer_certificate();
  ASSERT_NE(peer, nullptr);
  EXPECT_TRUE(peer->verified);
  EXPECT_EQ(peer->common_name, "front-proxy-client");
  EXPECT_THAT(peer->organizations, ElementsAre("system:masters", "ops"));
}

TEST(MutualTls, AClientWithoutACertificateIsRefusedWhereOneIsRequired) {
  Handshake tls;
  tls.run(trusting(), asking(ClientAuth::kRequire));
  expect_refusal(tls.server_result, Code::kUnauthorized, "the client showed no certificate");
}

TEST(MutualTls, TheRefusedClientLearnsWhy) {
  Handshake tls;
  tls.run(trusting(), asking(ClientAuth::kRequire));
  // In TLS 1.3 the client's handshake ends before the server has judged.
  auto result = tls.executor.run(first_read(tls.client.get()));
  expect_refusal(result, Code::kUnauthorized, "did not accept the certificate");
}

TEST(MutualTls, AClientVouchedForByNobodyIsRefusedWhereACertificateIsRequired) {
  const TestCa other("their authority");
  Handshake tls;
  tls.run(trusting_as(other.issue({})), asking(ClientAuth::kRequire));
  expect_refusal(tls.server_result, Code::kInvalid, "\"their authority\"");
}

TEST(MutualTls, WhereACertificateIsOnlyRequestedItsWorthIsTold) {
  const TestCa other("their authority");
  Handshake stranger;
  stranger.run(trusting_as(other.issue({})), asking(ClientAuth::kRequest));
  ASSERT_TRUE(stranger.server_result.has_value()) << stranger.server_result.error().to_string();
  EXPECT_FALSE(stranger.server->peer_certificate()->verified);

  Handshake friendly;
  friendly.run(trusting_as(person()), asking(ClientAuth::kRequest));
  EXPECT_TRUE(friendly.server->peer_certificate()->verified);

  Handshake nobody;
  nobody.run(trusting(), asking(ClientAuth::kRequest));
  EXPECT_TRUE(nobody.server_result.has_value());
  EXPECT_EQ(nobody.server->peer_certificate(), nullptr);
}

TEST(Tls, AServerThatInsistsOnTls13RefusesNothingNewer) {
  TlsServerOptions strict = serving(ca().issue_local());
  strict.min_version = TlsVersion::k1_3;
  Handshake tls;
  tls.run(trusting(), strict);
  EXPECT_TRUE(tls.client_result.has_value());
}

// What a client that knows only TLS 1.1 says first: no supported_versions extension.
std::string tls11_hello() {
  std::string body("\x03\x02", 2);
  body += std::string(32, 'r') + std::string(1, '\0');
  body += std::string("\x00\x02\xc0\x13", 4) + std::string("\x01\x00", 2);
  std::string message("\x01\x00\x00", 3);
  message += static_cast<char>(body.size());
  message += body;
  std::string record("\x16\x03\x01\x00", 4);
  record += static_cast<char>(message.size());
  return record + message;
}

Result<void> serve_bytes(const std::string& bytes) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  auto server = tls_accept(std::move(far), made(TlsContext::server(serving(ca().issue_local()))));
  EXPECT_TRUE(executor.run(near->write(bytes)).has_value());
  EXPECT_TRUE(executor.run(near->finish()).has_value());
  return executor.run(first_read(server.get()));
}

TEST(Tls, Version11IsRefused) {
  expect_refusal(serve_bytes(tls11_hello()), Code::kUnsupported, "no TLS version in common");
}

TEST(Tls, PlainHttpIsRecognised) {
  expect_refusal(serve_bytes("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), Code::kUnsupported,
                 "does not speak TLS");
}

TEST(Tls, APeerThatLeavesDuringTheHandshakeIsTransient) {
  expect_refusal(serve_bytes(""), Code::kTransient,
                 "closed the connection during the TLS handshake");
}

TEST(Tls, FinishIsTheEndOfTheStreamAndTheOtherDirectionGoesOn) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  ASSERT_TRUE(tls.executor.run(tls.client->finish()).has_value());
  EXPECT_EQ(tls.executor.run(read_to_end(tls.server.get())), Result<std::string>(""));
  ASSERT_TRUE(tls.executor.run(tls.server->write("still here")).has_value());
  EXPECT_EQ(tls.executor.run(read_exactly(tls.client.get(), 10)),
            Result<std::string>("still here"));
}

TEST(Tls, AStreamCutWithoutCloseNotifyIsAnErrorAndNotTheEnd) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  tls.client->close();
  auto result = tls.executor.run(read_to_end(tls.server.get()));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTransient);
  EXPECT_THAT(result.error().message(), HasSubstr("close_notify"));
}

TEST(Tls, MegabytesBothWaysAtOnce) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  const std::string bytes = pattern(3 << 20);
  TaskGroup group(tls.executor);
  group.spawn(echo(tls.server.get()));
  group.spawn(write_all_and_finish(tls.client.get(), bytes));
  auto answer = tls.executor.run(read_to_end(tls.client.get()));
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_TRUE(*answer == bytes);
}

TEST(Tls, TwoCallsBeforeTheHandshakeShareIt) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  auto server = tls_accept(std::move(far), made(TlsContext::server(serving(ca().issue_local()))));
  TaskGroup group(executor);
  group.spawn(first_read(server.get()));
  group.spawn(write_all_and_finish(server.get(), "hello"));
  std::unique_ptr<Stream> client;
  group.spawn(
      connect_into(std::move(near), made(TlsContext::client(trusting())), "localhost", &client));
  executor.run_ready();
  ASSERT_NE(client, nullptr);
  EXPECT_EQ(executor.run(read_to_end(client.get())), Result<std::string>("hello"));
}

TEST(Tls, ASilentPeerIsLeftWhenTheTimeIsUp) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  auto connecting = tls_connect(std::move(near), made(TlsContext::client(trusting())), "localhost");
  auto result = executor.run(with_timeout(seconds(3), "the handshake", std::move(connecting)));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTimeout);
}

TEST(Tls, DestroyingAHandshakeBreaksTheStreamForTheOthersWhoWaitForIt) {
  VirtualExecutor executor;
  auto [near, far] = make_memory_streams();
  auto server = tls_accept(std::move(far), made(TlsContext::server(serving(ca().issue_local()))));
  TaskGroup second(executor);
  {
    TaskGroup first(executor);
    first.spawn(first_read(server.get()));
    executor.run_ready();
    second.spawn(write_all_and_finish(server.get(), "hello"));
    executor.run_ready();
  }
  auto result = executor.run(join_all(&second));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST(Tls, DestroyingTheStreamUnderATaskThatReadsIsSafe) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  TaskGroup group(tls.executor);
  group.spawn(first_read(tls.client.get()));
  tls.executor.run_ready();
  tls.client.reset();
  auto result = tls.executor.run(join_all(&group));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kCancelled);
}

TEST(Tls, AKeptConnectionIsGoodUntilThePeerLeaves) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  EXPECT_TRUE(tls.client->idle_and_open());
  ASSERT_TRUE(tls.executor.run(tls.server->finish()).has_value());
  EXPECT_FALSE(tls.client->idle_and_open());
}

TEST(Tls, OneReadTakesAllRecordsThatHaveCome) {
  Handshake tls;
  tls.run(trusting(), serving(ca().issue_local()));
  for (const char* word : {"one ", "two ", "three"}) {
    ASSERT_TRUE(tls.executor.run(tls.server->write(word)).has_value());
  }
  char buffer[100];
  ASSERT_EQ(tls.executor.run(tls.client->read_some(buffer)), Result<std::size_t>(13u));
  EXPECT_EQ(std::string_view(buffer, 13), "one two three");
}

TEST(Tls, BytesChangedOnTheWayAreNoticedAndThoseBeforeThemAreNotLost) {
  VirtualExecutor executor;
  auto [client_end, client_wire] = make_memory_streams();
  auto [server_end, server_wire] = make_memory_streams();
  auto server =
      tls_accept(std::move(server_end), made(TlsContext::server(serving(ca().issue_local()))));
  std::unique_ptr<Stream> client;
  auto relay = [](Stream* from, Stream* to, const bool* tamper) -> Task<Result<void>> {
    char buffer[4096];
    for (;;) {
      MS_CO_TRY(const std::size_t count, co_await from->read_some(buffer));
      if (*tamper) buffer[count - 1] = static_cast<char>(buffer[count - 1] ^ 1);
      MS_CO_CHECK(co_await to->write(std::string_view(buffer, count)));
    }
  };
  bool tamper = false;
  TaskGroup group(executor);
  group.spawn(relay(client_wire.get(), server_wire.get(), &tamper));
  group.spawn(relay(server_wire.get(), client_wire.get(), &tamper));
  group.spawn(connect_into(std::move(client_end), made(TlsContext::client(trusting())), "localhost",
                           &client));
  group.spawn(first_read(server.get()));
  executor.run_ready();
  ASSERT_NE(client, nullptr);
  ASSERT_TRUE(executor.run(client->write("x")).has_value());  // For the read above.
  ASSERT_TRUE(executor.run(client->write("hello")).has_value());
  tamper = true;
  ASSERT_TRUE(executor.run(client->write(" world")).has_value());
  char buffer[100];
  EXPECT_EQ(executor.run(server->read_some(buffer)), Result<std::size_t>(5u));
  auto result = executor.run(read_to_end(server.get()));
  ASSERT_FALSE(result.has_value());
  EXPECT_THAT(result.error().message(), HasSubstr("bad record mac"));
  EXPECT_EQ(result.error().code(), Code::kTransient);
}

TEST(TlsContext, SaysWhichPartCannotBeUsed) {
  const TestCert one = ca().issue_local();
  const TestCert two = ca().issue_local();
  auto refusal = [](TlsServerOptions options) {
    auto context = TlsContext::server(options);
    return context ? std::string("accepted") : context.error().message();
  };
  EXPECT_THAT(refusal({}), HasSubstr("certificate: there is no certificate in PEM form"));
  EXPECT_THAT(refusal(serving({one.cert_pem, "nonsense"})), HasSubstr("private key: it cannot be"));
  EXPECT_THAT(refusal(serving({one.cert_pem, two.key_pem})),
              HasSubstr("private key: it does not belong to the certificate"));
  std::string torn = one.cert_pem;
  torn[100] = '!';
  EXPECT_THAT(refusal(serving({torn, one.key_pem})), HasSubstr("certificate 1 cannot be read"));
  TlsServerOptions no_ca = serving(one);
  no_ca.client_auth = ClientAuth::kRequire;
  EXPECT_THAT(refusal(no_ca), HasSubstr("client CA bundle: there is no certificate"));
}

TEST(TlsContext, ABundleMayHoldSeveralAuthorities) {
  const TestCa other("their authority");
  TlsClientOptions both;
  both.ca_pem = other.cert_pem() + "# a comment between them\n" + ca().cert_pem();
  Handshake tls;
  tls.run(both, serving(ca().issue_local()));
  EXPECT_TRUE(tls.client_result.has_value()) << tls.client_result.error().to_string();
}

}  // namespace
}  // namespace mainspring::net
