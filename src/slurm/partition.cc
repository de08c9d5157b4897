// slurm/partition.cc
#include "slurm/partition.h"

#include <array>

namespace mainspring::slurm {
namespace {

constexpr std::array<std::string_view, 5> kNames = {"UNKNOWN", "UP", "DOWN", "DRAIN", "INACTIVE"};

PartitionState find_state(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<PartitionState>(i);
  }
  return PartitionState::kUnknown;
}

}  // namespace

std::string_view to_string(PartitionState state) { return kNames[static_cast<std::size_t>(state)]; }

bool read(json::Reader& reader, PartitionState& out) {
  auto state = PartitionState::kUnknown;
  const bool good = reader.array([&] {
    std::string_view name;
    if (reader.read(name) && state == PartitionState::kUnknown) state = find_state(name);
  });
  if (good) out = state;
  return good;
}

}  // namespace mainspring::slurm
