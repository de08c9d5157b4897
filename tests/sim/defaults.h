// tests/sim/defaults.h
//
// What the API server adds to objects of built-in kinds that controllers here care about: the
// versioned defaults, which whoever created the object then owns, and what admission and the kind's
// own strategy add, which nobody owns. Kinds that are not mentioned get none. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"
#include "kube/status.h"
#include "sim/kinds.h"

namespace mainspring::sim {

// Before ownership is recorded, on every write.
void set_defaults(const Kind& kind, json::Value& object);
// After it, when an object is made.
void prepare_new(const Kind& kind, json::Value& object);
// What the server allocates for a new Service: `address`, unless it wants another or none.
void give_addresses(json::Value& service, std::string address);
// Of an update, before what it leaves out is filled in: addresses of both families can only be had
// by a Service without a selector, which needs none.
void validate_families(const json::Value& before, const json::Value& given,
                       std::vector<kube::StatusCause>& causes);
// What a kind refuses of its own accord. `before` is null for a new object.
std::vector<kube::StatusCause> validate_builtin(const Kind& kind, const json::Value* before,
                                                const json::Value& after);

}  // namespace mainspring::sim
