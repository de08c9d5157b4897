#include "base/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace mainspring {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, CountersGaugesAndHistogramsAppearInTheTextFormat) {
  Metrics metrics;
  const Counter calls = metrics.counter("calls_total", "Calls made.", {{"verb", "get"}});
  calls.add();
  calls.add(2);
  const Gauge depth = metrics.gauge("depth", "Keys waiting.");
  depth.set(5);
  depth.add(-1.5);
  const Histogram times = metrics.histogram("time_seconds", "Time taken.", {0.1, 1});
  times.observe(0.05);
  times.observe(0.5);
  times.observe(7);
  EXPECT_EQ(metrics.to_text(),
            "# HELP calls_total Calls made.\n"
            "# TYPE calls_total counter\n"
            "calls_total{verb=\"get\"} 3\n"
            "# HELP depth Keys waiting.\n"
            "# TYPE depth gauge\n"
            "depth 3.5\n"
            "# HELP time_seconds Time taken.\n"
            "# TYPE time_seconds histogram\n"
            "time_seconds_count 3\n"
            "time_seconds_sum 7.55\n"
            "time_seconds_bucket{le=\"0.1\"} 1\n"
            "time_seconds_bucket{le=\"1\"} 2\n"
            "time_seconds_bucket{le=\"+Inf\"} 3\n");
}

TEST(Metrics, LinesAreSortedByNameAndLabels) {
  Metrics metrics;
  metrics.gauge("b", "", {{"x", "2"}}).set(1);
  metrics.gauge("b", "", {{"x", "1"}}).set(1);
  metrics.counter("a", "").add();
  const std::string text = metrics.to_text();
  EXPECT_LT(text.find("\na "), text.find("b{x=\"1\"}"));
  EXPECT_LT(text.find("b{x=\"1\"}"), text.find("b{x=\"2\"}"));
}

TEST(Metrics, TheSameNameAndLabelsAreTheSameNumber) {
  Metrics metrics;
  metrics.counter("calls_total", "Calls made.").add();
  metrics.counter("calls_total", "Calls made.").add();
  EXPECT_THAT(metrics.to_text(), HasSubstr("calls_total 2\n"));
}

TEST(Metrics, ACounterNeverGoesDown) {
  Metrics metrics;
  const Counter calls = metrics.counter("calls_total", "");
  calls.add(3);
  calls.add(-2);
  EXPECT_THAT(metrics.to_text(), HasSubstr("calls_total 3\n"));
}

TEST(Metrics, AHandleOfNothingAndARefusedNameDoNothing) {
  Counter().add();
  Gauge().set(1);
  Gauge().add(1);
  Histogram().observe(1);
  Metrics metrics;
  metrics.counter("not a name", "").add();
  metrics.counter("calls_total", "").add();
  metrics.gauge("calls_total", "").set(7);
  metrics.gauge("depth", "", {{"not a label", "x"}}).set(1);
  const std::string text = metrics.to_text();
  EXPECT_THAT(text, Not(HasSubstr("not a name")));
  EXPECT_THAT(text, HasSubstr("calls_total 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("not a label")));
}

TEST(Metrics, LabelValuesAreEscaped) {
  Metrics metrics;
  metrics.gauge("depth", "", {{"name", "a\"b\\c\nd"}}).set(1);
  EXPECT_THAT(metrics.to_text(), HasSubstr(R"(depth{name="a\"b\\c\nd"} 1)"));
}

TEST(Metrics, ARefreshRunsBeforeTheTextIsWrittenAndOnlyWhileItLives) {
  Metrics metrics;
  const Gauge age = metrics.gauge("age", "");
  int calls = 0;
  {
    Metrics::Refresh refresh = metrics.before_text([&] { age.set(++calls); });
    const Metrics::Refresh moved = std::move(refresh);
    EXPECT_THAT(metrics.to_text(), HasSubstr("age 1\n"));
    EXPECT_THAT(metrics.to_text(), HasSubstr("age 2\n"));
  }
  EXPECT_THAT(metrics.to_text(), HasSubstr("age 2\n"));
}

TEST(Metrics, OneThreadCountsWhileAnotherReads) {
  Metrics metrics;
  const Counter calls = metrics.counter("calls_total", "");
  const Histogram times = metrics.histogram("time_seconds", "", {1});
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) (void)metrics.to_text();
  });
  for (int i = 0; i < 10'000; ++i) {
    calls.add();
    times.observe(0.5);
  }
  stop = true;
  reader.join();
  EXPECT_THAT(metrics.to_text(), HasSubstr("calls_total 10000\n"));
  EXPECT_THAT(metrics.to_text(), HasSubstr("time_seconds_count 10000\n"));
}

}  // namespace
}  // namespace mainspring
