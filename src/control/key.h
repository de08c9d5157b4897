// control/key.h
//
// What a queue holds and a reconcile gets: the name of an object, not the object. Whoever works on
// a key reads what exists from a store at that moment, so it never acts on an event that is old.
#pragma once

#include "base/object_key.h"

namespace mainspring::control {

using Key = ObjectKey;

}  // namespace mainspring::control
