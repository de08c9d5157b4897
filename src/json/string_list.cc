#include "json/string_list.h"

#include <array>
#include <cstring>
#include <vector>

#include "json/key_table.h"

namespace mainspring::json {

std::string_view StringList::operator[](std::size_t index) const {
  const std::uint32_t* const ends = words_.data() + 1;
  const char* const text = reinterpret_cast<const char*>(ends + size());
  const std::uint32_t begin = index == 0 ? 0 : ends[index - 1];
  return {text + begin, ends[index] - begin};
}

bool operator==(const StringList& a, const StringList& b) {
  if (a.words_.shares_with(b.words_)) return true;
  return a.words_.size() == b.words_.size() &&
         std::memcmp(a.words_.data(), b.words_.data(), a.words_.size() * sizeof(std::uint32_t)) ==
             0;
}

StringList& detail::recent_like(std::string_view first, std::string_view last, std::size_t count) {
  constexpr std::size_t kRemembered = 64;
  constexpr std::uint64_t kSeed = 0x9E3779B97F4A7C15;
  thread_local std::array<StringList, kRemembered> recent;
  return recent[(key_hash(first.data(), first.size(), kSeed) +
                 3 * key_hash(last.data(), last.size(), kSeed) + count) %
                kRemembered];
}

bool read(Reader& reader, StringList& out) {
  // The views stay good until the list is made, since they point into the Reader's document.
  constexpr std::size_t kFew = 16;
  std::array<std::string_view, kFew> few;
  std::vector<std::string_view> many;
  std::size_t count = 0;
  const bool found = reader.array([&] {
    std::string_view item;
    reader.read(item);
    if (count == kFew) many.assign(few.begin(), few.end());
    if (count < kFew) {
      few[count] = item;
    } else {
      many.push_back(item);
    }
    ++count;
  });
  if (!found) return false;
  const std::string_view* const items = many.empty() ? few.data() : many.data();
  out = recent_list(count, [items](std::size_t i) { return items[i]; });
  return true;
}

}  // namespace mainspring::json
