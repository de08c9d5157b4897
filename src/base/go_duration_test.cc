#include "base/go_duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mainspring {
namespace {

using ::testing::HasSubstr;

TEST(GoDuration, ReadsWhatGoReads) {
  const std::vector<std::pair<std::string, Duration>> cases = {
      {"0", Duration(0)},
      {"-0", Duration(0)},
      {"+0", Duration(0)},
      {"0s", Duration(0)},
      {"5s", seconds(5)},
      {"+5s", seconds(5)},
      {"-5s", seconds(-5)},
      {"300ms", milliseconds(300)},
      {"1us", microseconds(1)},
      {"1\u00B5s", microseconds(1)},
      {"1\u03BCs", microseconds(1)},
      {"1h15m30.918s", hours(1) + minutes(15) + milliseconds(30'918)},
      {"-1.5h", -minutes(90)},
      {".5s", milliseconds(500)},
      {"5.s", seconds(5)},
      {"1m1h1m", hours(1) + minutes(2)},
      {"0.100000000000000000000h", minutes(6)},
      {"0.9223372036854775807h", Duration(3'320'413'933'267)},
      {"0.3333333333333333333h", minutes(20)},
      {"9223372036854775807ns", Duration(INT64_MAX)},
      {"-9223372036854775808ns", Duration(INT64_MIN)},
      {"-2562047h47m16.854775808s", Duration(INT64_MIN)},
      {"2562047h47m16.854775807s", Duration(INT64_MAX)},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(parse_go_duration(text), want) << text;
}

TEST(GoDuration, RefusesWhatGoRefuses) {
  for (const char* bad :
       {"",    "3",   "-",   "+",  "s",    ".",     "-.",     ".s", "+.s",      "1d",
        "1h ", " 1h", "1 h", "1H", "--1s", "1s-1s", "1.2.3s", "1x", "\x85\x85", "1m1"}) {
    auto duration = parse_go_duration(bad);
    ASSERT_FALSE(duration) << bad;
    EXPECT_EQ(duration.error().code(), Code::kInvalid);
  }
  EXPECT_THAT(parse_go_duration("1d").error().message(),
              HasSubstr("duration \"1d\" has the unknown unit \"d\": use ns, us, ms, s, m or h"));
  EXPECT_THAT(parse_go_duration("10").error().message(), HasSubstr("lacks a unit"));
}

TEST(GoDuration, OverflowIsAnError) {
  for (const char* huge :
       {"9223372036854775808ns", "-9223372036854775809ns", "9223372036854775.808us",
        "2562047h47m16.854775808s", "-2562047h47m16.854775809s", "3000000h",
        "99999999999999999999999s", "9223372036854775807ns1ns"}) {
    auto duration = parse_go_duration(huge);
    ASSERT_FALSE(duration) << huge;
    EXPECT_THAT(duration.error().message(), HasSubstr("is longer than 292 years"));
  }
}

TEST(GoDuration, WritesWhatGoWrites) {
  const std::vector<std::pair<Duration, std::string>> cases = {
      {Duration(0), "0s"},
      {Duration(1), "1ns"},
      {Duration(1100), "1.1\u00B5s"},
      {Duration(2'200'000), "2.2ms"},
      {milliseconds(3300), "3.3s"},
      {minutes(4) + seconds(5), "4m5s"},
      {minutes(4) + milliseconds(5001), "4m5.001s"},
      {hours(5) + minutes(6) + milliseconds(7001), "5h6m7.001s"},
      {hours(8), "8h0m0s"},
      {minutes(8) + Duration(1), "8m0.000000001s"},
      {-milliseconds(1500), "-1.5s"},
      {Duration(INT64_MAX), "2562047h47m16.854775807s"},
      {Duration(INT64_MIN), "-2562047h47m16.854775808s"},
  };
  for (const auto& [duration, want] : cases) EXPECT_EQ(format_go_duration(duration), want);
}

TEST(GoDurationProperty, ReadingWhatWasWrittenGivesTheSameDuration) {
  EXPECT_TRUE(rc::check("parse(format(d)) == d", [](std::int64_t count) {
    // Shifted, so that every unit is met and not only centuries.
    const Duration duration(count >> *rc::gen::inRange(0, 63));
    RC_ASSERT(parse_go_duration(format_go_duration(duration)) == duration);
  }));
}

}  // namespace
}  // namespace mainspring
