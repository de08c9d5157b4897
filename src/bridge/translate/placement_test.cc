#include "bridge/translate/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kScheduler = "slurm-bridge-scheduler";

template <class T>
std::shared_ptr<const T> decoded(const std::string& text) {
  json::Reader reader;
  auto value = json::decode<T>(reader, text);
  EXPECT_TRUE(value) << value.error().to_string() << " in " << text;
  return std::make_shared<const T>(value.value_or(T()));
}

PodPtr pod(const std::string& name, const std::string& spec = "",
           const std::string& annotations = "") {
  return decoded<kube::Pod>(R"({"metadata":{"namespace":"ml","name":")" + name +
                            R"(","annotations":{)" + annotations + R"(}},"spec":{)" + spec + "}}");
}

PodPtr pinned(const std::string& name, const std::string& node) {
  return pod(name, "", R"("slinky.slurm.net/slurm-node":")" + node + "\"");
}

// A Slurm node n1 that is the Kubernetes node k-n1.
Place place(const std::string& name, const std::string& labels = "",
            const std::string& taints = "") {
  return {name, decoded<kube::Node>(R"({"metadata":{"name":"k-)" + name + R"(","labels":{)" +
                                    labels + R"(}},"spec":{"taints":[)" + taints + "]}}")};
}

std::string reason(const PodPtr& pod, const Place& place, const VolumeNodes& volumes = {}) {
  return unfit(*pod, volumes, *place.node, kScheduler);
}

using Pods = std::vector<PodPtr>;
using Places = std::vector<Place>;

Fit fit_of(const Pods& pods, const Places& places) {
  return fit(pods, std::vector<VolumeNodes>(pods.size()), places, kScheduler);
}

Result<std::vector<std::size_t>> assign_of(const Pods& pods, const Places& places) {
  return assign(pods, std::vector<VolumeNodes>(pods.size()), places, kScheduler);
}

std::vector<std::size_t> assigned(const Pods& pods, const Places& places) {
  auto result = assign_of(pods, places);
  EXPECT_TRUE(result) << result.error().to_string();
  return result.value_or(std::vector<std::size_t>());
}

const std::string kSsd = R"("nodeSelector":{"disk":"ssd"})";
const std::string kOnSsd = R"("disk":"ssd")";

TEST(Placement, GpusOfADevicePluginAreNotSharedWithASlurmd) {
  const auto asks = [](const std::string& resource) {
    return Pods{pod(
        "a", R"("containers":[{"name":"m","resources":{"limits":{")" + resource + R"(":"1"}}}])")};
  };
  const Pods plugin = asks("nvidia.com/gpu");
  slurm::Node node;
  EXPECT_THAT(doubtful_gpus(plugin, false, node), HasSubstr("nvidia.com/gpu"));
  EXPECT_EQ(doubtful_gpus(plugin, true, node), "");
  EXPECT_EQ(doubtful_gpus(asks("deviceclass.resource.kubernetes.io/gpu.nvidia.com"), false, node),
            "");
  EXPECT_EQ(doubtful_gpus(asks("cpu"), false, node), "");
  node.state.add(slurm::NodeState::Flag::kExternal);
  EXPECT_EQ(doubtful_gpus(plugin, false, node), "");
}

TEST(Placement, HonoursTheNodeSelector) {
  EXPECT_EQ(reason(pod("a", kSsd), place("n1", kOnSsd)), "");
  EXPECT_EQ(reason(pod("a", kSsd), place("n1", R"("disk":"hdd")")), "node selector disk=ssd");
  EXPECT_EQ(reason(pod("a", kSsd), place("n1")), "node selector disk=ssd");
}

