// json/diff.h
//
// What changed between two values, for logs and for the decision that nothing would change.
// Equality is that of Value: empty if and only if the two are equal. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "json/value.h"

namespace mainspring::json {

struct Change {
  std::string path;             // spec.template.spec.containers[0].image
  std::optional<Value> before;  // absent where something was added
  std::optional<Value> after;   // absent where something was removed
};

// In the order of `before`, then what was added.
std::vector<Change> diff(const Value& before, const Value& after);

// "spec.replicas: 2 -> 3; metadata.labels.tier: added \"gpu\"". Long values are cut.
std::string to_text(const std::vector<Change>& changes);

}  // namespace mainspring::json
