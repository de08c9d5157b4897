// slurm/slurm_time_test.cc
#include "slurm/slurm_time.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/rfc3339.h"

namespace mainspring::slurm {
namespace {

const WallTime kNow = parse_rfc3339("2026-11-15T09:30:00.5Z").value();

std::string time(std::string_view text, seconds offset = seconds(0)) {
  const auto parsed = parse_slurm_time(text, kNow, offset);
  if (!parsed) return "refused";
  return *parsed ? format_rfc3339(**parsed) : "unset";
}

TEST(TimeLimit, ReadsEveryFormOfSlurms) {
  EXPECT_EQ(parse_time_limit("90").value(), Number(90));
  EXPECT_EQ(parse_time_limit("90:30").value(), Number(91));
  EXPECT_EQ(parse_time_limit("1:30:00").value(), Number(90));
  EXPECT_EQ(parse_time_limit("1-12").value(), Number(36 * 60));
  EXPECT_EQ(parse_time_limit("1-12:30").value(), Number(36 * 60 + 30));
  EXPECT_EQ(parse_time_limit("1-12:30:01").value(), Number(36 * 60 + 31));
  EXPECT_EQ(parse_time_limit("infinite").value(), Number::infinite());
  EXPECT_EQ(parse_time_limit("UNLIMITED").value(), Number::infinite());
  EXPECT_EQ(parse_time_limit("NOT_SET").value(), Number());
}

TEST(TimeLimit, RefusesTheRest) {
  for (const std::string_view text :
       {"x", "1:2:3:4", "1-", "-2", "1-2:3:4:5", "1 2", "4294967295", "1::2", "99999999999"}) {
    EXPECT_FALSE(parse_time_limit(text)) << text;
  }
}

TEST(TimeLimit, IsWrittenAsSlurmDoes) {
  EXPECT_EQ(format_time_limit(90), "01:30:00");
  EXPECT_EQ(format_time_limit(36 * 60 + 30), "1-12:30:00");
  EXPECT_EQ(format_time_limit(Number::infinite()), "UNLIMITED");
  EXPECT_EQ(format_time_limit(Number()), "NOT_SET");
}

TEST(TimeLimit, TextAndBack) {
  EXPECT_TRUE(rc::check("parse(format(x)) == x", [] {
    const Number limit = *rc::gen::inRange<std::int64_t>(0, 4'000'000'000);
    RC_ASSERT(parse_time_limit(format_time_limit(limit)).value() == limit);
  }));
}

TEST(SlurmTime, IsSlurmctldsLocalTime) {
  EXPECT_EQ(time("2026-11-15T09:00:00"), "2026-11-15T09:00:00Z");
  EXPECT_EQ(time("2026-11-15T09:00:00", hours(2)), "2026-11-15T07:00:00Z");
  EXPECT_EQ(time("2026-11-15T09:00"), "2026-11-15T09:00:00Z");
  EXPECT_EQ(time("2026-11-15T09:00:00+02:00"), "2026-11-15T07:00:00Z");
  EXPECT_EQ(format_slurm_time(kNow, hours(-1)), "2026-11-15T08:30:00");
}

TEST(SlurmTime, CountsFromNow) {
  EXPECT_EQ(time("now"), "2026-11-15T09:30:00Z");
  EXPECT_EQ(time("now+2hours"), "2026-11-15T11:30:00Z");
  EXPECT_EQ(time("NOW + 3 days"), "2026-11-18T09:30:00Z");
  EXPECT_EQ(time("now+90"), "2026-11-15T09:31:30Z");
  EXPECT_EQ(time("now-1week"), "2026-11-08T09:30:00Z");
  EXPECT_EQ(time("today"), "2026-11-15T00:00:00Z");
  EXPECT_EQ(time("midnight"), "2026-11-16T00:00:00Z");
  EXPECT_EQ(time("tomorrow", hours(-10)), "2026-11-15T10:00:00Z");
  EXPECT_EQ(time("noon"), "2026-11-15T12:00:00Z");
}

TEST(SlurmTime, UnknownIsNoTime) {
  EXPECT_EQ(time("Unknown"), "unset");
  EXPECT_EQ(time("N/A"), "unset");
  EXPECT_EQ(time("None"), "unset");
}

TEST(SlurmTime, RefusesTheRest) {
  for (const std::string_view text :
       {"2026-13-01T00:00:00", "nowhere", "now+", "now+5parsecs", "now+99999999999999",
        "2147483647weeks", "now+2147483647weeks", "2262-04-11T23:47:16", "yesterday"}) {
    EXPECT_EQ(time(text), "refused") << text;
  }
}

}  // namespace
}  // namespace mainspring::slurm
