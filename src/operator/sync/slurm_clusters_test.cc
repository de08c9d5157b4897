#include "operator/sync/slurm_clusters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "net/virtual_executor.h"
#include "slurm/scripted_transport.h"
#include "slurm/tokens.h"

namespace mainspring::op {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

}  // namespace
}  // namespace mainspring::op