TEST(Placement, HonoursRequiredNodeAffinityAndNotPreferred) {
  const auto term = [](const std::string& kind, const std::string& rest) {
    return pod("a", R"("affinity":{"nodeAffinity":{")" + kind + "\":" + rest + "}}");
  };
  const std::string expression =
      R"("matchExpressions":[{"key":"zone","operator":"In","values":["b"]}])";
  const PodPtr required = term("requiredDuringSchedulingIgnoredDuringExecution",
                               R"({"nodeSelectorTerms":[{)" + expression + "}]}");
  EXPECT_EQ(reason(required, place("n1", R"("zone":"b")")), "");
  EXPECT_EQ(reason(required, place("n1", R"("zone":"a")")), "required node affinity");
  const PodPtr preferred = term("preferredDuringSchedulingIgnoredDuringExecution",
                                R"([{"weight":1,"preference":{)" + expression + "}}]");
  EXPECT_EQ(reason(preferred, place("n1", R"("zone":"a")")), "");
}

TEST(Placement, HonoursTaintsThatThePodDoesNotTolerate) {
  const Place gpu = place("n1", "", R"({"key":"gpu","value":"a100","effect":"NoSchedule"})");
  EXPECT_EQ(reason(pod("a"), gpu), "taint gpu=a100");
  EXPECT_EQ(reason(pod("a", R"("tolerations":[{"key":"gpu","operator":"Exists"}])"), gpu), "");
  EXPECT_EQ(reason(pod("a"), place("n1", "", R"({"key":"x","effect":"PreferNoSchedule"})")), "");
}

TEST(Placement, AlwaysToleratesOurOwnTaintAndNoOtherSchedulers) {
  const auto managed = [](const std::string& by) {
    return place(
        "n1", "",
        R"({"key":"slinky.slurm.net/managed-node","value":")" + by + R"(","effect":"NoExecute"})");
  };
  EXPECT_EQ(reason(pod("a"), managed("slurm-bridge-scheduler")), "");
  EXPECT_EQ(reason(pod("a"), managed("another")), "taint slinky.slurm.net/managed-node=another");
}

Place with(Place place, const std::string& allocatable) {
  place.node = decoded<kube::Node>(R"({"metadata":{"name":")" + place.node->meta.name +
                                   R"("},"status":{"allocatable":{)" + allocatable + "}}}");
  return place;
}

TEST(Placement, LeavesOutNodesThatLackWhatSlurmDoesNotCount) {
  const auto wants = [](const std::string& amounts) {
    return pod("a", R"("containers":[{"name":"c","resources":{"requests":{)" + amounts + "}}}]");
  };
  const Places places = {with(place("n1"), R"("hugepages-2Mi":"4Gi","example.com/fpga":"2")"),
                         place("n2")};
  EXPECT_EQ(fit_of({wants(R"("cpu":"64","memory":"1Ti")")}, places).left, 2U);
  const Fit huge = fit_of({wants(R"("hugepages-2Mi":"2Gi","example.com/fpga":"1")")}, places);
  EXPECT_EQ(huge.excluded, "n2");
  EXPECT_THAT(huge.why, HasSubstr("example.com/fpga"));
  EXPECT_EQ(fit_of({wants(R"("example.com/fpga":"3")")}, places).left, 0U);
  EXPECT_EQ(fit_of({wants(R"("ephemeral-storage":"1Gi")")}, places).left, 0U);
  // To Slurm a GPU is a GPU, to a pod it is one of somebody's.
  EXPECT_EQ(
      fit_of({wants(R"("nvidia.com/gpu":"1")")}, {with(place("n1"), R"("nvidia.com/gpu":"8")"),
                                                  with(place("n2"), R"("amd.com/gpu":"8")")})
          .excluded,
      "n2");
}

TEST(Placement, LeavesOutNodesWhosePortsOthersHave) {
  const auto listens = [](const std::string& name, const std::string& port) {
    return pod(name, R"("containers":[{"name":"c","ports":[{"containerPort":80,"hostPort":)" +
                         port + "}]}]");
  };
  Places places = {place("n1"), place("n2")};
  places[0].taken.add(listens("other", "8080")->spec);
  const Fit found = fit_of({listens("a", "8080")}, places);
  EXPECT_EQ(found.excluded, "n1");
  EXPECT_THAT(found.why, HasSubstr("host port 8080 is taken"));
  EXPECT_EQ(fit_of({listens("a", "9090")}, places).left, 2U);
  EXPECT_THAT(assigned({listens("a", "8080")}, places), ElementsAre(1));
  // Only who wants the port is kept from it.
  EXPECT_THAT(assigned({pod("b"), listens("a", "8080")}, places), ElementsAre(0, 1));
}

