// operator/nodeset/reservation_test.cc
#include "operator/nodeset/reservation.h"

#include <gmock/gmock.h>

#include "base/rfc3339.h"

namespace mainspring::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ReservationPlan::Kind;

WallTime at(std::string_view text) { return *parse_rfc3339(text); }
std::int64_t second(std::string_view text) {
  return std::chrono::floor<seconds>(at(text)).time_since_epoch().count();
}

const WallTime kNow = at("2026-11-16T09:00:00Z");  // A Monday.
const std::vector<std::string> kNodes = {"gpu-1", "gpu-0", "gpu-2"};

api::NodeSet scheduled(std::string_view start, std::vector<std::string> flags = {}) {
  api::NodeSet nodeset;
  nodeset.meta.name = "gpu";
  nodeset.spec.replicas = 3;
  nodeset.spec.update_type = api::UpdateType::kScheduledUpdate;
  nodeset.spec.scheduled_update = {.start_time = at(start), .duration = "30m", .flags = flags};
  return nodeset;
}

slurm::Reservation live(std::string_view start, std::initializer_list<std::string_view> flags = {
                                                    "MAINT", "IGNORE_JOBS", "SPEC_NODES"}) {
  slurm::Reservation made;
  made.name = "SlurmOperatorMaint-gpu";
  made.nodes = "gpu-[0-2]";
  made.users = "slurm";
  made.flags = flags;
  made.start_time = second(start);
  made.end_time = second(start) + 30 * 60;
  return made;
}

TEST(Reservation, IsMadeForAStartInTheFuture) {
  const auto plan =
      plan_reservation(scheduled("2026-11-17T01:00:00Z", {"flex"}), nullptr, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kCreate);
  EXPECT_TRUE(plan.wants_finalizer);
  EXPECT_EQ(plan.problem, "");
  EXPECT_EQ(plan.spec.name, "SlurmOperatorMaint-gpu");
  EXPECT_THAT(plan.spec.nodes, ElementsAre("gpu-[0-2]"));
  EXPECT_THAT(plan.spec.users, ElementsAre("slurm"));
  EXPECT_THAT(plan.spec.flags, ElementsAre("FLEX", "IGNORE_JOBS", "MAINT"));
  EXPECT_EQ(plan.spec.start_time, second("2026-11-17T01:00:00Z"));
  EXPECT_EQ(plan.spec.duration, 30);
}

TEST(Reservation, OnceMadeIsLeftAlone) {
  const auto is = live("2026-11-17T01:00:00Z");
  const auto plan = plan_reservation(scheduled("2026-11-17T01:00:00Z"), &is, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kNothing);
  EXPECT_TRUE(plan.wants_finalizer);
}

TEST(Reservation, APastStartIsReportedAndNeitherMadeNorGivenAFinalizer) {
  const auto plan = plan_reservation(scheduled("2026-11-16T08:59:00Z"), nullptr, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kNothing);
  EXPECT_FALSE(plan.wants_finalizer);
  EXPECT_THAT(plan.problem, HasSubstr("startTime: 2026-11-16T08:59:00Z is in the past"));
  EXPECT_THAT(plan.problem, HasSubstr("FORCE_START"));
  EXPECT_TRUE(plan.over);
}

// slurmctld refuses FORCE_START for a reservation that does not repeat.
TEST(Reservation, ForceStartEntersAWindowThatIsNotOverYetAndNoOther) {
  const auto open =
      plan_reservation(scheduled("2026-11-16T08:45:00Z", {"force_start"}), nullptr, kNodes, kNow);
  EXPECT_EQ(open.kind, Kind::kCreate);
  EXPECT_EQ(open.spec.start_time, second("2026-11-16T09:00:00Z"));
  EXPECT_EQ(open.spec.duration, 15);
  EXPECT_THAT(open.spec.flags, ElementsAre("IGNORE_JOBS", "MAINT"));
  const auto over =
      plan_reservation(scheduled("2026-11-16T08:30:00Z", {"FORCE_START"}), nullptr, kNodes, kNow);
  EXPECT_EQ(over.kind, Kind::kNothing);
  EXPECT_NE(over.problem, "");
}

TEST(Reservation, ForceStartEntersTheOpenTurnOfARepeatingOne) {
  const auto open = plan_reservation(scheduled("2026-11-02T08:45:00Z", {"DAILY", "FORCE_START"}),
                                     nullptr, kNodes, kNow);
  EXPECT_EQ(open.spec.start_time, second("2026-11-16T08:45:00Z"));
  EXPECT_EQ(open.spec.duration, 30);
  EXPECT_THAT(open.spec.flags, ElementsAre("DAILY", "FORCE_START", "IGNORE_JOBS", "MAINT"));
  const auto over = plan_reservation(scheduled("2026-11-02T08:30:00Z", {"DAILY", "FORCE_START"}),
                                     nullptr, kNodes, kNow);
  EXPECT_EQ(over.spec.start_time, second("2026-11-17T08:30:00Z"));
}

