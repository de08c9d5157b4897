// tests/sim/schema.h
//
// The structural schema of a custom kind: what the API server prunes, fills in and refuses when one
// of its objects is written. Immutable; owned by its Kind.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json/value.h"
#include "kube/status.h"

namespace mainspring::sim {

class Schema {
 public:
  explicit Schema(json::Value root) : root_(std::move(root)) {}

  // Removes what the schema does not know; apiVersion, kind and metadata always stay.
  void prune(json::Value& object) const;
  // Sets what is absent, or null where that is not allowed, and has a default.
  void set_defaults(json::Value& object) const;
  std::vector<kube::StatusCause> validate(const json::Value& object) const;

 private:
  json::Value root_;
};

}  // namespace mainspring::sim
