#include "json/string_list.h"

#include <array>
#include <cstring>
#include <vector>

namespace mainspring::json {

StringList::StringList(std::span<const std::string_view> items) {
  if (items.empty()) return;
  std::size_t text = 0;
  for (const std::string_view item : items) text += item.size();
  const std::size_t head = 1 + items.size();
  bytes_ = head * sizeof(std::uint32_t) + text;
  block_.reset(new std::uint32_t[(bytes_ + 3) / sizeof(std::uint32_t)]);
  block_[0] = static_cast<std::uint32_t>(items.size());
  char* const start = reinterpret_cast<char*>(block_.get() + head);
  char* out = start;
  std::uint32_t* mark = block_.get() + 1;
  for (const std::string_view item : items) {
    out = std::copy(item.begin(), item.end(), out);
    *mark++ = static_cast<std::uint32_t>(out - start);
  }
}

StringList::StringList(const StringList& other) : bytes_(other.bytes_) {
  if (bytes_ == 0) return;
  block_.reset(new std::uint32_t[(bytes_ + 3) / sizeof(std::uint32_t)]);
  std::memcpy(block_.get(), other.block_.get(), bytes_);
}

StringList& StringList::operator=(const StringList& other) {
  if (this != &other) *this = StringList(other);
  return *this;
}

StringList& StringList::operator=(StringList&& other) noexcept {
  block_ = std::move(other.block_);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

std::string_view StringList::operator[](std::size_t index) const {
  const std::uint32_t* const marks = block_.get() + 1;
  const char* const text = reinterpret_cast<const char*>(marks + size());
  const std::uint32_t begin = index == 0 ? 0 : marks[index - 1];
  return {text + begin, marks[index] - begin};
}

bool operator==(const StringList& a, const StringList& b) {
  return a.bytes_ == b.bytes_ &&
         (a.bytes_ == 0 || std::memcmp(a.block_.get(), b.block_.get(), a.bytes_) == 0);
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
