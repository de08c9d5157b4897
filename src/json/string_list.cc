#include "json/string_list.h"

#include <array>
#include <cstring>
#include <vector>

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
  out = StringList(many.empty() ? std::span<const std::string_view>(few.data(), count) : many);
  return true;
}

}  // namespace mainspring::json
