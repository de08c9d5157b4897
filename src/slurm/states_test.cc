// slurm/states_test.cc
#include "slurm/states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "json/fields.h"

namespace mainspring::slurm {
namespace {

using testing::ElementsAre;
using NodeFlag = NodeState::Flag;
using NodeBase = NodeState::Base;
using JobFlag = JobState::Flag;
using JobBase = JobState::Base;
using Ending = JobState::Ending;

NodeState node(std::string_view text) {
  const auto state = parse_node_state(text);
  EXPECT_TRUE(state) << text;
  return state.value_or(NodeState());
}

JobState job(std::string_view text) {
  const auto state = parse_job_state(text);
  EXPECT_TRUE(state) << text;
  return state.value_or(JobState());
}

// One letter for each answer: Known, Busy, Idle, dOwn, draininG, Drained, Takes jobs, Responding.
std::string answers(const NodeState& s) {
  std::string text;
  const auto add = [&](bool yes, char letter) { text += yes ? letter : '.'; };
  add(s.is_known(), 'K');
  add(s.is_busy(), 'B');
  add(s.is_idle(), 'I');
  add(s.is_down(), 'O');
  add(s.is_draining(), 'G');
  add(s.is_drained(), 'D');
  add(s.can_take_jobs(), 'T');
  add(s.is_responding(), 'R');
  return text;
}

struct NodeCase {
  std::string_view state, answers, short_text;
};

TEST(NodeState, AnswersForTheCombinationsThatMatter) {
  const NodeCase cases[] = {
      {"IDLE", "K.I...TR", "IDLE"},
      {"ALLOCATED", "KB....TR", "ALLOCATED"},
      {"MIXED", "KB....TR", "MIXED"},
      {"IDLE+COMPLETING", "KB....TR", "COMPLETING"},
      {"ALLOCATED+COMPLETING", "KB....TR", "ALLOCATED+"},
      {"MIXED+PLANNED", "KB....TR", "MIXED-"},
      {"IDLE+PLANNED", "K.I...TR", "PLANNED"},
      {"IDLE+RESERVED", "K.I...TR", "RESERVED"},
      {"IDLE+BLOCKED", "K.I...TR", "BLOCKED"},
      {"IDLE+MAINTENANCE", "K.I...TR", "MAINT"},
      {"IDLE+DRAIN", "K.I..D.R", "DRAINED"},
      {"MIXED+DRAIN", "KB..G..R", "DRAINING"},
      {"ALLOCATED+DRAIN", "KB..G..R", "DRAINING"},
      {"IDLE+COMPLETING+DRAIN", "KB..G..R", "DRAINING"},
      {"DOWN+DRAIN", "K..O.D..", "DRAINED"},
      {"DOWN+COMPLETING+DRAIN", "KB.OG...", "DRAINING"},
      {"UNKNOWN+DRAIN", "........", "DRAINED"},
      {"UNKNOWN", "........", "UNKNOWN"},
      {"INVALID", "........", "INVALID"},
      {"DRAIN", "........", "DRAINED"},
      {"DOWN", "K..O....", "DOWN"},
      {"DOWN+NOT_RESPONDING", "K..O....", "DOWN*"},
      {"ERROR", "K..O....", "ERROR"},
      {"FUTURE", "K......R", "FUTURE"},
      {"IDLE+NOT_RESPONDING", "K.I.....", "IDLE*"},
      {"MIXED+DRAIN+NOT_RESPONDING", "KB..G...", "DRAINING*"},
      {"IDLE+FAIL", "K.I....R", "FAIL"},
      {"MIXED+FAIL", "KB.....R", "FAILING"},
      {"IDLE+INVALID_REG", "K.I....R", "INVAL"},
      {"IDLE+CLOUD+POWERED_DOWN", "K.I...T.", "IDLE~"},
      {"MIXED+CLOUD+POWERING_UP", "KB....TR", "MIXED#"},
      {"IDLE+CLOUD+POWERING_DOWN", "K.I.....", "IDLE%"},
      {"IDLE+POWER_DOWN", "K.I....R", "IDLE!"},
      {"IDLE+REBOOT_REQUESTED", "K.I...TR", "REBOOT"},
      {"IDLE+REBOOT_ISSUED", "K.I....R", "REBOOT^"},
      {"ALLOCATED+REBOOT_REQUESTED", "KB....TR", "ALLOCATED@"},
      {"IDLE+EXTERNAL+DYNAMIC_NORM", "K.I...TR", "IDLE"},
      {"IDLE+EXTERNAL+NOT_RESPONDING+DYNAMIC_NORM", "K.I.....", "IDLE*"},
      {"MIXED+DRAIN+EXTERNAL", "KB..G..R", "DRAINING"},
  };
  for (const NodeCase& c : cases) {
    EXPECT_EQ(answers(node(c.state)), c.answers) << c.state;
    EXPECT_EQ(node(c.state).short_text(), c.short_text) << c.state;
  }
}

TEST(NodeState, SaysNothingWithoutWord) {
  EXPECT_EQ(answers(NodeState()), "........");
  EXPECT_EQ(NodeState().to_string(), "");
}

TEST(NodeState, IsReadFromNamesAndKeepsUnknownOnesApart) {
  json::Reader reader;
  const auto state =
      json::decode<NodeState>(reader, R"(["IDLE","DRAIN","SOMETHING_NEW","DYNAMIC_NORM"])");
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->is_drained());
  EXPECT_TRUE(state->is_dynamic());
  EXPECT_TRUE(state->has(NodeFlag::kOther));
  EXPECT_EQ(state->to_string(), "IDLE+DRAIN+DYNAMIC_NORM+OTHER");
  EXPECT_EQ(json::decode<NodeState>(reader, R"("DRAIN")").value(), NodeState(NodeFlag::kDrain));
  EXPECT_FALSE(json::decode<NodeState>(reader, R"(["IDLE",5])"));
  EXPECT_FALSE(json::decode<NodeState>(reader, "{}"));
}

TEST(NodeState, ReadsTheWordsOfSinfo) {
  EXPECT_EQ(node("idle~"), NodeState(NodeBase::kIdle, {NodeFlag::kPoweredDown}));
  EXPECT_EQ(node("draining*"),
            NodeState(NodeBase::kMixed, {NodeFlag::kDrain, NodeFlag::kNotResponding}));
  EXPECT_EQ(node("drained"), NodeState(NodeBase::kIdle, {NodeFlag::kDrain}));
  EXPECT_EQ(node("mix-"), NodeState(NodeBase::kMixed, {NodeFlag::kPlanned}));
  EXPECT_EQ(node("alloc+"), NodeState(NodeBase::kAllocated, {NodeFlag::kCompleting}));
  EXPECT_FALSE(parse_node_state("idel"));
  EXPECT_FALSE(parse_node_state(""));
  EXPECT_FALSE(parse_node_state("IDLE++DRAIN"));
}

TEST(NodeState, TextAndBack) {
  EXPECT_TRUE(rc::check("parse(to_string(x)) == x", [] {
    NodeState state(static_cast<NodeBase>(*rc::gen::inRange(1, 9)));
    for (const int flag : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 26))) {
      state.add(static_cast<NodeFlag>(flag));
    }
    RC_ASSERT(parse_node_state(state.to_string()).value() == state);
    RC_ASSERT(!(state.is_drained() && (state.is_busy() || state.can_take_jobs())));
    RC_ASSERT(!(state.is_idle() && state.is_busy()));
  }));
}

