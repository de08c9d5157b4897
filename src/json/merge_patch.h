// json/merge_patch.h
//
// JSON Merge Patch (RFC 7386), `application/merge-patch+json` to Kubernetes: objects merge member
// by member, null removes a member, everything else replaces. Pure.
#pragma once

#include "json/value.h"

namespace mainspring::json {

Value apply_merge_patch(Value target, const Value& patch);

// The smallest patch that makes `to` of `from`; an empty object where nothing would change. A merge
// patch has no way to say "set to null": nulls in `to` come out as members removed.
Value make_merge_patch(const Value& from, const Value& to);

}  // namespace mainspring::json
