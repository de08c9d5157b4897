// kube/scheduling.h
//
// PriorityClass: what a priority's name is worth. A value.
#pragma once

#include <cstdint>

#include "kube/projection.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct PriorityClass {
  inline static const Resource kResource{"scheduling.k8s.io", "v1", "priorityclasses",
                                         "PriorityClass", false};

  Meta meta;
  std::int32_t value = 0;
  Text preemption_policy;
  bool is_default = false;

  bool operator==(const PriorityClass&) const = default;
};

constexpr auto json_fields(json::Tag<PriorityClass>) {
  return json::fields(json::field("metadata", &PriorityClass::meta),
                      json::field("value", &PriorityClass::value),
                      json::field("preemptionPolicy", &PriorityClass::preemption_policy),
                      json::field("globalDefault", &PriorityClass::is_default));
}

}  // namespace mainspring::kube
