// kube/policy.h
//
// PodDisruptionBudget: how many pods may be missing by somebody's will. A value.
#pragma once

#include <cstdint>

#include "kube/conditions.h"
#include "kube/label_selector.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct PodDisruptionBudget {
  inline static const Resource kResource{"policy", "v1", "poddisruptionbudgets",
                                         "PodDisruptionBudget", true};

  Meta meta;
  LabelSelector selector;
  Text min_available;  // A number or a share: "2", "50%"; one of the two.
  Text max_unavailable;
  std::int64_t observed_generation = 0;
  std::int32_t allowed = 0;  // Disruptions that are left.
  std::int32_t healthy = 0;
  std::int32_t desired_healthy = 0;
  std::int32_t expected = 0;

  bool operator==(const PodDisruptionBudget&) const = default;
};

constexpr auto json_fields(json::Tag<PodDisruptionBudget>) {
  using T = PodDisruptionBudget;
  return json::fields(
      json::field("metadata", &T::meta),
      json::group("spec", json::field("selector", &T::selector),
                  scalar_field<&T::min_available>("minAvailable"),
                  scalar_field<&T::max_unavailable>("maxUnavailable")),
      json::group("status", json::field("observedGeneration", &T::observed_generation),
                  json::field("disruptionsAllowed", &T::allowed),
                  json::field("currentHealthy", &T::healthy),
                  json::field("desiredHealthy", &T::desired_healthy),
                  json::field("expectedPods", &T::expected)));
}

}  // namespace mainspring::kube
