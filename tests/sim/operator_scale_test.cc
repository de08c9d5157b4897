// The whole operator with a large NodeSet, and nothing that goes wrong.
#include "sim/operator_scenario.h"

namespace mainspring::sim {
namespace {

int undrained(SlurmModel& slurm) {
  return static_cast<int>(std::count_if(slurm.nodes().begin(), slurm.nodes().end(),
                                        [](const SlurmNode& node) { return !node.drain; }));
}

TEST(OperatorAtScale, WorkersGoWhileOthersAreStillToBeDrained) {
  constexpr int kWorkers = 80;
  OperatorWorld world(1);
  world.heal();
  Wish wish{.name = "gpu", .pool = "a", .replicas = kWorkers};
  const auto made =
      world.kubectl(Method::kPost, kSets.substr(0, kSets.size() - 1),
                    fmt::format(R"({{"apiVersion":"slinky.slurm.net/v1beta1","kind":"NodeSet",)"
                                R"("metadata":{{"name":"gpu"}},"spec":{}}})",
                                wish.spec()));
  ASSERT_EQ(made.status, 201) << made.body;
  world.pass(seconds(40), [] {});
  ASSERT_EQ(undrained(world.slurm.model()), kWorkers);

  std::optional<int> left;  // When the first pod was deleted.
  world.safety.after_write = [&] {
    const auto pods = world.pods_of(*world.nodeset("gpu"));
    const bool begun = std::any_of(pods.begin(), pods.end(),
                                   [](const Object& pod) { return is_being_deleted(*pod); });
    if (begun && !left) left = undrained(world.slurm.model());
  };
  world.kubectl(Method::kPatch, kSets + "gpu", R"({"spec":{"replicas":0}})");
  world.pass(seconds(40), [] {});
  EXPECT_GT(left.value_or(0), 0);
  EXPECT_EQ(world.pods_of(*world.nodeset("gpu")).size(), 0U);
  EXPECT_EQ(world.safety.violation(), "");
}

}  // namespace
}  // namespace mainspring::sim
