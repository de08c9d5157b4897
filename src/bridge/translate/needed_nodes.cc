#include "bridge/translate/needed_nodes.h"

#include <algorithm>
#include <cstdint>

namespace mainspring::bridge {
namespace {

// All sets of so many are looked at.
constexpr std::size_t kFewParts = 10;

using Set = std::vector<std::size_t>;  // Of parts.

std::vector<Set> sets_of(std::size_t parts) {
  std::vector<Set> sets;
  if (parts <= kFewParts) {
    for (std::uint32_t bits = 1; bits + 1 < (1U << parts); ++bits) {
      Set& set = sets.emplace_back();
      for (std::size_t i = 0; i < parts; ++i) {
        if ((bits >> i & 1U) != 0) set.push_back(i);
      }
    }
    return sets;
  }
  for (std::size_t i = 0; i < parts; ++i) {
    sets.push_back({i});
    for (std::size_t j = i + 1; j < parts; ++j) sets.push_back({i, j});
  }
  return sets;
}

std::size_t count(const std::vector<bool>& nodes) {
  return static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), true));
}

}  // namespace

std::vector<std::vector<std::size_t>> needed_by_others(std::span<const PartNodes> parts) {
  std::vector<std::vector<bool>> left;
  for (const PartNodes& part : parts) left.push_back(part.may);
  for (const Set& set : sets_of(parts.size())) {
    std::vector<bool> all(parts.front().may.size());
    std::size_t needed = 0;
    for (const std::size_t part : set) {
      for (std::size_t node = 0; node < all.size(); ++node) {
        if (parts[part].may[node]) all[node] = true;
      }
      needed += parts[part].least;
    }
    if (count(all) != needed) continue;
    for (std::size_t other = 0; other < parts.size(); ++other) {
      if (std::find(set.begin(), set.end(), other) != set.end()) continue;
      for (std::size_t node = 0; node < all.size(); ++node) {
        if (all[node]) left[other][node] = false;
      }
    }
  }
  std::vector<std::vector<std::size_t>> out(parts.size());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (count(left[part]) < parts[part].least) continue;
    for (std::size_t node = 0; node < left[part].size(); ++node) {
      if (parts[part].may[node] && !left[part][node]) out[part].push_back(node);
    }
  }
  return out;
}

}  // namespace mainspring::bridge
