#include "slurm/cluster.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

class ClusterControlTest : public ApiTest {};

TEST_F(ClusterControlTest, ReadsWhatSlurmctldSaysOfItself) {
  answer_as("ping");
  answer_as("diag");
  answer_as("conf");
  answer_as("licenses");
  answer_as("shares");
  answer_as("reconfigure");
  const ClusterControl control(client());
  EXPECT_TRUE(run(control.ping())->front().responding);
  EXPECT_EQ(run(control.diag())->since.value_or(0), 1794770767);
  const auto conf = run(control.conf());
  ASSERT_TRUE(conf) << why(conf);
  EXPECT_EQ(conf->boot_time, 1794770765);
  EXPECT_EQ(conf->conf.auth_type, "auth/slurm");
  EXPECT_EQ(run(control.licenses())->front().name, "matlab");
  EXPECT_FALSE(run(control.shares({"chem", "phys"}, {"alice"}))->empty());
  EXPECT_TRUE(run(control.reconfigure()));

  expect_asked_as("ping", 0);
  expect_asked_as("diag", 1);
  expect_asked_as("conf", 2);
  expect_asked_as("licenses", 3);
  EXPECT_EQ(asked(4), "GET /slurm/v0.0.45/shares?accounts=chem&accounts=phys&users=alice");
  expect_asked_as("reconfigure", 5);
}

TEST_F(ClusterControlTest, HealthKnowsWhichRunThisIs) {
  answer_as("ping");
  answer_as("conf");
  const auto health = run(ClusterControl(client()).health());
  ASSERT_TRUE(health) << why(health);
  EXPECT_TRUE(health->responding);
  EXPECT_EQ(health->boot_time, 1794770765);
}

TEST_F(ClusterControlTest, HealthOfAnOlderOneIsSinceItsCountersBegan) {
  speak(Version::k44);
  answer_as("ping");
  answer_as("diag");
  const auto health = run(ClusterControl(client()).health());
  ASSERT_TRUE(health) << why(health);
  EXPECT_EQ(health->boot_time, 1794770767);
}

TEST_F(ClusterControlTest, WhereNobodyRespondsNothingMoreIsAsked) {
  answer(
      R"({"pings":[{"hostname":"ctl","responding":false},{"hostname":"b","responding":false}]})");
  const auto health = run(ClusterControl(client()).health());
  ASSERT_TRUE(health) << why(health);
  EXPECT_FALSE(health->responding);
  EXPECT_EQ(transport_.asked.size(), 1U);
}

}  // namespace
}  // namespace mainspring::slurm
