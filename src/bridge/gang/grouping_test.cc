#include "bridge/gang/grouping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bridge/gang/gang_testing.h"

namespace mainspring::bridge {
namespace {

using testing::ElementsAre;

std::string id_of(std::string_view yaml) { return gang_of(*pod_from(yaml)).id(); }

std::vector<std::string> order(std::vector<PodPtr> pods) {
  sort_members(pods);
  std::vector<std::string> names;
  for (const PodPtr& pod : pods) names.push_back(pod->meta.name);
  return names;
}

TEST(Grouping, APodIsAGangByItself) { EXPECT_EQ(id_of("metadata: {name: web-0}"), "pod/web-0"); }

TEST(Grouping, ThePodGroupOfTheSpecComesBeforeEverythingElse) {
  EXPECT_EQ(id_of(R"(
metadata:
  name: a
  labels: {scheduling.x-k8s.io/pod-group: other, leaderworkerset.sigs.k8s.io/group-key: k}
spec: {schedulingGroup: {podGroupName: train}}
)"),
            "podgroup/train");
}

TEST(Grouping, TheLabelOfACoschedulingPodGroupComesBeforeALeaderWorkerSet) {
  EXPECT_EQ(id_of(R"(
metadata:
  name: a
  labels: {scheduling.x-k8s.io/pod-group: train, leaderworkerset.sigs.k8s.io/group-key: k}
)"),
            "pod-group/train");
}

TEST(Grouping, ALeaderAndItsWorkersAreOne) {
  EXPECT_EQ(id_of("metadata: {name: a, labels: {leaderworkerset.sigs.k8s.io/group-key: k}}"),
            "lws/k");
}

TEST(Grouping, AJobIsAGangOnlyWhereItAsksForThat) {
  EXPECT_EQ(id_of("metadata: {name: a, labels: {batch.kubernetes.io/job-name: train}}"), "pod/a");
  EXPECT_EQ(id_of(R"(
metadata:
  name: a
  labels: {batch.kubernetes.io/job-name: train-0, jobset.sigs.k8s.io/jobset-name: train}
  annotations: {mainspring.slurm.net/gang: JobSet}
)"),
            "workload/JobSet/train");
}

TEST(Grouping, AnIdIsReadAsItWasWritten) {
  for (const GangRef& ref :
       {GangRef{GangKind::kPod, "a"}, GangRef{GangKind::kPodGroup, "b"},
        GangRef{GangKind::kCoscheduling, "c"}, GangRef{GangKind::kLeaderWorkerSet, "d"},
        GangRef{GangKind::kWholeJob, "JobSet/e"}}) {
    EXPECT_EQ(GangRef::parse(ref.id()), ref);
  }
}

TEST(Grouping, MembersAreOrderedByTheirIndexAndNotByTheirName) {
  EXPECT_THAT(order({pod_from("metadata: {name: a, labels: "
                              "{batch.kubernetes.io/job-completion-index: '10'}}"),
                     pod_from("metadata: {name: b, labels: "
                              "{batch.kubernetes.io/job-completion-index: '2'}}")}),
              ElementsAre("b", "a"));
}

TEST(Grouping, MembersWithoutAnIndexAreOrderedAsPeopleCount) {
  EXPECT_THAT(order({pod_from("metadata: {name: w-10}"), pod_from("metadata: {name: w-9}"),
                     pod_from("metadata: {name: v-11}"), pod_from("metadata: {name: w-9-a}")}),
              ElementsAre("v-11", "w-9", "w-9-a", "w-10"));
}

TEST(Grouping, JobsOfASetComeOneAfterTheOther) {
  const auto pod = [](std::string_view name, std::string_view part, int job, int index) {
    return pod_from("metadata: {name: " + std::string(name) +
                    ", labels: {jobset.sigs.k8s.io/replicatedjob-name: " + std::string(part) +
                    ", jobset.sigs.k8s.io/job-index: '" + std::to_string(job) +
                    "', batch.kubernetes.io/job-completion-index: '" + std::to_string(index) +
                    "'}}");
  };
  EXPECT_THAT(order({pod("d", "workers", 1, 0), pod("c", "workers", 0, 1), pod("a", "driver", 3, 0),
                     pod("b", "workers", 0, 0)}),
              ElementsAre("a", "b", "c", "d"));
}

}  // namespace
}  // namespace mainspring::bridge
