#include "slurm/freshness.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rfc3339.h"

namespace mainspring::slurm {
namespace {

constexpr int kIntervalsToStale = 3;

std::string because(const std::string& why) { return why.empty() ? "" : ": " + why; }

}  // namespace

std::string to_string(const Freshness& freshness) {
  switch (freshness.kind) {
    case Freshness::Kind::kNeverSynced:
      return "never synced" + because(freshness.why);
    case Freshness::Kind::kFresh:
      return fmt::format("fresh ({:.1f}s)", std::chrono::duration<double>(freshness.age).count());
    case Freshness::Kind::kStale:
      return "stale since " + format_rfc3339(freshness.since) + because(freshness.why);
  }
  return "";
}

Freshness judge_freshness(const FreshnessEvidence& evidence, Duration stale_after,
                          const Clock& clock) {
  if (!evidence.confirmed) return {.why = evidence.why};
  const Duration age = clock.now() - *evidence.confirmed;
  const Duration patience = evidence.why.empty()
                                ? std::max(stale_after, evidence.interval * kIntervalsToStale)
                                : stale_after;
  if (age <= patience) return {.kind = Freshness::Kind::kFresh, .age = age};
  return {.kind = Freshness::Kind::kStale,
          .age = age,
          .since = clock.wall_now() - age,
          .why = evidence.why.empty() ? "not confirmed in time" : evidence.why};
}

}  // namespace mainspring::slurm
