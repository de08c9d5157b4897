// control/object_meta.h
//
// An object of any kind, of which only the metadata is read: for code that adds a finalizer or an
// owner and does not care what the object is. A value.
#pragma once

#include "kube/meta.h"

namespace mainspring::control {

struct ObjectMeta {
  kube::Meta meta;
  bool operator==(const ObjectMeta&) const = default;
};

constexpr auto json_fields(json::Tag<ObjectMeta>) {
  return json::fields(json::field("metadata", &ObjectMeta::meta));
}

}  // namespace mainspring::control
