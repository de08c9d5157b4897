// A NodeSet without a Slurm that answers: it says what is wrong with it, and goes when its time is
// up, not before.
#include <gmock/gmock.h>

#include "operator/sync/nodeset_sync.h"
#include "sim/operator_scene.h"

namespace mainspring::sim {
namespace {

using api::NodeSet;

constexpr std::string_view kObjects[] = {
    R"(
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c}
spec: {slurmKeyRef: {name: auth-slurm, key: slurm.key}}
)",
    R"(
apiVersion: slinky.slurm.net/v1beta1
kind: RestApi
metadata: {name: rest}
spec: {controllerRef: {name: c}}
)",
    R"(
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu}
spec:
  controllerRef: {name: c}
  replicas: 2
  slurmd: {image: slurmd}
  logfile: {image: log}
  deletion: {policy: Drain, deadline: 1h}
)"};

class NodeSetAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const std::string_view object : kObjects) scene.put(object);
    scene.start();
    for (const char* const pod : {"gpu-0", "gpu-1"}) {
      scene.change(kube::Pod::kResource, pod, "{status: {phase: Running}}", "status");
    }
    // As left by a Slurm that is gone.
    scene.change(NodeSet::kResource, "gpu",
                 "{metadata: {finalizers: [nodeset.slinky.slurm.net/reservation, "
                 "mainspring.slurm.net/drain]}}");
    scene.settle();
  }
  void remove(const kube::Resource& resource, const std::string& name) {
    ASSERT_TRUE(scene.remove(resource, name));
    scene.settle();
  }
  bool is_there(const std::string& pod) {
    const Object found = scene.server.find(kube::Pod::kResource, "slurm", pod);
    return found && found->at_pointer("/metadata/deletionTimestamp") == nullptr;
  }
  bool set_is_there() { return scene.server.find(NodeSet::kResource, "slurm", "gpu") != nullptr; }

  OperatorScene scene;
  op::NodeSetWorld shared{scene.world};
  op::NodeSetSync sync{shared};
};

TEST_F(NodeSetAlone, WaitsForSlurmUntilItsDeadlineAndNoLonger) {
  remove(NodeSet::kResource, "gpu");
  scene.settle(minutes(59));
  EXPECT_TRUE(is_there("gpu-0") && is_there("gpu-1"));
  scene.settle(minutes(2));
  EXPECT_FALSE(is_there("gpu-0") || is_there("gpu-1"));
  scene.settle(minutes(1));
  EXPECT_FALSE(set_is_there());
}

TEST_F(NodeSetAlone, SaysWhatIsWrongWithItsTemplate) {
  EXPECT_EQ(scene.condition(NodeSet::kResource, "gpu", "Degraded"), "False AsExpected");
  scene.change(api::Controller::kResource, "c", "{spec: {slurmKeyRef: null}}");
  scene.settle();
  EXPECT_THAT(scene.condition(NodeSet::kResource, "gpu", "Degraded"),
              ::testing::StartsWith("True "));
  EXPECT_TRUE(is_there("gpu-0") && is_there("gpu-1"));
}

TEST_F(NodeSetAlone, DoesNotWaitForASlurmThatGoesToo) {
  remove(NodeSet::kResource, "gpu");
  EXPECT_TRUE(set_is_there());
  remove(api::Controller::kResource, "c");
  scene.settle(seconds(10));
  EXPECT_FALSE(set_is_there());
}

}  // namespace
}  // namespace mainspring::sim
