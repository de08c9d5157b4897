#include "net/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/memory_stream.h"
#include "net/streams_testing.h"
#include "net/tls.h"
#include "net/virtual_executor.h"

namespace mainspring::net {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const WallTime kStart(seconds(1'700'000'000));
const Validity kYear{kStart, kStart + hours(365 * 24)};

CertifiedKey ca_named(const std::string& name) {
  auto made = make_ca({name, kYear});
  EXPECT_TRUE(made.has_value()) << made.error().to_string();
  return *made;
}

CertificateRequest request_for(const std::string& dns_name) {
  CertificateRequest request;
  request.common_name = dns_name;
  request.dns_names = {dns_name};
  request.validity = {kStart, kStart + hours(24)};
  return request;
}

TEST(Certificate, SaysWhatWasAskedFor) {
  const CertifiedKey ca = ca_named("our authority");
  CertificateRequest request = request_for("hook.slurm.svc");
  request.organizations = {"one", "two"};
  request.ip_addresses = {"127.0.0.1", "::1"};
  auto issued = issue(ca, request);
  ASSERT_TRUE(issued.has_value()) << issued.error().to_string();

  auto info = inspect(issued->cert_pem);
  ASSERT_TRUE(info.has_value()) << info.error().to_string();
  EXPECT_EQ(info->common_name, "hook.slurm.svc");
  EXPECT_EQ(info->issuer, "our authority");
  EXPECT_THAT(info->organizations, ElementsAre("one", "two"));
  EXPECT_THAT(info->dns_names, ElementsAre("hook.slurm.svc"));
  EXPECT_THAT(info->ip_addresses, ElementsAre("127.0.0.1", "::1"));
  EXPECT_EQ(info->validity, request.validity);
  EXPECT_FALSE(info->is_ca);
  EXPECT_EQ(info->pem, issued->cert_pem);
  EXPECT_TRUE(inspect(ca.cert_pem)->is_ca);
}

TEST(Certificate, BelongsToItsOwnKeyAndAuthorityOnly) {
  const CertifiedKey ca = ca_named("authority");
  const CertifiedKey successor = ca_named("authority");
  const CertifiedKey a = *issue(ca, request_for("a"));
  const CertifiedKey b = *issue(ca, request_for("b"));
  EXPECT_TRUE(key_fits(a));
  EXPECT_FALSE(key_fits({a.cert_pem, b.key_pem}));
  EXPECT_FALSE(key_fits({a.cert_pem, Secret("nonsense")}));
  EXPECT_TRUE(is_issued_by(a.cert_pem, ca.cert_pem));
  EXPECT_FALSE(is_issued_by(a.cert_pem, successor.cert_pem));
  EXPECT_FALSE(is_issued_by(a.cert_pem, "nonsense"));
}

TEST(Certificate, CannotBeIssuedWithTheWrongKey) {
  const CertifiedKey ca = ca_named("one");
  auto issued = issue({ca.cert_pem, ca_named("two").key_pem}, request_for("a"));
  ASSERT_FALSE(issued.has_value());
  EXPECT_THAT(issued.error().message(), HasSubstr("does not belong"));
}

TEST(Certificate, NamesThatWouldMeanMoreAreKeptAsTheyAre) {
  const CertifiedKey ca = ca_named("authority");
  auto issued = issue(ca, request_for("a,IP:10.0.0.1"));
  ASSERT_TRUE(issued.has_value());
  EXPECT_THAT(inspect(issued->cert_pem)->dns_names, ElementsAre("a,IP:10.0.0.1"));
  EXPECT_TRUE(inspect(issued->cert_pem)->ip_addresses.empty());
}

TEST(Certificate, RefusesRequestsThatMakeNoSense) {
  const CertifiedKey ca = ca_named("authority");
  CertificateRequest backwards = request_for("a");
  backwards.validity = {kStart, kStart - seconds(1)};
  EXPECT_THAT(issue(ca, backwards).error().message(), HasSubstr("must begin before it ends"));
  CertificateRequest no_address = request_for("a");
  no_address.ip_addresses = {"10.0.0.256"};
  EXPECT_THAT(issue(ca, no_address).error().message(), HasSubstr("\"10.0.0.256\" is not an IP"));
  EXPECT_THAT(issue(ca, request_for("a b")).error().message(), HasSubstr("DNS name"));
  EXPECT_THAT(issue(ca, request_for(std::string(65, 'a'))).error().message(),
              HasSubstr("common name"));
  EXPECT_FALSE(make_ca({"", kYear}).has_value());
}

TEST(Certificate, ABundleIsReadOneByOne) {
  const CertifiedKey a = ca_named("a");
  const CertifiedKey b = ca_named("b");
  auto infos = inspect_all(a.cert_pem + "some words\n" + b.cert_pem);
  ASSERT_TRUE(infos.has_value()) << infos.error().to_string();
  ASSERT_EQ(infos->size(), 2u);
  EXPECT_EQ(infos->at(0).pem, a.cert_pem);
  EXPECT_EQ(infos->at(1).common_name, "b");
  EXPECT_FALSE(inspect_all("").has_value());
  EXPECT_FALSE(inspect_all(a.cert_pem + b.cert_pem.substr(0, 100)).has_value());
}

TEST(Certificate, ItsKeyIsNotShown) {
  const CertifiedKey ca = ca_named("a");
  EXPECT_THAT(::testing::PrintToString(ca.key_pem), Not(HasSubstr("PRIVATE")));
}

Task<Result<void>> handshake(std::shared_ptr<const TlsContext> server,
                             std::shared_ptr<const TlsContext> client, std::string name) {
  const Context context = co_await current_context();
  auto [near, far] = make_memory_streams();
  TaskGroup group(*context.executor);
  auto accepted = tls_accept(std::move(far), std::move(server));
  group.spawn(echo(accepted.get()));
  MS_CO_TRY(auto stream, co_await tls_connect(std::move(near), std::move(client), std::move(name)));
  MS_CO_CHECK(co_await write_all_and_finish(stream.get(), "hello"));
  MS_CO_CHECK(co_await read_exactly(stream.get(), 5));
  co_return Result<void>();
}

// While authorities change, clients trust both: each certificate is found to be its own issuer's.
TEST(Certificate, IsTrustedThroughABundleOfAuthoritiesWithOneName) {
  VirtualExecutor executor;
  const CertifiedKey old_ca = ca_named("authority");
  const CertifiedKey new_ca = ca_named("authority");
  TlsClientOptions both;
  both.ca_pem = new_ca.cert_pem + old_ca.cert_pem;
  TlsClientOptions one;
  one.ca_pem = new_ca.cert_pem;
  for (const CertifiedKey* ca : {&old_ca, &new_ca}) {
    const CertifiedKey leaf = *issue(*ca, request_for("hook.slurm.svc"));
    TlsServerOptions options;
    options.cert_pem = leaf.cert_pem;
    options.key_pem = leaf.key_pem.reveal();
    auto server = TlsContext::server(options);
    ASSERT_TRUE(server.has_value()) << server.error().to_string();
    auto done = executor.run(handshake(*server, *TlsContext::client(both), "hook.slurm.svc"));
    EXPECT_TRUE(done.has_value()) << done.error().to_string();
    EXPECT_EQ(
        executor.run(handshake(*server, *TlsContext::client(one), "hook.slurm.svc")).has_value(),
        ca == &new_ca);
  }
}

}  // namespace
}  // namespace mainspring::net
