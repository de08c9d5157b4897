#include "bridge/nodes/node_holds.h"

#include <gmock/gmock.h>

namespace mainspring::bridge {
namespace {

using ::testing::ElementsAre;

TEST(NodeHolds, ANodeIsHeldUntilTheLastJobHasLetGo) {
  NodeHolds holds;
  std::vector<std::string> told;
  holds.on_change([&](std::string_view node) { told.emplace_back(node); });

  holds.hold("n1", slurm::JobId(7), "seven");
  holds.hold("n1", slurm::JobId(9), "nine");
  holds.hold("n1", slurm::JobId(9), "nine");
  EXPECT_TRUE(holds.held("n1"));
  EXPECT_EQ(holds.reason("n1"), "seven");
  holds.release("n1", slurm::JobId(7));
  EXPECT_EQ(holds.reason("n1"), "nine");
  holds.release("n1", slurm::JobId(9));
  holds.release("n1", slurm::JobId(9));
  EXPECT_FALSE(holds.held("n1"));
  EXPECT_EQ(holds.reason("n1"), "");
  EXPECT_THAT(told, ElementsAre("n1", "n1", "n1"));
}

}  // namespace
}  // namespace mainspring::bridge