TEST(Reservation, BeforeItsWindowNodesStartAndDurationFollowTheSpec) {
  auto is = live("2026-11-17T01:00:00Z");
  is.nodes = "gpu-[0-1]";
  auto plan = plan_reservation(scheduled("2026-11-17T01:00:00Z"), &is, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kUpdate);
  EXPECT_EQ(plan.spec.name, "SlurmOperatorMaint-gpu");
  EXPECT_THAT(plan.spec.nodes, ElementsAre("gpu-[0-2]"));
  EXPECT_FALSE(plan.spec.start_time.set());
  EXPECT_FALSE(plan.spec.duration.set());
  EXPECT_THAT(plan.spec.flags, IsEmpty());

  is = live("2026-11-17T01:00:00Z");
  plan = plan_reservation(scheduled("2026-11-18T01:00:00Z"), &is, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kUpdate);
  EXPECT_EQ(plan.spec.start_time, second("2026-11-18T01:00:00Z"));
  EXPECT_EQ(plan.spec.duration, 30);
  EXPECT_THAT(plan.spec.nodes, IsEmpty());

  auto longer = scheduled("2026-11-17T01:00:00Z");
  longer.spec.scheduled_update->duration = "1h0m1s";
  plan = plan_reservation(longer, &is, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kUpdate);
  EXPECT_EQ(plan.spec.duration, 61);
}

TEST(Reservation, InsideItsWindowOnlyTheNodesChange) {
  auto is = live("2026-11-16T08:50:00Z");
  EXPECT_EQ(plan_reservation(scheduled("2026-11-20T01:00:00Z", {"DAILY"}), &is, kNodes, kNow).kind,
            Kind::kNothing);
  is.nodes = "gpu-0";
  const auto plan = plan_reservation(scheduled("2026-11-20T01:00:00Z"), &is, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kUpdate);
  EXPECT_THAT(plan.spec.nodes, ElementsAre("gpu-[0-2]"));
  EXPECT_FALSE(plan.spec.start_time.set());
  EXPECT_FALSE(plan.spec.duration.set());
}

TEST(Reservation, ARepeatingOneKeepsTheStartThatSlurmAdvanced) {
  const auto daily = live("2026-11-17T01:00:00Z", {"MAINT", "IGNORE_JOBS", "DAILY", "SPEC_NODES"});
  auto nodeset = scheduled("2026-11-02T01:00:00Z", {"DAILY"});
  EXPECT_EQ(plan_reservation(nodeset, &daily, kNodes, kNow).kind, Kind::kNothing);

  nodeset = scheduled("2026-11-02T02:00:00Z", {"DAILY"});
  const auto moved = plan_reservation(nodeset, &daily, kNodes, kNow);
  EXPECT_EQ(moved.kind, Kind::kUpdate);
  EXPECT_EQ(moved.spec.start_time, second("2026-11-17T02:00:00Z"));
}

TEST(Reservation, ARepeatingOneThatWasLostIsMadeForItsNextTurn) {
  const auto start_of = [](std::string_view start, const char* flag) {
    const auto plan = plan_reservation(scheduled(start, {flag}), nullptr, kNodes, kNow);
    EXPECT_EQ(plan.kind, Kind::kCreate) << flag;
    return plan.spec.start_time.value_or(0);
  };
  EXPECT_EQ(start_of("2026-11-02T08:10:00Z", "HOURLY"), second("2026-11-16T09:10:00Z"));
  EXPECT_EQ(start_of("2026-11-02T09:00:00Z", "DAILY"), second("2026-11-17T09:00:00Z"));
  EXPECT_EQ(start_of("2026-11-02T08:00:00Z", "WEEKLY"), second("2026-11-23T08:00:00Z"));
  EXPECT_EQ(start_of("2026-11-02T08:00:00Z", "WEEKDAY"), second("2026-11-17T08:00:00Z"));
  EXPECT_EQ(start_of("2026-11-01T08:00:00Z", "WEEKEND"), second("2026-11-21T08:00:00Z"));
}

TEST(Reservation, AnotherRecurrenceNeedsANewOne) {
  const auto daily = live("2026-11-17T01:00:00Z", {"MAINT", "IGNORE_JOBS", "DAILY", "SPEC_NODES"});
  const auto plan =
      plan_reservation(scheduled("2026-11-17T01:00:00Z", {"WEEKLY"}), &daily, kNodes, kNow);
  EXPECT_EQ(plan.kind, Kind::kDelete);
  EXPECT_TRUE(plan.wants_finalizer);
}

