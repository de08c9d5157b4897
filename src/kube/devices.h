// kube/devices.h
//
// Dynamic resource allocation (resource.k8s.io/v1): what devices a node has, who wants some, and
// what they were given. Values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kube/conditions.h"
#include "kube/node_affinity.h"
#include "kube/resource.h"
#include "kube/taints.h"

namespace mainspring::kube {

// One thing asked for; a request with alternatives is one of these for each, in order.
struct DeviceRequest {
  Text name;  // "gpu", and "gpu/small" for the alternative "small".
  Text device_class;
  Seq<Text> selectors;  // CEL expressions; all must hold.
  std::int64_t count = 1;
  bool all = false;  // allocationMode All: every device that fits.
  bool admin_access = false;

  bool operator==(const DeviceRequest&) const = default;
};

struct DeviceClaimSpec {
  Seq<DeviceRequest> requests;
  std::string constraints;  // JSON, as the server sent it.
  std::string config;

  bool operator==(const DeviceClaimSpec&) const = default;
};
bool read(json::Reader& reader, DeviceClaimSpec& out);

struct AllocatedDevice {
  Text request;
  Text driver;
  Text pool;
  Text device;
  Text share_id;
  bool admin_access = false;

  bool operator==(const AllocatedDevice&) const = default;
};

constexpr auto json_fields(json::Tag<AllocatedDevice>) {
  using T = AllocatedDevice;
  return json::fields(json::field("request", &T::request), json::field("driver", &T::driver),
                      json::field("pool", &T::pool), json::field("device", &T::device),
                      json::field("shareID", &T::share_id),
                      json::field("adminAccess", &T::admin_access));
}

struct ClaimConsumer {
  Text group;
  Text resource;
  Text name;
  Text uid;

  bool operator==(const ClaimConsumer&) const = default;
};

constexpr auto json_fields(json::Tag<ClaimConsumer>) {
  using T = ClaimConsumer;
  return json::fields(json::field("apiGroup", &T::group), json::field("resource", &T::resource),
                      json::field("name", &T::name), json::field("uid", &T::uid));
}

struct DeviceAllocation {
  Seq<AllocatedDevice> devices;
  Rare<NodeSelector> nodes;  // Absent: usable everywhere.

  bool operator==(const DeviceAllocation&) const = default;
};

constexpr auto json_fields(json::Tag<DeviceAllocation>) {
  using T = DeviceAllocation;
  return json::fields(json::group("devices", json::field("results", &T::devices)),
                      json::field("nodeSelector", &T::nodes));
}

struct ResourceClaim {
  inline static const Resource kResource{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim",
                                         true};

  Meta meta;
  DeviceClaimSpec devices;
  Rare<DeviceAllocation> allocation;  // Absent: nothing was given yet.
  Seq<ClaimConsumer> reserved_for;

  bool operator==(const ResourceClaim&) const = default;
};

constexpr auto json_fields(json::Tag<ResourceClaim>) {
  using T = ResourceClaim;
  return json::fields(json::field("metadata", &T::meta),
                      json::group("spec", json::field("devices", &T::devices)),
                      json::group("status", json::field("allocation", &T::allocation),
                                  json::field("reservedFor", &T::reserved_for)));
}

struct ResourceClaimTemplate {
  inline static const Resource kResource{"resource.k8s.io", "v1", "resourceclaimtemplates",
                                         "ResourceClaimTemplate", true};

  Meta meta;
  json::StringMap labels;  // Of the claims that are made from it.
  json::StringMap annotations;
  DeviceClaimSpec devices;

  bool operator==(const ResourceClaimTemplate&) const = default;
};

constexpr auto json_fields(json::Tag<ResourceClaimTemplate>) {
  using T = ResourceClaimTemplate;
  return json::fields(json::field("metadata", &T::meta),
                      json::group("spec",
                                  json::group("metadata", json::field("labels", &T::labels),
                                              json::field("annotations", &T::annotations)),
                                  json::group("spec", json::field("devices", &T::devices))));
}

struct DeviceAttribute {
  enum class Kind : std::uint8_t { kNone, kString, kVersion, kInt, kBool };

  Text name;  // Without the driver's domain where it is the driver's own.
  Text text;
  std::int64_t number = 0;  // Also 0 and 1 of kBool.
  Kind kind = Kind::kNone;

  bool operator==(const DeviceAttribute&) const = default;
};

struct Device {
  Text name;
  Seq<DeviceAttribute> attributes;
  Quantities capacity;
  Seq<Taint> taints;
  Text node_name;  // Where the slice leaves it to each device.
  Rare<NodeSelector> nodes;
  bool all_nodes = false;
  bool shareable = false;  // Several claims may take parts of it.
  bool consumes_counters = false;

  const DeviceAttribute* attribute(std::string_view attribute_name) const;
  bool operator==(const Device&) const = default;
};
bool read(json::Reader& reader, Device& out);

struct ResourceSlice {
  inline static const Resource kResource{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice",
                                         false};

  Meta meta;
  Text driver;
  Text pool;
  std::int64_t pool_generation = 0;
  std::int64_t pool_slices = 0;  // Slices of this generation; fewer seen: the pool is incomplete.
  Text node_name;
  Rare<NodeSelector> nodes;
  Seq<Device> devices;
  bool all_nodes = false;

  bool operator==(const ResourceSlice&) const = default;
};

constexpr auto json_fields(json::Tag<ResourceSlice>) {
  using T = ResourceSlice;
  return json::fields(
      json::field("metadata", &T::meta),
      json::group("spec", json::field("driver", &T::driver), json::field("nodeName", &T::node_name),
                  json::field("nodeSelector", &T::nodes), json::field("allNodes", &T::all_nodes),
                  json::field("devices", &T::devices),
                  json::group("pool", json::field("name", &T::pool),
                              json::field("generation", &T::pool_generation),
                              json::field("resourceSliceCount", &T::pool_slices))));
}

struct DeviceClass {
  inline static const Resource kResource{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass",
                                         false};

  Meta meta;
  Seq<Text> selectors;
  Text extended_resource;  // Pods may ask for it by this name instead of a claim.

  bool operator==(const DeviceClass&) const = default;
};
bool read(json::Reader& reader, DeviceClass& out);

}  // namespace mainspring::kube
