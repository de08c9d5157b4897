#include "operator/build/kept_partitions.h"

#include <gmock/gmock.h>

namespace mainspring::op::build {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kBefore = R"(ClusterName=c
#
### NODESET & PARTITION ###
NodeSet=cpu Feature=cpu
PartitionName=cpu Nodes=cpu Default=YES
NodeSet=gpu Feature=gpu
PartitionName=gpu Nodes=gpu State=UP MaxTime=60
#
### EXTRA CONFIG ###
PartitionName=all Nodes=ALL
)";
constexpr std::string_view kWithoutGpu = R"(ClusterName=c
#
### NODESET & PARTITION ###
NodeSet=cpu Feature=cpu
PartitionName=cpu Nodes=cpu Default=YES
)";

const auto yes = [](std::string_view) { return true; };
const auto no = [](std::string_view) { return false; };

TEST(KeptPartitions, StayClosedToNewJobsWhileJobsNameThem) {
  EXPECT_THAT(
      kept_lines(kBefore, kWithoutGpu, yes),
      ElementsAre("NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
  EXPECT_THAT(kept_lines(kBefore, kWithoutGpu, no), IsEmpty());
}

TEST(KeptPartitions, AreTheSameTheNextTime) {
  std::string again(kWithoutGpu);
  for (const std::string& line : kept_lines(kBefore, kWithoutGpu, yes)) again += line + "\n";
  EXPECT_THAT(kept_lines(again, kWithoutGpu, yes), kept_lines(kBefore, kWithoutGpu, yes));
}

TEST(KeptPartitions, KeepTheNodeSetThatIsStillThere) {
  std::string after(kWithoutGpu);
  after += "NodeSet=gpu Feature=gpu\n";
  EXPECT_THAT(kept_lines(kBefore, after, yes),
              ElementsAre("PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
}

TEST(KeptPartitions, GiveWayToOneOfTheSameNameWhoeverWritesIt) {
  std::string after(kWithoutGpu);
  after += "#\n### EXTRA CONFIG ###\n  partitionname=gpu Nodes=ALL\n";
  EXPECT_THAT(kept_lines(kBefore, after, yes), IsEmpty());
}

TEST(KeptPartitions, AreNotThoseThatTheUserWroteAndTookAway) {
  EXPECT_THAT(kept_lines(kBefore, kBefore, yes), IsEmpty());
  EXPECT_THAT(kept_lines("### EXTRA CONFIG ###\nPartitionName=all Nodes=ALL\n", "", yes),
              IsEmpty());
}

}  // namespace
}  // namespace mainspring::op::build
