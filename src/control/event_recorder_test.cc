// control/event_recorder_test.cc
#include "control/event_recorder.h"

#include <gmock/gmock.h>

#include "control/scripted_api.h"
#include "net/task_group.h"

namespace mainspring::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kCollection = "POST /apis/events.k8s.io/v1/namespaces/ns/events";

struct EventRecorderTest : ::testing::Test, ScriptedClient {
  EventRecorderTest() {
    api.otherwise = [](const http::Request&) { return http::json_response(201, "{}"); };
  }
  void start() { group.spawn(recorder.run()); }
  void happen(const std::string& note = "drained", std::string ns = "ns") {
    recorder.event({"v1", "Pod", std::move(ns), "gpu", "u"}, EventType::kNormal, "Drained",
                   "Draining", note);
  }
  std::string metrics_text() const { return metrics.to_text(); }

  Metrics metrics;
  std::shared_ptr<MemoryLogSink> lines = std::make_shared<MemoryLogSink>();
  EventRecorder recorder{client,
                         {.controller = "example.com/test",
                          .instance = "pod-0",
                          .queue = 3,
                          .log = Logger({.clock = &executor.clock(), .sink = lines}),
                          .metrics = &metrics}};
  net::TaskGroup group{executor};
};

TEST_F(EventRecorderTest, WritesInTheBackground) {
  start();
  happen();
  EXPECT_THAT(api.calls(), IsEmpty()) << "the caller does not wait";
  executor.run_ready();
  EXPECT_THAT(api.calls(), ElementsAre(kCollection));
}

TEST_F(EventRecorderTest, EventsOfClusterWideObjectsAreInDefault) {
  start();
  happen("drained", "");
  executor.run_ready();
  EXPECT_THAT(api.calls(), ElementsAre("POST /apis/events.k8s.io/v1/namespaces/default/events"));
}

TEST_F(EventRecorderTest, RepetitionsPatchTheSameEvent) {
  start();
  happen();
  executor.run_ready();
  happen();
  executor.run_ready();
  for (int i = 0; i < 4; ++i) happen();
  executor.run_ready();
  ASSERT_EQ(api.requests.size(), 2U);
  const json::Value created = api.body(0);
  const std::string name(*created.at_pointer("/metadata/name")->as_string());
  EXPECT_EQ(api.calls()[1], "PATCH /apis/events.k8s.io/v1/namespaces/ns/events/" + name);
  executor.advance(minutes(10));
  ASSERT_EQ(api.requests.size(), 3U) << "the last count, when the series is over";
  EXPECT_EQ(*api.body(2).at_pointer("/series/count"), json::Value(6));
  executor.advance(hours(2));
  EXPECT_EQ(api.requests.size(), 3U);
}

TEST_F(EventRecorderTest, RepetitionsBeforeTheFirstWriteNeedNoSecondOne) {
  happen();
  happen();
  start();
  executor.run_ready();
  ASSERT_EQ(api.requests.size(), 1U);
  EXPECT_EQ(*api.body(0).at_pointer("/series/count"), json::Value(2));
}

TEST_F(EventRecorderTest, ASeriesOutlivesItsObject) {
  start();
  happen();
  executor.run_ready();
  api.refuse(404, "NotFound");
  happen();
  executor.run_ready();
  ASSERT_EQ(api.requests.size(), 3U);
  EXPECT_EQ(api.calls()[2], kCollection);
  EXPECT_EQ(*api.body(2).at_pointer("/series/count"), json::Value(2));
}

TEST_F(EventRecorderTest, AFailureIsTriedAgainUnderTheSameName) {
  start();
  api.reply(503, "{}");
  api.refuse(409, "AlreadyExists");
  happen();
  executor.advance(minutes(1));
  ASSERT_EQ(api.requests.size(), 2U);
  EXPECT_EQ(api.body(0), api.body(1));
  EXPECT_THAT(lines->lines(), IsEmpty());
}

TEST_F(EventRecorderTest, WhatCannotBeWrittenIsCountedAndLogged) {
  start();
  api.refuse(403, "Forbidden");
  happen();
  executor.run_ready();
  EXPECT_THAT(metrics_text(), HasSubstr(R"(mainspring_events_lost_total{cause="refused"} 1)"));
  ASSERT_EQ(lines->lines().size(), 1U);
  EXPECT_THAT(lines->lines()[0], HasSubstr(R"("object":"ns/gpu")"));
  happen();
  executor.run_ready();
  EXPECT_EQ(api.requests.size(), 2U) << "the next time is a new try";
}

TEST_F(EventRecorderTest, EventsOfAGoingNamespaceAreDroppedSilently) {
  start();
  api.refuse(403, "Forbidden", "NamespaceTerminating");
  happen("a");
  api.refuse(404, "NotFound");
  happen("b");
  executor.run_ready();
  EXPECT_EQ(api.requests.size(), 2U);
  EXPECT_THAT(lines->lines(), IsEmpty());
}

TEST_F(EventRecorderTest, AFullQueueLosesTheNewestAndSaysSoOnce) {
  for (const char* note : {"a", "b", "c", "d", "e"}) happen(note);
  EXPECT_EQ(lines->lines().size(), 1U);
  EXPECT_THAT(metrics_text(), HasSubstr(R"(mainspring_events_lost_total{cause="queue full"} 2)"));
  start();
  executor.run_ready();
  EXPECT_EQ(api.requests.size(), 3U);
}

TEST_F(EventRecorderTest, AnInvalidReasonIsNotSent) {
  start();
  recorder.event({"v1", "Pod", "ns", "gpu", "u"}, EventType::kNormal, "", "Draining", "x");
  recorder.event({"v1", "Pod", "ns", "gpu", "u"}, EventType::kNormal, std::string(129, 'x'), "A",
                 "x");
  executor.run_ready();
  EXPECT_THAT(api.calls(), IsEmpty());
  EXPECT_EQ(lines->lines().size(), 2U);
}

TEST_F(EventRecorderTest, FlushWritesWhatIsLeftAfterRunWasCancelled) {
  start();
  api.latency = seconds(1);
  happen("a");
  happen("b");
  executor.run_ready();
  group.cancel();
  EXPECT_FALSE(executor.run(group.join()));
  api.requests.clear();
  ASSERT_TRUE(executor.run(recorder.flush(seconds(5))));
  EXPECT_EQ(api.requests.size(), 2U) << "also the one that was under way";
  EXPECT_THAT(lines->lines(), IsEmpty());
}

TEST_F(EventRecorderTest, FlushWritesTheLastCounts) {
  start();
  happen();
  executor.run_ready();
  happen();
  executor.run_ready();
  happen();
  group.cancel();
  EXPECT_FALSE(executor.run(group.join()));
  ASSERT_TRUE(executor.run(recorder.flush(seconds(5))));
  ASSERT_EQ(api.requests.size(), 3U);
  EXPECT_EQ(*api.body(2).at_pointer("/series/count"), json::Value(3));
}

TEST_F(EventRecorderTest, FlushEndsInTime) {
  happen("a");
  happen("b");
  api.latency = hours(1);
  const TimePoint start = executor.now();
  executor.run(recorder.flush(seconds(5)));
  EXPECT_EQ(executor.now() - start, seconds(5));
  EXPECT_THAT(metrics_text(), HasSubstr(R"(mainspring_events_lost_total{cause="shutdown"} 2)"));
}

}  // namespace
}  // namespace mainspring::control
