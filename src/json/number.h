// json/number.h
//
// A JSON number as its text says: integers stay exact over the whole range of int64 and uint64,
// everything with a point or an exponent is a double. Pure.
#pragma once

#include <cstdint>

namespace mainspring::json {

struct Number {
  enum class Type { kInt, kUint, kDouble };  // kUint only above the largest int64
  Type type = Type::kInt;
  union {
    std::int64_t integer = 0;
    std::uint64_t natural;
    double real;
  };
};

enum class NumberFault { kNone, kSyntax, kRange };

struct NumberScan {
  Number number;
  const char* end;  // one past the last character that belongs to the number
  NumberFault fault;
};

// Scans the number that starts at `text`. The bytes must end in something that is no part of a
// number, such as the padding of a Reader's buffer.
NumberScan scan_number(const char* text);

}  // namespace mainspring::json