PodPtr asking(const std::string& name, const std::string& amounts) {
  return pod(name, R"("containers":[{"name":"c","resources":{"requests":{)" + amounts + "}}}]");
}

TEST(Placement, LeavesOutNodesWhoseKubeletTakesNoMorePods) {
  Places places = {with(place("n1"), R"("pods":"3")"), with(place("n2"), R"("pods":"3")")};
  for (const char* const name : {"x", "y"}) places[0].taken.add(pod(name)->spec);
  EXPECT_EQ(fit_of({pod("a")}, places).left, 2U);
  EXPECT_FALSE(fit_of({pod("a")}, places).crowded);
  // Two at a time are one too many there.
  const Pods two = {pod("a"), pod("b")};
  const Fit found = fit(two, std::vector<VolumeNodes>(2), places, kScheduler, 2);
  EXPECT_EQ(found.excluded, "n1");
  EXPECT_TRUE(found.crowded);
  EXPECT_THAT(found.why, HasSubstr("the kubelet takes 3 pods and has 2"));
  places[0].taken.add(pod("z")->spec);
  EXPECT_EQ(fit_of({pod("a")}, places).excluded, "n1");
  EXPECT_THAT(assigned({pod("a")}, places), ElementsAre(1));
  // A node that says nothing of it takes any number.
  places[0] = place("n1");
  for (int i = 0; i < 500; ++i) places[0].taken.add(pod("x")->spec);
  EXPECT_EQ(fit_of({pod("a")}, places).left, 2U);
}

TEST(Placement, LeavesOutNodesOfWhichOthersHaveWhatSlurmDoesNotCount) {
  const PodPtr wants = asking("a", R"("ephemeral-storage":"6Gi")");
  Places places = {with(place("n1"), R"("ephemeral-storage":"10Gi")"),
                   with(place("n2"), R"("ephemeral-storage":"10Gi")")};
  places[0].taken.add(asking("x", R"("ephemeral-storage":"4Gi")")->spec);
  EXPECT_EQ(fit_of({wants}, places).left, 2U);
  places[0].taken.add(asking("y", R"("ephemeral-storage":"1")")->spec);
  const Fit found = fit_of({wants}, places);
  EXPECT_EQ(found.excluded, "n1");
  EXPECT_THAT(found.why, HasSubstr("6Gi of ephemeral-storage is wanted"));
  EXPECT_EQ(fit_of({pod("a")}, places).left, 2U);
  // Two of them are too much for one node.
  EXPECT_EQ(fit(Pods{wants, wants}, std::vector<VolumeNodes>(2), places, kScheduler, 2).left, 0U);
}

TEST(Placement, WhatSlurmCountsIsWaitedForInItsQueue) {
  Places places = {with(place("n1"), R"("nvidia.com/gpu":"8")")};
  places[0].taken.add(asking("x", R"("nvidia.com/gpu":"8","cpu":"64")")->spec);
  EXPECT_EQ(fit_of({asking("a", R"("nvidia.com/gpu":"1","cpu":"8")")}, places).left, 1U);
}

TEST(Placement, GivesAPodTheNodeThatItLikesBest) {
  const PodPtr fussy =
      pod("a", R"("affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
          {"weight":10,"preference":{"matchExpressions":[{"key":"disk","operator":"In",
          "values":["ssd"]}]}}]}})");
  EXPECT_THAT(assigned({fussy}, {place("n1"), place("n2", kOnSsd)}), ElementsAre(1));
  EXPECT_THAT(assigned({pod("b"), fussy}, {place("n1"), place("n2", kOnSsd)}), ElementsAre(0, 1));
  EXPECT_THAT(assigned({fussy, fussy}, {place("n1"), place("n2", kOnSsd)}), ElementsAre(1, 0));
  // What one needs comes before what another likes.
  EXPECT_THAT(assigned({fussy, pod("b", kSsd)}, {place("n1"), place("n2", kOnSsd)}),
              ElementsAre(0, 1));
}

