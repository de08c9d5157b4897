// control/conditions.cc
#include "control/conditions.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/rfc3339.h"
#include "control/cut_text.h"

namespace mainspring::control {

namespace {

// The limit in the schema of metav1.Condition. A longer one makes the whole status refused.
constexpr std::size_t kMaxMessage = 32768;

std::string_view to_text(kube::ConditionStatus status) {
  switch (status) {
    case kube::ConditionStatus::kTrue:
      return "True";
    case kube::ConditionStatus::kFalse:
      return "False";
    case kube::ConditionStatus::kUnknown:
      break;
  }
  return "Unknown";
}

json::Value to_json(const kube::Condition& condition) {
  json::Value value = json::Value::object({
      {"type", condition.type.view()},
      {"status", to_text(condition.status)},
      {"reason", condition.reason.view()},
      {"message", condition.message.view()},
      {"lastTransitionTime", format_rfc3339(condition.transition)},
  });
  if (condition.observed_generation != 0) {
    value["observedGeneration"] = condition.observed_generation;
  }
  return value;
}

}  // namespace

ConditionList edit(const kube::Conditions& conditions) {
  return {conditions.begin(), conditions.end()};
}

bool set_condition(ConditionList& conditions, kube::Condition wanted, WallTime now) {
  if (wanted.message.view().size() > kMaxMessage) {
    std::string message = wanted.message.str();
    cut_text(message, kMaxMessage);
    wanted.message = message;
  }
  // What is written is whole seconds, and must be equal when it is read again.
  wanted.transition = std::chrono::floor<seconds>(now);
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const auto& known) { return known.type == wanted.type; });
  if (it == conditions.end()) {
    conditions.push_back(std::move(wanted));
    return true;
  }
  if (it->status == wanted.status) wanted.transition = it->transition;
  if (*it == wanted) return false;
  *it = std::move(wanted);
  return true;
}

bool remove_condition(ConditionList& conditions, std::string_view type) {
  return std::erase_if(conditions, [type](const auto& known) { return known.type == type; }) != 0;
}

json::Value to_json(const ConditionList& conditions) {
  json::Value list = json::Value::array();
  list.reserve(conditions.size());
  for (const kube::Condition& condition : conditions) list.push_back(to_json(condition));
  return list;
}

}  // namespace mainspring::control
