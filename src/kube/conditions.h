// kube/conditions.h
//
// Conditions as pods, nodes, workloads and our own kinds carry them in their status. Part of a
// projection.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/time.h"
#include "kube/projection.h"

namespace mainspring::kube {

enum class ConditionStatus : std::uint8_t { kUnknown, kTrue, kFalse };

inline bool read(json::Reader& reader, ConditionStatus& out) {
  return read_word<ConditionStatus>(
      reader, out, {{"True", ConditionStatus::kTrue}, {"False", ConditionStatus::kFalse}});
}

struct Condition {
  Text type;
  Text reason;
  Text message;
  WallTime transition;  // The epoch where the server gives none.
  std::int64_t observed_generation = 0;
  ConditionStatus status = ConditionStatus::kUnknown;

  bool operator==(const Condition&) const = default;
};

// Without lastHeartbeatTime and lastProbeTime: they change every few minutes and mean nothing.
constexpr auto json_fields(json::Tag<Condition>) {
  return json::fields(
      json::field("type", &Condition::type), json::field("status", &Condition::status),
      json::field("reason", &Condition::reason), json::field("message", &Condition::message),
      time_field<&Condition::transition>("lastTransitionTime"),
      json::field("observedGeneration", &Condition::observed_generation));
}

using Conditions = Seq<Condition>;

// Null where there is none of that type.
inline const Condition* find_condition(const Conditions& conditions, std::string_view type) {
  const auto* const found = std::find_if(conditions.begin(), conditions.end(),
                                         [&](const Condition& c) { return c.type == type; });
  return found == conditions.end() ? nullptr : found;
}

// A condition that is absent is neither true nor false.
inline bool condition_is(const Conditions& conditions, std::string_view type,
                         ConditionStatus status) {
  const Condition* const condition = find_condition(conditions, type);
  return condition != nullptr && condition->status == status;
}
inline bool is_true(const Conditions& conditions, std::string_view type) {
  return condition_is(conditions, type, ConditionStatus::kTrue);
}

}  // namespace mainspring::kube
