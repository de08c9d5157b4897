// control/conditions.h
//
// Status conditions to be written: what a controller says about an object, one entry per type. Pure
// functions over values. A reconcile starts from what the cache shows, sets what it finds, and
// applies the list:
//
//   ConditionList conditions = edit(nodeset.conditions);
//   set_condition(conditions, {.type = "Ready", .reason = "AllDrained", .status = kTrue}, now);
//   desired["status"]["conditions"] = to_json(conditions);
//
// lastTransitionTime moves only when `status` does: a new message must not look like a new state,
// and a reconcile that finds the same state again must build the same list, so that nothing is
// written.
#pragma once

#include <string_view>
#include <vector>

#include "base/time.h"
#include "json/value.h"
#include "kube/conditions.h"

namespace mainspring::control {

using ConditionList = std::vector<kube::Condition>;

ConditionList edit(const kube::Conditions& conditions);

// Adds or replaces the condition of that type in its place; says whether anything changed.
// `wanted.transition` is ignored: it is `now` where the status is new, else what it was. A message
// is cut to what the API accepts.
bool set_condition(ConditionList& conditions, kube::Condition wanted, WallTime now);
bool remove_condition(ConditionList& conditions, std::string_view type);

// As the API writes them. An observedGeneration of 0 is left out.
json::Value to_json(const ConditionList& conditions);

}  // namespace mainspring::control
