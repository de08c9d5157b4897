#include "json/number.h"

#include <charconv>
#include <limits>

namespace mainspring::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const char* skip_digits(const char* p) {
  while (is_digit(*p)) ++p;
  return p;
}

// `p` stands on the point or the exponent. Null where the grammar is broken.
const char* skip_fraction_and_exponent(const char* p) {
  if (*p == '.') {
    if (!is_digit(*++p)) return nullptr;
    p = skip_digits(p);
  }
  if (*p == 'e' || *p == 'E') {
    ++p;
    if (*p == '+' || *p == '-') ++p;
    if (!is_digit(*p)) return nullptr;
    p = skip_digits(p);
  }
  return p;
}

NumberScan scan_real(const char* text, const char* p) {
  NumberScan scan{.number = {}, .end = p, .fault = NumberFault::kNone};
  const char* end = skip_fraction_and_exponent(p);
  if (end == nullptr) {
    scan.fault = NumberFault::kSyntax;
    return scan;
  }
  scan.end = end;
  double real = 0;
  if (std::from_chars(text, end, real).ec != std::errc()) scan.fault = NumberFault::kRange;
  scan.number.type = Number::Type::kDouble;
  scan.number.real = real;
  return scan;
}

}  // namespace

NumberScan scan_number(const char* text) {
  const bool negative = *text == '-';
  const char* const digits = text + (negative ? 1 : 0);
  const char* p = digits;
  std::uint64_t magnitude = 0;
  for (; is_digit(*p); ++p) magnitude = magnitude * 10 + static_cast<std::uint64_t>(*p - '0');

  NumberScan scan{.number = {}, .end = p, .fault = NumberFault::kNone};
  const auto count = p - digits;
  if (count == 0 || (*digits == '0' && count > 1)) {
    scan.fault = NumberFault::kSyntax;
    return scan;
  }
  if (*p == '.' || *p == 'e' || *p == 'E') return scan_real(text, p);

  // 19 digits always fit; 20 may.
  if (count > 20 || (count == 20 && std::from_chars(digits, p, magnitude).ec != std::errc())) {
    scan.fault = NumberFault::kRange;
    return scan;
  }
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!negative && magnitude > kMax) {
    scan.number.type = Number::Type::kUint;
    scan.number.natural = magnitude;
  } else if (negative && magnitude > kMax + 1) {
    scan.fault = NumberFault::kRange;
  } else {
    scan.number.integer = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  }
  return scan;
}

}  // namespace mainspring::json
