// bridge/translate/parts.h
//
// Gangs whose pods differ: which of them are alike, and the parts of the het job that gives each
// kind nodes of its own. Pure.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "bridge/config.h"
#include "bridge/gang/gang.h"
#include "bridge/translate/job.h"
#include "bridge/translate/placement.h"

namespace mainspring::bridge {

// Slurm's own limit.
inline constexpr std::size_t kMostParts = 128;

// Which kind each pod is of: pods that need the same of a node, and that the same nodes suit, are
// alike. Kinds are numbered in the order of their first pods. `volumes` has an entry for each pod.
Result<std::vector<std::size_t>> kinds_of(std::span<const PodPtr> pods,
                                          std::span<const VolumeNodes> volumes);

// The gang of each kind alone, which starts with all of its pods or not at all.
std::vector<Gang> split_by_kind(const Gang& gang, std::span<const std::size_t> kinds);

// One request for each kind. kInvalid where the gang cannot be split.
Result<std::vector<Translation>> translate_parts(const Gang& gang,
                                                 std::span<const std::size_t> kinds,
                                                 const BridgeConfig& config);

}  // namespace mainspring::bridge