// Pending, Starting, Running, Suspended, Holds resources, Comes back, has Ended, is Over, sTays
// held.
std::string answers(const JobState& s) {
  std::string text;
  const auto add = [&](bool yes, char letter) { text += yes ? letter : '.'; };
  add(s.is_pending(), 'P');
  add(s.is_starting(), 'S');
  add(s.is_running(), 'R');
  add(s.is_suspended(), 'U');
  add(s.holds_resources(), 'H');
  add(s.will_come_back(), 'C');
  add(s.has_ended(), 'E');
  add(s.is_over(), 'O');
  add(s.is_held_by_state(), 'T');
  return text;
}

struct JobCase {
  std::string_view state, answers;
  Ending ending;
  std::string_view short_text, code;
};

TEST(JobState, AnswersForTheCombinationsThatMatter) {
  const JobCase cases[] = {
      {"PENDING", "P........", Ending::kNone, "PENDING", "PD"},
      {"PENDING,COMPLETING,REQUEUED", "P...H....", Ending::kNone, "COMPLETING", "CG"},
      {"PENDING,REQUEUE_HOLD", "P.......T", Ending::kNone, "REQUEUE_HOLD", "RH"},
      {"PENDING,SPECIAL_EXIT", "P.......T", Ending::kNone, "SPECIAL_EXIT", "SE"},
      {"PENDING,RESV_DEL_HOLD", "P.......T", Ending::kNone, "RESV_DEL_HOLD", "RD"},
      {"PENDING,REVOKED", "P........", Ending::kNone, "REVOKED", "RV"},
      {"RUNNING", "..R.H....", Ending::kNone, "RUNNING", "R"},
      {"RUNNING,CONFIGURING", ".S..H....", Ending::kNone, "CONFIGURING", "CF"},
      {"RUNNING,CONFIGURING,POWER_UP_NODE", ".S..H....", Ending::kNone, "CONFIGURING", "CF"},
      {"RUNNING,RESIZING", "..R.H....", Ending::kNone, "RESIZING", "RS"},
      {"RUNNING,SIGNALING", "..R.H....", Ending::kNone, "SIGNALING", "SI"},
      {"RUNNING,STOPPED", "...UH....", Ending::kNone, "STOPPED", "ST"},
      {"RUNNING,COMPLETING", "....H....", Ending::kNone, "COMPLETING", "CG"},
      {"SUSPENDED", "...UH....", Ending::kNone, "SUSPENDED", "S"},
      {"COMPLETED", "......EO.", Ending::kSuccess, "COMPLETED", "CD"},
      {"COMPLETED,COMPLETING", "....H.E..", Ending::kSuccess, "COMPLETING", "CG"},
      {"COMPLETED,STAGE_OUT", "......EO.", Ending::kSuccess, "STAGE_OUT", "SO"},
      {"CANCELLED", "......EO.", Ending::kPerson, "CANCELLED", "CA"},
      {"CANCELLED,COMPLETING", "....H.E..", Ending::kPerson, "COMPLETING", "CG"},
      {"FAILED", "......EO.", Ending::kItself, "FAILED", "F"},
      {"FAILED,LAUNCH_FAILED", "......EO.", Ending::kCluster, "FAILED", "F"},
      {"FAILED,SPECIAL_EXIT,COMPLETING", "....HC...", Ending::kNone, "COMPLETING", "CG"},
      {"OUT_OF_MEMORY", "......EO.", Ending::kItself, "OUT_OF_MEMORY", "OOM"},
      {"TIMEOUT", "......EO.", Ending::kLimit, "TIMEOUT", "TO"},
      {"DEADLINE", "......EO.", Ending::kLimit, "DEADLINE", "DL"},
      {"NODE_FAIL", "......EO.", Ending::kCluster, "NODE_FAIL", "NF"},
      {"NODE_FAIL,COMPLETING,REQUEUED", "....HC...", Ending::kNone, "COMPLETING", "CG"},
      {"NODE_FAIL,EXPEDITING", ".....C...", Ending::kNone, "EXPEDITING", "NF"},
      {"PREEMPTED,REQUEUED", ".....C...", Ending::kNone, "REQUEUED", "RQ"},
      {"PREEMPTED", "......EO.", Ending::kCluster, "PREEMPTED", "PR"},
      {"BOOT_FAIL", "......EO.", Ending::kCluster, "BOOT_FAIL", "BF"},
      {"CANCELLED,REQUEUE_FED", ".....C...", Ending::kNone, "REQUEUE_FED", "RF"},
  };
  for (const JobCase& c : cases) {
    const JobState state = job(c.state);
    EXPECT_EQ(answers(state), c.answers) << c.state;
    EXPECT_EQ(state.ending(), c.ending) << c.state;
    EXPECT_EQ(state.short_text(), c.short_text) << c.state;
    EXPECT_EQ(state.code(), c.code) << c.state;
  }
}

