// slurm/short_string.cc
#include "slurm/short_string.h"

#include <cstring>
#include <utility>

namespace mainspring::slurm {

ShortString& ShortString::operator=(const ShortString& other) {
  if (this != &other) *this = ShortString(other);
  return *this;
}

ShortString& ShortString::operator=(ShortString&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

std::string_view ShortString::view() const noexcept {
  if (bytes_.back() != kOutside) {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.back()};
  }
  std::uint32_t size = 0;
  std::memcpy(&size, bytes_.data() + sizeof(char*), sizeof size);
  return {block(), size};
}

char* ShortString::block() const noexcept {
  char* text = nullptr;
  std::memcpy(&text, bytes_.data(), sizeof text);
  return text;
}

// On an empty string only.
void ShortString::assign(std::string_view text) {
  if (text.size() <= kInside) {
    if (!text.empty()) std::memcpy(bytes_.data(), text.data(), text.size());
    bytes_.back() = static_cast<unsigned char>(text.size());
    return;
  }
  const auto size = static_cast<std::uint32_t>(text.size());
  char* const block = new char[size];
  std::memcpy(block, text.data(), size);
  std::memcpy(bytes_.data(), static_cast<const void*>(&block), sizeof block);
  std::memcpy(bytes_.data() + sizeof block, &size, sizeof size);
  bytes_.back() = kOutside;
}

void ShortString::release() noexcept {
  if (bytes_.back() == kOutside) delete[] block();
}

bool read(json::Reader& reader, ShortString& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  if (!text.empty() || !out.empty()) out = ShortString(text);
  return true;
}

}  // namespace mainspring::slurm
