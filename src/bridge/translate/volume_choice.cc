#include "bridge/translate/volume_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace mainspring::bridge {
namespace {

std::string_view mode_of(std::string_view mode) { return mode.empty() ? "Filesystem" : mode; }

// Somebody has set the volume aside for this claim.
bool is_kept_for(const kube::PersistentVolumeClaim& claim, const kube::PersistentVolume& volume) {
  return volume.claim_ns == claim.meta.ns && volume.claim_name == claim.meta.name &&
         (volume.claim_uid.empty() || volume.claim_uid == claim.meta.uid);
}

bool is_large_enough(const kube::PersistentVolumeClaim& claim,
                     const kube::PersistentVolume& volume) {
  const auto wanted = claim.requests.amount("storage");
  const auto there = volume.capacity.amount("storage");
  return wanted && there && *there >= *wanted;
}

bool suits(const kube::PersistentVolumeClaim& claim, const kube::PersistentVolume& volume) {
  if (volume.meta.deleting() || volume.storage_class != claim.storage_class.value_or("")) {
    return false;
  }
  if (mode_of(volume.volume_mode) != mode_of(claim.volume_mode)) return false;
  if (!is_large_enough(claim, volume)) return false;
  const bool is_free = volume.claim_name.empty() && volume.phase == "Available";
  if (!is_free && !is_kept_for(claim, volume)) return false;
  if (!claim.selector.matches(volume.meta.labels)) return false;
  return std::all_of(claim.access_modes.begin(), claim.access_modes.end(),
                     [&](const kube::Text& mode) {
                       const auto& modes = volume.access_modes;
                       return std::find(modes.begin(), modes.end(), mode) != modes.end();
                     });
}

}  // namespace

bool makes_volumes(const kube::StorageClass& storage) {
  return storage.provisioner != "kubernetes.io/no-provisioner";
}

bool waits_for_pod(const kube::StorageClass& storage) {
  return storage.binding_mode == "WaitForFirstConsumer";
}

Result<std::optional<kube::NodeSelector>> reach_of(const kube::PersistentVolumeClaim& claim,
                                                   const kube::StorageClass& storage,
                                                   const std::vector<VolumePtr>& volumes) {
  std::vector<kube::NodeSelectorTerm> terms;
  bool found = makes_volumes(storage);
  if (found) {
    if (storage.allowed_topologies.empty()) return std::optional<kube::NodeSelector>();
    terms.assign(storage.allowed_topologies.begin(), storage.allowed_topologies.end());
  }
  for (const VolumePtr& volume : volumes) {
    if (!suits(claim, *volume)) continue;
    found = true;
    if (!volume->required_nodes) return std::optional<kube::NodeSelector>();
    const auto& more = volume->required_nodes->terms;
    terms.insert(terms.end(), more.begin(), more.end());
  }
  if (found) return std::optional(kube::NodeSelector{std::move(terms)});
  return fail(Code::kConflict,
              fmt::format("no volume of StorageClass {} is free, large enough and of the right "
                          "access mode, and none is made for claims; add one",
                          storage.meta.name));
}

VolumePtr volume_on(const kube::PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                    const kube::Meta& node) {
  VolumePtr best;
  for (const VolumePtr& volume : volumes) {
    if (!suits(claim, *volume)) continue;
    if (volume->required_nodes && !volume->required_nodes->matches(node)) continue;
    if (is_kept_for(claim, *volume)) return volume;
    if (!best || *volume->capacity.amount("storage") < *best->capacity.amount("storage")) {
      best = volume;
    }
  }
  return best;
}

}  // namespace mainspring::bridge