// They are drains in Slurm, which knows when they end.
TEST(Placement, LeavesWhatANodeSuffersFromAtTheMomentToSlurm) {
  for (const std::string key : {"unschedulable", "not-ready", "unreachable", "memory-pressure"}) {
    const std::string taint =
        R"({"key":"node.kubernetes.io/)" + key + R"(","effect":"NoSchedule"})";
    EXPECT_EQ(reason(pod("a"), place("n1", "", taint)), "") << key;
  }
}

TEST(Placement, HonoursThePlacesOfAllVolumes) {
  const auto in_zone = [](const std::string& zone) {
    return *decoded<kube::NodeSelector>(
        R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"In","values":[")" +
        zone + R"("]}]}]})");
  };
  const Place node = place("n1", R"("zone":"a")");
  EXPECT_EQ(reason(pod("a"), node, {in_zone("a")}), "");
  EXPECT_THAT(reason(pod("a"), node, {in_zone("a"), in_zone("b")}), HasSubstr("volume"));
}

TEST(Fit, ExcludesWhereNotEveryPodMayBe) {
  const Places places = {place("n1", kOnSsd), place("n2"), place("n3"), place("n4", kOnSsd)};
  const Fit fit = fit_of({pod("a"), pod("b", kSsd)}, places);
  EXPECT_EQ(fit.excluded, "n[2-3]");
  EXPECT_EQ(fit.left, 2U);
  EXPECT_EQ(fit.why, "2 of 4 nodes: node selector disk=ssd");
}

TEST(Fit, ExcludesNothingWherePodsMayBeAnywhere) {
  const Fit fit = fit_of({pod("a")}, {place("n1"), place("n2")});
  EXPECT_EQ(fit.excluded, "");
  EXPECT_EQ(fit.left, 2U);
  EXPECT_EQ(fit.why, "");
}

TEST(Fit, ExcludesSlurmNodesThatAreNoKubernetesNodes) {
  const Fit fit = fit_of({pod("a")}, {place("n1"), {"bare-7", nullptr}});
  EXPECT_EQ(fit.excluded, "bare-7");
  EXPECT_THAT(fit.why, HasSubstr("no Kubernetes node"));
}

TEST(Fit, SaysWhyByTheNumberOfNodes) {
  const std::string taint = R"({"key":"gpu","effect":"NoSchedule"})";
  const Fit fit = fit_of({pod("a", kSsd)}, {place("n1"), place("n2", kOnSsd, taint), place("n3")});
  EXPECT_EQ(fit.left, 0U);
  EXPECT_EQ(fit.why, "2 of 3 nodes: node selector disk=ssd; 1 of 3 nodes: taint gpu");
}

TEST(Fit, LooksAtTheVolumesOfEachPod) {
  const VolumeNodes on_n2 = {*decoded<kube::NodeSelector>(
      R"({"nodeSelectorTerms":[{"matchFields":[)"
      R"({"key":"metadata.name","operator":"In","values":["k-n2"]}]}]})")};
  const Pods pods = {pod("a"), pod("b")};
  const Places places = {place("n1"), place("n2"), place("n3")};
  const std::vector<VolumeNodes> volumes = {{}, on_n2};
  EXPECT_EQ(fit(pods, volumes, places, kScheduler).excluded, "n[1,3]");
}

TEST(Assign, GivesNodesInOrder) {
  EXPECT_THAT(assigned({pod("a"), pod("b"), pod("c")}, {place("n3"), place("n1"), place("n2")}),
              ElementsAre(0, 1, 2));
}

