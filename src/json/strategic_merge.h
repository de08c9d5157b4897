// json/strategic_merge.h
//
// Strategic merge patch as kube-apiserver applies it: like a merge patch, but lists of named things
// (containers, env, volumes, ...) merge element by element under the keys of json/merge_keys.h.
// Used to lay a user's pod template over our defaults, and wherever Kubernetes takes
// `application/strategic-merge-patch+json`. Pure.
//
// Presence decides, not truth: false, 0, "" and [] of the patch win, null removes, absent keeps.
//
// Order, as upstream has it: elements of the patch come in the patch's order; elements that only
// the target has keep their place relative to those they share; new ones come before the rest. So a
// container that the patch adds becomes the first.
//
// Directives: `$patch: replace|delete` in objects and list elements, `$retainKeys`,
// `$setElementOrder/FIELD`, `$deleteFromPrimitiveList/FIELD`.
#pragma once

#include "json/merge_keys.h"
#include "json/value.h"

namespace mainspring::json {

// `type` is what `target` is, e.g. MergeType::kPodTemplate or merge_type_of_kind("Deployment"). An
// element without its merge key, or a directive that makes no sense, is an error naming the path.
Result<Value> apply_strategic_merge(Value target, const Value& patch, MergeType type);

}  // namespace mainspring::json
