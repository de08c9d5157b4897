// control/event_series_test.cc
#include "control/event_series.h"

#include <gmock/gmock.h>

#include "base/text.h"

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Event drained(std::string note = "node gpu-0 is drained", std::string name = "gpu") {
  return {.regarding = {"v1", "Pod", "ns", std::move(name), "u"},
          .reason = "Drained",
          .action = "Draining",
          .note = std::move(note)};
}

struct EventSeriesTest : ::testing::Test {
  EventSeries::Record write(EventSeries::Record record) {
    if (record) record->written = record->count;
    return record;
  }
  EventSeries::Record happen(Event event = drained()) {
    return write(series.observe(std::move(event)).write);
  }
  ManualClock clock;
  EventSeries series{clock, {}};
};

TEST_F(EventSeriesTest, ARepetitionIsCountedAndWrittenOnce) {
  const auto first = happen();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->count, 1);
  clock.advance(seconds(30));
  EXPECT_EQ(happen(), first);
  EXPECT_EQ(first->count, 2);
  EXPECT_EQ(first->last, clock.wall_now());
  EXPECT_EQ(happen(), nullptr) << "from now on at most once in six minutes";
  EXPECT_EQ(first->count, 3);
}

TEST_F(EventSeriesTest, ALongSeriesIsWrittenEverySixMinutes) {
  const auto record = happen();
  happen();
  std::size_t writes = 0;
  for (int minute = 0; minute < 18; ++minute) {
    clock.advance(minutes(1));
    happen();
    for (const auto& due : series.due()) (write(due), ++writes);
  }
  EXPECT_EQ(writes, 3U);
  EXPECT_EQ(record->count, 20);
}

TEST_F(EventSeriesTest, ASeriesThatIsOverIsWrittenAndForgotten) {
  const auto record = happen();
  happen();
  happen();
  clock.advance(minutes(5));
  EXPECT_THAT(series.due(), IsEmpty());
  clock.advance(minutes(1));
  EXPECT_THAT(series.due(), ElementsAre(record));
  EXPECT_TRUE(series.empty());
  EXPECT_NE(happen(), record) << "a new event after a quiet time";
}

TEST_F(EventSeriesTest, DifferentThingsAreDifferentEvents) {
  const auto first = happen();
  auto other_reason = drained();
  other_reason.reason = "DrainFailed";
  auto related = drained();
  related.related = ObjectRef{"v1", "Node", "", "n", ""};
  EXPECT_NE(happen(other_reason), first);
  EXPECT_NE(happen(related), first);
  EXPECT_NE(happen(drained("other note")), first);
  EXPECT_NE(happen(drained("node gpu-0 is drained", "cpu")), first);
  EXPECT_EQ(first->count, 1);
}

TEST_F(EventSeriesTest, ManySimilarEventsAreCombined) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(happen(drained("attempt " + std::to_string(i)))->event.note, StartsWith("attempt"));
  }
  const auto combined = happen(drained("attempt 10"));
  EXPECT_EQ(combined->event.note, "(combined from similar events): attempt 10");
  EXPECT_EQ(happen(drained("attempt 11")), combined);
  EXPECT_EQ(happen(drained("attempt 12")), nullptr);
  EXPECT_EQ(combined->count, 3);
  clock.advance(minutes(10));
  EXPECT_EQ(happen(drained("attempt 13"))->event.note, "attempt 13");
}

TEST_F(EventSeriesTest, AnObjectHasABudget) {
  const auto reason = [](int i) {
    Event event = drained();
    event.reason = "Reason" + std::to_string(i);
    return event;
  };
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(happen(reason(i))) << i;
  const auto refused = series.observe(reason(25));
  EXPECT_TRUE(refused.refused);
  EXPECT_TRUE(refused.first_refusal);
  EXPECT_FALSE(series.observe(reason(26)).first_refusal);
  EXPECT_TRUE(happen(drained("", "cpu"))) << "another object has its own";
  clock.advance(minutes(5));
  EXPECT_TRUE(happen(reason(27)));
  EXPECT_TRUE(series.observe(reason(28)).refused);
}

