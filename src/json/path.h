// json/path.h
//
// Places in a document, for people (`items[3].metadata.labels["a/b"]`) and for machines (JSON
// Pointer, RFC 6901). Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainspring::json {

// Adds one step to a path for people. Keys that are no plain word are put in brackets and quotes.
void append_key(std::string& path, std::string_view key);
void append_index(std::string& path, std::size_t index);

// Adds one step to a JSON Pointer, with `~` and `/` escaped.
void append_pointer(std::string& pointer, std::string_view token);

// The unescaped steps of a JSON Pointer. "" has none; anything else must start with `/`.
Result<std::vector<std::string>> split_pointer(std::string_view pointer);

// The position a step names in an array: digits without a leading zero.
std::optional<std::size_t> array_index(std::string_view token);

}  // namespace mainspring::json
