// slurm/number.h
//
// Number: what Slurm writes as {"set":true,"infinite":false,"number":5}: a number, no number, or no
// limit. A value of eight bytes, part of the records.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "json/reader.h"
#include "json/value.h"

namespace mainspring::slurm {

class Number {
 public:
  constexpr Number() = default;
  constexpr Number(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)
  static constexpr Number infinite() { return Number(kInfinite); }

  constexpr bool set() const { return value_ != kUnset && value_ != kInfinite; }
  constexpr bool is_infinite() const { return value_ == kInfinite; }
  constexpr std::optional<std::int64_t> value() const {
    return set() ? std::optional(value_) : std::nullopt;
  }
  constexpr std::int64_t value_or(std::int64_t other) const { return set() ? value_ : other; }

  constexpr bool operator==(const Number&) const = default;

 private:
  static constexpr std::int64_t kUnset = std::numeric_limits<std::int64_t>::min();
  static constexpr std::int64_t kInfinite = std::numeric_limits<std::int64_t>::max();
  std::int64_t value_ = kUnset;
};

// The object, or a plain number as some fields and older versions have it.
bool read(json::Reader& reader, Number& out);
json::Value to_json(Number number);

}  // namespace mainspring::slurm
