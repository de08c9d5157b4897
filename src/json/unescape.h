// json/unescape.h
//
// Escape sequences of JSON strings. Pure.
#pragma once

#include <cstddef>
#include <optional>

namespace mainspring::json {

// Replaces the escapes of the string [begin, end) where it stands; it only gets shorter. Returns
// the new size, or nothing for an unknown escape or half a surrogate pair: neither has a meaning in
// UTF-8, and guessing one would write back something else than was read.
std::optional<std::size_t> unescape_in_place(char* begin, char* end);

}  // namespace mainspring::json
