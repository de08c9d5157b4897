#include "base/rfc3339.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <limits>

namespace mainspring {
namespace {

using ::testing::HasSubstr;

WallTime at(std::int64_t unix_seconds, Duration more = Duration::zero()) {
  return WallTime(seconds(unix_seconds) + more);
}

TEST(Rfc3339, ReadsSecondsFractionsAndOffsets) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00Z"), at(0));
  EXPECT_EQ(parse_rfc3339("2026-11-15T09:00:00Z"), at(1794733200));
  EXPECT_EQ(parse_rfc3339("2026-11-15T09:00:00.25Z"), at(1794733200, milliseconds(250)));
  EXPECT_EQ(parse_rfc3339("2026-11-15T09:00:00.123456Z"), at(1794733200, microseconds(123456)));
  EXPECT_EQ(parse_rfc3339("2026-11-15T10:30:00+01:30"), at(1794733200));
  EXPECT_EQ(parse_rfc3339("2026-11-14T23:00:00-10:00"), at(1794733200));
  EXPECT_EQ(parse_rfc3339("2026-11-15T09:00:00-00:00"), at(1794733200));
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z"), at(1709164800));
  EXPECT_EQ(parse_rfc3339("1969-12-31T23:59:59.5Z"), at(0, milliseconds(-500)));
}

TEST(Rfc3339, DropsDigitsBeyondTheNanosecond) {
  EXPECT_EQ(parse_rfc3339("1970-01-01T00:00:00.1234567899999Z"), at(0, Duration(123456789)));
}

TEST(Rfc3339, RefusesWhatIsNotATime) {
  for (const char* bad : {"",
                          "2026-11-15",
                          "2026-11-15T09:00:00",
                          "2026-11-15 09:00:00Z",
                          "2026-11-15t09:00:00Z",
                          "2026-11-15T09:00:00z",
                          "2026-13-01T00:00:00Z",
                          "2026-00-01T00:00:00Z",
                          "2026-02-29T00:00:00Z",
                          "2026-04-31T00:00:00Z",
                          "2026-11-00T00:00:00Z",
                          "2026-11-15T24:00:00Z",
                          "2026-11-15T09:60:00Z",
                          "2026-11-15T09:00:60Z",
                          "2026-11-15T09:00:00.Z",
                          "2026-11-15T09:00:00,5Z",
                          "2026-11-15T09:00:00+0100",
                          "2026-11-15T09:00:00+24:00",
                          "2026-11-15T09:00:00+01:60",
                          "2026-11-15T09:00:00ZZ",
                          " 2026-11-15T09:00:00Z",
                          "2026-11-15T9:00:00Z",
                          "+026-11-15T09:00:00Z",
                          "2026-11-15T09:00:00Z+01:00"}) {
    auto time = parse_rfc3339(bad);
    ASSERT_FALSE(time) << bad;
    EXPECT_EQ(time.error().code(), Code::kInvalid);
    EXPECT_THAT(time.error().message(), HasSubstr("is not an RFC 3339 time"));
  }
}

TEST(Rfc3339, TimesBeyond64BitsAreErrors) {
  EXPECT_EQ(parse_rfc3339("2262-04-11T23:47:16.854775807Z"), WallTime::max());
  EXPECT_EQ(parse_rfc3339("1677-09-21T00:12:43.145224192Z"), WallTime::min());
  for (const char* far :
       {"2262-04-11T23:47:16.854775808Z", "1677-09-21T00:12:43.145224191Z", "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z", "0000-01-01T00:00:00+23:59"}) {
    auto time = parse_rfc3339(far);
    ASSERT_FALSE(time) << far;
    EXPECT_THAT(time.error().message(), HasSubstr("is outside 1677-09-21 to 2262-04-11"));
  }
}

TEST(Rfc3339, WritesEachPrecisionInUtc) {
  const WallTime time = at(1794733200, Duration(123456789));
  EXPECT_EQ(format_rfc3339(time), "2026-11-15T09:00:00Z");
  EXPECT_EQ(format_rfc3339(time, TimePrecision::kMilliseconds), "2026-11-15T09:00:00.123Z");
  EXPECT_EQ(format_rfc3339(time, TimePrecision::kMicroseconds), "2026-11-15T09:00:00.123456Z");
  EXPECT_EQ(format_rfc3339(time, TimePrecision::kNanoseconds), "2026-11-15T09:00:00.123456789Z");
  EXPECT_EQ(format_rfc3339(at(0, Duration(-1))), "1969-12-31T23:59:59Z");
}

TEST(Rfc3339Property, ReadingWhatWasWrittenGivesTheSameTime) {
  EXPECT_TRUE(rc::check("parse(format(t)) == t", [](std::int64_t count) {
    const WallTime time{Duration(count)};
    RC_ASSERT(parse_rfc3339(format_rfc3339(time, TimePrecision::kNanoseconds)) == time);
  }));
  for (const WallTime edge : {WallTime::min(), WallTime::max()}) {
    EXPECT_EQ(parse_rfc3339(format_rfc3339(edge, TimePrecision::kNanoseconds)), edge);
  }
}

}  // namespace
}  // namespace mainspring
