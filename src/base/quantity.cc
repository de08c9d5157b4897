#include "base/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/text.h"

namespace mainspring {
namespace {

__extension__ using Int128 = __int128;
using Format = Quantity::Format;

constexpr int kNanoDigits = 9;
constexpr Int128 kNano = 1'000'000'000;
constexpr Int128 kMilli = 1'000'000;
constexpr Int128 kBinaryCap = std::numeric_limits<std::int64_t>::max() * kNano;

// 10 to this power overflows whatever it multiplies, and dividing by it leaves nothing.
constexpr int kHugeExponent = 1'000'000;

constexpr std::string_view kDecimalSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
constexpr std::string_view kBinarySuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};

struct Suffix {
  Format format = Format::kDecimalSi;
  int power = 0;  // of 1024 for kBinarySi, else of 10.
};

std::optional<int> parse_exponent(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || !std::all_of(text.begin(), text.end(), is_ascii_digit)) return std::nullopt;
  int exponent = 0;
  for (const char c : text) exponent = std::min(exponent * 10 + (c - '0'), kHugeExponent);
  return negative ? -exponent : exponent;
}

std::optional<Suffix> parse_suffix(std::string_view text) {
  const auto* decimal = std::ranges::find(kDecimalSuffixes, text);
  if (decimal != std::end(kDecimalSuffixes)) {
    const auto index = static_cast<int>(decimal - kDecimalSuffixes);
    return Suffix{Format::kDecimalSi, index * 3 - kNanoDigits};
  }
  const auto* binary = std::ranges::find(kBinarySuffixes, text);
  if (binary != std::end(kBinarySuffixes)) {
    return Suffix{Format::kBinarySi, static_cast<int>(binary - kBinarySuffixes)};
  }
  if (text.starts_with('e') || text.starts_with('E')) {
    if (const auto exponent = parse_exponent(text.substr(1))) {
      return Suffix{Format::kDecimalExponent, *exponent};
    }
  }
  return std::nullopt;
}

// Takes the digits from the front of `text`.
std::string_view take_digits(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_ascii_digit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// Schoolbook, on decimal digits: exact for a number of any length, as a fraction may have.
void multiply(std::string& digits, unsigned factor) {
  unsigned carry = 0;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    carry += static_cast<unsigned>(*digit - '0') * factor;
    *digit = static_cast<char>('0' + carry % 10);
    carry /= 10;
  }
  if (carry > 0) digits.insert(0, std::to_string(carry));
}

// digits * 10^exponent, rounded up to an integer; nothing if 127 bits cannot hold it.
std::optional<Int128> to_integer(std::string_view digits, int exponent) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return 0;
  bool round_up = false;
  if (exponent < 0) {
    const std::size_t kept =
        digits.size() - std::min(static_cast<std::size_t>(-exponent), digits.size());
    round_up = digits.find_first_not_of('0', kept) != std::string_view::npos;
    digits = digits.substr(0, kept);
    exponent = 0;
  }
  Int128 value = 0;
  for (const char c : digits) {
    if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, c - '0', &value))
      return std::nullopt;
  }
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(value, 10, &value)) return std::nullopt;
  }
  if (round_up && __builtin_add_overflow(value, 1, &value)) return std::nullopt;
  return value;
}

std::string to_decimal(Int128 value) { return fmt::format("{}", value); }

// Divides by `factor` while that leaves no rest, at most `most` times.
int remove_factors(Int128& value, int factor, int most) {
  int times = 0;
  while (times < most && value % factor == 0) {
    value /= factor;
    ++times;
  }
  return times;
}

std::string format_binary(Int128 nanos) {
  Int128 units = nanos / kNano;
  const int power = remove_factors(units, 1024, std::size(kBinarySuffixes) - 1);
  return to_decimal(units).append(kBinarySuffixes[power]);
}

std::string format_decimal(Int128 nanos, bool as_exponent) {
  constexpr int kLargest = std::size(kDecimalSuffixes) - 1;
  // 2^127 has 39 digits, so an exponent ends before 13 thousands.
  const int thousands = remove_factors(nanos, 1000, as_exponent ? 13 : kLargest);
  if (!as_exponent) return to_decimal(nanos).append(kDecimalSuffixes[thousands]);
  const int exponent = thousands * 3 - kNanoDigits;
  return exponent == 0 ? to_decimal(nanos) : fmt::format("{}e{}", nanos, exponent);
}

