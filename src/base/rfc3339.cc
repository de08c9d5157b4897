#include "base/rfc3339.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "base/text.h"

namespace mainspring {
namespace {

namespace chr = std::chrono;

// Reads fixed-width fields from the front. The first failure sticks.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  // `width` digits whose value is from `min` to `max`.
  int number(std::size_t width, int min, int max) {
    int value = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (i >= rest_.size() || !is_ascii_digit(rest_[i])) return bad();
      value = value * 10 + (rest_[i] - '0');
    }
    if (value < min || value > max) return bad();
    rest_.remove_prefix(width);
    return value;
  }

  bool accept(char c) {
    if (!ok_ || !rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!accept(c)) bad();
  }

  // The digits behind a point, as nanoseconds.
  Duration fraction() {
    std::int64_t nanos = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && is_ascii_digit(rest_[digits]); ++digits) {
      if (digits < 9) nanos = nanos * 10 + (rest_[digits] - '0');
    }
    if (digits == 0) bad();
    rest_.remove_prefix(digits);
    for (; digits < 9; ++digits) nanos *= 10;
    return Duration(nanos);
  }

  bool complete() const { return ok_ && rest_.empty(); }

 private:
  int bad() {
    ok_ = false;
    return 0;
  }

  std::string_view rest_;
  bool ok_ = true;
};

struct Parsed {
  chr::sys_seconds time;
  Duration fraction;
};

std::optional<Parsed> parse_fields(std::string_view text) {
  Fields fields(text);
  const chr::year year(fields.number(4, 0, 9999));
  fields.expect('-');
  const chr::month month(static_cast<unsigned>(fields.number(2, 1, 12)));
  fields.expect('-');
  const chr::day day(static_cast<unsigned>(fields.number(2, 1, 31)));
  fields.expect('T');
  seconds of_day = hours(fields.number(2, 0, 23));
  fields.expect(':');
  of_day += minutes(fields.number(2, 0, 59));
  fields.expect(':');
  of_day += seconds(fields.number(2, 0, 59));
  const Duration fraction = fields.accept('.') ? fields.fraction() : Duration::zero();

  seconds offset{};
  if (!fields.accept('Z')) {
    const bool west = fields.accept('-');
    if (!west) fields.expect('+');
    offset = hours(fields.number(2, 0, 23));
    fields.expect(':');
    offset += minutes(fields.number(2, 0, 59));
    if (west) offset = -offset;
  }
  const chr::year_month_day date(year, month, day);
  if (!fields.complete() || !date.ok()) return std::nullopt;
  return Parsed{chr::sys_days(date) + of_day - offset, fraction};
}

}  // namespace

Result<WallTime> parse_rfc3339(std::string_view text) {
  const std::optional<Parsed> parsed = parse_fields(text);
  if (!parsed) {
    return fail(Code::kInvalid, fmt::format("{} is not an RFC 3339 time: write it like "
                                            "2026-11-15T09:00:00Z or 2026-11-15T09:00:00.5+01:00",
                                            quoted(text)));
  }
  std::int64_t nanos = 0;
  std::int64_t seconds_since_epoch = parsed->time.time_since_epoch().count();
  std::int64_t rest = parsed->fraction.count();
  // The first second that can be held starts before the first nanosecond that can.
  if (seconds_since_epoch < 0 && rest > 0) {
    seconds_since_epoch += 1;
    rest -= 1'000'000'000;
  }
  if (__builtin_mul_overflow(seconds_since_epoch, std::int64_t{1'000'000'000}, &nanos) ||
      __builtin_add_overflow(nanos, rest, &nanos)) {
    return fail(Code::kInvalid,
                fmt::format("{} is outside 1677-09-21 to 2262-04-11, which is all a 64-bit time "
                            "can hold",
                            quoted(text)));
  }
  return WallTime(Duration(nanos));
}

std::string format_rfc3339(WallTime time, TimePrecision precision) {
  const std::int64_t count = time.time_since_epoch().count();
  // Not chrono::floor to days: at the lowest times that would leave the range of the type.
  std::int64_t whole = count / 1'000'000'000;
  std::int64_t nanos = count % 1'000'000'000;
  if (nanos < 0) {
    whole -= 1;
    nanos += 1'000'000'000;
  }
  const chr::sys_seconds second{seconds(whole)};
  const chr::sys_days day = chr::floor<chr::days>(second);
  const chr::year_month_day date(day);
  const chr::hh_mm_ss clock(second - day);
  std::string text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                  clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (const auto digits = static_cast<std::size_t>(precision); digits > 0) {
    text += '.';
    text += fmt::format("{:09}", nanos).substr(0, digits);
  }
  return text + 'Z';
}

}  // namespace mainspring
