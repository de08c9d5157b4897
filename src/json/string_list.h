// json/string_list.h
//
// StringList: a list of strings as projections keep it: the states of a node, its features, an
// object's finalizers. Read once and never edited, so all of it lies in one block of memory and
// comparing two lists is one memcmp. Copies deeply; owned by the projection it is in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "json/reader.h"

namespace mainspring::json {

class StringList {
 public:
  StringList() = default;
  explicit StringList(std::span<const std::string_view> items);
  StringList(std::initializer_list<std::string_view> items)
      : StringList(std::span<const std::string_view>(items.begin(), items.size())) {}
  StringList(const StringList& other);
  StringList(StringList&& other) noexcept
      : block_(std::move(other.block_)), bytes_(std::exchange(other.bytes_, 0)) {}
  StringList& operator=(const StringList& other);
  StringList& operator=(StringList&& other) noexcept;
  ~StringList() = default;

  std::size_t size() const { return bytes_ == 0 ? 0 : block_[0]; }
  bool empty() const { return bytes_ == 0; }
  // `index` must be below size().
  std::string_view operator[](std::size_t index) const;
  bool contains(std::string_view item) const { return std::find(begin(), end(), item) != end(); }

  friend bool operator==(const StringList& a, const StringList& b);

  class Iterator {
   public:
    using value_type = std::string_view;
    using reference = std::string_view;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator() = default;
    Iterator(const StringList& list, std::size_t index) : list_(&list), index_(index) {}
    std::string_view operator*() const { return (*list_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const StringList* list_ = nullptr;
    std::size_t index_ = 0;
  };
  using value_type = std::string_view;
  using const_iterator = Iterator;
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  // The number of strings, where each ends in the text, and the text.
  std::unique_ptr<std::uint32_t[]> block_;
  std::size_t bytes_ = 0;
};

// An array of strings; null among them is "", as Go reads it.
bool read(Reader& reader, StringList& out);

}  // namespace mainspring::json