tl::unexpected<Error> out_of_range(std::string_view what) {
  return fail(Code::kTooLarge,
              fmt::format("quantity {} is beyond what can be held (about 1.7e29)", what));
}

}  // namespace

Result<Quantity> Quantity::parse(std::string_view text) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative || rest.starts_with('+')) rest.remove_prefix(1);
  std::string digits(take_digits(rest));
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    digits += fraction;
  }
  if (digits.empty()) {
    return fail(
        Code::kInvalid,
        fmt::format("quantity {} has no number: write one like 250m, 1.5Gi or 2e3", quoted(text)));
  }
  const std::optional<Suffix> suffix = parse_suffix(rest);
  if (!suffix) {
    return fail(Code::kInvalid,
                fmt::format("quantity {} has the unknown suffix {}: use n u m k M G T P E, "
                            "Ki Mi Gi Ti Pi Ei, or an exponent like e3",
                            quoted(text), quoted(rest)));
  }
  const bool binary = suffix->format == Format::kBinarySi;
  for (int i = 0; binary && i < suffix->power; ++i) multiply(digits, 1024);

  const auto fraction_digits =
      static_cast<int>(std::min<std::size_t>(fraction.size(), kHugeExponent));
  const int exponent = (binary ? 0 : suffix->power) - fraction_digits + kNanoDigits;
  std::optional<Int128> nanos = to_integer(digits, exponent);
  if (binary) nanos = std::min(nanos.value_or(kBinaryCap), kBinaryCap);
  if (!nanos) return out_of_range(quoted(text));

  // Kubernetes writes such a quantity in decimal, and lets a sum that begins with it be decimal
  // too.
  const bool small = binary && *nanos > 0 && *nanos < kNano;
  return Quantity(negative ? -*nanos : *nanos, small ? Format::kDecimalSi : suffix->format);
}

Quantity Quantity::of_units(std::int64_t units, Format format) {
  return Quantity(units * kNano, format);
}

Quantity Quantity::of_milli(std::int64_t milli, Format format) {
  return Quantity(milli * kMilli, format);
}

Result<std::int64_t> Quantity::value() const { return scaled(kNano); }

Result<std::int64_t> Quantity::milli_value() const { return scaled(kMilli); }

Result<std::int64_t> Quantity::scaled(Int128 unit) const {
  Int128 whole = nanos_ / unit;
  if (nanos_ % unit != 0) whole += nanos_ < 0 ? -1 : 1;
  using Limits = std::numeric_limits<std::int64_t>;
  if (whole < Limits::min() || whole > Limits::max()) {
    return fail(Code::kTooLarge, fmt::format("quantity {} does not fit 64 bits in {}", to_string(),
                                             unit == kNano ? "units" : "thousandths"));
  }
  return static_cast<std::int64_t>(whole);
}

Result<Quantity> Quantity::plus(const Quantity& other) const {
  Quantity sum(0, is_zero() ? other.format_ : format_);
  if (__builtin_add_overflow(nanos_, other.nanos_, &sum.nanos_)) {
    return out_of_range(fmt::format("{} + {}", to_string(), other.to_string()));
  }
  return sum;
}

Result<Quantity> Quantity::minus(const Quantity& other) const {
  Quantity difference(0, is_zero() ? other.format_ : format_);
  if (__builtin_sub_overflow(nanos_, other.nanos_, &difference.nanos_)) {
    return out_of_range(fmt::format("{} - {}", to_string(), other.to_string()));
  }
  return difference;
}

std::string Quantity::to_string() const {
  if (is_zero()) return "0";
  const bool binary = format_ == Format::kBinarySi && nanos_ % kNano == 0 &&
                      (nanos_ >= 1024 * kNano || nanos_ <= -1024 * kNano);
  if (binary) return format_binary(nanos_);
  return format_decimal(nanos_, format_ == Format::kDecimalExponent);
}

}  // namespace mainspring
