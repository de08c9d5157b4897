#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>
#include <thread>

#include "base/log_stderr.h"
#include "base/text.h"

namespace mainspring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class LogTest : public testing::Test {
 protected:
  Logger logger(LogFormat format = LogFormat::kJson, LogLevel level = LogLevel::kDebug) const {
    return Logger({&clock_, sink_, format, level});
  }
  std::string last() const { return sink_->lines().back(); }

  ManualClock clock_{WallTime(seconds(1'794'733'200))};
  std::shared_ptr<MemoryLogSink> sink_ = std::make_shared<MemoryLogSink>();
};

// Only what a JSON string needs: enough to see that a line is one valid value.
bool is_json_object_line(std::string_view line) {
  if (!line.starts_with('{') || !line.ends_with('}') || !is_valid_utf8(line)) return false;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (static_cast<unsigned char>(line[i]) < 0x20) return false;
    if (line[i] == '"') inside = !inside;
    if (line[i] != '\\') continue;
    if (!inside || ++i == line.size()) return false;
    if (std::string_view("\"\\nrtu").find(line[i]) == std::string_view::npos) return false;
  }
  return !inside;
}

TEST_F(LogTest, AJsonLineHasTimeLevelMessageAndTypedFields) {
  const std::string name = "gpu-0";
  logger().warn("node drained", {{"node", name},
                                 {"jobs", 3},
                                 {"big", std::uint64_t{18446744073709551615U}},
                                 {"share", 0.25},
                                 {"forced", false},
                                 {"waited", milliseconds(1500)}});
  EXPECT_EQ(last(),
            R"({"ts":"2026-11-15T09:00:00.000000Z","level":"warn","msg":"node drained",)"
            R"("node":"gpu-0","jobs":3,"big":18446744073709551615,"share":0.25,"forced":false,)"
            R"("waited":"1.5s"})");
}

TEST_F(LogTest, AnErrorFieldCarriesItsCode) {
  const Error error = Error(Code::kTransient, "connection refused").with_context("listing pods");
  logger().error("sync failed", {{"error", error}});
  EXPECT_THAT(last(),
              HasSubstr(R"("error":"listing pods: connection refused","error_code":"transient"})"));
}

TEST_F(LogTest, TheTimeIsThatOfTheClockHandedIn) {
  const Logger log = logger();
  clock_.advance(hours(24) + microseconds(5));
  log.info("tomorrow");
  EXPECT_THAT(last(), HasSubstr(R"("ts":"2026-11-16T09:00:00.000005Z")"));
}

TEST_F(LogTest, ATextLineReadsLikeASentence) {
  logger(LogFormat::kText)
      .with({{"cluster", "a"}})
      .info("node drained", {{"node", "gpu-0"}, {"reason", "by hand"}, {"empty", ""}, {"n", 1}});
  EXPECT_EQ(last(),
            "2026-11-15T09:00:00.000Z INFO  node drained cluster=a node=gpu-0 reason=\"by hand\" "
            "empty=\"\" n=1");
  logger(LogFormat::kColor).error("failed");
  EXPECT_EQ(last(), "2026-11-15T09:00:00.000Z \x1b[31mERROR\x1b[0m failed");
}

TEST_F(LogTest, FixedFieldsAreCarriedAndAddedTo) {
  const Logger root = logger();
  const Logger cluster = root.with({{"cluster", "a"}});
  const Logger node = cluster.with({{"node", "n1"}, {"n", 2}});
  root.info("x");
  EXPECT_THAT(last(), Not(HasSubstr("cluster")));
  cluster.info("x");
  EXPECT_THAT(last(), HasSubstr(R"("msg":"x","cluster":"a"})"));
  node.info("x", {{"own", true}});
  EXPECT_THAT(last(), HasSubstr(R"("msg":"x","cluster":"a","node":"n1","n":2,"own":true})"));
}

TEST_F(LogTest, WritesOnlyFromItsLevelUp) {
  Logger log = logger(LogFormat::kText, LogLevel::kWarn);
  log.debug("d");
  log.info("i");
  EXPECT_THAT(sink_->lines(), IsEmpty());
  log.warn("w");
  log.error("e");
  EXPECT_THAT(sink_->lines(), ElementsAre(HasSubstr("WARN  w"), HasSubstr("ERROR e")));
}

TEST_F(LogTest, TheLevelIsSharedByAllThatCameFromOneRoot) {
  Logger root = logger();
  const Logger child = root.with({{"a", 1}});
  root.set_level(LogLevel::kOff);
  EXPECT_FALSE(child.enabled(LogLevel::kError));
  child.error("e");
  child.log(LogLevel::kOff, "off is not a level to write at");
  EXPECT_THAT(sink_->lines(), IsEmpty());
  root.set_level(LogLevel::kDebug);
  EXPECT_TRUE(child.enabled(LogLevel::kDebug));
}

TEST_F(LogTest, ADefaultLoggerIsSilent) {
  Logger silent;
  silent.set_level(LogLevel::kDebug);
  silent.with({{"a", 1}}).error("nobody hears this");
  EXPECT_FALSE(silent.enabled(LogLevel::kError));
  EXPECT_FALSE(Logger({&clock_, nullptr}).enabled(LogLevel::kError));
}

TEST_F(LogTest, ASecretIsNeverWritten) {
  const Secret token("hunter2");
  for (const LogFormat format : {LogFormat::kJson, LogFormat::kText}) {
    logger(format).with({{"fixed", token}}).info("x", {{"token", token}});
    EXPECT_THAT(last(), HasSubstr("<redacted>"));
    EXPECT_THAT(last(), Not(HasSubstr("hunter2")));
  }
}

TEST_F(LogTest, ControlCharactersAndBrokenUtf8StayInsideOneValidLine) {
  logger().info("a\"b\\c\nd\x1b[31m\x7F\xC2\x9B\xFF gr\xC3\xBC\xC3\x9F");
  EXPECT_THAT(last(), HasSubstr("\"msg\":\"a\\\"b\\\\c\\nd\\u001b[31m\\u007f\\u009b\xEF\xBF\xBD "
                                "gr\xC3\xBC\xC3\x9F\""));
  logger(LogFormat::kText).info("a\x1b[31m\nb", {{"k\n", "\x1b]0;title\x07"}});
  EXPECT_THAT(last(), HasSubstr("a\\u001b[31m\\nb \"k\\n\"=\"\\u001b]0;title\\u0007\""));
}

TEST_F(LogTest, AnyBytesGiveOneJsonLine) {
  EXPECT_TRUE(
      rc::check("every line is valid",
                [&](const std::string& message, const std::string& key, const std::string& value) {
                  logger().with({{key, value}}).info(message, {{key, value}});
                  RC_ASSERT(is_json_object_line(last()));
                }));
}

TEST_F(LogTest, NumbersThatJsonLacksBecomeStrings) {
  logger().info("x", {{"a", std::nan("")}, {"b", -std::numeric_limits<double>::infinity()}});
  EXPECT_THAT(last(), HasSubstr(R"("a":"nan","b":"-inf")"));
  logger().info("x", {{"tiny", 5e-324}, {"huge", 1.7976931348623157e308}});
  EXPECT_THAT(last(), HasSubstr(R"("tiny":5e-324,"huge":1.7976931348623157e+308)"));
}

TEST_F(LogTest, AFieldCannotPassForTheTimeTheLevelOrTheMessage) {
  logger().info("x", {{"msg", "y"}, {"ts", 1}, {"level", "error"}});
  EXPECT_THAT(last(), HasSubstr(R"("msg":"x","msg_":"y","ts_":1,"level_":"error"})"));
}

TEST_F(LogTest, ManyThreadsShareOneSink) {
  Logger log = logger();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([log, t]() mutable {
      const Logger mine = log.with({{"thread", t}});
      for (int i = 0; i < 250; ++i) mine.info("x", {{"i", i}});
      log.set_level(LogLevel::kInfo);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(sink_->lines(), SizeIs(1000));
  for (const std::string& line : sink_->lines()) EXPECT_TRUE(is_json_object_line(line)) << line;
}

TEST(LogLevel, IsReadByName) {
  EXPECT_EQ(parse_log_level("WARN"), LogLevel::kWarn);
  EXPECT_EQ(parse_log_level("off"), LogLevel::kOff);
  EXPECT_THAT(parse_log_level("loud").error().message(),
              HasSubstr("\"loud\" is not known: use debug, info, warn, error or off"));
}

TEST(LogStderr, WritesOneLineAndJsonWhereNobodyWatches) {
  testing::internal::CaptureStderr();
  const ManualClock clock(WallTime(seconds(1'794'733'200)));
  Logger({&clock, stderr_log_sink(), log_format_for_stderr()}).info("50% done {}", {{"a", 1}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "{\"ts\":\"2026-11-15T09:00:00.000000Z\",\"level\":\"info\",\"msg\":\"50% done {}\","
            "\"a\":1}\n");
}

}  // namespace
}  // namespace mainspring
