#include "operator/nodeset/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "operator/nodeset/plan_testing.h"

namespace mainspring::op {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Base = slurm::NodeState::Base;
using Evidence = Removal::Evidence;
using Flag = slurm::NodeState::Flag;
using Knowledge = SlurmFacts::Knowledge;
using Phase = kube::PodPhase;

TEST(Scale, AsksForNothingWhereAllIsWell) {
  expect_at_rest(of(2, {{.name = "gpu-0"}, {.name = "gpu-1"}}).plan());
}

TEST(Scale, FillsTheLowestFreeOrdinals) {
  EXPECT_THAT(of(3, {}).plan().create, ElementsAre(0, 1, 2));
  EXPECT_THAT(of(5, {{.name = "gpu-1"}, {.name = "gpu-003"}}).plan().create, ElementsAre(0, 2, 4));
  EXPECT_EQ(of(5, {}).plan().desired, 5);
}

TEST(Scale, WaitsForTheNameOfATerminatingPod) {
  auto world =
      of(3, {{.name = "gpu-0"}, {.name = "gpu-1", .terminating = true}, {.name = "gpu-2"}});
  expect_at_rest(world.plan());
  world.pods.erase(world.pods.begin() + 1);
  EXPECT_THAT(world.plan().create, ElementsAre(1));
}

TEST(Scale, ReplacesPodsThatEnded) {
  auto world = of(2, {{.name = "gpu-0", .phase = Phase::kFailed},
                      {.name = "gpu-1", .phase = Phase::kSucceeded}});
  for (Sketch& pod : world.pods) pod.knowledge = Knowledge::kUnknown;
  EXPECT_THAT(world.plan().remove, UnorderedElementsAre("gpu-0 ended", "gpu-1 ended"));
  EXPECT_THAT(world.plan().condemned, IsEmpty());
  EXPECT_THAT(world.plan().create, IsEmpty());
  world.backing_off = {"gpu-0"};
  EXPECT_THAT(world.plan().remove, ElementsAre("gpu-1 ended"));
}

TEST(Scale, TakesEndedPodsForTheSurplusFirst) {
  auto world = of(1, {{.name = "gpu-0", .phase = Phase::kFailed}, {.name = "gpu-1"}});
  world.backing_off = {"gpu-0"};  // Nobody takes its place, so there is nothing to wait for.
  EXPECT_THAT(world.plan().remove, ElementsAre("gpu-0 scale-in ended"));
  EXPECT_THAT(world.plan().condemned, IsEmpty());
}

TEST(Scale, CondemnsTheHighestOrdinalsOfEqualPodsAndRemovesNoneUndrained) {
  const auto told = of(1, {{.name = "gpu-0"}, {.name = "gpu-1"}, {.name = "gpu-2"}}).plan();
  EXPECT_THAT(told.condemned, ElementsAre("gpu-2 scale-in", "gpu-1 scale-in"));
  EXPECT_THAT(told.remove, IsEmpty());
}

TEST(Scale, RemovesOnlyTheDrained) {
  const auto told = of(1, {{.name = "gpu-0"},
                           {.name = "gpu-1", .state = {Base::kAllocated, {Flag::kDrain}}},
                           drained({.name = "gpu-2"})})
                        .plan();
  EXPECT_THAT(told.condemned, ElementsAre("gpu-2 scale-in", "gpu-1 scale-in"));
  EXPECT_THAT(told.remove, ElementsAre("gpu-2 scale-in drained"));
}

TEST(Scale, DoesNotCountATerminatingPodAsSurplusAgain) {
  expect_at_rest(of(1, {{.name = "gpu-0"}, {.name = "gpu-1", .terminating = true}}).plan());
}

TEST(Scale, GoesOnWithThePodThatDrainsRatherThanAnEqualOne) {
  const auto told =
      of(1, {{.name = "gpu-0", .cordon = "true", .cordoned_for = "scale-in"}, {.name = "gpu-1"}})
          .plan();
  EXPECT_THAT(told.condemned, ElementsAre("gpu-0 scale-in"));
}

TEST(Scale, LetsAnIdlePodTakeThePlaceOfABusyOneThatDrains) {
  const auto told = of(1, {{.name = "gpu-0"},
                           {.name = "gpu-1",
                            .cordon = "true",
                            .cordoned_for = "scale-in",
                            .deadline = "2020-01-01T00:00:00Z",
                            .state = {Base::kAllocated, {Flag::kDrain}}}})
                        .plan();
  EXPECT_THAT(told.condemned, ElementsAre("gpu-0 scale-in"));
}

TEST(Scale, DoesNotListMoreThanItCanHoldOfAMistypedNumber) {
  EXPECT_EQ(of(2'000'000'000, {}).plan().create.size(), 10'000U);
  EXPECT_THAT(of(-1, {}).plan().create, IsEmpty());
}

// --- What may be removed ----------------------------------------------------------------------

TEST(RemovalEvidence, IsWhatThePodAndSlurmSay) {
  struct Case {
    std::string_view what;
    Sketch sketch;
    std::optional<Evidence> evidence;
  };
  const Sketch pending{
      .name = "p", .phase = Phase::kPending, .ready = false, .container_made = false};
  const auto with = [](Sketch sketch, auto&& change) {
    change(sketch);
    return sketch;
  };
  const auto in = [](slurm::NodeState state) { return Sketch{.name = "p", .state = state}; };
  const std::vector<Case> cases{
      {"idle", in(Base::kIdle), std::nullopt},
      {"drained", in({Base::kIdle, {Flag::kDrain}}), Evidence::kDrained},
      {"drained and down", in({Base::kDown, {Flag::kDrain}}), Evidence::kDrained},
      {"down only", in(Base::kDown), std::nullopt},
      {"draining", in({Base::kMixed, {Flag::kDrain}}), std::nullopt},
      {"epilog runs", in({Base::kIdle, {Flag::kDrain, Flag::kCompleting}}), std::nullopt},
      {"not yet judged after a restart", in({Base::kUnknown, {Flag::kDrain}}), std::nullopt},
      {"about to open", in({Base::kIdle, {Flag::kDrain, Flag::kUndrain}}), std::nullopt},
      {"drained with a suspended job",
       with(in({Base::kIdle, {Flag::kDrain}}), [](Sketch& s) { s.jobs = 1; }), std::nullopt},
      {"drained and nobody knows of jobs",
       with(in({Base::kIdle, {Flag::kDrain}}), [](Sketch& s) { s.jobs.reset(); }), std::nullopt},
      {"no answer",
       with(in({Base::kIdle, {Flag::kDrain}}),
            [](Sketch& s) { s.knowledge = Knowledge::kUnknown; }),
       std::nullopt},
      {"not on the list",
       with(in(Base::kIdle),
            [](Sketch& s) {
              s.knowledge = Knowledge::kAbsent;
              s.shown = {"SlurmNodeStateGone"};
            }),
       Evidence::kAbsent},
      {"not on the list, and never was",
       with(in(Base::kIdle), [](Sketch& s) { s.knowledge = Knowledge::kAbsent; }), std::nullopt},
      {"not on the list, never was, and not up",
       with(in(Base::kIdle),
            [](Sketch& s) {
              s.knowledge = Knowledge::kAbsent;
              s.ready = false;
            }),
       Evidence::kAbsent},
      {"not on the list, and its address under another name",
       with(in(Base::kIdle),
            [](Sketch& s) {
              s.knowledge = Knowledge::kAbsent;
              s.shown = {"SlurmNodeStateGone"};
              s.elsewhere = "gpu-0.workers";
            }),
       std::nullopt},
      {"not on the list, with a job",
       with(in(Base::kIdle),
            [](Sketch& s) {
              s.knowledge = Knowledge::kAbsent;
              s.jobs = 1;
            }),
       std::nullopt},
      {"its node is gone and Slurm silent",
       with(in(Base::kIdle),
            [](Sketch& s) {
              s.knowledge = Knowledge::kUnknown;
              s.node_gone = true;
              s.ready = false;
            }),
       std::nullopt},
      {"failed", with(in(Base::kAllocated), [](Sketch& s) { s.phase = Phase::kFailed; }),
       Evidence::kEnded},
      {"waits for its image, and of jobs nothing is known",
       with(pending, [](Sketch& s) { s.jobs.reset(); }), Evidence::kNeverRan},
      {"waits for its image", with(pending, [](Sketch& s) { s.knowledge = Knowledge::kUnknown; }),
       Evidence::kNeverRan},
      {"not scheduled",
       with(pending,
            [](Sketch& s) {
              s.knowledge = Knowledge::kUnknown;
              s.node = "";
            }),
       Evidence::kNeverRan},
      {"given to a kubelet that has not spoken",
       with(pending,
            [](Sketch& s) {
              s.knowledge = Knowledge::kUnknown;
              s.kubelet_spoke = false;
            }),
       std::nullopt},
      {"pending again after its containers ran",
       with(pending,
            [](Sketch& s) {
              s.knowledge = Knowledge::kUnknown;
              s.container_made = true;
            }),
       std::nullopt},
      {"pending, and Slurm says busy", with(pending, [](Sketch& s) { s.state = Base::kAllocated; }),
       std::nullopt},
      {"not scheduled, while another's jobs run under its name",
       with(pending,
            [](Sketch& s) {
              s.node = "";
              s.state = Base::kAllocated;
              s.jobs = 1;
            }),
       Evidence::kNeverRan},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(removal_evidence(view_of(one.sketch)), one.evidence) << one.what;
  }
}

TEST(Condemned, IsNobodyNewWhileSlurmIsUnknown) {
  auto world =
      of(0, {{.name = "gpu-0"},
             {.name = "gpu-1", .cordon = "true", .cordoned_for = "scale-in"},
             {.name = "gpu-2", .phase = Phase::kPending, .ready = false, .container_made = false}});
  for (Sketch& pod : world.pods) pod.knowledge = Knowledge::kUnknown;
  const auto told = world.plan();
  EXPECT_THAT(told.condemned, ElementsAre("gpu-2 scale-in", "gpu-1 scale-in"));
  EXPECT_THAT(told.remove, ElementsAre("gpu-2 scale-in never ran"));
  EXPECT_EQ(told.waiting, 1);
  for (Sketch& pod : world.pods) pod.knowledge = Knowledge::kPresent;
  EXPECT_EQ(world.plan().waiting, 0);
}

// --- The order of the contract ----------------------------------------------------------------

TEST(MoreDeletable, FollowsTheContractRuleByRule) {
  struct Case {
    std::string_view rule;
    Sketch first, second;
  };
  // Every rule is shown against the next ones: the first of a pair would lose by all of them.
  const std::vector<Case> cases{
      {"unassigned", {.name = "gpu-0", .node = ""}, {.name = "gpu-9", .phase = Phase::kPending}},
      {"pending",
       {.name = "gpu-0", .phase = Phase::kPending},
       {.name = "gpu-9", .phase = Phase::kUnknown, .ready = false}},
      {"unknown", {.name = "gpu-0", .phase = Phase::kUnknown}, {.name = "gpu-9", .ready = false}},
      {"not ready", {.name = "gpu-0", .ready = false, .cost = "5"}, {.name = "gpu-9"}},
      {"lower cost",
       {.name = "gpu-0", .cost = "-1", .deadline = "2030-01-01T00:00:00Z"},
       {.name = "gpu-9"}},
      {"a cost is not read with a plus",
       {.name = "gpu-1", .cost = "+5"},
       {.name = "gpu-0", .cost = "1"}},
      {"nor with a leading zero", {.name = "gpu-0", .cost = "05"}, {.name = "gpu-9", .cost = "1"}},
      {"no deadline",
       {.name = "gpu-0"},
       {.name = "gpu-9", .cordon = "true", .deadline = "2020-01-01T00:00:00Z"}},
      {"earlier deadline",
       {.name = "gpu-0", .deadline = "2026-01-01T00:00:00Z"},
       {.name = "gpu-9", .cordon = "true", .deadline = "2026-01-02T00:00:00Z"}},
      {"a deadline beyond time is the latest",
       {.name = "gpu-0", .deadline = "2200-01-01T00:00:00Z"},
       {.name = "gpu-9", .deadline = "2318-08-01T00:00:00Z"}},
      {"cordoned", {.name = "gpu-0", .cordon = "true"}, {.name = "gpu-9"}},
      {"higher ordinal", {.name = "gpu-10", .ready_since = kNow - hours(9)}, {.name = "gpu-9"}},
      {"later Ready",
       {.name = "gpu-09", .ready_since = kNow, .created = kNow - hours(9)},
       {.name = "gpu-9"}},
      {"later created", {.name = "gpu-9", .created = kNow}, {.name = "gpu-09"}},
  };
  const api::NodeSet nodeset = nodeset_of(3);
  for (const auto& [rule, first, second] : cases) {
    EXPECT_TRUE(more_deletable(nodeset, view_of(first), view_of(second))) << rule;
    EXPECT_FALSE(more_deletable(nodeset, view_of(second), view_of(first))) << rule;
  }
}

TEST(Deletion, CondemnsAllAndCreatesNone) {
  auto world = of(5, {{.name = "gpu-0"},
                      drained({.name = "gpu-1"}),
                      {.name = "gpu-2", .phase = Phase::kFailed},
                      daemon("gpu-x", "n1")});
  world.nodeset.meta.deletion = kNow;
  const auto told = world.plan();
  EXPECT_THAT(told.create, IsEmpty());
  EXPECT_THAT(told.condemned,
              UnorderedElementsAre("gpu-0 deletion", "gpu-1 deletion", "gpu-x deletion"));
  EXPECT_THAT(told.remove, UnorderedElementsAre("gpu-1 deletion drained", "gpu-2 deletion ended"));
}

TEST(Unregistered, AreThoseReadyForAMinuteThatABelievableListLacks) {
  const auto is_unregistered = [](auto&& change) {
    auto world = of(
        1, {{.name = "gpu-0", .knowledge = Knowledge::kAbsent, .shown = {"SlurmNodeStateGone"}}});
    change(world);
    return !world.plan().unregistered.empty();
  };
  EXPECT_TRUE(is_unregistered([](Sample&) {}));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].knowledge = Knowledge::kUnknown; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].knowledge = Knowledge::kPresent; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].ready = false; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].terminating = true; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].ready_since = kNow - seconds(59); }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].ready_since = WallTime(); }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.nodeset.spec.min_ready_seconds = 7200; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.nodeset.spec.replicas = 0; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].shown.clear(); }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].elsewhere = "n1"; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].jobs = 1; }));
}

