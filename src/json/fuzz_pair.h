// json/fuzz_pair.h
//
// Two documents out of one fuzz input: the first line and the rest. Only for fuzz targets.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "json/value.h"

namespace mainspring::json {

inline std::optional<std::pair<Value, Value>> fuzz_pair(const std::uint8_t* data,
                                                        std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::size_t line = text.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  auto first = parse(text.substr(0, line));
  auto second = parse(text.substr(line + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*std::move(first), *std::move(second));
}

}  // namespace mainspring::json
