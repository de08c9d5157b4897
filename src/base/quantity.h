// base/quantity.h
//
// A Kubernetes resource quantity ("250m", "1.5Gi", "2e3"), exact: an integer number of billionths,
// never a double. A value; compares by amount alone, whatever the notation.
//
// Reading and writing follow Kubernetes: an amount finer than a billionth is rounded away from
// zero; a binary quantity (Ki ... Ei) is capped at 2^63-1; the family of suffixes is kept on
// writing, and a binary quantity under 1024 or with a fraction is written in decimal. Where
// Kubernetes would give a wrong answer (text without a digit is 0, 1000E is written "1", the
// original text such as "+1" or "1.500" sometimes comes back), this does the plain right thing: an
// error, "1000E", "1", "1500m".
//
// Range: below 2^127 billionths (1.7e29) either side of zero. Beyond it is an error, in arithmetic
// too.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace mainspring {

class Quantity {
 public:
  enum class Format {
    kDecimalSi,        // 12M
    kBinarySi,         // 12Mi
    kDecimalExponent,  // 12e6
  };

  Quantity() = default;

  static Result<Quantity> parse(std::string_view text);
  static Quantity of_units(std::int64_t units, Format format = Format::kDecimalSi);
  static Quantity of_milli(std::int64_t milli, Format format = Format::kDecimalSi);

  Format format() const { return format_; }
  bool is_zero() const { return nanos_ == 0; }
  bool is_negative() const { return nanos_ < 0; }

  // Whole units and thousandths, rounded away from zero; kTooLarge if 64 bits cannot hold them.
  Result<std::int64_t> value() const;
  Result<std::int64_t> milli_value() const;

  // The format is the left side's, or the right side's where the left is zero.
  Result<Quantity> plus(const Quantity& other) const;
  Result<Quantity> minus(const Quantity& other) const;

  // The canonical form.
  std::string to_string() const;

  friend bool operator==(const Quantity& a, const Quantity& b) { return a.nanos_ == b.nanos_; }
  friend std::weak_ordering operator<=>(const Quantity& a, const Quantity& b) {
    return a.nanos_ <=> b.nanos_;
  }

 private:
  __extension__ using Int128 = __int128;

  Quantity(Int128 nanos, Format format) : nanos_(nanos), format_(format) {}

  Result<std::int64_t> scaled(Int128 unit) const;

  Int128 nanos_ = 0;
  Format format_ = Format::kDecimalSi;
};

}  // namespace mainspring