TEST(Unseen, AreWorkersThatSlurmLostWithJobsOnThemAndTheyAreSparedWhateverIsWanted) {
  for (const char* const shown : {"Allocated", "Mixed", "Completing", "Unknown"}) {
    auto world = of(1, {{.name = "gpu-0",
                         .knowledge = Knowledge::kAbsent,
                         .shown = {"SlurmNodeStateIdle", std::string("SlurmNodeState") + shown}}});
    const auto expect_spared = [&] {
      const Told told = world.plan();
      EXPECT_THAT(told.unseen, ElementsAre("gpu-0")) << shown;
      EXPECT_THAT(told.unregistered, IsEmpty()) << shown;
      EXPECT_THAT(told.remove, IsEmpty()) << shown;
    };
    expect_spared();
    world.revision = "v2";
    expect_spared();
    world.nodeset.spec.replicas = 0;
    expect_spared();
    world.nodeset.meta.deletion = kNow;
    expect_spared();
    world.pods[0].ready = false;
    expect_spared();
    world.pods[0].ready = true;
    world.pods[0].knowledge = Knowledge::kUnknown;  // As before anybody has registered anew.
    world.pods[0].empty_for = minutes(5);
    expect_spared();
    world.pods[0].phase = Phase::kFailed;
    EXPECT_THAT(world.plan().remove, ElementsAre("gpu-0 deletion ended"));
    EXPECT_THAT(world.plan().unseen, IsEmpty());
  }
}

