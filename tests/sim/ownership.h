// tests/sim/ownership.h
//
// Who owns which field (metadata.managedFields), and server-side apply, which is decided by it.
// Every write goes through here: create, update and patch record what they changed, apply records
// what it was given. Pure functions.
#pragma once

#include <string>

#include "base/result.h"
#include "json/value.h"
#include "sim/kinds.h"

namespace mainspring::sim {

struct Writer {
  std::string manager;
  std::string subresource;
  std::string time;  // RFC 3339.
};

// Sets object.metadata.managedFields after a create (`live` is null), update or patch.
void record_update(const json::Value* live, json::Value& object, const Writer& writer,
                   const Kind& kind);

// `live` (null: none) with `config` applied, its managedFields included. 409 where a field that
// would change belongs to somebody else, unless `force`.
Result<json::Value> apply_config(const json::Value* live, const json::Value& config,
                                 const Writer& writer, bool force, const Kind& kind);

}  // namespace mainspring::sim
