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
  static constexpr std::string_view kClosed = "PartitionName=gpu Nodes=gpu State=DRAIN\n";
  const std::string kWithPartition = R"(,"partition":{"enabled":true})";

  void give_up(std::string_view how) {
    if (how == "deletion") {
      world.kubectl(Method::kDelete, kSets + "gpu");
    } else {
      spec(R"({"partition":{"enabled":false}})");
    }
  }
  // As sbatch does, a job that does not start; unset where slurmctld does not take it.
  std::optional<std::uint32_t> submit() {
    SlurmJob job{.partition = "gpu", .nodes_wanted = 0, .held = true};
    if (world.slurm.model().submit(job)) return std::nullopt;
    return job.id;
  }
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

// slurmctld has a partition open until it has read that it is closed.
TEST_F(OperatorPartitions, OneThatTookAJobAfterItWasGivenUpStaysForIt) {
  for (const char* const how : {"deletion", "partition.enabled"}) {
    SCOPED_TRACE(how);
    begin(0, kWithPartition);
    world.slurm.model().reconfigure();
    give_up(how);
    pass(seconds(2));
    const auto late = submit();
    ASSERT_TRUE(late.has_value());
    pass(minutes(2));
    EXPECT_THAT(slurm_conf(), HasSubstr(kClosed));
    EXPECT_FALSE(submit().has_value());
    static_cast<void>(world.slurm.model().cancel(*late));
    pass(minutes(7));
    EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=gpu")));
    world.kubectl(Method::kDelete, kSets + "gpu");
    pass(minutes(1));
  }
}

TEST_F(OperatorPartitions, NoneGoesWhileSlurmctldHasNotClosedIt) {
  begin(0, kWithPartition);
  world.slurm.model().reconfigure();
  world.slurm.stop_rest();
  give_up("partition.enabled");
  pass(minutes(1));
  const auto late = submit();
  ASSERT_TRUE(late.has_value());
  pass(minutes(10));
  EXPECT_THAT(slurm_conf(), HasSubstr(kClosed));
  world.slurm.start_rest();
  pass(minutes(7));
  EXPECT_THAT(slurm_conf(), HasSubstr(kClosed));
  static_cast<void>(world.slurm.model().cancel(*late));
  pass(minutes(7));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=gpu")));
}

TEST_F(OperatorPartitions, OneWithoutJobsGoesSoonAndItsNodeSetSooner) {
  begin(1, kWithPartition);
  world.slurm.model().reconfigure();
  give_up("deletion");
  pass(seconds(20));
  EXPECT_EQ(world.nodeset("gpu"), nullptr);
  pass(seconds(40));
  EXPECT_THAT(slurm_conf(), Not(HasSubstr("PartitionName=gpu")));
}

TEST_F(OperatorPartitions, OneThatSlurmctldKeepsOpenStays) {
  begin(0, kWithPartition);
  // As ReconfigFlags=KeepPartState would.
  world.slurm.model().set_files([] { return std::vector<SlurmPartition>{{.name = "gpu"}}; });
  world.slurm.model().reconfigure();
  give_up("deletion");
  pass(minutes(5));
  EXPECT_THAT(slurm_conf(), HasSubstr(kClosed));
  const auto writes = [&] { return world.safety.kube_writes + world.safety.slurm_writes; };
  const int before = writes();
  pass(minutes(5));
  EXPECT_EQ(writes(), before);
}

TEST_F(OperatorPartitions, OneThatIsWantedAgainIsLookedAtAnewWhenItIsGivenUp) {
  begin(0, kWithPartition);
  world.slurm.model().reconfigure();
  for (int round = 0; round < 3; ++round) {
    give_up("partition.enabled");
    pass(seconds(round * 6));
    spec(R"({"partition":{"enabled":true}})");
    pass(minutes(1));
    EXPECT_THAT(slurm_conf(), HasSubstr("PartitionName=gpu Nodes=gpu \n"));
    const auto job = submit();
    ASSERT_TRUE(job.has_value());
    give_up("partition.enabled");
    pass(minutes(1));
    EXPECT_THAT(slurm_conf(), HasSubstr(kClosed));
    static_cast<void>(world.slurm.model().cancel(*job));
  }
}

}  // namespace
}  // namespace mainspring::sim
