// kube/meta.h
//
// The metadata that our controllers read of every object. Part of each projection.
//
// Equality ignores the resource version: it changes with every write to the object, also where
// nothing that we read has changed, and equal projections are how such writes are told apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/object_key.h"
#include "base/time.h"
#include "json/fields.h"
#include "json/string_map.h"
#include "kube/compact.h"

namespace mainspring::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool block_owner_deletion = false;

  // The group of api_version: "apps" for "apps/v1", empty for "v1".
  std::string_view group() const;
  bool operator==(const OwnerReference&) const = default;
};

constexpr auto json_fields(json::Tag<OwnerReference>) {
  return json::fields(json::field("apiVersion", &OwnerReference::api_version),
                      json::field("kind", &OwnerReference::kind),
                      json::field("name", &OwnerReference::name),
                      json::field("uid", &OwnerReference::uid),
                      json::field("controller", &OwnerReference::controller),
                      json::field("blockOwnerDeletion", &OwnerReference::block_owner_deletion));
}

struct Meta {
  std::string name;
  std::string ns;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  WallTime created;
  std::optional<WallTime> deletion;
  std::optional<std::int64_t> deletion_grace_seconds;
  json::StringMap labels;
  // Without kubectl.kubernetes.io/last-applied-configuration, a copy of the object that nobody here
  // reads.
  json::StringMap annotations;
  Seq<OwnerReference> owners;
  Seq<std::string> finalizers;

  KeyView key() const { return {ns, name}; }
  bool deleting() const { return deletion.has_value(); }
  bool has_finalizer(std::string_view finalizer) const;
  // The one owner that manages the object; null if none does.
  const OwnerReference* controller() const;

  // Has what it has in common with an earlier version of the object in the same place, so that what
  // objects share they go on sharing as they change.
  void share_with(const Meta& earlier);

  bool operator==(const Meta& other) const;
};

namespace detail {
void read_created(json::Reader& reader, Meta& meta);
void read_deletion(json::Reader& reader, Meta& meta);
void read_labels(json::Reader& reader, Meta& meta);
void read_annotations(json::Reader& reader, Meta& meta);
void read_owners(json::Reader& reader, Meta& meta);
void read_finalizers(json::Reader& reader, Meta& meta);
}  // namespace detail

constexpr auto json_fields(json::Tag<Meta>) {
  return json::fields(json::field("name", &Meta::name), json::field("namespace", &Meta::ns),
                      json::field("uid", &Meta::uid),
                      json::field("resourceVersion", &Meta::resource_version),
                      json::field("generation", &Meta::generation),
                      json::field("creationTimestamp", &detail::read_created),
                      json::field("deletionTimestamp", &detail::read_deletion),
                      json::field("deletionGracePeriodSeconds", &Meta::deletion_grace_seconds),
                      json::field("labels", &detail::read_labels),
                      json::field("annotations", &detail::read_annotations),
                      json::field("ownerReferences", &detail::read_owners),
                      json::field("finalizers", &detail::read_finalizers));
}

// The time that comes next, as metav1.Time and metav1.MicroTime write it.
bool read_time(json::Reader& reader, WallTime& out);
bool read_time(json::Reader& reader, std::optional<WallTime>& out);

}  // namespace mainspring::kube
