// base/rfc3339.h
//
// Wall time as APIs write it: "2026-11-15T09:00:00Z". Kubernetes uses whole seconds (metav1.Time)
// and six digits (metav1.MicroTime); both are read, with any fraction and any offset. Strict:
// capital T and Z, real calendar dates, no leap second (WallTime has none). Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace mainspring {

// kInvalid for what is not a time, or is outside 1677-09-21 to 2262-04-11, which WallTime can hold.
// Digits of a fraction beyond the ninth are dropped.
Result<WallTime> parse_rfc3339(std::string_view text);

// Always UTC with Z. What does not fit the precision is cut off towards the past, as Go does.
enum class TimePrecision { kSeconds = 0, kMilliseconds = 3, kMicroseconds = 6, kNanoseconds = 9 };
std::string format_rfc3339(WallTime time, TimePrecision precision = TimePrecision::kSeconds);

}  // namespace mainspring
