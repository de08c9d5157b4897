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
constexpr std::string_view kWithoutAll = R"(ClusterName=c
#
### NODESET & PARTITION ###
NodeSet=cpu Feature=cpu
PartitionName=cpu Nodes=cpu Default=YES
NodeSet=gpu Feature=gpu
PartitionName=gpu Nodes=gpu State=UP MaxTime=60
)";
constexpr std::string_view kWithoutGpu = R"(ClusterName=c
PartitionName=all Nodes=ALL
#
### NODESET & PARTITION ###
NodeSet=cpu Feature=cpu
PartitionName=cpu Nodes=cpu Default=YES
)";

// `included` is in more.conf; empty: there is no such file.
slurm::ConfFile conf(std::string_view text, std::string_view included = "") {
  return slurm::read_conf("slurm.conf", text,
                          [&](std::string_view name) -> std::optional<std::string_view> {
                            if (name != "more.conf" || included.empty()) return std::nullopt;
                            return included;
                          });
}

std::vector<std::string> kept(std::string_view before, std::string_view after,
                              const std::function<bool(std::string_view)>& may_go) {
  return kept_lines(conf(before), conf(after), may_go);
}

std::string with(std::string_view conf, const std::vector<std::string>& lines) {
  std::string text(conf);
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

const auto yes = [](std::string_view) { return true; };
const auto no = [](std::string_view) { return false; };

TEST(KeptPartitions, AreClosedFirstAndGoOnlyWhenTheyMay) {
  const auto closed =
      ElementsAre("NodeSet=gpu Feature=gpu", "PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN");
  EXPECT_THAT(kept(kBefore, kWithoutGpu, no), closed);
  EXPECT_THAT(kept(kBefore, kWithoutGpu, yes), closed);
  const std::string again = with(kWithoutGpu, kept(kBefore, kWithoutGpu, yes));
  EXPECT_THAT(kept(again, kWithoutGpu, no), closed);
  EXPECT_THAT(kept(again, kWithoutGpu, yes), IsEmpty());
}

TEST(KeptPartitions, LetNothingStartThatDidNotStartBefore) {
  constexpr std::string_view kTheirs =
      "PartitionName=a State=DOWN\nPartitionName=b State=inactive\nPartitionName=c State=drain\n";
  EXPECT_THAT(kept(kTheirs, "", no),
              ElementsAre("PartitionName=a State=INACTIVE", "PartitionName=b State=INACTIVE",
                          "PartitionName=c State=DRAIN"));
  EXPECT_THAT(kept(kTheirs, "", yes), ElementsAre("PartitionName=a State=INACTIVE"));
}

TEST(KeptPartitions, AreTheSameTheNextTime) {
  const std::vector<std::string> lines = kept(kBefore, kWithoutGpu, no);
  EXPECT_EQ(kept(with(kWithoutGpu, lines), kWithoutGpu, no), lines);
}

TEST(KeptPartitions, KeepTheNodeSetThatIsStillThere) {
  std::string after(kWithoutGpu);
  after += "NodeSet=gpu Feature=gpu\n";
  EXPECT_THAT(kept(kBefore, after, no),
              ElementsAre("PartitionName=gpu Nodes=gpu MaxTime=60 State=DRAIN"));
}

TEST(KeptPartitions, GiveWayToOneOfTheSameNameWhoeverWritesIt) {
  std::string after(kWithoutGpu);
  after += "#\n### EXTRA CONFIG ###\n  partitionname=gpu Nodes=ALL\n";
  EXPECT_THAT(kept(kBefore, after, no), IsEmpty());
}

TEST(KeptPartitions, AreThoseTooThatTheUserWroteAndTookAway) {
  EXPECT_THAT(kept(kBefore, kBefore, no), IsEmpty());
  EXPECT_THAT(kept(kBefore, kWithoutAll, no),
              ElementsAre("PartitionName=all Nodes=ALL State=DRAIN"));
}

TEST(KeptPartitions, AreReadAsSlurmReadsThem) {
  constexpr std::string_view kTheirs = R"(### EXTRA CONFIG ###
PartitionName=DEFAULT MaxTime=10 Default=NO
PartitionName=DEFAULT MaxTime=20 AllowGroups="a b"
partitionname = one Nodes=ALL \
  State=UP Default=YES # the best
)";
  EXPECT_THAT(
      kept(kTheirs, "", no),
      ElementsAre("partitionname=one Nodes=ALL AllowGroups=\"a b\" MaxTime=20 State=DRAIN"));
}

TEST(KeptPartitions, BringTheNodeSetsThatTheyNeedAndNoNodeThatIsGone) {
  constexpr std::string_view kTheirs = R"(NodeName=n[1-4]
NodeSet=gpu Feature=gpu
NodeSet=mine Nodes=n[1-2]
PartitionName=p Nodes=gpu,mine,n[3-4]
PartitionName=q Nodes=gpu,n4
)";
  EXPECT_THAT(kept(kTheirs, "NodeName=n[1,3]\n", no),
              ElementsAre("NodeSet=gpu Feature=gpu", "NodeSet=mine Nodes=n1",
                          "PartitionName=p Nodes=gpu,mine,n3 State=DRAIN",
                          "PartitionName=q Nodes=gpu State=DRAIN"));
}

TEST(KeptPartitions, GiveWayToOneInAnIncludedFile) {
  const std::string after = std::string(kWithoutAll) + "Include more.conf\n";
  EXPECT_THAT(kept_lines(conf(kBefore), conf(after, "PartitionName=all Nodes=ALL\n"), no),
              IsEmpty());
}

TEST(KeptPartitions, AreThoseTooThatWereInAnIncludedFile) {
  constexpr std::string_view kText = "NodeSet=gpu Feature=gpu\nInclude more.conf\n";
  const auto before = conf(kText, "PartitionName=mine Nodes=gpu\nPartitionName=old State=DRAIN\n");
  const auto closed = ElementsAre("PartitionName=mine Nodes=gpu State=DRAIN");
  EXPECT_THAT(kept_lines(before, conf(kText, "# none\n"), yes), closed);
  EXPECT_THAT(kept_lines(before, conf("NodeSet=gpu Feature=gpu\n"), yes), closed);
}

TEST(ClosedPartition, IsNobodysDefault) {
  EXPECT_EQ(closed_partition("PartitionName=gpu Nodes=gpu Default=YES State=UP"),
            "PartitionName=gpu Nodes=gpu State=DRAIN");
}

}  // namespace
}  // namespace mainspring::op::build
