// http/headers.h
//
// The header fields of one message: names compare without case, order and repetitions are kept. A
// plain value, owned by its message. All text lies in one string, so a message costs two
// allocations however many fields it has, and none when the object is used again after clear().
// It stores what it is given: whether a field may be sent is checked when the head is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mainspring::http {

struct Field {
  std::string_view name;
  std::string_view value;
  bool operator==(const Field&) const = default;
};

class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Field> fields);

  // Appends, whether or not the name is there already.
  void add(std::string_view name, std::string_view value);
  // Replaces every value of the name by this one.
  void set(std::string_view name, std::string_view value);
  void remove(std::string_view name);
  void clear();
  void reserve(std::size_t fields, std::size_t bytes);

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  // Views stay valid until the next change.
  Field operator[](std::size_t index) const;

  bool contains(std::string_view name) const { return get(name).has_value(); }
  // The first value.
  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // Whether a comma-separated list field such as Connection names `token`, in any of its lines.
  bool has_token(std::string_view name, std::string_view token) const;

  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Field;
    using difference_type = std::ptrdiff_t;
    using pointer = const Field*;
    using reference = Field;
    Iterator(const Headers* headers, std::size_t index) : headers_(headers), index_(index) {}
    Field operator*() const { return (*headers_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    const Headers* headers_;
    std::size_t index_;
  };
  using value_type = Field;
  using const_iterator = Iterator;
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, size()}; }

  // Same fields with the same values in the same order.
  bool operator==(const Headers& other) const;

 private:
  struct Entry {
    std::uint32_t name;  // Where the name begins in text_; the value follows it.
    std::uint32_t name_size;
    std::uint32_t value_size;
  };

  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace mainspring::http
