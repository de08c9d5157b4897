#include "json/string_map.h"

#include <algorithm>
#include <array>
#include <vector>

namespace mainspring::json {
namespace {

bool key_less(const StringMap::Member& a, const StringMap::Member& b) { return a.first < b.first; }
bool key_equal(const StringMap::Member& a, const StringMap::Member& b) {
  return a.first == b.first;
}

}  // namespace

StringMap::StringMap(std::span<Member> members) {
  // API servers write maps sorted.
  if (!std::is_sorted(members.begin(), members.end(), key_less)) {
    std::sort(members.begin(), members.end(), key_less);
  }
  const auto last = std::unique(members.begin(), members.end(), key_equal);
  const auto kept = members.first(static_cast<std::size_t>(last - members.begin()));
  keys_ = recent_list(kept.size(), [&](std::size_t i) { return kept[i].first; });
  values_ = StringList(kept.size(), [&](std::size_t i) { return kept[i].second; });
}

std::optional<std::string_view> StringMap::find(std::string_view key) const {
  std::size_t first = 0;
  std::size_t last = size();
  while (first < last) {
    const std::size_t middle = (first + last) / 2;
    const std::string_view here = keys_[middle];
    if (here == key) return values_[middle];
    if (here < key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return std::nullopt;
}

bool read(Reader& reader, StringMap& out) {
  // The views stay good until the map is made, since they point into the Reader's document.
  constexpr std::size_t kFew = 24;
  StringMap::Member few[kFew];
  std::size_t count = 0;
  std::vector<StringMap::Member> many;
  const bool whole = reader.object([&](std::string_view key) {
    std::string_view value;
    reader.read(value);
    if (count < kFew) {
      few[count] = {key, value};
    } else {
      if (count == kFew) many.assign(few, few + kFew);
      many.emplace_back(key, value);
    }
    ++count;
  });
  if (!whole) return false;
  const std::span<StringMap::Member> members =
      many.empty() ? std::span(few, count) : std::span(many);
  std::sort(members.begin(), members.end(), key_less);
  const auto twice = std::adjacent_find(members.begin(), members.end(), key_equal);
  if (twice != members.end()) {
    reader.refuse_repeated(twice->first);
    return false;
  }
  out = StringMap(members);
  return true;
}

}  // namespace mainspring::json
