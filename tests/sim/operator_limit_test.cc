// What the limit of deletions holds back: it goes later, whether or not anything else happens.
#include <gmock/gmock.h>

#include "operator/sync/nodeset_sync.h"
#include "sim/operator_scene.h"

namespace mainspring::sim {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr std::string_view kController = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c}
spec: {slurmKeyRef: {name: k, key: slurm.key}}
)";
constexpr std::string_view kNodeSet = R"(
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu}
spec: {controllerRef: {name: c}, replicas: 3, slurmd: {image: slurmd}, logfile: {image: log}}
)";
constexpr const char* kPods[] = {"gpu-0", "gpu-1", "gpu-2"};

struct LimitOfDeletions : ::testing::Test {
  void SetUp() override {
    scene.put(kController);
    scene.put(kNodeSet);
    scene.start();
  }
  void end(const char* pod) {
    scene.change(kube::Pod::kResource, pod, "{status: {phase: Failed}}", "status");
  }
  std::size_t ended() {
    return static_cast<std::size_t>(
        std::count_if(std::begin(kPods), std::end(kPods), [&](auto pod) {
          return scene.at(kube::Pod::kResource, pod, "/status/phase") == "Failed";
        }));
  }

  // Of the counter that operators of the operator look at.
  int held_back() {
    constexpr std::string_view kName = "\nmainspring_deletions_held_back_total ";
    const std::string text = metrics.to_text();
    const auto at = text.find(kName);
    return at == std::string::npos ? -1 : std::stoi(text.substr(at + kName.size()));
  }

  Metrics metrics;
  OperatorScene scene{{.deletions_per_minute = 1, .metrics = &metrics}};
  op::NodeSetWorld shared{scene.world};
  op::NodeSetSync sync{shared};
};

TEST_F(LimitOfDeletions, WhatHasToWaitGoesAMinuteLaterByItself) {
  for (const char* const pod : kPods) end(pod);
  scene.settle();
  EXPECT_EQ(ended(), 2);
  EXPECT_THAT(scene.events(), Contains("DeletionsLimited"));
  const int first = held_back();
  EXPECT_GT(first, 0);
  scene.settle(seconds(75));
  EXPECT_EQ(ended(), 1);
  EXPECT_GT(held_back(), first);
  scene.settle(seconds(75));
  EXPECT_EQ(ended(), 0);
}

TEST_F(LimitOfDeletions, NobodyIsToldOfALimitThatIsNotReached) {
  end(kPods[1]);
  scene.settle(minutes(2));
  EXPECT_EQ(ended(), 0);
  EXPECT_THAT(scene.events(), Not(Contains("DeletionsLimited")));
  EXPECT_EQ(held_back(), 0);
}

}  // namespace
}  // namespace mainspring::sim