TEST(Assign, OfMoreNodesThanPodsTakesTheFirst) {
  EXPECT_THAT(assigned({pod("a"), pod("b")}, {place("n1"), place("n2"), place("n3")}),
              ElementsAre(0, 1));
}

TEST(Assign, NeighboursShareNodesEvenly) {
  const Pods pods = {pod("a"), pod("b"), pod("c"), pod("d"), pod("e")};
  EXPECT_THAT(assigned(pods, {place("n1"), place("n2")}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(assigned(pods, {place("n1"), place("n2"), place("n3"), place("n4")}),
              ElementsAre(0, 0, 1, 2, 3));
}

TEST(Assign, KeepsAPodOnTheNodeThatItNames) {
  EXPECT_THAT(
      assigned({pod("a"), pinned("b", "k-n1"), pod("c")}, {place("n1"), place("n2"), place("n3")}),
      ElementsAre(1, 0, 2));
  const auto gone = assign_of({pinned("b", "k-n9")}, {place("n1")});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code(), Code::kConflict);
  EXPECT_THAT(gone.error().to_string(), HasSubstr("k-n9"));
}

TEST(Assign, KeepsAPodWhereItIsBoundOrWasGivenItsNode) {
  const Pods pods = {pod("a"), pod("b", R"("nodeName":"k-n1")"), pod("c")};
  const Places places = {place("n1"), place("n2"), place("n3")};
  EXPECT_THAT(assigned(pods, places), ElementsAre(1, 0, 2));
  const std::vector<std::string> given = {"k-n3", "k-n2", ""};
  const auto result = assign(pods, std::vector<VolumeNodes>(3), places, kScheduler, given);
  ASSERT_TRUE(result);
  EXPECT_THAT(*result, ElementsAre(2, 0, 1)) << "where it is bound counts before what it was given";
}

TEST(Assign, LeavesTheOrderWhereAPodCannotBeThere) {
  EXPECT_THAT(assigned({pod("a"), pod("b", kSsd)}, {place("n1", kOnSsd), place("n2")}),
              ElementsAre(1, 0));
}

TEST(Assign, MovesOthersToMakeRoom) {
  const std::string zone_a = R"("nodeSelector":{"zone":"a"})";
  const std::string zone_a_ssd = R"("nodeSelector":{"zone":"a","disk":"ssd"})";
  // Each pod in turn wants what the one before it took.
  EXPECT_THAT(assigned({pod("any"), pod("a", zone_a), pod("b", zone_a_ssd)},
                       {place("n1", R"("zone":"a","disk":"ssd")"), place("n2", R"("zone":"a")"),
                        place("n3")}),
              ElementsAre(2, 1, 0));
}

TEST(Assign, SaysWhichPodHasNoPlaceAndWhy) {
  const auto result =
      assign_of({pod("a", kSsd), pod("b", kSsd)}, {place("n1", kOnSsd), place("n2")});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), Code::kConflict);
  EXPECT_THAT(result.error().to_string(), HasSubstr("pod b cannot be on any node"));
  EXPECT_THAT(result.error().to_string(), HasSubstr("node selector disk=ssd"));
  EXPECT_FALSE(assign_of({pod("a")}, {}));
  EXPECT_FALSE(assign_of({pod("a")}, {{"bare-7", nullptr}}));
}

PodPtr with_port(const std::string& name, const std::string& port) {
  return pod(name, R"("containers":[{"name":"c","ports":[{"containerPort":80,)" + port + "}]}]");
}

TEST(Assign, DoesNotPutTheSameHostPortOnANodeTwice) {
  const std::string web = R"("hostPort":8080)";
  EXPECT_THAT(assigned({with_port("a", web), with_port("b", web), pod("c"), pod("d")},
                       {place("n1"), place("n2")}),
              ElementsAre(0, 1, 0, 1));
  EXPECT_FALSE(assign_of({with_port("a", web), with_port("b", web), with_port("c", web)},
                         {place("n1"), place("n2")}));
}

