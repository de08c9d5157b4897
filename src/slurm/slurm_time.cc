// slurm/slurm_time.cc
#include "slurm/slurm_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/rfc3339.h"
#include "base/text.h"

namespace mainspring::slurm {
namespace {

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return equals_ignore_case(text, word); });
}

tl::unexpected<Error> not_a_limit(std::string_view text) {
  return fail(Code::kInvalid, quoted(text) +
                                  " is not a time limit; write minutes, HH:MM:SS, D-HH:MM:SS or "
                                  "UNLIMITED");
}

tl::unexpected<Error> not_a_time(std::string_view text) {
  return fail(Code::kInvalid,
              quoted(text) + " is not a time; write 2026-11-15T09:00:00 or now+2hours");
}

constexpr WallTime kLatest = WallTime(std::chrono::days(366 * 200));
constexpr std::int64_t kMaxLimit = std::numeric_limits<std::uint32_t>::max() - 2;

// seconds, minutes, hours, days, in the words that Slurm knows.
std::optional<std::int64_t> unit_seconds(std::string_view text) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (is_any_of(text, {"", "s", "sec", "secs", "second", "seconds"})) return 1;
  if (is_any_of(text, {"m", "min", "mins", "minute", "minutes"})) return kMinute;
  if (is_any_of(text, {"h", "hour", "hours"})) return kHour;
  if (is_any_of(text, {"d", "day", "days"})) return kDay;
  if (is_any_of(text, {"w", "week", "weeks"})) return 7 * kDay;
  return std::nullopt;
}

// What follows "now": "", "+2hours", "-30".
Result<std::optional<WallTime>> from_now(std::string_view text, std::string_view rest,
                                         WallTime now) {
  rest = trim(rest);
  const auto start = std::chrono::floor<seconds>(now);
  if (rest.empty()) return start;
  const bool back = rest.front() == '-';
  if (!back && rest.front() != '+') return not_a_time(text);
  rest = trim(rest.substr(1));
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const auto count = parse_integer<std::int32_t>(rest.substr(0, digits));
  const auto unit = unit_seconds(trim(rest.substr(digits)));
  // A century: far from where nanoseconds in 64 bits end.
  constexpr std::int64_t kFar = std::int64_t{100} * 366 * 24 * 3600;
  if (!count || !unit || *count > kFar / *unit) return not_a_time(text);
  const seconds delta(*count * *unit);
  return back ? start - delta : start + delta;
}

}  // namespace

Result<Number> parse_time_limit(std::string_view text) {
  if (is_any_of(text, {"INFINITE", "UNLIMITED", "-1"})) return Number::infinite();
  if (is_any_of(text, {"", "NOT_SET", "Partition_Limit", "NONE"})) return Number();
  std::vector<std::int64_t> parts;
  const std::size_t dash = text.find('-');
  const bool with_days = dash != std::string_view::npos;
  const auto add = [&](std::string_view part) {
    const auto number = parse_integer<std::uint32_t>(part);
    if (number) parts.push_back(*number);
    return number.has_value();
  };
  if (with_days && !add(text.substr(0, dash))) return not_a_limit(text);
  for (const std::string_view part : split(text.substr(with_days ? dash + 1 : 0), ':')) {
    if (!add(part)) return not_a_limit(text);
  }
  if (parts.size() > (with_days ? 4U : 3U)) return not_a_limit(text);

  std::int64_t total = 0;
  if (with_days || parts.size() == 3) {
    constexpr std::array<std::int64_t, 4> kUnits = {86400, 3600, 60, 1};
    for (std::size_t i = 0; i < parts.size(); ++i) total += parts[i] * kUnits[i + !with_days];
  } else {
    total = parts[0] * 60 + (parts.size() > 1 ? parts[1] : 0);
  }
  const std::int64_t in_minutes = (total + 59) / 60;
  if (in_minutes > kMaxLimit) return not_a_limit(text);
  return Number(in_minutes);
}

std::string format_time_limit(Number minutes) {
  if (minutes.is_infinite()) return "UNLIMITED";
  const std::int64_t value = minutes.value_or(-1);
  if (value < 0) return "NOT_SET";
  const std::int64_t days = value / 1440;
  const std::string clock = fmt::format("{:02}:{:02}:00", value / 60 % 24, value % 60);
  return days > 0 ? fmt::format("{}-{}", days, clock) : clock;
}

Result<std::optional<WallTime>> parse_slurm_time(std::string_view text, WallTime now,
                                                 seconds utc_offset) {
  text = trim(text);
  if (is_any_of(text, {"", "Unknown", "None", "N/A"})) return std::optional<WallTime>();
  if (starts_with_ignore_case(text, "now")) return from_now(text, text.substr(3), now);

  using Days = std::chrono::days;
  const WallTime local = now + utc_offset;
  const WallTime today = std::chrono::floor<Days>(local) - utc_offset;
  if (equals_ignore_case(text, "today")) return today;
  if (is_any_of(text, {"tomorrow", "midnight"})) return today + Days(1);
  if (equals_ignore_case(text, "noon")) {
    const WallTime noon = today + hours(12);
    return noon > now ? noon : noon + Days(1);
  }

  // Slurm leaves the seconds out where they are 0 and somebody typed it so.
  constexpr std::size_t kWithSeconds = std::string_view("2026-11-15T09:00:00").size();
  std::string full(text);
  if (full.size() == kWithSeconds - 3) full += ":00";
  if (full.size() == kWithSeconds) {
    const auto time = parse_rfc3339(full + 'Z');
    // Slurm counts from 1970; nearer to the end of WallTime the offset might not fit.
    if (!time || *time < WallTime(Days(1)) || *time > kLatest) return not_a_time(text);
    return *time - utc_offset;
  }
  const auto time = parse_rfc3339(text);
  if (!time) return not_a_time(text);
  return *time;
}

std::string format_slurm_time(WallTime time, seconds utc_offset) {
  std::string text = format_rfc3339(time + utc_offset);
  text.pop_back();
  return text;
}

}  // namespace mainspring::slurm
