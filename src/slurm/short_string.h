// slurm/short_string.h
//
// ShortString: the text fields of records, which are empty or a word in nearly every node and job.
// Half the size of std::string, with up to fifteen bytes inside it and one block beyond: a cluster
// of 10,000 nodes and jobs has 400,000 of them. Read like a string_view; written as a whole. A
// value; it may hold any bytes, up to 4 GB.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "json/reader.h"

namespace mainspring::slurm {

class ShortString {
 public:
  ShortString() noexcept = default;
  template <class T>
    requires std::convertible_to<const T&, std::string_view> && (!std::same_as<T, ShortString>)
  ShortString(const T& text) {  // NOLINT(google-explicit-constructor)
    assign(text);
  }
  ShortString(const ShortString& other) { assign(other.view()); }
  ShortString(ShortString&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  ShortString& operator=(const ShortString& other);
  ShortString& operator=(ShortString&& other) noexcept;
  ~ShortString() { release(); }

  std::string_view view() const noexcept;
  operator std::string_view() const noexcept { return view(); }  // NOLINT(google-explicit-*)
  std::string str() const { return std::string(view()); }
  bool empty() const noexcept { return bytes_.back() == 0; }
  std::size_t size() const noexcept { return view().size(); }

  friend bool operator==(const ShortString& a, const ShortString& b) {
    return a.view() == b.view();
  }
  template <class T>
    requires std::convertible_to<const T&, std::string_view> && (!std::same_as<T, ShortString>)
  friend bool operator==(const ShortString& a, const T& b) {
    return a.view() == std::string_view(b);
  }
  friend std::strong_ordering operator<=>(const ShortString& a, const ShortString& b) {
    return a.view() <=> b.view();
  }
  friend std::ostream& operator<<(std::ostream& out, const ShortString& text) {
    return out << text.view();
  }

 private:
  static constexpr std::size_t kInside = 15;
  static constexpr unsigned char kOutside = 0xFF;

  void assign(std::string_view text);
  void release() noexcept;
  char* block() const noexcept;

  // The last byte is the length of what lies in front of it, or kOutside: then a pointer to the
  // text stands here, and its length in 32 bits.
  std::array<unsigned char, kInside + 1> bytes_{};
};
static_assert(sizeof(ShortString) == 16);

bool read(json::Reader& reader, ShortString& out);

}  // namespace mainspring::slurm
