#include "json/string_map.h"

#include <algorithm>
#include <cstring>
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
  if (kept.empty()) return;
  std::size_t text = 0;
  for (const auto& [key, value] : kept) text += key.size() + value.size();
  const std::size_t head = 1 + 2 * kept.size();
  bytes_ = head * sizeof(std::uint32_t) + text;
  block_ = std::make_shared_for_overwrite<std::uint32_t[]>((bytes_ + 3) / sizeof(std::uint32_t));
  block_[0] = static_cast<std::uint32_t>(kept.size());
  char* const start = reinterpret_cast<char*>(block_.get() + head);
  char* out = start;
  std::uint32_t* mark = block_.get() + 1;
  for (const auto& member : kept) {
    for (const std::string_view part : {member.first, member.second}) {
      out = std::copy(part.begin(), part.end(), out);
      *mark++ = static_cast<std::uint32_t>(out - start);
    }
  }
}

StringMap::Member StringMap::at(std::size_t index) const {
  const std::uint32_t* const marks = block_.get() + 1;
  const char* const text = reinterpret_cast<const char*>(marks + 2 * size());
  const std::uint32_t begin = index == 0 ? 0 : marks[2 * index - 1];
  const std::uint32_t middle = marks[2 * index];
  return {{text + begin, middle - begin}, {text + middle, marks[2 * index + 1] - middle}};
}

std::optional<std::string_view> StringMap::find(std::string_view key) const {
  std::size_t first = 0;
  std::size_t last = size();
  while (first < last) {
    const std::size_t middle = (first + last) / 2;
    const Member member = at(middle);
    if (member.first == key) return member.second;
    if (member.first < key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return std::nullopt;
}

bool operator==(const StringMap& a, const StringMap& b) {
  if (a.block_ == b.block_) return true;
  return a.block_ && b.block_ && a.bytes_ == b.bytes_ &&
         (a.bytes_ == 0 || std::memcmp(a.block_.get(), b.block_.get(), a.bytes_) == 0);
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
