// slurm/record_versions.cc
#include "slurm/record_versions.h"

#include <algorithm>
#include <array>

namespace mainspring::slurm {
namespace {

// Records that a version lacks altogether (NodeAllocation, ClusterConf, DbConf) are a matter of
// their endpoint: see versions.cc.
constexpr std::array kFields = std::to_array<FieldSince>({
    {"License", "Nodes", Version::k44},
    {"Node", "topology", Version::k43},
    {"Partition", "flags", Version::k45},
    {"Partition", "partition.exclusive", Version::k45},
    {"Partition", "partition.oversubscribe", Version::k45},
    {"Partition", "preempt_mode", Version::k45},
    {"Partition", "topology", Version::k43},
    {"Ping", "status", Version::k45},
    {"User", "default.qos", Version::k44},
});

}  // namespace

std::span<const FieldSince> fields_since() { return kFields; }

bool has_field(Version version, std::string_view record, std::string_view field) {
  return std::none_of(kFields.begin(), kFields.end(), [&](const FieldSince& entry) {
    return entry.record == record && entry.field == field && version < entry.since;
  });
}

}  // namespace mainspring::slurm
