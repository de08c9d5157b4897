// api/simple_status.h
//
// The status of kinds that have nothing but conditions. A value.
#pragma once

#include "api/common.h"

namespace mainspring::api {

struct SimpleStatus {
  kube::Conditions conditions;
  std::int64_t observed_generation = 0;  // Ours, beyond the public contract.

  bool operator==(const SimpleStatus&) const = default;
};

constexpr auto json_fields(json::Tag<SimpleStatus>) {
  return json::fields(json::field("conditions", &SimpleStatus::conditions),
                      json::field("observedGeneration", &SimpleStatus::observed_generation));
}

}  // namespace mainspring::api
