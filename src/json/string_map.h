// json/string_map.h
//
// StringMap: labels, annotations, node selectors, resource lists as projections keep them. Read
// once, looked up often, never edited: the members lie sorted, keys in one block of memory and
// values in another, and copies share both. Maps read one after the other mostly have the same
// keys, and then have them once; what a map costs is its values.
#pragma once

#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "json/reader.h"
#include "json/string_list.h"

namespace mainspring::json {

class StringMap {
 public:
  using Member = std::pair<std::string_view, std::string_view>;

  StringMap() = default;
  // Sorts `members` by key. Of members with the same key one is kept.
  explicit StringMap(std::span<Member> members);

  std::size_t size() const { return keys_.size(); }
  bool empty() const { return keys_.empty(); }
  // In the order of keys; `index` must be below size().
  Member at(std::size_t index) const { return {keys_[index], values_[index]}; }
  std::optional<std::string_view> find(std::string_view key) const;
  bool contains(std::string_view key) const { return find(key).has_value(); }

  bool operator==(const StringMap&) const = default;

  class Iterator {
   public:
    using value_type = Member;
    using reference = Member;
    using pointer = void;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    Iterator(const StringMap& map, std::size_t index) : map_(&map), index_(index) {}
    Member operator*() const { return map_->at(index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const StringMap* map_;
    std::size_t index_;
  };
  using value_type = Member;
  using const_iterator = Iterator;
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

 private:
  StringList keys_;
  StringList values_;
};

// An object of strings. A key that comes twice is an error; null is "", as Go reads it.
bool read(Reader& reader, StringMap& out);

}  // namespace mainspring::json
