// control/owned_fields.h
//
// Whether a server-side apply would change anything, told from the live object alone. Pure.
//
// metadata.managedFields of a live object says which fields each manager holds. An apply of
// `desired` changes nothing where the fields that our manager holds are those of `desired`, no more
// and no less, and each has the value that `desired` gives it.
//
// The answer errs on one side only. What the server rewrites on the way in (a quantity "1000m" that
// becomes "1", stringData of a Secret) looks different here: then an apply is sent that the server
// finds to change nothing. "Changes nothing" is never said of an apply that would.
#pragma once

#include <string_view>

#include "json/value.h"

namespace mainspring::control {

// `subresource` is that of the apply: "status", or empty for the object itself.
bool apply_changes_nothing(const json::Value& desired, const json::Value& live,
                           std::string_view field_manager, std::string_view subresource = {});

}  // namespace mainspring::control
