#include <gmock/gmock.h>

#include "bridge/names.h"
#include "bridge/nodes/node_plan.h"
#include "bridge/nodes/node_testing.h"

namespace mainspring::bridge {
namespace {

using ::testing::HasSubstr;
using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;

std::string text_of(const std::optional<kube::Patch>& patch) {
  return patch ? to_text(patch->body) : "nothing";
}

class NodePatch : public NodeRulesTest {
 protected:
  KubeStep patches(const NodeView& of) const { return kube_step(of, rules(), WallTime{}); }
  std::string taint(const NodeView& of) const { return text_of(patches(of).taint); }
  std::string cordon(const NodeView& of) const { return text_of(patches(of).cordon); }
  std::string condition(const NodeView& of) const { return text_of(patches(of).condition); }
};

auto drained(std::string_view reason) {
  return [reason](slurm::Node& node) {
    node.state.add(Flag::kDrain);
    node.reason = reason;
  };
}

constexpr const char* kTainted =
    "{spec: {taints: [{key: other, effect: NoSchedule}, "
    "{key: slinky.slurm.net/managed-node, value: slurm-bridge-scheduler, effect: NoExecute}]}}";

TEST_F(NodePatch, TheTaintIsAddedToThoseThatAreThere) {
  EXPECT_EQ(taint(registered()),
            R"([{"op":"replace","path":"/metadata/resourceVersion","value":"7"},)"
            R"({"op":"add","path":"/spec/taints","value":[{"key":"slinky.slurm.net/managed-node",)"
            R"("value":"slurm-bridge-scheduler","effect":"NoExecute"}]}])");
  EXPECT_THAT(taint(registered("{spec: {taints: [{key: other, effect: NoSchedule}]}}")),
              HasSubstr(R"("path":"/spec/taints/-","value":{"key")"));
  EXPECT_EQ(taint(registered(kTainted)), "nothing");
}

TEST_F(NodePatch, TheTaintGoesWithTheNodeOrWhereNobodyWantsIt) {
  EXPECT_EQ(taint(view(node_with(kTainted))), "nothing");  // It is being made anew.
  const std::string removed = R"([{"op":"replace","path":"/metadata/resourceVersion","value":"7"},)"
                              R"({"op":"remove","path":"/spec/taints/1"}])";
  const auto unlabelled = std::string(kTainted).insert(
      1, "metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}, ");
  EXPECT_EQ(taint(view(node_with(unlabelled))), removed);
  config.taint_nodes = false;
  EXPECT_EQ(taint(registered(kTainted)), removed);
  EXPECT_EQ(taint(registered()), "nothing");
}

TEST_F(NodePatch, ATaintOfAnotherSchedulerIsNotOurs) {
  config.scheduler_name = "mine";
  config.taint_nodes = false;
  EXPECT_EQ(taint(registered(kTainted)), "nothing");
}

TEST_F(NodePatch, TheConditionSaysWhetherSlurmGivesTheNodeOut) {
  EXPECT_EQ(condition(registered()),
            R"({"status":{"conditions":[{"type":"SlurmReady","status":"True","reason":"TakesJobs",)"
            R"("message":"Slurm gives this node to jobs",)"
            R"("lastTransitionTime":"1970-01-01T00:00:00Z"}]}})");
  EXPECT_THAT(condition(registered("{}", drained("bad fan"))),
              HasSubstr(R"("status":"False","reason":"Drained","message":"bad fan")"));
  EXPECT_THAT(condition(registered("{}",
                                   [](slurm::Node& node) {
                                     node.state.set(Base::kDown);
                                     node.reason = "burnt";
                                   })),
              HasSubstr(R"("status":"False","reason":"Down","message":"burnt")"));
  EXPECT_THAT(condition(view(node_with("{spec: {unschedulable: true}}"))),
              HasSubstr(R"("reason":"NotRegistered","message":"slurm-bridge: Corresponding)"));
}

TEST_F(NodePatch, AConditionThatIsRightIsNotWrittenAgain) {
  EXPECT_EQ(condition(registered(
                "{status: {conditions: [{type: Ready, status: 'True'}, {type: SlurmReady, status: "
                "'True', reason: TakesJobs, message: Slurm gives this node to jobs}]}}")),
            "nothing");
  EXPECT_EQ(condition(view(node_with())), "nothing");  // It is about to be made.
}

TEST_F(NodePatch, ANodeThatIsNotSlurmsHasNoCondition) {
  const std::string over =
      "{metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}, "
      "status: {conditions: [{type: Ready, status: 'True'}%s]}}";
  EXPECT_EQ(condition(view(node_with(std::string(over).replace(over.find("%s"), 2, "")))),
            "nothing");
  EXPECT_EQ(condition(view(node_with(std::string(over).replace(
                over.find("%s"), 2, ", {type: SlurmReady, status: 'False'}")))),
            R"({"status":{"conditions":[{"type":"SlurmReady","$patch":"delete"}]}})");
}

TEST_F(NodePatch, ACordonFollowsAnAdministratorsDrainWhereAskedFor) {
  EXPECT_EQ(cordon(registered("{}", drained("bad fan"))), "nothing");
  config.cordon_nodes = true;
  EXPECT_EQ(
      cordon(registered("{}", drained("bad fan"))),
      R"({"metadata":{"resourceVersion":"7","annotations":)"
      R"({"mainspring.slurm.net/cordoned":"Slurm: bad fan"}},"spec":{"unschedulable":true}})");
  EXPECT_EQ(cordon(registered("{}", drained("slurm-bridge: ours"))), "nothing");
  EXPECT_EQ(cordon(registered("{spec: {unschedulable: true}}", drained("bad fan"))), "nothing");
}

TEST_F(NodePatch, OnlyOurCordonIsLifted) {
  config.cordon_nodes = true;
  const char* const ours =
      "{metadata: {annotations: {mainspring.slurm.net/cordoned: x}}, spec: {unschedulable: true}}";
  EXPECT_EQ(cordon(registered(ours)),
            R"({"metadata":{"resourceVersion":"7","annotations":)"
            R"({"mainspring.slurm.net/cordoned":null}},"spec":{"unschedulable":null}})");
  EXPECT_EQ(cordon(registered(ours, drained("bad fan"))), "nothing");
  EXPECT_EQ(cordon(registered("{spec: {unschedulable: true}}")), "nothing");
  // And it is no reason to drain what follows it.
  EXPECT_EQ(drain_cause(*node_with(ours)), "");
}

TEST_F(NodePatch, APersonWhoLiftsOurCordonIsRight) {
  config.cordon_nodes = true;
  EXPECT_EQ(cordon(registered("{metadata: {annotations: {mainspring.slurm.net/cordoned: x}}}",
                              drained("bad fan"))),
            "nothing");
}

}  // namespace
}  // namespace mainspring::bridge
