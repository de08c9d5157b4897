// slurmctld does not survive a slurm.conf without a partition that a job on its record names: how
// partitions come to be closed, and when they go.
#include <gmock/gmock.h>

#include "sim/operator_story.h"

namespace mainspring::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OperatorPartitions : public OperatorStory {
 protected:
  void extra_conf(const std::string& text) {
    const auto done = world.kubectl(Method::kPatch,
                                    "/apis/slinky.slurm.net/v1beta1/namespaces/slurm/controllers/c",
                                    fmt::format(R"({{"spec":{{"extraConf":"{}"}}}})", text));
    ASSERT_EQ(done.status, 200) << done.body;
  }
};

TEST_F(OperatorPartitions, OneThatTheUserTookAwayStaysClosedWhileJobsNameIt) {
  extra_conf("PartitionName=DEFAULT MaxTime=60\\nPartitionName=mine Nodes=gpu State=UP");
  begin(1);
  const auto job = run_job("gpu-0", "mine");
  extra_conf("");
  pass(minutes(1));
  EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=mine Nodes=gpu MaxTime=60 State=DRAIN\n"));
  static_cast<void>(world.slurm.model().cancel(job));
  pass(minutes(6));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=mine")));
}

}  // namespace
}  // namespace mainspring::sim
