// control/fresh_read.h
//
// What to do when a guarded write is refused because its author's copy is old: read the object once
// more and decide again. Used by whatever patches metadata of objects that others write too.
#pragma once

#include <optional>

#include "control/object_meta.h"
#include "kube/api.h"

namespace mainspring::control {

// After `refusal` of a write that was guarded by what `seen` shows: the object as it is now, or
// nothing where it is gone and its name free or another's. The refusal itself where a fresh copy
// would not help: it was for another reason, or the object has not changed at all.
net::Task<Result<std::optional<kube::Meta>>> read_after_refusal(Error refusal,
                                                                kube::Api<ObjectMeta> api,
                                                                kube::Meta seen);

}  // namespace mainspring::control