TEST(Unseen, IsNobodyThatSlurmHasOrThatWasIdleOrDown) {
  const auto unseen = [](Knowledge knowledge, const char* shown) {
    return of(1, {{.name = "gpu-0", .knowledge = knowledge, .shown = {shown}}}).plan().unseen;
  };
  EXPECT_THAT(unseen(Knowledge::kPresent, "SlurmNodeStateMixed"), IsEmpty());
  EXPECT_THAT(unseen(Knowledge::kUnknown, "SlurmNodeStateMixed"), IsEmpty());
  EXPECT_THAT(unseen(Knowledge::kAbsent, "SlurmNodeStateIdle"), IsEmpty());
  EXPECT_THAT(unseen(Knowledge::kAbsent, "SlurmNodeStateDown"), IsEmpty());
}

TEST(Unregistered, AreIdleWorkersThatAListWithoutAnyNodeLacksForTwoMinutes) {
  const auto is_unregistered = [](auto&& change) {
    auto world = of(1, {{.name = "gpu-0",
                         .knowledge = Knowledge::kUnknown,
                         .empty_for = minutes(2),
                         .shown = {"SlurmNodeStateIdle"}}});
    change(world);
    const Told told = world.plan();
    EXPECT_THAT(told.remove, IsEmpty());
    return !told.unregistered.empty();
  };
  EXPECT_TRUE(is_unregistered([](Sample&) {}));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].empty_for = seconds(119); }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].ready_since = kNow - seconds(119); }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].ready = false; }));
  // Perhaps of another Slurm; at work when it was seen last.
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].shown = {}; }));
  EXPECT_FALSE(is_unregistered([](Sample& w) { w.pods[0].shown = {"SlurmNodeStateMixed"}; }));
  EXPECT_FALSE(
      is_unregistered([](Sample& w) { w.pods[0].shown.push_back("SlurmNodeStateCompleting"); }));
  // To go, and nobody can say that it is drained.
  EXPECT_FALSE(is_unregistered([](Sample& w) {
    w.nodeset.spec.replicas = 0;
    w.pods[0].cordon = "true";
    w.pods[0].cordoned_for = "scale-in";
  }));
}

}  // namespace
}  // namespace mainspring::op
