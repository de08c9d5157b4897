// base/go_duration.h
//
// Durations as Go writes them ("1h15m30.918s", "300ms", "-1.5h"): the syntax of Kubernetes' and our
// own duration fields. Reads what Go's time.ParseDuration reads, to the same nanosecond, and writes
// what Duration.String writes. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace mainspring {

// kInvalid for anything else, also for a duration that 64 bits of nanoseconds (292 years) cannot
// hold.
Result<Duration> parse_go_duration(std::string_view text);

std::string format_go_duration(Duration duration);

}  // namespace mainspring
