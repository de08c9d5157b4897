#include "base/go_duration.h"

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>

#include "base/text.h"

namespace mainspring {
namespace {

constexpr std::uint64_t kMicrosecond = 1'000;
constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1'000'000'000;

// The size of the most negative duration, which is one more than that of the most positive.
constexpr std::uint64_t kLimit = std::uint64_t{1} << 63;

struct Unit {
  std::string_view name;
  std::uint64_t nanoseconds;
};

constexpr Unit kUnits[] = {
    {"ns", 1},
    {"us", kMicrosecond},
    {"\u00B5s", kMicrosecond},  // The micro sign,
    {"\u03BCs", kMicrosecond},  // and the Greek letter that looks like it.
    {"ms", kMillisecond},
    {"s", kSecond},
    {"m", 60 * kSecond},
    {"h", 3600 * kSecond},
};

std::optional<std::uint64_t> unit_called(std::string_view name) {
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return unit.nanoseconds;
  }
  return std::nullopt;
}

// Takes digits from the front of `text`; nothing if they exceed the limit.
std::optional<std::uint64_t> take_whole(std::string_view& text) {
  std::uint64_t value = 0;
  for (; !text.empty() && is_ascii_digit(text[0]); text.remove_prefix(1)) {
    if (value > kLimit / 10) return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(text[0] - '0');
    if (value > kLimit) return std::nullopt;
  }
  return value;
}

struct Fraction {
  std::uint64_t digits = 0;
  double scale = 1;

  // In floating point, because Go does it so and the last nanosecond shows it.
  std::uint64_t of(std::uint64_t unit) const {
    return static_cast<std::uint64_t>(static_cast<double>(digits) *
                                      (static_cast<double>(unit) / scale));
  }
};

// Takes the digits behind a point. Those that no longer fit are dropped: they are below a
// nanosecond.
Fraction take_fraction(std::string_view& text) {
  Fraction fraction;
  bool full = false;
  for (; !text.empty() && is_ascii_digit(text[0]); text.remove_prefix(1)) {
    if (full || fraction.digits > (kLimit - 1) / 10) {
      full = true;
      continue;
    }
    const std::uint64_t next = fraction.digits * 10 + static_cast<std::uint64_t>(text[0] - '0');
    if (next > kLimit) {
      full = true;
      continue;
    }
    fraction.digits = next;
    fraction.scale *= 10;
  }
  return fraction;
}

tl::unexpected<Error> invalid(std::string_view text, std::string_view why) {
  return fail(Code::kInvalid, fmt::format("duration {} {}", quoted(text), why));
}

// Takes one number with its unit from the front of `rest`, in nanoseconds.
Result<std::uint64_t> take_term(std::string_view text, std::string_view& rest) {
  const std::size_t before = rest.size();
  const std::optional<std::uint64_t> whole = take_whole(rest);
  if (!whole) return invalid(text, "is longer than 292 years");
  std::size_t digits = before - rest.size();
  Fraction fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::size_t behind_point = rest.size();
    fraction = take_fraction(rest);
    digits += behind_point - rest.size();
  }
  if (digits == 0) return invalid(text, "lacks a number: write it like 1h30m, 1.5s or 300ms");

  const std::size_t end = rest.find_first_of(".0123456789");
  const std::string_view name = rest.substr(0, end);
  rest.remove_prefix(name.size());
  if (name.empty()) return invalid(text, "lacks a unit: use ns, us, ms, s, m or h");
  const std::optional<std::uint64_t> unit = unit_called(name);
  if (!unit) {
    return invalid(text,
                   fmt::format("has the unknown unit {}: use ns, us, ms, s, m or h", quoted(name)));
  }
  if (*whole > kLimit / *unit) return invalid(text, "is longer than 292 years");
  const std::uint64_t total = *whole * *unit + fraction.of(*unit);
  if (total > kLimit) return invalid(text, "is longer than 292 years");
  return total;
}

// value / unit with its fraction, as short as exact allows.
std::string with_fraction(std::uint64_t value, std::uint64_t unit) {
  std::string text = fmt::format("{}", value / unit);
  std::uint64_t rest = value % unit;
  if (rest == 0) return text;
  text += '.';
  for (std::uint64_t place = unit / 10; rest > 0; place /= 10) {
    text += static_cast<char>('0' + rest / place);
    rest %= place;
  }
  return text;
}

}  // namespace

Result<Duration> parse_go_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  if (rest == "0") return Duration::zero();
  if (rest.empty()) return invalid(text, "is empty: write it like 1h30m, 1.5s or 300ms");

  std::uint64_t total = 0;
  while (!rest.empty()) {
    MS_TRY(const std::uint64_t term, take_term(text, rest));
    total += term;
    if (total > kLimit) return invalid(text, "is longer than 292 years");
  }
  if (negative) return Duration(static_cast<std::int64_t>(~total + 1));
  if (total == kLimit) return invalid(text, "is longer than 292 years");
  return Duration(static_cast<std::int64_t>(total));
}

std::string format_go_duration(Duration duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  const auto bits = static_cast<std::uint64_t>(count);
  const std::uint64_t size = count < 0 ? ~bits + 1 : bits;
  std::string text = count < 0 ? "-" : "";

  if (size < kMicrosecond) return text + fmt::format("{}ns", size);
  if (size < kMillisecond) return text + with_fraction(size, kMicrosecond) + "\u00B5s";
  if (size < kSecond) return text + with_fraction(size, kMillisecond) + "ms";

  const std::uint64_t minutes_total = size / (60 * kSecond);
  if (minutes_total >= 60) text += fmt::format("{}h", minutes_total / 60);
  if (minutes_total > 0) text += fmt::format("{}m", minutes_total % 60);
  return text + with_fraction(size % (60 * kSecond), kSecond) + "s";
}

}  // namespace mainspring
