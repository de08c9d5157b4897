#include "bridge/nodes/node_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "bridge/devices/devices_testing.h"
#include "bridge/nodes/node_testing.h"

namespace mainspring::bridge {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;

constexpr const char* kCordoned = "{spec: {unschedulable: true}}";
constexpr const char* kUnlabelled =
    "{metadata: {labels: {scheduler.slinky.slurm.net/external-node: null}}}";
constexpr const char* kOurCordon =
    "slurm-bridge: Corresponding Kubernetes node (worker-1) is unschedulable";

// A change to Slurm's node.
auto drained(std::string_view reason) {
  return [reason](slurm::Node& node) {
    node.state.add(Flag::kDrain);
    node.reason = reason;
  };
}
auto busy(std::string_view reason = {}) {
  return [reason](slurm::Node& node) {
    node.state.set(Base::kMixed);
    if (!reason.empty()) drained(reason)(node);
  };
}
auto marked_by(std::string_view cluster) {
  return [cluster](slurm::Node& node) {
    NodeMark mark = *parse_mark(node.comment);
    mark.cluster = cluster;
    node.comment = to_comment(mark);
  };
}

using Registration = NodeRulesTest;

TEST_F(Registration, ALabelledNodeIsMadeWithWhatPodsCanHave) {
  const SlurmStep next = step_of(view(node_with()));
  EXPECT_EQ(text_of(next),
            "create NodeName=worker-1 NodeAddr=10.0.0.1 Sockets=1 CoresPerSocket=15 "
            "ThreadsPerCore=1 CPUs=15 RealMemory=31744 State=External Feature=slurm-bridge");
  EXPECT_EQ(next.comment, R"({"kubernetes":{"cluster":"here","partitions":"slurm-bridge"}})");
}

TEST_F(Registration, AnnotationsSayWhereItBelongs) {
  EXPECT_THAT(
      step(view(node_with("{metadata: {annotations: {"
                          "scheduler.slinky.slurm.net/external-node-partitions: 'gpu, debug',"
                          "topology.slinky.slurm.net/spec: 'topo-switch:s1'}}}"))),
      HasSubstr("Feature=debug,gpu Topology=topo-switch:s1"));
}

TEST_F(Registration, DevicesOfDriversComeBeforeWhatPluginsAndTheKubeletCount) {
  NodeView of = view(node_with("{status: {allocatable: {nvidia.com/gpu: '8'}}}"));
  of.devices = inventory_of(SliceList{two_gpus(), two_cores()}, config.device_classes);
  EXPECT_THAT(step(of),
              AllOf(HasSubstr("Sockets=1 CoresPerSocket=2 ThreadsPerCore=2"),
                    HasSubstr(R"(Gres="gpu:gpu.example.com:2" GresConf="count=2,name=gpu,)"
                              R"(type=gpu.example.com,file=/dev/device[0-1]")")));
}

TEST_F(Registration, WaitsForDriversThatAreStillPublishing) {
  NodeView of = view(node_with());
  of.devices.incomplete = "gpu.nvidia.com/n1";
  EXPECT_THAT(step(of), StartsWith("wait: the ResourceSlices of pool gpu.nvidia.com/n1"));
}

TEST_F(Registration, GpusOfADevicePluginAreCounted) {
  EXPECT_THAT(step(view(node_with("{status: {allocatable: {nvidia.com/gpu: '8'}}}"))),
              HasSubstr(R"(Gres="gpu:8" GresConf="count=8,name=gpu,file=/dev/nvidia[0-7]")"));
  EXPECT_THAT(step(view(node_with("{status: {allocatable: {amd.com/gpu: '1'}}}"))),
              HasSubstr(R"(Gres="gpu:1" GresConf="count=1,name=gpu,file=/dev/dri/renderD128")"));
}

TEST_F(Registration, SocketsAndThreadsAreTrueWhereKnownAndDivisible) {
  const auto with = [&](std::string_view cpus, std::string_view topology) {
    return step(view(
        node_with(fmt::format("{{status: {{allocatable: {{cpu: '{}'}}}}, metadata: {{annotations: "
                              "{{mainspring.slurm.net/cpu-topology: '{}'}}}}}}",
                              cpus, topology))));
  };
  EXPECT_THAT(with("64", "2x16x2"), HasSubstr("Sockets=2 CoresPerSocket=16 ThreadsPerCore=2"));
  EXPECT_THAT(with("60", "2x16x2"), HasSubstr("Sockets=2 CoresPerSocket=15 ThreadsPerCore=2"));
  EXPECT_THAT(with("62", "2x16x2"), HasSubstr("Sockets=1 CoresPerSocket=31 ThreadsPerCore=2"));
  EXPECT_THAT(with("63", "2x16x2"), HasSubstr("Sockets=1 CoresPerSocket=63 ThreadsPerCore=1"));
  EXPECT_THAT(with("64", "2x16"), HasSubstr("wait: annotation mainspring.slurm.net/cpu-topology"));
}

TEST_F(Registration, SlurmsNameMayBeAnother) {
  NodeView other = view(node_with());
  other.name = "n1";
  EXPECT_THAT(step(other),
              StartsWith("create NodeName=n1 NodeAddr=10.0.0.1 NodeHostname=worker-1"));
}

TEST_F(Registration, WaitsForWhatIsMissing) {
  EXPECT_EQ(step(view(node_with(kUnlabelled))), "nothing");
  EXPECT_EQ(step(view(node_with("{status: {addresses: null}}"))).substr(0, 40),
            "wait: the node has no InternalIP; slurmc");
  EXPECT_EQ(step(view(node_with("{status: {allocatable: {cpu: 900m}}}"))),
            "wait: the node has no whole CPU allocatable to pods yet");
  // A node cannot be made drained, and Slurm is quick.
  EXPECT_EQ(step(view(node_with(kCordoned))), std::string("wait: ") + kOurCordon);
}

TEST_F(Registration, APartitionThatSlurmDoesNotHaveIsNamed) {
  const SlurmStep next = step_of(view(node_with(
      "{metadata: {annotations: {scheduler.slinky.slurm.net/external-node-partitions: nosuch}}}")));
  EXPECT_EQ(next.kind, SlurmStep::Kind::kNone);
  EXPECT_THAT(next.problems,
              ElementsAre(Field(&NodeProblem::note, HasSubstr("no partition \"nosuch\""))));
}

using Upkeep = NodeRulesTest;

TEST_F(Upkeep, ARegisteredNodeIsLeftAlone) {
  EXPECT_EQ(step(registered()), "nothing");
  EXPECT_EQ(step(registered("{}", busy())), "nothing");
}

TEST_F(Upkeep, WhatSlurmCanChangeIsChangedInPlace) {
  EXPECT_EQ(step(registered("{status: {addresses: [{type: InternalIP, address: 10.0.0.2}]}}")),
            R"(update {"address":["10.0.0.2"]})");
  EXPECT_THAT(
      step(registered("{metadata: {annotations: {topology.slinky.slurm.net/spec: 's:1'}}}")),
      HasSubstr(R"("topology_str":"s:1")"));
}

TEST_F(Upkeep, FeaturesOfOthersStay) {
  const auto view = registered("{}", [](slurm::Node& node) {
    node.features = json::StringList{"fast", "slurm-bridge"};
    node.active_features = node.features;
  });
  EXPECT_EQ(step(view), "nothing");
}

TEST_F(Upkeep, WhatSlurmCompletesIsNotWrittenAgain) {
  const char* const topology = "{metadata: {annotations: {topology.slinky.slurm.net/spec: s}}}";
  const auto view = registered(topology, [](slurm::Node& node) {
    NodeMark mark = *parse_mark(node.comment);
    mark.topology = "s";
    node.comment = to_comment(mark);
    node.topology = "default:s";
  });
  EXPECT_EQ(step(view), "nothing");
}

// Of features alone Slurm takes no notice in its partitions.
TEST_F(Upkeep, OtherPartitionsMeanANewNodeAsSoonAsItIsIdle) {
  const char* const moved =
      "{metadata: {annotations: {scheduler.slinky.slurm.net/external-node-partitions: gpu}}}";
  EXPECT_EQ(step(registered(moved)), "remove: made anew: it belongs to other partitions");
  EXPECT_EQ(step(registered(moved, busy())),
            R"(update {"features":["gpu"],"features_act":["gpu"]})");
  // After a reconfigure it is where it belongs.
  EXPECT_EQ(
      step(registered(moved,
                      [](slurm::Node& node) {
                        node.features = node.active_features = node.partitions =
                            json::StringList{"gpu"};
                      })),
      R"(update {"comment":"{\"kubernetes\":{\"cluster\":\"here\",\"partitions\":\"gpu\"}}"})");
}

TEST_F(Upkeep, AnUnknownPartitionLeavesTheNodeWhereItIs) {
  const SlurmStep next = step_of(registered(
      "{metadata: {annotations: {scheduler.slinky.slurm.net/external-node-partitions: nosuch}}}"));
  EXPECT_EQ(next.kind, SlurmStep::Kind::kNone);
  EXPECT_EQ(next.problems.size(), 1);
}

TEST_F(Upkeep, ASmallerNodeIsDrainedAndMadeAnewOnceIdle) {
  const char* const smaller = "{status: {allocatable: {memory: 30Gi}}}";
  const std::string reason = "slurm-bridge: only 30720 of 31744 MB can be given to pods";
  EXPECT_EQ(step(registered(smaller)), "drain " + reason);
  EXPECT_EQ(step(registered(smaller, busy(reason))), "nothing");
  EXPECT_THAT(step(registered(smaller, drained(reason))), StartsWith("remove: made anew: only"));
  // It has grown back meanwhile.
  EXPECT_EQ(step(registered("{}", drained(reason))), "undrain");
}

TEST_F(Upkeep, ALargerNodeWaitsUntilItIsIdleAndIsNotDrained) {
  const char* const larger = "{status: {allocatable: {cpu: '16'}}}";
  EXPECT_EQ(step(registered(larger, busy())), "nothing");
  EXPECT_EQ(step(registered(larger)), "remove: made anew: more of it can be given to pods");
}

TEST_F(Upkeep, AnAdministratorsDrainOutlivesAChangeOfSize) {
  for (const char* const size :
       {"{status: {allocatable: {cpu: '16'}}}", "{status: {allocatable: {cpu: '8'}}}"}) {
    EXPECT_EQ(step(registered(size, drained("bad fan"))), "nothing");
  }
}

TEST_F(Upkeep, ANodeInAReservationIsNotMadeAnew) {
  EXPECT_EQ(step(registered("{status: {allocatable: {cpu: '16'}}}",
                            [](slurm::Node& node) { node.reservation = "maint"; })),
            "nothing");
}

TEST_F(Upkeep, ADevicePluginThatRestartsDrainsButMakesNothingAnew) {
  const auto with_gpus = [](slurm::Node& node) {
    NodeMark mark = *parse_mark(node.comment);
    mark.gpus = 8;
    node.comment = to_comment(mark);
    node.gres = "gpu:8";
  };
  const auto and_drained = [&](slurm::Node& node) {
    with_gpus(node);
    drained("slurm-bridge: only 0 of 8 GPUs can be given to pods")(node);
  };
  const char* const away =
      "{status: {capacity: {nvidia.com/gpu: '8'}, allocatable: {nvidia.com/gpu: '0'}}}";
  const char* const gone =
      "{status: {capacity: {nvidia.com/gpu: '0'}, allocatable: {nvidia.com/gpu: '0'}}}";
  EXPECT_THAT(step(registered(away, with_gpus)), StartsWith("drain slurm-bridge: only 0 of 8"));
  EXPECT_EQ(step(registered(away, and_drained)), "nothing");
  EXPECT_THAT(step(registered(gone, and_drained)), StartsWith("remove: made anew"));
}

TEST_F(Upkeep, ADriverThatRestartsDrainsAndMakesNothingAnewUnlessItStaysAway) {
  const auto with_gpus = [](NodeMark& mark, slurm::Node& node) {
    mark.gpus = 2;
    mark.gpu_class = "gpu.example.com";
    node.gres = "gpu:gpu.example.com:2";
  };
  const auto with_cpus = [](NodeMark& mark, slurm::Node& node) {
    mark.published_cpus = true;
    node.cpus = 4;
  };
  const auto check = [&](const auto& publish, const std::string& why) {
    const std::string reason = "slurm-bridge: " + why;
    const auto made = [&](slurm::Node& node) {
      NodeMark mark = *parse_mark(node.comment);
      publish(mark, node);
      node.comment = to_comment(mark);
    };
    const auto and_drained = [&](slurm::Node& node) {
      made(node);
      drained(reason)(node);
      node.reason_changed_at = 1000;
    };
    EXPECT_EQ(step(registered("{}", made)), "drain " + reason);
    now = WallTime{seconds(1000 + 240)};
    EXPECT_EQ(step(registered("{}", and_drained)), "nothing");
    EXPECT_TRUE(step_of(registered("{}", and_drained)).again.has_value());
    now = WallTime{seconds(1000 + 300)};
    EXPECT_EQ(step(registered("{}", and_drained)), "remove: made anew: " + why);
  };
  check(with_gpus, "no devices of class gpu.example.com are published any more");
  check(with_cpus, "its CPUs are not published any more");
}

TEST_F(Upkeep, ADriverThatIsBackOpensItsNodeAgain) {
  SlurmStep made;
  NodeView of = view(node_with());
  of.devices = inventory_of(SliceList{two_gpus(), two_cores()}, config.device_classes);
  made = step_of(of);
  ASSERT_EQ(made.kind, SlurmStep::Kind::kCreate);
  slurm::Node slurm = shown(made.spec, made.comment);
  slurm.sockets = 1;
  slurm.cores = slurm.threads = 2;
  of.slurm = std::make_shared<const slurm::Node>(slurm);
  EXPECT_EQ(step(of), "nothing");
  drained("slurm-bridge: its CPUs are not published any more")(slurm);
  of.slurm = std::make_shared<const slurm::Node>(slurm);
  EXPECT_EQ(step(of), "undrain");
}

TEST_F(Upkeep, ANodeWhoseDevicesBecomeADriversIsMadeAnew) {
  NodeView of = registered("{}", [](slurm::Node& node) {
    NodeMark mark = *parse_mark(node.comment.str());
    mark.gpus = 2;
    node.comment = to_comment(mark);
    node.gres = "gpu:2";
  });
  of.devices = inventory_of(SliceList{two_gpus()}, config.device_classes);
  EXPECT_EQ(step(of), "remove: made anew: its devices are of another class");
}

TEST_F(Upkeep, ANodeWhoseCoresSlurmDoesNotKnowIsMadeAnew) {
  NodeView of = registered();
  of.devices = inventory_of(SliceList{two_cores()}, config.device_classes);
  auto slurm = std::make_shared<slurm::Node>(*of.slurm);
  slurm->cpus = 4;
  slurm->sockets = 1;
  slurm->cores = 4;
  slurm->threads = 1;
  of.slurm = slurm;
  EXPECT_EQ(step(of), "remove: made anew: its CPUs are arranged otherwise");
}

// slurmctld takes the definition without a word and leaves the GPUs out.
TEST_F(Upkeep, GpusThatSlurmDroppedAreAProblemAndNoReasonToTryForEver) {
  const auto view =
      registered("{status: {allocatable: {nvidia.com/gpu: '8'}}}", [](slurm::Node& node) {
        NodeMark mark = *parse_mark(node.comment);
        mark.gpus = 8;
        node.comment = to_comment(mark);
      });
  const SlurmStep next = step_of(view);
  EXPECT_EQ(text_of(next), "nothing");
  EXPECT_THAT(next.problems, ElementsAre(Field(&NodeProblem::note, HasSubstr("GresTypes=gpu"))));
}

TEST_F(Upkeep, ANodeOfAnotherBridgeForTheSameLabelIsAdopted) {
  const auto unmarked = [](slurm::Node& node) { node.comment = ""; };
  EXPECT_THAT(step(registered("{}", unmarked)),
              StartsWith(R"(update {"comment":"{\"kubernetes\")"));
}

TEST_F(Upkeep, ANodeThatSlurmctldWaitsForIsMadeAnew) {
  EXPECT_EQ(step(registered("{}", [](slurm::Node& node) { node.state.add(Flag::kNotResponding); })),
            "remove: made anew: slurmctld waits for an answer from it");
}

TEST_F(Upkeep, ANodeOfAnotherClusterIsNotTouched) {
  for (const char* const over : {"{}", kCordoned, kUnlabelled}) {
    EXPECT_NE(step_of(registered(over, marked_by("there"))).kind, SlurmStep::Kind::kDrain);
  }
  const SlurmStep next = step_of(registered("{}", marked_by("there")));
  EXPECT_THAT(next.problems, ElementsAre(Field(&NodeProblem::reason, "SlurmNameTaken")));
}

using Drains = NodeRulesTest;

TEST_F(Drains, TroubleInKubernetesIsADrainInSlurm) {
  const auto with = [&](std::string_view over) { return step(registered(over)); };
  const std::string node = "drain slurm-bridge: Corresponding Kubernetes node (worker-1) ";
  EXPECT_EQ(with(kCordoned), node + "is unschedulable");
  EXPECT_EQ(with("{status: {conditions: [{type: Ready, status: Unknown}]}}"),
            node + "is not ready");
  EXPECT_EQ(with("{status: {conditions: null}}"), node + "is not ready");
  EXPECT_EQ(with("{status: {conditions: [{type: Ready, status: 'True'}, "
                 "{type: DiskPressure, status: 'True'}]}}"),
            node + "has DiskPressure");
  EXPECT_EQ(with("{spec: {taints: [{key: ToBeDeletedByClusterAutoscaler, effect: NoSchedule}]}}"),
            node + "has the taint ToBeDeletedByClusterAutoscaler");
}

TEST_F(Drains, TaintsThatPodsMayTolerateAreNone) {
  for (const char* const taint :
       {"{key: nvidia.com/gpu, effect: NoSchedule}",
        "{key: node.kubernetes.io/unschedulable, effect: NoSchedule}",
        "{key: slinky.slurm.net/managed-node, value: slurm-bridge-scheduler, effect: NoExecute}"}) {
    EXPECT_EQ(step(registered(fmt::format("{{spec: {{taints: [{}]}}}}", taint))), "nothing");
  }
}

TEST_F(Drains, OursIsLiftedAndOthersAreNot) {
  EXPECT_EQ(step(registered("{}", drained(kOurCordon))), "undrain");
  EXPECT_EQ(step(registered("{}", drained("bad fan"))), "nothing");
  EXPECT_EQ(step(registered("{}", drained(""))), "nothing");
  EXPECT_EQ(step(registered(kCordoned, drained("bad fan"))), "nothing");
  EXPECT_EQ(step(registered(kCordoned, drained(kOurCordon))), "nothing");
}

TEST_F(Drains, ANewCauseTakesTheOldOnesPlace) {
  EXPECT_EQ(step(registered(kCordoned, drained("slurm-bridge: something before"))),
            std::string("drain ") + kOurCordon);
}

TEST_F(Drains, AHeldNodeStaysDrained) {
  NodeView held = registered();
  held.hold = "pods of job 17 are still ending";
  EXPECT_EQ(step(held), "drain slurm-bridge: pods of job 17 are still ending");
  held = registered("{}", drained("slurm-bridge: pods of job 17 are still ending"));
  EXPECT_EQ(step(held), "undrain");
  held.hold = "pods of job 17 are still ending";
  EXPECT_EQ(step(held), "nothing");
}

TEST_F(Drains, ANodeWithASlurmdIsDrainedAndNothingElse) {
  const auto with_slurmd = [](slurm::Node& node) {
    node.state = {Base::kIdle, {Flag::kDynamicNorm}};
    node.comment = "";
  };
  EXPECT_EQ(step(registered(kCordoned, with_slurmd)), std::string("drain ") + kOurCordon);
  EXPECT_EQ(step(registered("{status: {allocatable: {cpu: '8'}}}", with_slurmd)), "nothing");
  EXPECT_EQ(step(registered(kUnlabelled, with_slurmd)), "nothing");
  NodeView gone = registered("{}", with_slurmd);
  gone.node = nullptr;
  EXPECT_EQ(step(gone), "nothing");
}

using Removal = NodeRulesTest;

TEST_F(Removal, ANodeThatIsGoneIsDrainedAndRemovedOnceIdle) {
  const std::string reason = "slurm-bridge: its Kubernetes node is gone";
  const auto gone = [&](auto change) {
    NodeView view = registered("{}", change);
    view.node = nullptr;
    return step(view);
  };
  EXPECT_EQ(gone([](slurm::Node&) {}), "drain " + reason);
  EXPECT_EQ(gone(busy(reason)), "nothing");
  EXPECT_EQ(gone(drained(reason)), "remove: its Kubernetes node is gone");
  EXPECT_EQ(gone(drained("bad fan")), "remove: its Kubernetes node is gone");
  // After a restart of slurmctld its jobs may not have been found yet.
  EXPECT_EQ(gone([&](slurm::Node& node) {
              drained(reason)(node);
              node.state.set(Base::kUnknown);
            }),
            "nothing");
}

TEST_F(Removal, ANodeWithoutTheLabelGoesToo) {
  EXPECT_EQ(step(registered(kUnlabelled)),
            "drain slurm-bridge: Kubernetes node worker-1 is no longer given to Slurm");
}

TEST_F(Removal, OthersExternalNodesStay) {
  const auto unmarked = [](slurm::Node& node) { node.comment = "ours since 2019"; };
  for (const bool there : {true, false}) {
    NodeView view = registered(kUnlabelled, unmarked);
    if (!there) view.node = nullptr;
    EXPECT_EQ(step(view), "nothing");
    NodeView foreign = registered(kUnlabelled, marked_by("there"));
    if (!there) foreign.node = nullptr;
    EXPECT_EQ(step(foreign), "nothing");
  }
}

TEST_F(Removal, AHeldNodeStaysUntilItsPodsAreGone) {
  NodeView held = registered(kUnlabelled, drained("slurm-bridge: Kubernetes node worker-1 is no "
                                                  "longer given to Slurm"));
  EXPECT_THAT(step(held), StartsWith("remove"));
  held.hold = "pods of job 17 are still ending";
  EXPECT_EQ(step(held), "nothing");
}

TEST(NodeMark, IsReadAsItWasWritten) {
  const NodeMark mark{"c", {"a", "b"}, 8, "gpu.nvidia.com", "t:s", {300, 256}, true};
  EXPECT_EQ(parse_mark(to_comment(mark)), mark);
  for (const char* const other :
       {"", "{", "{}", "text", R"({"kubernetes":{}})", R"({"kubernetes":1})"}) {
    EXPECT_EQ(parse_mark(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace mainspring::bridge