TEST(JobState, SaysNothingWithoutWord) {
  EXPECT_EQ(answers(JobState()), ".........");
  EXPECT_FALSE(JobState().has_left_queue());
}

TEST(JobState, IsReadFromNamesAndKeepsUnknownOnesApart) {
  json::Reader reader;
  const auto state = json::decode<JobState>(reader, R"(["RUNNING","HIBERNATING"])");
  ASSERT_TRUE(state);
  EXPECT_TRUE(state->is_running());
  EXPECT_THAT(state->names(), ElementsAre("RUNNING", "OTHER"));
  EXPECT_TRUE(json::decode<JobState>(reader, R"(["HIBERNATING"])").value().base() ==
              JobBase::kNone);
}

TEST(JobState, ReadsCodesAndBothSeparators) {
  EXPECT_EQ(job("pd"), JobState(JobBase::kPending));
  EXPECT_EQ(job("RUNNING+CONFIGURING"), JobState(JobBase::kRunning, {JobFlag::kConfiguring}));
  EXPECT_TRUE(job("CG").is_completing());
  EXPECT_FALSE(parse_job_state(""));
  EXPECT_FALSE(parse_job_state("RUNING"));
}

TEST(JobState, IsInOnePhaseAtATime) {
  EXPECT_TRUE(rc::check("phases exclude each other", [] {
    JobState state(static_cast<JobBase>(*rc::gen::inRange(1, 13)));
    for (const int flag : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 16))) {
      state.add(static_cast<JobFlag>(flag));
    }
    RC_ASSERT(parse_job_state(state.to_string()).value() == state);
    RC_ASSERT(state.is_pending() + state.is_starting() + state.is_running() + state.is_suspended() +
                  state.will_come_back() + state.has_ended() <=
              1);
    RC_ASSERT((state.ending() != Ending::kNone) == state.has_ended());
    RC_ASSERT(!(state.is_over() && state.holds_resources()));
  }));
}

}  // namespace
}  // namespace mainspring::slurm
