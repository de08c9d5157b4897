// Update strategies, DaemonSet mode and the switch between modes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/nodeset/plan_testing.h"

namespace mainspring::op {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;
using Knowledge = SlurmFacts::Knowledge;
using Phase = kube::PodPhase;

Sample to_update(std::int32_t replicas, std::int32_t max_unavailable) {
  Sample world{.nodeset = nodeset_of(replicas), .revision = "v2"};
  world.nodeset.spec.max_unavailable = {.value = max_unavailable, .percent = false};
  for (int i = 0; i < replicas; ++i) world.pods.push_back({.name = "gpu-" + std::to_string(i)});
  return world;
}

TEST(RollingUpdate, TakesAsManyAsMayBeMissing) {
  EXPECT_THAT(to_update(4, 1).plan().condemned, ElementsAre("gpu-3 update"));
  EXPECT_THAT(to_update(4, 2).plan().condemned, ElementsAre("gpu-3 update", "gpu-2 update"));
  auto percent = to_update(3, 0);
  percent.nodeset.spec.max_unavailable = {.value = 25, .percent = true};
  EXPECT_THAT(percent.plan().condemned, ElementsAre("gpu-2 update"));
}

TEST(RollingUpdate, WaitsForANewPodThatDoesNotComeUp) {
  auto world = to_update(4, 1);
  world.pods[3].revision = "v2";
  world.pods[3].ready = false;
  expect_at_rest(world.plan());
  world.pods[3].ready = true;
  world.nodeset.spec.min_ready_seconds = 7200;
  expect_at_rest(world.plan());
  world.nodeset.spec.min_ready_seconds = 10;
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-2 update"));
}

TEST(RollingUpdate, CountsEmptySlotsAndPodsOnTheirWayOut) {
  auto world = to_update(4, 1);
  world.pods[3].terminating = true;
  expect_at_rest(world.plan());
  world.pods.pop_back();
  EXPECT_THAT(world.plan().condemned, IsEmpty());
  EXPECT_THAT(world.plan().create, ElementsAre(3));
}

TEST(RollingUpdate, ReplacesBrokenOldPodsBeyondTheBudgetAndNoWorkingOneMeanwhile) {
  auto world = to_update(4, 1);
  world.pods[0].ready = false;
  world.pods[1].phase = Phase::kPending;
  world.pods[1].container_made = false;
  const auto told = world.plan();
  EXPECT_THAT(told.condemned, UnorderedElementsAre("gpu-0 update", "gpu-1 update"));
  EXPECT_THAT(told.remove, ElementsAre("gpu-1 update never ran"));  // gpu-0 may have jobs.
}

TEST(RollingUpdate, DoesNotAddToAScaleIn) {
  auto world = to_update(4, 1);
  world.nodeset.spec.replicas = 2;
  EXPECT_THAT(world.plan().condemned,
              ElementsAre("gpu-3 scale-in", "gpu-2 scale-in", "gpu-1 update"));
  world.pods[0].ready = false;  // Goes with the surplus, as the cheapest.
  EXPECT_THAT(world.plan().condemned,
              ElementsAre("gpu-0 scale-in", "gpu-3 scale-in", "gpu-2 update"));
  world.pods[1].ready = false;
  world.pods[2].ready = false;  // One broken pod stays for now, and that is the whole budget.
  EXPECT_THAT(world.plan().condemned,
              ElementsAre("gpu-2 scale-in", "gpu-1 scale-in", "gpu-0 update"));
}

TEST(RollingUpdate, ReplacesPodsThatWereMadeWithAnotherSlurmKey) {
  auto world = to_update(3, 2);
  world.revision = "v1";
  world.pods[0].key = "old";
  world.pods[2].key = "new";  // The second is somebody else's, and nobody knows its key.
  expect_at_rest(world.plan());
  world.slurm_key = "new";
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-0 update"));
}

TEST(RollingUpdate, ReplacesPodsThatWereMadeWithAnotherSssdConf) {
  auto world = to_update(3, 1);
  world.revision = "v1";
  for (const std::size_t i : {0U, 1U}) world.pods[i].sssd = "old";
  expect_at_rest(world.plan());  // Without ssh nobody reads it.
  world.sssd_conf = "old";
  expect_at_rest(world.plan());
  world.sssd_conf = "new";
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-1 update"));  // One at a time.
}

TEST(RollingUpdate, KnowsNoOldPodsWithoutARevision) {
  auto world = to_update(2, 1);
  world.revision = "";
  expect_at_rest(world.plan());
}

TEST(OnDelete, TouchesNoPodThatLives) {
  auto world = to_update(3, 3);
  world.nodeset.spec.update_type = api::UpdateType::kOnDelete;
  world.pods[0].ready = false;
  expect_at_rest(world.plan());
  world.pods[0].phase = Phase::kFailed;
  EXPECT_THAT(world.plan().remove, ElementsAre("gpu-0 ended"));
}

TEST(ScheduledUpdate, ReplacesWorkingPodsOnlyInOurReservation) {
  auto world = to_update(5, 1);
  world.nodeset.spec.update_type = api::UpdateType::kScheduledUpdate;
  const slurm::NodeState maintenance{Base::kIdle, {Flag::kMaintenance}};
  world.pods[0].state = maintenance;
  world.pods[0].reservation = "SlurmOperatorMaint-gpu";
  world.pods[1].state = maintenance;
  world.pods[1].reservation = "SlurmOperatorMaint-gpu2";
  world.pods[2].reservation = "SlurmOperatorMaint-gpu";
  world.pods[3].ready = false;
  world.pods[4].state = maintenance;
  world.pods[4].reservation = "SlurmOperatorMaint-gpu";
  world.pods[4].knowledge = Knowledge::kUnknown;
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-3 update", "gpu-0 update"));
}

TEST(Daemons, GoWhereTheyShouldAndAreNotYet) {
  Sketch waiting = daemon("gpu-b", "");
  waiting.target = "n2";
  const auto told = daemons({place("n4"), place("n1.example.org"), place("n2"), place("n3", false),
                             place("n5"), place("n6")},
                            {daemon("gpu-a", "n1.example.org"), waiting,
                             [] {
                               Sketch going = daemon("gpu-c", "n5");
                               going.terminating = true;
                               return going;
                             }()})
                        .plan();
  EXPECT_THAT(told.create_on, ElementsAre("n4", "n6"));
  EXPECT_THAT(told.condemned, IsEmpty());
  EXPECT_EQ(told.desired, 5);
}

TEST(Daemons, LeaveNodesThatNoLongerFitOnceDrained) {
  auto world = daemons({place("n1", false, false), place("n2", false, true), place("n3")},
                       {daemon("gpu-a", "n1"), daemon("gpu-b", "n2"), daemon("gpu-c", "gone")});
  world.pods[0].ready = false;  // One that does not work is no loss.
  EXPECT_THAT(world.plan().condemned, UnorderedElementsAre("gpu-a misplaced", "gpu-c misplaced"));
  EXPECT_THAT(world.plan().remove, IsEmpty());
  world.pods[2] = drained(world.pods[2]);
  EXPECT_THAT(world.plan().remove, ElementsAre("gpu-c misplaced drained"));
}

TEST(Daemons, AreLeftAloneWhileTheNodesAreNotKnown) {
  auto world = daemons({}, {daemon("gpu-a", "n1"), daemon("gpu-b", "n2")});
  world.nodeset.status.desired = 2;
  expect_at_rest(world.plan());
  world.revision = "v2";  // An update too waits until somebody knows what it may take.
  expect_at_rest(world.plan());
  EXPECT_EQ(world.plan().desired, 2);
  world.pods[1].cordon = "true";  // As before a restart of the operator.
  world.pods[1].cordoned_for = "update";
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-b update"));
}

// Eight workers, on nodes that lost their labels.
Sample lost_labels() {
  Sample world = daemons({}, {});
  for (int i = 0; i < 8; ++i) {
    const std::string node = "n" + std::to_string(i);
    world.places.push_back(place(node, false, false));
    world.pods.push_back(daemon("gpu-" + node, node));
  }
  return world;
}

TEST(Daemons, LeaveNodesThatNoLongerFitAFewAtATime) {
  auto world = lost_labels();
  EXPECT_EQ(world.plan().condemned.size(), 2U);
  EXPECT_EQ(world.plan().held, 6);
  world.revision = "v2";  // A new nodeSelector is a new revision, and that makes it no faster.
  EXPECT_EQ(world.plan().condemned.size(), 2U);
  for (Place& one : world.places) one.should_run = one.should_continue = true;
  world.revision = "v1";
  expect_at_rest(world.plan());
  EXPECT_EQ(world.plan().held, 0);
}

TEST(Daemons, ThatBeganToLeaveGoOnBeforeOthers) {
  auto world = lost_labels();
  world.pods[0].cordon = world.pods[5].cordon = "true";
  world.pods[0].cordoned_for = world.pods[5].cordoned_for = "misplaced";
  EXPECT_THAT(world.plan().condemned, UnorderedElementsAre("gpu-n0 misplaced", "gpu-n5 misplaced"));
}

TEST(Daemons, KeepTheOldestThatWorksOfDuplicates) {
  auto world =
      daemons({place("n1")}, {daemon("gpu-a", "n1"), daemon("gpu-b", "n1"), daemon("gpu-c", "n1")});
  world.pods[0].created = kNow - hours(5);
  world.pods[0].ready = false;
  world.pods[1].created = kNow - hours(4);
  world.pods[2].created = kNow - hours(3);
  EXPECT_THAT(world.plan().condemned, UnorderedElementsAre("gpu-a duplicate", "gpu-c duplicate"));
}

TEST(Daemons, AreMadeAnewUnderANewHostname) {
  auto world = daemons({place("n1", true, true, "login7")}, {daemon("gpu-a", "n1")});
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-a hostname"));
  EXPECT_THAT(world.plan().create_on, IsEmpty());
  world.pods[0].hostname = "login7";
  expect_at_rest(world.plan());
}

TEST(Daemons, KeepTheirNameWhileTheirNodeIsGivenOneThatNobodyCanHave) {
  for (const char* const bad : {"GPU_1", "x.y"}) {
    auto world = daemons({place("n1", true, true, bad)}, {daemon("gpu-a", "n1")});
    expect_at_rest(world.plan());
    world.pods[0].hostname = "login7";  // Of an override that was right.
    expect_at_rest(world.plan());
  }
}

TEST(Daemons, WaitAfterAFailureAndNotAfterSuccess) {
  auto world = daemons({place("n1"), place("n2"), place("n3", false, false)},
                       {daemon("gpu-a", "n1"), daemon("gpu-b", "n2"), daemon("gpu-c", "n3")});
  world.pods[0].phase = Phase::kFailed;
  world.pods[1].phase = Phase::kSucceeded;
  world.pods[2].phase = Phase::kFailed;
  world.backing_off = {"gpu-a", "gpu-c"};
  const auto told = world.plan();
  EXPECT_THAT(told.remove, UnorderedElementsAre("gpu-b ended", "gpu-c misplaced ended"));
  EXPECT_THAT(told.create_on, IsEmpty());
}

TEST(Daemons, AreUpdatedWithinTheBudgetOfTheirNodes) {
  auto world = daemons(
      {place("n1"), place("n2"), place("n3"), place("n4")},
      {daemon("gpu-a", "n1"), daemon("gpu-b", "n2"), daemon("gpu-c", "n3"), daemon("gpu-d", "n4")});
  world.revision = "v2";
  EXPECT_EQ(world.plan().condemned.size(), 1U);
  world.pods.pop_back();  // An empty node counts.
  EXPECT_THAT(world.plan().condemned, IsEmpty());
}

TEST(ModeSwitch, TakesNobodyWhileTheNodesOfThoseWhoFollowAreNotKnown) {
  expect_at_rest(daemons({}, {{.name = "gpu-0", .node = "n1"}}).plan());
}

TEST(ModeSwitch, CondemnsThePodsOfTheOtherModeAndKeepsTheirOrdinals) {
  auto world = daemons({place("n1")}, {{.name = "gpu-0", .node = "n1"}});
  EXPECT_THAT(world.plan().condemned, ElementsAre("gpu-0 mode-switch"));
  EXPECT_THAT(world.plan().create_on, ElementsAre("n1"));

  auto back = of(2, {daemon("gpu-1", "n1"), daemon("gpu-x", "n2")});
  EXPECT_THAT(back.plan().condemned, ElementsAre("gpu-1 mode-switch"));
  EXPECT_EQ(back.plan().held, 1);
  EXPECT_THAT(back.plan().create, ElementsAre(0, 2));
}

// Those who follow may never come up, as where the scheduler finds no room for them.
TEST(ModeSwitch, TakesThoseThatWorkAFewAtATime) {
  auto to_daemons = daemons({}, {});
  auto to_replicas = of(8, {});
  for (int i = 0; i < 8; ++i) {
    const std::string node = "n" + std::to_string(i);
    to_daemons.places.push_back(place(node));
    to_daemons.pods.push_back({.name = "gpu-" + std::to_string(i), .node = node});
    to_replicas.pods.push_back(daemon("gpu-" + node, node));
  }
  for (Sample* const world : {&to_daemons, &to_replicas}) {
    world->revision = "v2";
    EXPECT_EQ(world->plan().condemned.size(), 2U);
    EXPECT_EQ(world->plan().held, 6);
    for (int i = 2; i < 8; ++i) world->pods[static_cast<std::size_t>(i)].ready = false;
    EXPECT_EQ(world->plan().condemned.size(), 7U);  // What does not work is no loss.
  }
}

}  // namespace
}  // namespace mainspring::op
