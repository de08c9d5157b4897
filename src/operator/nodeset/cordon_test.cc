#include "operator/nodeset/cordon.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/nodeset/worker_testing.h"

namespace mainspring::op {
namespace {

using Base = slurm::NodeState::Base;
using Flag = slurm::NodeState::Flag;
using Kind = SlurmAction::Kind;
using Knowledge = SlurmFacts::Knowledge;
using State = slurm::NodeState;

const State kDrained{Base::kIdle, {Flag::kDrain}};
const std::string kPutDown = "slurm-operator: Pod is terminating";
const std::string kNodeReason =
    "slurm-operator: Node (kn-1) was cordoned, Pod (slurm/gpu-0) must be cordoned";
const std::string kPodReason = "slurm-operator: Pod (slurm/gpu-0) was cordoned";
const std::string kScaleIn =
    "slurm-operator: Pod (slurm/gpu-0) is pending termination for scale-in";
const std::string kUpdate = "slurm-operator: Pod (slurm/gpu-0) is pending termination for update";

Sketch worker(State state = Base::kIdle, std::string reason = {}) {
  return {.name = "gpu-0", .state = state, .reason = std::move(reason)};
}
template <class Change>
Sketch with(Sketch sketch, Change&& change) {
  change(sketch);
  return sketch;
}

// --- The pod's annotation ---------------------------------------------------------------------

TEST(WantedCordon, FollowsTheNodeThePlanAndThePerson) {
  struct Case {
    std::string_view what;
    Sketch sketch;
    Cause condemned, wanted;
  };
  const auto by_us = [](Sketch sketch, std::string cause) {
    sketch.cordon = "true";
    sketch.cordoned_for = std::move(cause);
    return sketch;
  };
  const auto on_cordoned = [](Sketch sketch) {
    sketch.node_unschedulable = true;
    return sketch;
  };
  const Sketch person = with(worker(), [](Sketch& s) { s.cordon = "true"; });
  const Sketch silent = with(worker(), [](Sketch& s) { s.knowledge = Knowledge::kUnknown; });
  const std::vector<Case> cases{
      {"nothing", worker(), Cause::kNone, Cause::kNone},
      {"condemned", worker(), Cause::kScaleIn, Cause::kScaleIn},
      {"no longer condemned", by_us(worker(), "scale-in"), Cause::kNone, Cause::kNone},
      {"its node is cordoned", on_cordoned(worker()), Cause::kNone, Cause::kNode},
      {"its node is open again", by_us(worker(), "node"), Cause::kNone, Cause::kNone},
      {"its node is gone", with(by_us(worker(), "node"), [](Sketch& s) { s.node_gone = true; }),
       Cause::kNone, Cause::kNode},
      {"condemned on a cordoned node", on_cordoned(by_us(worker(), "node")), Cause::kUpdate,
       Cause::kUpdate},
      {"a person's wish stays", person, Cause::kNone, Cause::kPerson},
      {"also of a condemned pod", person, Cause::kScaleIn, Cause::kPerson},
      {"an administrator's drain: not cordoned", on_cordoned(worker(kDrained, "bad dimm")),
       Cause::kNone, Cause::kNone},
      {"nor uncordoned", by_us(worker(kDrained, "bad dimm"), "node"), Cause::kNone, Cause::kNode},
      {"Slurm is silent: not uncordoned", by_us(silent, "node"), Cause::kNone, Cause::kNode},
      {"Slurm is silent: goes on draining", by_us(silent, "scale-in"), Cause::kScaleIn,
       Cause::kScaleIn},
  };
  for (const auto& [what, sketch, condemned, wanted] : cases) {
    EXPECT_EQ(wanted_cordon(view_of(sketch), condemned), wanted) << what;
  }
}

// --- What is told to Slurm --------------------------------------------------------------------

struct ActionCase {
  std::string_view what;
  Sketch sketch;
  Cause cordon;
  Kind kind = Kind::kNone;
  std::string reason = {};
};

void check(const std::vector<ActionCase>& cases) {
  for (const auto& [what, sketch, cordon, kind, reason] : cases) {
    const SlurmAction action = slurm_action(view_of(sketch), cordon, {});
    EXPECT_EQ(action.kind, kind) << what;
    EXPECT_EQ(action.reason, reason) << what;
  }
}

TEST(SlurmAction, DrainsWhatIsCordonedOnce) {
  check({
      {"node", worker(), Cause::kNode, Kind::kDrain, kNodeReason},
      {"person", worker(), Cause::kPerson, Kind::kDrain, kPodReason},
      {"busy ones too", worker(Base::kAllocated), Cause::kNode, Kind::kDrain, kNodeReason},
      {"done", worker(kDrained, kNodeReason), Cause::kNode},
      {"the first reason stays", worker(kDrained, kPodReason), Cause::kNode},
      {"a reason that is no longer true goes", worker(kDrained, kScaleIn), Cause::kNode,
       Kind::kDrain, kNodeReason},
      {"an old reason on an open node", worker(Base::kIdle, kPodReason), Cause::kNode, Kind::kDrain,
       kNodeReason},
      {"drained by nobody in particular", worker(kDrained), Cause::kNode},
  });
}

TEST(SlurmAction, DrainsTheCondemnedWithTheCause) {
  check({
      {"scale-in", worker(), Cause::kScaleIn, Kind::kDrain, kScaleIn},
      {"update", worker(), Cause::kUpdate, Kind::kDrain, kUpdate},
      {"over an earlier reason of ours", worker(kDrained, kNodeReason), Cause::kScaleIn,
       Kind::kDrain, kScaleIn},
      {"done", worker(kDrained, kScaleIn), Cause::kScaleIn},
      {"an administrator has drained it", worker(kDrained, "bad dimm"), Cause::kScaleIn},
      {"an administrator has not drained it", worker(Base::kDown, "bad dimm"), Cause::kScaleIn,
       Kind::kDrain, "bad dimm"},
      {"an old reason", worker(Base::kIdle, "was slow"), Cause::kScaleIn, Kind::kDrain, "was slow"},
      {"not responding", worker(Base::kDown, "Not responding"), Cause::kDeletion, Kind::kDrain,
       "slurm-operator: Pod (slurm/gpu-0) is pending termination for deletion"},
      {"put down by preStop", worker(Base::kDown, kPutDown), Cause::kUpdate, Kind::kDrain,
       kPutDown},
      {"and drained", worker({Base::kDown, {Flag::kDrain}}, kPutDown), Cause::kUpdate},
  });
}

TEST(SlurmAction, LiftsItsOwnDrainsAndNoOthers) {
  check({
      {"ours", worker(kDrained, kNodeReason), Cause::kNone, Kind::kUndrain, ""},
      {"busy", worker({Base::kMixed, {Flag::kDrain}}, kScaleIn), Cause::kNone, Kind::kUndrain, ""},
      {"lifted already", worker({Base::kIdle, {Flag::kDrain, Flag::kUndrain}}, kScaleIn),
       Cause::kNone},
      {"open", worker(Base::kIdle, kNodeReason), Cause::kNone},
      {"an administrator's", worker(kDrained, "bad dimm"), Cause::kNone},
      {"almost ours", worker(kDrained, "slurm-operator:bad dimm"), Cause::kNone},
      {"nobody's in particular", worker(kDrained), Cause::kNone},
      {"its slurmd does not run yet",
       with(worker(kDrained, kUpdate), [](Sketch& s) { s.phase = kube::PodPhase::kPending; }),
       Cause::kNone},
  });
}

Sketch drained_under(std::string note, State state, std::string reason) {
  Sketch sketch = worker(state, std::move(reason));
  sketch.drained_under = std::move(note);
  return sketch;
}

TEST(SlurmAction, LiftsADrainUnderAnothersReasonThatItNotedAsItsOwn) {
  check({
      {"ours", drained_under("bad dimm", kDrained, "bad dimm"), Cause::kNone, Kind::kUndrain, ""},
      {"the pod is still to go", drained_under("bad dimm", kDrained, "bad dimm"), Cause::kScaleIn},
      {"the node is cordoned", drained_under("bad dimm", kDrained, "bad dimm"), Cause::kNode},
      {"another text", drained_under("bad dimm", kDrained, "worse dimm"), Cause::kNone},
      {"no drain", drained_under("bad dimm", Base::kDown, "bad dimm"), Cause::kNone},
  });
}

TEST(SlurmAction, SaysWhereTheReasonIsAnothers) {
  const auto borrowed = [](const Sketch& sketch) {
    return slurm_action(view_of(sketch), Cause::kScaleIn, {}).borrowed;
  };
  EXPECT_TRUE(borrowed(worker(Base::kDown, "bad dimm")));
  EXPECT_FALSE(borrowed(worker(Base::kDown, kPutDown)));
  EXPECT_FALSE(borrowed(worker(Base::kIdle)));
}

TEST(OutdatedNote, IsOneThatCouldBeTakenForAnotherDrainLater) {
  const auto outdated = [](const Sketch& sketch, Cause cordon) {
    return has_outdated_note(view_of(sketch), cordon);
  };
  EXPECT_FALSE(outdated(drained_under("bad dimm", kDrained, "bad dimm"), Cause::kNone));
  EXPECT_TRUE(outdated(drained_under("bad dimm", Base::kIdle, ""), Cause::kNone));
  EXPECT_TRUE(outdated(drained_under("bad dimm", kDrained, "worse dimm"), Cause::kNode));
  // About to be drained under it.
  EXPECT_FALSE(outdated(drained_under("bad dimm", Base::kDown, "bad dimm"), Cause::kScaleIn));
  EXPECT_FALSE(outdated(worker(Base::kIdle), Cause::kNone));
  Sketch silent = drained_under("bad dimm", Base::kIdle, "");
  silent.knowledge = Knowledge::kUnknown;
  EXPECT_FALSE(outdated(silent, Cause::kNone));
}

TEST(SlurmAction, LeavesAloneWhatIsNotItsOwn) {
  const State external{Base::kIdle, {Flag::kExternal}};
  for (const Cause cordon : {Cause::kNone, Cause::kNode, Cause::kPerson}) {
    check({
        {"an administrator's drain", worker(kDrained, "bad dimm"), cordon},
        {"an administrator's down", worker(Base::kDown, "bad dimm"), cordon},
        {"not responding", worker(Base::kDown, "Not responding"), cordon},
        {"not responding, with our name on it",
         worker({Base::kDown, {Flag::kDrain}}, kNodeReason + "; Not responding"), cordon},
    });
  }
  for (const Cause cordon : {Cause::kNone, Cause::kNode, Cause::kPerson, Cause::kScaleIn}) {
    check({
        {"external", worker(external), cordon},
        {"external, drained", worker({Base::kIdle, {Flag::kExternal, Flag::kDrain}}, kScaleIn),
         cordon},
        {"future", worker(Base::kFuture, kScaleIn), cordon},
        {"unknown", with(worker(), [](Sketch& s) { s.knowledge = Knowledge::kUnknown; }), cordon},
        {"absent", with(worker(), [](Sketch& s) { s.knowledge = Knowledge::kAbsent; }), cordon},
        {"terminating", with(worker(kDrained, kPodReason), [](Sketch& s) { s.terminating = true; }),
         cordon},
        {"ended",
         with(worker(kDrained, kPodReason), [](Sketch& s) { s.phase = kube::PodPhase::kFailed; }),
         cordon},
        {"not scheduled", with(worker(kDrained, kPodReason), [](Sketch& s) { s.node = ""; }),
         cordon},
    });
  }
}

TEST(SlurmAction, ResumesTheNodeThatPreStopPutDownAndNoOther) {
  const Sketch down = with(worker(Base::kDown, kPutDown), [](Sketch& s) {
    s.ready_since = kNow;
    s.reason_since = kNow - seconds(20);
  });
  const Sketch drained_too = with(down, [](Sketch& s) { s.state.add(Flag::kDrain); });
  check({
      {"a new pod", down, Cause::kNone, Kind::kResume, ""},
      {"after a drain of ours", drained_too, Cause::kNone, Kind::kResume, ""},
      {"its clock is behind", with(down, [](Sketch& s) { s.ready_since = kNow - seconds(60); }),
       Cause::kNone, Kind::kResume, ""},
      {"not ready", with(drained_too, [](Sketch& s) { s.ready = false; }), Cause::kNone},
      {"terminating", with(down, [](Sketch& s) { s.terminating = true; }), Cause::kNone},
      {"the very pod that goes", with(down, [](Sketch& s) { s.ready_since = kNow - hours(1); }),
       Cause::kNone},
      {"down for another reason", with(down, [](Sketch& s) { s.reason = kNodeReason; }),
       Cause::kNone},
      {"went down while it was drained by us",
       with(drained_too, [](Sketch& s) { s.reason = kNodeReason; }), Cause::kNone, Kind::kResume,
       ""},
      {"and does not answer yet",
       with(drained_too,
            [](Sketch& s) {
              s.reason = kNodeReason;
              s.state.add(Flag::kNotResponding);
            }),
       Cause::kNone},
      {"down with a longer reason", with(down, [](Sketch& s) { s.reason += ", says root"; }),
       Cause::kNone},
      {"up again", with(down, [](Sketch& s) { s.state = Base::kIdle; }), Cause::kNone},
      {"cordoned: keeps what we must find again", down, Cause::kNode, Kind::kDrain, kPutDown},
  });
}

// --- Texts ------------------------------------------------------------------------------------

TEST(ReasonText, IsOneShortCleanLineWithOurPrefix) {
  EXPECT_EQ(reason_text("  bad\ndimm\t2 "), "slurm-operator: bad dimm 2");
  EXPECT_EQ(reason_text("\x1b[31mred\x7f\r\n"), "slurm-operator: [31mred");
  EXPECT_EQ(reason_text("a\xc2\x9b"
                        "b"),
            "slurm-operator: ab");
  EXPECT_EQ(reason_text("\xff"), "slurm-operator: \xEF\xBF\xBD");
  EXPECT_EQ(reason_text(" \n "), "slurm-operator: unknown");
  std::string umlauts;
  for (int i = 0; i < 300; ++i) umlauts += "\xC3\xA4";
  EXPECT_EQ(reason_text(umlauts), "slurm-operator: " + umlauts.substr(0, 512));
}

TEST(NodeCordonReason, IsTheNoteElseTheConditionsElseOurOwn) {
  const kube::Pod pod = pod_of({.name = "gpu-0"});
  auto node = *kube_node("kn-1", true);
  const auto condition = [](std::string_view type, kube::ConditionStatus status) {
    kube::Condition out{.type = type, .reason = "Because", .message = "it is " + std::string(type)};
    out.status = status;
    return out;
  };
  node.conditions = {condition("Hot", kube::ConditionStatus::kTrue),
                     condition("Wet", kube::ConditionStatus::kFalse),
                     condition("Loud", kube::ConditionStatus::kTrue),
                     condition("Other", kube::ConditionStatus::kTrue)};
  const CordonOptions none;
  const CordonOptions some{.propagated_conditions = {"Loud", "Wet", "Missing", "Hot"}};

  EXPECT_EQ(node_cordon_reason(node, pod, none), kNodeReason);
  EXPECT_EQ(node_cordon_reason(node, pod, some),
            "slurm-operator: (Because: it is Loud); (Because: it is Hot)");
  const auto note = [&](std::string_view text) {
    node.meta.annotations = string_map({{api::annotation::kNodeCordonReason, text}});
    return node_cordon_reason(node, pod, some);
  };
  EXPECT_EQ(note("new\nfans"), "slurm-operator: new fans");
  EXPECT_EQ(note(" \n"), "slurm-operator: (Because: it is Loud); (Because: it is Hot)");
}

}  // namespace
}  // namespace mainspring::op
