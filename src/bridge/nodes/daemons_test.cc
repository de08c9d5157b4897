#include "bridge/nodes/daemons.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bridge/nodes/node_testing.h"

namespace mainspring::bridge {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Daemon> daemon_with(std::string_view spec) {
  const auto value = json::parse_yaml(
      fmt::format("{{metadata: {{name: d}}, spec: {{template: {{spec: {}}}}}}}", spec));
  EXPECT_TRUE(value.has_value()) << spec;
  json::Reader reader;
  auto daemon = json::decode<Daemon>(reader, json::to_text(*value));
  EXPECT_TRUE(daemon.has_value());
  return std::make_shared<const Daemon>(*std::move(daemon));
}

constexpr std::string_view kContainers =
    "containers: [{name: c, resources: {requests: {cpu: 120m, memory: 100Mi}}}]";

std::shared_ptr<const Daemon> everywhere() {
  return daemon_with(fmt::format("{{tolerations: [{{operator: Exists}}], {}}}", kContainers));
}

TEST(Daemons, WhatTheirPodsAskForIsRoundedUp) {
  const BridgeConfig config;
  EXPECT_EQ(reserve_of({}, *node_with(), config), Reserve{});
  EXPECT_EQ(reserve_of({everywhere()}, *node_with(), config), (Reserve{200, 128}));
  EXPECT_EQ(reserve_of({everywhere(), everywhere()}, *node_with(), config), (Reserve{300, 256}));
}

TEST(Daemons, OnlyThoseThatStayOnTheNodeCount) {
  BridgeConfig config;
  const auto plain = daemon_with(fmt::format("{{{}}}", kContainers));
  EXPECT_EQ(reserve_of({plain}, *node_with(), config), Reserve{}) << "our taint drives it away";
  config.taint_nodes = false;
  EXPECT_EQ(reserve_of({plain}, *node_with(), config), (Reserve{200, 128}));
  const auto tainted = [](std::string_view key) {
    return node_with(fmt::format("{{spec: {{taints: [{{key: {}, effect: NoSchedule}}]}}}}", key));
  };
  EXPECT_EQ(reserve_of({plain}, *tainted("example.com/gpu"), config), Reserve{});
  EXPECT_EQ(reserve_of({plain}, *tainted("node.kubernetes.io/memory-pressure"), config),
            (Reserve{200, 128}));
  const auto elsewhere = daemon_with(fmt::format("{{nodeSelector: {{a: b}}, {}}}", kContainers));
  EXPECT_EQ(reserve_of({elsewhere}, *node_with(), config), Reserve{});
}

class DaemonSize : public NodeRulesTest {
 protected:
  // With 1 CPU and 1 GiB of daemons on a node with 15.5 CPUs and 31 GiB.
  static constexpr Reserve kSome{1000, 1024};
  NodeView with(Reserve daemons, NodeView of) const {
    of.daemons = daemons;
    return of;
  }
  // Made with these, and seen with `now`.
  template <class Change>
  NodeView made_with(Reserve daemons, Reserve now, Change changed) const {
    const SlurmStep made = step_of(with(daemons, view(node_with())));
    slurm::Node slurm = shown(made.spec, made.comment);
    changed(slurm);
    return with(
        now, {"worker-1", node_with(), std::make_shared<const slurm::Node>(std::move(slurm)), {}});
  }
  NodeView made_with(Reserve daemons, Reserve now) const {
    return made_with(daemons, now, [](slurm::Node&) {});
  }
};

TEST_F(DaemonSize, SlurmIsToldOfWhatTheyLeave) {
  EXPECT_THAT(step(with(kSome, view(node_with()))), HasSubstr("CPUs=14 RealMemory=30720 "));
  EXPECT_THAT(step(with({500, 0}, view(node_with()))), HasSubstr("CPUs=15 RealMemory=31744 "));
  EXPECT_THAT(step(with({600, 0},
                        view(node_with(
                            "{metadata: {annotations: {mainspring.slurm.net/cpu-topology: 1x8x2}}, "
                            "status: {allocatable: {cpu: '16'}}}")))),
              HasSubstr("CoresPerSocket=7 ThreadsPerCore=2 CPUs=14"));
}

TEST_F(DaemonSize, OnlyMoreOfThemMakesANodeAnewAndOnlyAnIdleOne) {
  EXPECT_EQ(step(made_with(kSome, kSome)), "nothing");
  EXPECT_EQ(step(made_with(kSome, {})), "nothing");
  EXPECT_EQ(step(made_with(kSome, {1400, 1024})), "nothing") << "as many whole CPUs";
  EXPECT_EQ(step(made_with(kSome, {1600, 1024})), "remove: made anew: DaemonSets take more of it");
  EXPECT_EQ(step(made_with({}, kSome)), "remove: made anew: DaemonSets take more of it");
  EXPECT_EQ(
      step(made_with({}, kSome,
                     [](slurm::Node& node) { node.state.set(slurm::NodeState::Base::kMixed); })),
      "nothing")
      << "neither drained nor removed while it is busy";
}

TEST_F(DaemonSize, WhatIsSetAsideByHandIsAsIfItWereNotThere) {
  const auto with = [&](std::string_view text) {
    return step(view(node_with(fmt::format(
        "{{metadata: {{annotations: {{mainspring.slurm.net/reserved: '{}'}}}}}}", text))));
  };
  EXPECT_THAT(with("cpu=1500m, memory=1Gi"), HasSubstr("CPUs=14 RealMemory=30720 "));
  EXPECT_THAT(with("memory=512Mi"), HasSubstr("CPUs=15 RealMemory=31232 "));
  for (const char* const wrong : {"1", "cpu", "cpu=x", "cpu=-1", "gpu=1"}) {
    EXPECT_THAT(with(wrong), HasSubstr("annotation mainspring.slurm.net/reserved")) << wrong;
  }
}

}  // namespace
}  // namespace mainspring::bridge
