// bridge/translate/volume_choice.h
//
// Which volume a claim may have that is bound only once its pod has a node, and so which nodes the
// pod may have. As kube-scheduler decides it: a volume that is there before one that would be made,
// and the smallest that is large enough. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/storage.h"

namespace mainspring::bridge {

using VolumePtr = std::shared_ptr<const kube::PersistentVolume>;

// Whether volumes of the class are made for claims; else somebody has made them by hand.
bool makes_volumes(const kube::StorageClass& storage);

// Whether the class binds claims only where a pod uses them.
bool waits_for_pod(const kube::StorageClass& storage);

// From where a volume for the claim can be reached; no value: from everywhere. kConflict where
// there is none and none will be made.
Result<std::optional<kube::NodeSelector>> reach_of(const kube::PersistentVolumeClaim& claim,
                                                   const kube::StorageClass& storage,
                                                   const std::vector<VolumePtr>& volumes);

// The volume for a pod on that node; null where none is there.
VolumePtr volume_on(const kube::PersistentVolumeClaim& claim, const std::vector<VolumePtr>& volumes,
                    const kube::Meta& node);

}  // namespace mainspring::bridge