TEST(Reservation, GoesWithTheStrategyTheReplicasAndTheNodeSet) {
  const auto is = live("2026-11-17T01:00:00Z");
  auto rolling = scheduled("2026-11-17T01:00:00Z");
  rolling.spec.update_type = api::UpdateType::kRollingUpdate;
  auto empty = scheduled("2026-11-17T01:00:00Z");
  empty.spec.replicas = 0;
  auto deleted = scheduled("2026-11-17T01:00:00Z");
  deleted.meta.deletion = kNow;
  for (const api::NodeSet& nodeset : {rolling, empty, deleted}) {
    const auto plan = plan_reservation(nodeset, &is, kNodes, kNow);
    EXPECT_EQ(plan.kind, Kind::kDelete);
    EXPECT_TRUE(plan.wants_finalizer) << "until it is gone";
    EXPECT_FALSE(plan_reservation(nodeset, nullptr, kNodes, kNow).wants_finalizer);
  }
}

TEST(Reservation, WithoutRegisteredNodesNothingIsTouched) {
  const auto is = live("2026-11-17T01:00:00Z");
  EXPECT_EQ(plan_reservation(scheduled("2026-11-18T01:00:00Z"), &is, {}, kNow).kind,
            Kind::kNothing);
  const auto none = plan_reservation(scheduled("2026-11-18T01:00:00Z"), nullptr, {}, kNow);
  EXPECT_EQ(none.kind, Kind::kNothing);
  EXPECT_FALSE(none.wants_finalizer);
}

TEST(Reservation, WhatCannotBeReadIsReportedWithItsField) {
  auto nodeset = scheduled("2026-11-17T01:00:00Z", {"DAILY,WEEKLY"});
  EXPECT_THAT(plan_reservation(nodeset, nullptr, kNodes, kNow).problem,
              HasSubstr("scheduledUpdate.flags: \"DAILY,WEEKLY\""));
  nodeset = scheduled("2026-11-17T01:00:00Z");
  nodeset.spec.scheduled_update->duration = "59s";
  EXPECT_THAT(plan_reservation(nodeset, nullptr, kNodes, kNow).problem,
              HasSubstr("scheduledUpdate.duration: \"59s\""));
}

// An object may be older than the rule that refuses it; with both days of all weeks excluded there
// is no next turn to look for.
TEST(Reservation, ThatRepeatsInTwoWaysIsReportedAndNeitherMadeNorChanged) {
  const auto both = scheduled("2026-11-02T08:00:00Z", {"WEEKDAY", "weekend"});
  const auto none = plan_reservation(both, nullptr, kNodes, kNow);
  EXPECT_EQ(none.kind, Kind::kNothing);
  EXPECT_FALSE(none.wants_finalizer);
  EXPECT_THAT(none.problem, HasSubstr("scheduledUpdate.flags: \"WEEKDAY\" and \"WEEKEND\""));
  const auto is = live("2026-11-17T01:00:00Z", {"MAINT", "IGNORE_JOBS", "WEEKDAY"});
  const auto there = plan_reservation(both, &is, kNodes, kNow);
  EXPECT_EQ(there.kind, Kind::kNothing);
  EXPECT_TRUE(there.wants_finalizer);
}

// Whatever the start, a plan that was carried out leaves nothing to do: no loop feeds itself.
TEST(Reservation, APlanCarriedOutLeavesNothingToDo) {
  for (const char* flag :
       {"OVERLAP", "HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND", "FORCE_START"}) {
    for (const char* start : {"2026-11-02T08:10:00Z", "2026-11-16T09:00:00Z",
                              "2026-11-16T08:45:00Z", "2026-11-17T01:00:00Z"}) {
      const auto nodeset = scheduled(start, {flag});
      const auto first = plan_reservation(nodeset, nullptr, kNodes, kNow);
      if (first.kind != Kind::kCreate) continue;
      slurm::Reservation made;
      made.nodes = first.spec.nodes[0];
      made.flags = json::StringList(first.spec.flags.size(), [&](std::size_t i) {
        return std::string_view(first.spec.flags[i]);
      });
      made.start_time = first.spec.start_time;
      made.end_time = first.spec.start_time.value_or(0) + first.spec.duration.value_or(0) * 60;
      EXPECT_EQ(plan_reservation(nodeset, &made, kNodes, kNow).kind, Kind::kNothing)
          << flag << " " << start;
    }
  }
}

}  // namespace
}  // namespace mainspring::op
