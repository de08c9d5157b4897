// slurm/slurm_time.h
//
// Times as Slurm writes them: limits ("1-12:00:00", "UNLIMITED") and points in time
// ("2026-11-15T09:00:00", which is slurmctld's local time; "now+2hours"). Pure functions: the
// present and the time zone are passed in.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "slurm/number.h"

namespace mainspring::slurm {

// Minutes from "90", "90:00", "1:30:00", "1-12", "1-12:30", "1-12:30:00"; seconds round up, as
// slurmctld does. INFINITE, UNLIMITED and -1 are no limit; NOT_SET, "Partition_Limit", "NONE" and
// "" are none said.
Result<Number> parse_time_limit(std::string_view text);
// "01:30:00", "1-12:30:00", "UNLIMITED", "NOT_SET".
std::string format_time_limit(Number minutes);

// A point in time: what Slurm prints, RFC 3339, "now", "now+2hours" (seconds, minutes, hours, days,
// weeks; seconds where no unit stands), and "today", "tomorrow", "midnight", "noon". Nothing for
// "Unknown", "None", "N/A" and "NONE". `utc_offset` is how far slurmctld's clock is ahead of UTC.
Result<std::optional<WallTime>> parse_slurm_time(std::string_view text, WallTime now,
                                                 seconds utc_offset = seconds(0));
// "2026-11-15T09:00:00"
std::string format_slurm_time(WallTime time, seconds utc_offset = seconds(0));

}  // namespace mainspring::slurm
