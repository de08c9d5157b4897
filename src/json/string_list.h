// json/string_list.h
//
// StringList: a list of strings as projections keep it: the states of a node, its features, the
// values of its labels. Read once and never edited, so all of it lies in one block of memory, which
// copies share, and comparing two lists is one memcmp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <string_view>

#include "base/shared_array.h"
#include "json/reader.h"

namespace mainspring::json {

class StringList {
 public:
  StringList() = default;
  explicit StringList(std::span<const std::string_view> items)
      : StringList(items.size(), [&](std::size_t i) { return items[i]; }) {}
  StringList(std::initializer_list<std::string_view> items)
      : StringList(std::span<const std::string_view>(items.begin(), items.size())) {}
  // Of `item(0)` to `item(count - 1)`.
  template <class Item>
  StringList(std::size_t count, const Item& item);

  std::size_t size() const { return words_.empty() ? 0 : words_.data()[0]; }
  bool empty() const { return words_.empty(); }
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
  // The number of strings, where each ends in the text, and the text, filled up with zeros.
  SharedArray<std::uint32_t> words_;
};

template <class Item>
StringList::StringList(std::size_t count, const Item& item) {
  if (count == 0) return;
  std::size_t text = 0;
  for (std::size_t i = 0; i < count; ++i) text += item(i).size();
  const std::size_t head = 1 + count;
  const std::size_t size = head + (text + sizeof(std::uint32_t) - 1) / sizeof(std::uint32_t);
  words_ = SharedArray<std::uint32_t>(size, [&](std::uint32_t* words) {
    words[0] = static_cast<std::uint32_t>(count);
    words[size - 1] = 0;
    char* const start = reinterpret_cast<char*>(words + head);
    char* out = start;
    for (std::size_t i = 0; i < count; ++i) {
      const std::string_view part = item(i);
      out = std::copy(part.begin(), part.end(), out);
      words[1 + i] = static_cast<std::uint32_t>(out - start);
    }
  });
}

// The same as StringList(count, item), in the memory of an earlier list that has just these: the
// nodes of a cluster are in few partitions, pods have few sets of labels. Remembers some short ones
// for each thread; that changes what is stored where, and nothing else.
template <class Item>
StringList recent_list(std::size_t count, const Item& item);

namespace detail {
// The one that was remembered last for lists of such a beginning, end and size.
StringList& recent_like(std::string_view first, std::string_view last, std::size_t count);
}  // namespace detail

template <class Item>
StringList recent_list(std::size_t count, const Item& item) {
  constexpr std::size_t kLongest = 32;
  if (count == 0 || count > kLongest) return StringList(count, item);
  StringList& known = detail::recent_like(item(0), item(count - 1), count);
  bool same = known.size() == count;
  for (std::size_t i = 0; same && i < count; ++i) same = known[i] == item(i);
  if (!same) known = StringList(count, item);
  return known;
}

// An array of strings; null among them is "", as Go reads it.
bool read(Reader& reader, StringList& out);

}  // namespace mainspring::json