TEST(Assign, PutsNoMorePodsOnANodeThanItHasRoomFor) {
  // Four on two nodes would be two on each; the first takes one.
  Places places = {with(place("n1"), R"("pods":"1")"), with(place("n2"), R"("pods":"9")"),
                   with(place("n3"), R"("pods":"9")")};
  const Pods four = {pod("a"), pod("b"), pod("c"), pod("d")};
  const auto nodes = assigned(four, places);
  EXPECT_EQ(std::count(nodes.begin(), nodes.end(), 0U), 1);
  places.pop_back();
  const auto none = assign_of(four, places);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::kConflict);
}

TEST(Assign, TellsHostPortsApartByProtocolAndAddress) {
  const auto both_on_one = [](const std::string& a, const std::string& b) {
    return assign_of({with_port("a", a), with_port("b", b)}, {place("n1")}).has_value();
  };
  EXPECT_TRUE(both_on_one(R"("hostPort":80)", R"("hostPort":80,"protocol":"UDP")"));
  EXPECT_TRUE(
      both_on_one(R"("hostPort":80,"hostIP":"10.0.0.1")", R"("hostPort":80,"hostIP":"10.0.0.2")"));
  EXPECT_FALSE(both_on_one(R"("hostPort":80,"hostIP":"10.0.0.1")", R"("hostPort":80)"));
}

// Brute force over all orders of up to six nodes.
bool can_be_done(const std::vector<std::set<std::size_t>>& wanted, std::size_t nodes) {
  std::vector<std::size_t> order(nodes);
  std::iota(order.begin(), order.end(), 0);
  do {
    bool good = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) good = good && wanted[i].contains(order[i]);
    if (good) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

TEST(Assign, FindsAWayWheneverThereIsOne) {
  EXPECT_TRUE(rc::check([] {
    const std::size_t nodes = *rc::gen::inRange<std::size_t>(1, 7);
    const std::size_t count = *rc::gen::inRange<std::size_t>(1, nodes + 1);
    Places places;
    for (std::size_t i = 0; i < nodes; ++i) {
      places.push_back(place("n" + std::to_string(i), R"("n":")" + std::to_string(i) + "\""));
    }
    std::vector<std::set<std::size_t>> wanted;
    Pods pods;
    for (std::size_t i = 0; i < count; ++i) {
      std::set<std::size_t>& own = wanted.emplace_back();
      for (std::size_t node = 0; node < nodes; ++node) {
        if (*rc::gen::inRange(0, 5) < 2) own.insert(node);
      }
      std::string values = "\"none\"";
      for (const std::size_t node : wanted.back()) values += ",\"" + std::to_string(node) + "\"";
      pods.push_back(pod(
          "p" + std::to_string(i),
          R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
          R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"n","operator":"In","values":[)" +
              values + "]}]}]}}}"));
    }
    const auto result = assign_of(pods, places);
    RC_ASSERT(result.has_value() == can_be_done(wanted, nodes));
    if (!result) return;
    RC_ASSERT(std::set<std::size_t>(result->begin(), result->end()).size() == count);
    for (std::size_t i = 0; i < count; ++i) RC_ASSERT(wanted[i].contains((*result)[i]));
    RC_ASSERT(*assign_of(pods, places) == *result);
  }));
}

// Hundreds of pods that all must leave their plain order: still one search each.
TEST(Assign, OfALargeGangThatMustLeaveItsOrderIsFound) {
  constexpr std::size_t kMany = 500;
  Pods pods;
  Places places;
  for (std::size_t i = 0; i < kMany; ++i) {
    const bool last = i + 1 == kMany;
    pods.push_back(pod("p" + std::to_string(i), last ? kSsd : ""));
    places.push_back(place("n" + std::to_string(i), i == 0 ? kOnSsd : ""));
  }
  const auto nodes = assigned(pods, places);
  EXPECT_EQ(nodes.back(), 0U);
  EXPECT_EQ(std::set<std::size_t>(nodes.begin(), nodes.end()).size(), kMany);
}

}  // namespace
}  // namespace mainspring::bridge
