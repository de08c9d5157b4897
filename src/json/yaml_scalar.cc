#include "json/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <system_error>

#include "base/text.h"

namespace mainspring::json {
namespace {

template <std::size_t N>
bool one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 5> kNulls = {"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 11> kTrues = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                                     "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalses = {"n",     "N",     "no",  "No",  "NO", "false",
                                                      "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 12> kNotInJson = {".nan",  ".NaN",  ".NAN",  ".inf",
                                                         ".Inf",  ".INF",  "+.inf", "+.Inf",
                                                         "+.INF", "-.inf", "-.Inf", "-.INF"};

// The base that the digits are in, and the digits without what says so.
struct Digits {
  int base = 10;
  std::string_view text;
};

Digits split_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return {10, text};
  switch (ascii_lower(text[1])) {
    case 'x':
      return {16, text.substr(2)};
    case 'o':
      return {8, text.substr(2)};
    case 'b':
      return {2, text.substr(2)};
    default:
      return {8, text.substr(1)};
  }
}

enum class Fit { kYes, kNo, kTooLarge };

Fit read_integer(std::string_view text, Value& out) {
  const bool negative = text.front() == '-';
  if (negative || text.front() == '+') text.remove_prefix(1);
  const Digits digits = split_base(text);
  std::uint64_t magnitude = 0;
  const char* const end = digits.text.data() + digits.text.size();
  const auto [rest, code] = std::from_chars(digits.text.data(), end, magnitude, digits.base);
  if (rest != end || digits.text.empty() || code == std::errc::invalid_argument) return Fit::kNo;
  constexpr auto kMostNegative = std::uint64_t{1} << 63U;
  const bool fits = code == std::errc() && (!negative || magnitude <= kMostNegative);
  // A decimal one that is too large is read as a float instead.
  if (!fits) return digits.base == 10 ? Fit::kNo : Fit::kTooLarge;
  if (negative) {
    out = static_cast<std::int64_t>(-magnitude);
  } else if (magnitude <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    out = static_cast<std::int64_t>(magnitude);
  } else {
    out = magnitude;
  }
  return Fit::kYes;
}

std::string_view skip_digits(std::string_view text) {
  while (!text.empty() && is_ascii_digit(text.front())) text.remove_prefix(1);
  return text;
}

// Digits with at most one point among, before or after them, and perhaps an exponent.
bool looks_like_float(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::string_view after_whole = skip_digits(text);
  bool any = after_whole.size() < text.size();
  text = after_whole;
  if (!text.empty() && text.front() == '.') {
    const std::string_view after_fraction = skip_digits(text.substr(1));
    any = any || after_fraction.size() + 1 < text.size();
    text = after_fraction;
  }
  if (!any) return false;
  if (text.empty()) return true;
  if (ascii_lower(text.front()) != 'e') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return !text.empty() && skip_digits(text).empty();
}

std::optional<double> read_float(std::string_view text) {
  if (!looks_like_float(text)) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double number = 0;
  const auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::result_out_of_range || !std::isfinite(number)) return std::nullopt;
  return number;
}

bool may_be_number(char first) {
  return is_ascii_digit(first) || first == '-' || first == '+' || first == '.';
}

}  // namespace

Result<Value> resolve_plain_scalar(std::string_view text) {
  if (one_of(text, kNulls)) return Value();
  if (one_of(text, kTrues)) return Value(true);
  if (one_of(text, kFalses)) return Value(false);
  if (one_of(text, kNotInJson)) {
    return fail(Code::kInvalid, "infinity and not-a-number cannot be used here");
  }
  if (!may_be_number(text.front())) return Value(text);

  std::string plain(text);
  // After a point only plain digits count, as in Go.
  if (text.front() != '.') std::erase(plain, '_');
  Value number;
  switch (read_integer(plain, number)) {
    case Fit::kYes:
      return number;
    case Fit::kTooLarge:
      return fail(Code::kInvalid,
                  "an integer does not fit 64 bits: put it in quotes if it is text");
    case Fit::kNo:
      break;
  }
  if (const auto real = read_float(plain)) return Value(*real);
  return Value(text);
}

}  // namespace mainspring::json
