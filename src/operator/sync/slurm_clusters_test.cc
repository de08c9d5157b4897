#include "operator/sync/slurm_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/virtual_executor.h"
#include "operator/sync/world.h"
#include "slurm/scripted_transport.h"
#include "slurm/tokens.h"

namespace mainspring::op {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Agrees to everything, and keeps how it was asked.
class Agreeable final : public http::Transport {
 public:
  net::Task<Result<http::Response>> send(http::Request request) override {
    asked.push_back(request.method);
    co_return http::json_response(200, R"({"errors":[]})");
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    asked.push_back(request.method);
    co_return fail(Code::kTransient, "no lists here");
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "upgrade");
  }
  std::vector<http::Method> asked;
};

class SlurmClustersTest : public ::testing::Test {
 protected:
  net::VirtualExecutor executor;
  slurm::ScriptedTransport transport;  // Refuses everything: what counts here was sent before.
  Random random{1};
  Metrics metrics;
  std::shared_ptr<MemoryLogSink> lines = std::make_shared<MemoryLogSink>();
  SlurmClusters clusters{{executor, transport, random,
                          Logger(Logger::Options{.clock = &executor.clock(), .sink = lines}),
                          &metrics}};

  Secret token(Duration lifetime) {
    return *slurm::mint_token(Secret("key"), "slurm", executor.clock().wall_now(), lifetime);
  }
};

TEST_F(SlurmClustersTest, TheEndOfEveryClustersTokenIsWatched) {
  const Secret soon = token(minutes(9));
  const ObjectKey a("ns", "a"), b("ns", "b");
  clusters.set(a.view(), "http://a:6820", slurm::static_token(soon));
  clusters.set(b.view(), "http://b:6820", slurm::static_token(token(hours(9))));
  executor.advance(seconds(5));

  const std::string numbers = metrics.to_text();
  EXPECT_THAT(numbers, HasSubstr(R"(slurm_client_token_expires_seconds{cluster="ns/a"})"));
  EXPECT_THAT(numbers, HasSubstr(R"(slurm_client_token_expires_seconds{cluster="ns/b"})"));
  std::size_t warnings = 0;
  for (const std::string& line : lines->lines()) {
    EXPECT_THAT(line, Not(HasSubstr(soon.reveal())));
    if (line.find("the Slurm token ends soon") == std::string::npos) continue;
    ++warnings;
    EXPECT_THAT(line, HasSubstr(R"("cluster":"ns/a")"));
  }
  EXPECT_EQ(warnings, 1U);
}

// Two operators would undrain what the other drains. A manager that never led may write nothing.
TEST_F(SlurmClustersTest, WhoDoesNotLeadChangesNothingInAnySlurm) {
  kube::Client client(transport, executor.clock(), random,
                      {.server = *http::Url::parse("https://kube")});
  const control::LeaderElector::Options lease{.ns = "ns", .name = "lease", .identity = "me"};
  Agreeable slurm;
  const ObjectKey key("ns", "a");
  for (const bool elected : {true, false}) {
    SCOPED_TRACE(elected);
    control::Manager manager(
        executor, client, random,
        {.name = "m", .leader = elected ? std::optional(lease) : std::nullopt});
    World world(manager, slurm, {});
    for (SlurmClusters* const all : {&world.slurm, &world.outside}) {
      all->set(key.view(), "http://a:6820", slurm::static_token(token(hours(1))));
      const auto cluster = all->find(key.view());
      slurm.asked.clear();
      const auto done = executor.run(cluster->client().send(
          {.endpoint = slurm::Endpoint::kUpdateNode, .path = {"gpu-0"}, .body = "{}"}));
      EXPECT_EQ(done.has_value(), !elected);
      std::erase(slurm.asked, http::Method::kGet);
      if (!elected) {
        EXPECT_THAT(slurm.asked, SizeIs(1));
        continue;
      }
      EXPECT_EQ(done.error().code(), Code::kForbidden);
      EXPECT_THAT(done.error().to_string(), HasSubstr("does not hold the lease"));
      EXPECT_THAT(slurm.asked, IsEmpty());
    }
  }
}

}  // namespace
}  // namespace mainspring::op