// Twelve pods deleted and made again, one by one, are 28 events: the warning that no more of them
// may be deleted was the 29th.
TEST_F(EventSeriesTest, WhatGoesWellTakesNothingFromWarnings) {
  const auto reason = [](EventType type, int i) {
    Event event = drained();
    event.type = type;
    event.reason = "Reason" + std::to_string(i);
    return event;
  };
  for (int i = 0; i < 100; ++i) happen(reason(EventType::kNormal, i));
  ASSERT_TRUE(series.observe(reason(EventType::kNormal, 100)).refused);
  for (int i = 0; i < 25; ++i) ASSERT_TRUE(happen(reason(EventType::kWarning, i))) << i;
}

TEST_F(EventSeriesTest, TheFirstWarningForAReasonIsNeverRefused) {
  const auto warning = [](std::string reason, int i) {
    Event event = drained("attempt " + std::to_string(i));
    event.type = EventType::kWarning;
    event.reason = std::move(reason);
    return event;
  };
  for (int i = 0; i < 100; ++i) {
    happen(warning("FailedCreate", i));
    happen(warning("FailedDelete", i));
    happen(warning("FailedDrain", i));
  }
  ASSERT_TRUE(series.observe(warning("FailedDrain", 1000)).write == nullptr);
  EXPECT_TRUE(happen(warning("DeletionsLimited", 1)));
  EXPECT_TRUE(series.observe(warning("DeletionsLimited", 2)).refused);
  clock.advance(minutes(10));
  EXPECT_TRUE(happen(warning("DeletionsLimited", 3)));
}

TEST_F(EventSeriesTest, MemoryIsBounded) {
  EventSeries small(clock, {.memory = 4});
  const auto first = write(small.observe(drained("", "pod-0")).write);
  for (int i = 1; i < 100; ++i) write(small.observe(drained("", "pod-" + std::to_string(i))).write);
  const auto again = small.observe(drained("", "pod-0"));
  EXPECT_NE(again.write, first) << "forgotten, so it is a new event";
}

TEST_F(EventSeriesTest, NamesAreValidAndNeverTheSame) {
  const auto a = happen(drained("a"));
  const auto b = happen(drained("b"));
  EXPECT_NE(a->name, b->name);
  EXPECT_THAT(a->name, StartsWith("gpu."));
  for (const std::string& name : {std::string(253, 'x'), std::string("system:node"),
                                  std::string(235, 'x') + "." + std::string(17, 'y')}) {
    const auto record = happen(drained("", name));
    EXPECT_TRUE(is_dns1123_subdomain(record->name)) << record->name;
  }
}

TEST_F(EventSeriesTest, NotesAreCutBetweenCharacters) {
  std::string note;
  for (int i = 0; i < 600; ++i) note += "\u00e9";
  const auto record = happen(drained(note));
  EXPECT_LE(record->event.note.size(), 1024U);
  EXPECT_TRUE(is_valid_utf8(record->event.note));
}

TEST_F(EventSeriesTest, WrittenAsTheApiWantsIt) {
  Event event = drained();
  event.type = EventType::kWarning;
  event.related = ObjectRef{"v1", "Node", "", "n", ""};
  const auto record = happen(event);
  record->name = "gpu.1";
  EXPECT_EQ(json::to_text(to_json(*record, "c", "i")),
            R"({"apiVersion":"events.k8s.io/v1","kind":"Event",)"
            R"("metadata":{"name":"gpu.1","namespace":"ns"},)"
            R"("eventTime":"2023-11-14T22:13:20.000000Z","reportingController":"c",)"
            R"("reportingInstance":"i","type":"Warning","reason":"Drained","action":"Draining",)"
            R"("note":"node gpu-0 is drained","regarding":{"apiVersion":"v1","kind":"Pod",)"
            R"("namespace":"ns","name":"gpu","uid":"u"},)"
            R"("related":{"apiVersion":"v1","kind":"Node","name":"n"}})");
  happen(event);
  EXPECT_EQ(json::to_text(series_patch(*record)),
            R"({"series":{"count":2,"lastObservedTime":"2023-11-14T22:13:20.000000Z"}})");
}

}  // namespace
}  // namespace mainspring::control
