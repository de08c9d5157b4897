// kube/controller_revision.h
//
// ControllerRevision: one recorded state of a template, in the history that a controller keeps to
// roll out and back. A value; compared and written by control's revision history.
#pragma once

#include <cstdint>
#include <string>

#include "kube/projection.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct ControllerRevision {
  inline static const Resource kResource{"apps", "v1", "controllerrevisions", "ControllerRevision",
                                         true};

  Meta meta;
  std::int64_t revision = 0;
  // JSON as the server sent it. Servers sort members, so equal data is equal text.
  std::string data;

  bool operator==(const ControllerRevision&) const = default;
};

constexpr auto json_fields(json::Tag<ControllerRevision>) {
  return json::fields(json::field("metadata", &ControllerRevision::meta),
                      json::field("revision", &ControllerRevision::revision),
                      raw_field<&ControllerRevision::data>("data"));
}

}  // namespace mainspring::kube
