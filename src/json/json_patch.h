// json/json_patch.h
//
// JSON Patch (RFC 6902), `application/json-patch+json` to Kubernetes: a list of operations, all or
// nothing. Pure.
#pragma once

#include "json/value.h"

namespace mainspring::json {

// What kube-apiserver allows in one patch; and a bound on what `copy` may multiply.
constexpr std::size_t kMaxPatchOperations = 10'000;
constexpr std::size_t kMaxPatchCopies = 1'000'000;

// The document after all operations of `patch`, an array as on the wire. The first operation that
// does not apply ends it with an error that names it ("operation 2 (remove /spec/x): ..."):
// kConflict for a `test` that found something else, kInvalid otherwise.
Result<Value> apply_json_patch(Value target, const Value& patch);

// A patch that makes `to` of `from`; an empty array where they are equal. Elements that arrays have
// in common at either end are left alone; members are patched in place rather than replaced.
Value make_json_patch(const Value& from, const Value& to);

}  // namespace mainspring::json
