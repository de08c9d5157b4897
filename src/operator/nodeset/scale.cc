// operator/nodeset/scale.cc
//
// StatefulSet mode: so many replicas, each with an ordinal of its own.
#include <algorithm>

#include "operator/nodeset/draft.h"

namespace mainspring::op {

namespace {

using Life = Draft::Life;

// An ordinal is taken as long as any pod has it: one that terminates, that has ended, or that is
// left over from the other mode.
std::vector<Creation> lowest_free_ordinals(const Draft& draft, std::size_t count) {
  std::vector<bool> taken(count + draft.entries.size());
  for (const Draft::Entry& entry : draft.entries) {
    const auto ordinal = ordinal_of(draft.view.nodeset, *entry.worker->pod);
    if (ordinal && *ordinal < taken.size()) taken[*ordinal] = true;
  }
  std::vector<Creation> create;
  create.reserve(count);
  for (std::uint32_t ordinal = 0; create.size() < count; ++ordinal) {
    if (!taken[ordinal]) create.push_back({.ordinal = ordinal, .node = nullptr});
  }
  return create;
}

}  // namespace

void plan_replicas(Draft& draft) {
  // So that a mistyped number of replicas does not take all our memory; the rest comes with the
  // next plan.
  constexpr std::int64_t kMostAtOnce = 10'000;
  const std::int32_t replicas = std::max(draft.view.nodeset.spec.replicas, 0);
  draft.desired = replicas;
  draft.slots = replicas;

  std::int64_t staying = 0;
  std::int64_t terminating = 0;
  for (const Draft::Entry& entry : draft.entries) {
    if (entry.fits_mode) ++(entry.life == Life::kTerminating ? terminating : staying);
  }
  // What has ended goes first: nobody misses it.
  std::int64_t surplus = staying - replicas;
  for (const Life life : {Life::kEnded, Life::kAlive}) {
    for (Draft::Entry& entry : draft.entries) {
      if (surplus <= 0) break;
      if (!entry.fits_mode || entry.life != life) continue;
      entry.cause = Cause::kScaleIn;
      --surplus;
    }
  }
  hold_back(draft);
  // A pod that terminates is made again under its own name, once that is free.
  const std::int64_t missing =
      std::clamp<std::int64_t>(replicas - staying - terminating, 0, kMostAtOnce);
  draft.create = lowest_free_ordinals(draft, static_cast<std::size_t>(missing));
}

}  // namespace mainspring::op
