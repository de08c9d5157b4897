#include "bridge/translate/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PodPtr pod(const std::string& name, const std::string& cpus, const std::string& more = "") {
  return pod_from("{metadata: {namespace: ml, name: " + name + "}, spec: {" + more +
                  " containers: [{name: main, resources: {requests: {cpu: '" + cpus + "'}}}]}}");
}

std::vector<std::size_t> kinds(const std::vector<PodPtr>& pods) {
  auto found = kinds_of(pods, std::vector<VolumeNodes>(pods.size()));
  EXPECT_TRUE(found);
  return found.value_or(std::vector<std::size_t>());
}

Gang gang_of(std::vector<PodPtr> pods, Annotations annotations = {}) {
  Gang gang;
  gang.kind = GangKind::kCoscheduling;
  gang.min_members = 1;
  gang.pods = std::move(pods);
  gang.annotations = std::move(annotations);
  return gang;
}

TEST(Parts, AreOfPodsThatNeedTheSameAndMayBeInTheSamePlaces) {
  EXPECT_THAT(kinds({pod("a", "1"), pod("b", "1"), pod("c", "1")}), ElementsAre(0, 0, 0));
  EXPECT_THAT(kinds({pod("a", "8"), pod("b", "1"), pod("c", "8")}), ElementsAre(0, 1, 0));
  EXPECT_THAT(kinds({pod("a", "1", "nodeSelector: {pool: x},"), pod("b", "1"),
                     pod("c", "1", "nodeSelector: {pool: x},")}),
              ElementsAre(0, 1, 0));
}

TEST(Parts, OfPodsWhoseVolumesAreElsewhereDiffer) {
  const std::vector<PodPtr> pods{pod("a", "1"), pod("b", "1")};
  std::vector<VolumeNodes> volumes(2);
  kube::NodeSelectorTerm term;
  term.fields.push_back({"metadata.name", "n1", true});
  kube::NodeSelector selector;
  selector.terms = {term};
  volumes[1].push_back(selector);
  EXPECT_THAT(*kinds_of(pods, volumes), ElementsAre(0, 1));
}

TEST(Parts, EachStartWithAllTheirPodsAndWhatThoseNeed) {
  const Gang gang = gang_of({pod("a", "8"), pod("b", "2"), pod("c", "2")});
  const auto parts = translate_parts(gang, std::vector<std::size_t>{0, 1, 1}, BridgeConfig());
  ASSERT_TRUE(parts) << parts.error().to_string();
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].request.nodes, "1");
  EXPECT_EQ((*parts)[0].request.cpus_per_task, 8);
  EXPECT_EQ((*parts)[1].request.nodes, "2");
  EXPECT_EQ((*parts)[1].request.minimum_nodes, 2);
  EXPECT_EQ((*parts)[1].request.cpus_per_task, 2);
  EXPECT_EQ((*parts)[1].request.flags, std::vector<std::string>{"EXTERNAL_JOB"});
}

TEST(Parts, HaveNoUseForTheNumberOfNodesOfAll) {
  const Gang gang =
      gang_of({pod("a", "8"), pod("b", "2")}, {{"slurmjob.slinky.slurm.net/min-nodes", "2"}});
  const auto parts = translate_parts(gang, std::vector<std::size_t>{0, 1}, BridgeConfig());
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().to_string(), HasSubstr("remove them"));
}

TEST(Parts, AreNoMoreThanSlurmTakes) {
  std::vector<PodPtr> pods;
  std::vector<std::size_t> each;
  for (std::size_t i = 0; i <= kMostParts; ++i) {
    pods.push_back(pod("p" + std::to_string(i), "1"));
    each.push_back(i);
  }
  const auto parts = translate_parts(gang_of(pods), each, BridgeConfig());
  ASSERT_FALSE(parts);
  EXPECT_THAT(parts.error().to_string(), HasSubstr("at most 128"));
}

}  // namespace
}  // namespace mainspring::bridge
