// kube/storage.h
//
// Claims, volumes and their classes: which nodes can reach the storage that a pod wants. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kube/conditions.h"
#include "kube/label_selector.h"
#include "kube/node_affinity.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct PersistentVolumeClaim {
  inline static const Resource kResource{"", "v1", "persistentvolumeclaims",
                                         "PersistentVolumeClaim", true};

  Meta meta;
  std::optional<std::string> storage_class;  // Absent: the default one. Empty: none at all.
  Text volume;                               // Empty: not bound.
  Text volume_mode;                          // "Filesystem" or "Block"
  Text phase;                                // "Pending", "Bound", "Lost"
  Seq<Text> access_modes;
  Quantities requests;
  Quantities capacity;
  LabelSelector selector = LabelSelector::everything();  // Of the volume.

  bool bound() const { return phase == "Bound"; }

  bool operator==(const PersistentVolumeClaim&) const = default;
};

constexpr auto json_fields(json::Tag<PersistentVolumeClaim>) {
  using T = PersistentVolumeClaim;
  return json::fields(
      json::field("metadata", &T::meta),
      json::group("spec", json::field("storageClassName", &T::storage_class),
                  json::field("volumeName", &T::volume), json::field("volumeMode", &T::volume_mode),
                  json::field("accessModes", &T::access_modes),
                  json::field("selector", &T::selector),
                  json::group("resources", json::field("requests", &T::requests))),
      json::group("status", json::field("phase", &T::phase),
                  json::field("capacity", &T::capacity)));
}

struct PersistentVolume {
  inline static const Resource kResource{"", "v1", "persistentvolumes", "PersistentVolume", false};

  Meta meta;
  Text storage_class;
  Text volume_mode;
  Text phase;  // "Available", "Bound", "Released", ...
  Text reclaim_policy;
  Text csi_driver;  // Empty where the volume is of another kind.
  Text claim_ns;
  Text claim_name;
  Text claim_uid;
  Seq<Text> access_modes;
  Quantities capacity;
  Rare<NodeSelector> required_nodes;  // Absent: every node can reach it.

  bool operator==(const PersistentVolume&) const = default;
};

constexpr auto json_fields(json::Tag<PersistentVolume>) {
  using T = PersistentVolume;
  return json::fields(
      json::field("metadata", &T::meta),
      json::group(
          "spec", json::field("storageClassName", &T::storage_class),
          json::field("volumeMode", &T::volume_mode),
          json::field("persistentVolumeReclaimPolicy", &T::reclaim_policy),
          json::field("accessModes", &T::access_modes), json::field("capacity", &T::capacity),
          json::group("csi", json::field("driver", &T::csi_driver)),
          json::group("claimRef", json::field("namespace", &T::claim_ns),
                      json::field("name", &T::claim_name), json::field("uid", &T::claim_uid)),
          json::group("nodeAffinity", json::field("required", &T::required_nodes))),
      json::group("status", json::field("phase", &T::phase)));
}

struct StorageClass {
  inline static const Resource kResource{"storage.k8s.io", "v1", "storageclasses", "StorageClass",
                                         false};

  Meta meta;
  Text provisioner;
  Text binding_mode;  // "Immediate" or "WaitForFirstConsumer"
  Text reclaim_policy;
  Seq<NodeSelectorTerm> allowed_topologies;  // None: everywhere.
  bool expandable = false;

  bool operator==(const StorageClass&) const = default;
};

constexpr auto json_fields(json::Tag<StorageClass>) {
  using T = StorageClass;
  return json::fields(json::field("metadata", &T::meta),
                      json::field("provisioner", &T::provisioner),
                      json::field("volumeBindingMode", &T::binding_mode),
                      json::field("reclaimPolicy", &T::reclaim_policy),
                      json::field("allowedTopologies", &T::allowed_topologies),
                      json::field("allowVolumeExpansion", &T::expandable));
}

struct CsiDriverOnNode {
  Text name;
  Text node_id;
  Seq<Text> topology_keys;
  std::optional<std::int32_t> max_volumes;

  bool operator==(const CsiDriverOnNode&) const = default;
};

constexpr auto json_fields(json::Tag<CsiDriverOnNode>) {
  using T = CsiDriverOnNode;
  return json::fields(json::field("name", &T::name), json::field("nodeID", &T::node_id),
                      json::field("topologyKeys", &T::topology_keys),
                      json::group("allocatable", json::field("count", &T::max_volumes)));
}

struct CsiNode {
  inline static const Resource kResource{"storage.k8s.io", "v1", "csinodes", "CSINode", false};

  Meta meta;
  Seq<CsiDriverOnNode> drivers;

  bool operator==(const CsiNode&) const = default;
};

constexpr auto json_fields(json::Tag<CsiNode>) {
  return json::fields(json::field("metadata", &CsiNode::meta),
                      json::group("spec", json::field("drivers", &CsiNode::drivers)));
}

}  // namespace mainspring::kube
