// base/seeds_testing.h
//
// How many seeds a story with chance in it is told with. Where MAINSPRING_SEED_PERCENT is set, that
// share of the usual number: under a sanitizer, for which ctest does so, each takes several times
// as long, and what it looks for shows in the first as well as in the last.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace mainspring {

inline std::uint64_t seeds(std::uint64_t usual) {
  const char* const percent = std::getenv("MAINSPRING_SEED_PERCENT");
  if (percent == nullptr) return usual;
  return std::max<std::uint64_t>(usual * std::strtoull(percent, nullptr, 10) / 100, 1);
}

}  // namespace mainspring
