// slurm/freshness.h
//
// How much a read of the change cache is worth. Whoever removes anything on the strength of what
// the cache says asks for this first: "never synced" and "stale" are never "it is not there". A
// value; the judgement is a pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace mainspring::slurm {

struct Freshness {
  enum class Kind : std::uint8_t {
    kNeverSynced,  // No list has come yet: absence means nothing.
    kFresh,        // Confirmed `age` ago.
    kStale,        // Not confirmed for longer than it should be, for the reason in `why`.
  };
  Kind kind = Kind::kNeverSynced;
  Duration age{};   // Since the last confirmation. Zero where never synced.
  WallTime since;   // kStale: when it was confirmed last.
  std::string why;  // kStale and kNeverSynced: what went wrong last, "" if nothing did.

  bool fresh() const { return kind == Kind::kFresh; }
};

// "fresh (0.4s)", "stale since 2026-11-15T09:00:00Z: connection refused", "never synced".
std::string to_string(const Freshness& freshness);

struct FreshnessEvidence {
  std::optional<TimePoint> confirmed;  // When the last good answer was asked for.
  Duration interval{};                 // From one answer to the next, as things go.
  std::string why;                     // What fails now, "" if nothing does.
};

// Stale after `stale_after` where something fails, and where nothing seems to, after three
// intervals if that is later: a dear list is asked for rarely, and that alone is no fault.
Freshness judge_freshness(const FreshnessEvidence& evidence, Duration stale_after,
                          const Clock& clock);

}  // namespace mainspring::slurm
