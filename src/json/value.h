// json/value.h
//
// Value: a JSON value to build and edit. Objects keep the order in which members were added,
// integers stay exact from the lowest int64 to the highest uint64, and a value copies deeply.
//
//   Value pod = Value::object({{"apiVersion", "v1"}, {"kind", "Pod"},
//                              {"metadata", Value::object({{"name", name}})}});
//   pod["spec"]["nodeName"] = "gpu-0";
//   MS_TRY(Value copy, parse(to_text(pod)));
//
// Equality is that of Kubernetes: 1 and 1.0 are equal, the order of members does not matter, the
// order of elements does.
//
// The Boost.JSON value inside is not visible here. Owned by whoever made it; not shared between
// threads while it is edited. For reading large documents use json/reader.h instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/result.h"

namespace mainspring::json {

class Reader;
template <class V>
class MemberRange;

class Value {
 public:
  enum class Kind { kNull, kBool, kInt, kUint, kDouble, kString, kArray, kObject };
  struct Member;

  Value() noexcept;
  Value(std::nullptr_t) noexcept;                             // NOLINT(google-explicit-constructor)
  Value(std::string_view text);                               // NOLINT(google-explicit-constructor)
  Value(const char* text) : Value(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Value(const std::string& text)
      : Value(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  template <class T>
    requires std::is_arithmetic_v<T>
  Value(T scalar) noexcept : Value() {  // NOLINT(google-explicit-constructor)
    if constexpr (std::is_same_v<T, bool>) {
      set_bool(scalar);
    } else if constexpr (std::is_floating_point_v<T>) {
      set_double(scalar);
    } else if constexpr (std::is_signed_v<T>) {
      set_int(scalar);
    } else {
      set_uint(scalar);
    }
  }
  // A pointer that is no text would otherwise become `true`.
  Value(const void*) = delete;

  static Value object();
  static Value object(std::initializer_list<Member> members);
  static Value array();
  static Value array(std::initializer_list<Value> items);

  Value(const Value& other);
  // Values of a Document are copied, since they cannot outlive its arena.
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  Kind kind() const noexcept;
  bool is_null() const noexcept { return kind() == Kind::kNull; }
  bool is_string() const noexcept { return kind() == Kind::kString; }
  bool is_array() const noexcept { return kind() == Kind::kArray; }
  bool is_object() const noexcept { return kind() == Kind::kObject; }
  bool is_number() const noexcept {
    return kind() == Kind::kInt || kind() == Kind::kUint || kind() == Kind::kDouble;
  }

  // The scalar, where the value is of that kind and fits. as_int takes 3.0, not 3.5.
  std::optional<bool> as_bool() const noexcept;
  std::optional<std::int64_t> as_int() const noexcept;
  std::optional<std::uint64_t> as_uint() const noexcept;
  std::optional<double> as_double() const noexcept;
  std::optional<std::string_view> as_string() const noexcept;

  // Members of an object, elements of an array; 0 for everything else.
  std::size_t size() const noexcept;
  bool empty() const noexcept { return size() == 0; }

  // Objects. `find` is null where there is no such member or this is no object. The others make an
  // object of whatever was here: building never fails half way.
  const Value* find(std::string_view key) const noexcept;
  Value* find(std::string_view key) noexcept;
  Value& operator[](std::string_view key);
  Value& operator[](const char* key) { return (*this)[std::string_view(key)]; }
  Value& set(std::string_view key, Value value);
  // Keeps the order of the others. False if there was no such member.
  bool erase(std::string_view key) noexcept;
  MemberRange<Value> members() noexcept;
  MemberRange<const Value> members() const noexcept;

  // Arrays. `begin` and `end` are equal for anything but an array; `push_back` and `insert` make an
  // array of whatever was here. Indexes must be in range.
  const Value* begin() const noexcept;
  const Value* end() const noexcept;
  Value* begin() noexcept;
  Value* end() noexcept;
  const Value& at(std::size_t index) const { return begin()[index]; }
  Value& at(std::size_t index) { return begin()[index]; }
  Value& push_back(Value value);
  Value& insert(std::size_t index, Value value);
  void erase_at(std::size_t index) noexcept;
  void reserve(std::size_t items);

  // RFC 6901: "" is the value itself, "/a/b/0" goes down. Null where nothing is there.
  const Value* at_pointer(std::string_view pointer) const noexcept;
  Value* at_pointer(std::string_view pointer) noexcept;

  friend bool operator==(const Value& a, const Value& b) noexcept;

 private:
  friend struct Inside;
  void set_bool(bool scalar) noexcept;
  void set_int(std::int64_t scalar) noexcept;
  void set_uint(std::uint64_t scalar) noexcept;
  void set_double(double scalar) noexcept;

  // A boost::json::value lives here; value.cc checks the size. Nothing in this header touches it.
  alignas(8) unsigned char storage_[24];
};

struct Value::Member {
  std::string_view key;
  Value value;
};

// A member on a walk: `for (auto [key, value] : object.members())`. Do not add or remove meanwhile.
template <class V>
struct MemberRef {
  std::string_view key;
  V& value;
};

template <class V>
class MemberRange {
 public:
  class Iterator {
   public:
    using value_type = MemberRef<V>;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;

    explicit Iterator(void* at) noexcept : at_(at) {}
    MemberRef<V> operator*() const noexcept;
    Iterator& operator++() noexcept;
    bool operator==(const Iterator&) const = default;

   private:
    void* at_;
  };

  MemberRange(void* first, void* last) noexcept : first_(first), last_(last) {}
  Iterator begin() const noexcept { return Iterator(first_); }
  Iterator end() const noexcept { return Iterator(last_); }

 private:
  void* first_;
  void* last_;
};

struct ParseOptions {
  std::size_t max_bytes = std::size_t{256} << 20;
};

// Strict: depth, size, UTF-8, number range and repeated keys are checked; errors name the path.
Result<Value> parse(std::string_view text, ParseOptions options = {});

// The value that comes next, for parts of a document that are kept whole.
bool read(Reader& reader, Value& out);

struct WriteOptions {
  int indent = 0;          // 0 writes one line
  bool sort_keys = false;  // the same text for equal objects: golden files, hashes
};

// A double that JSON cannot express (NaN, infinity) is written as null.
std::string to_text(const Value& value, WriteOptions options = {});

// A parsed document whose parts lie together in one arena: half the time and memory of single
// allocations, and freed at once. Grows only: edit it a little, not for ever.
class Document {
 public:
  static Result<Document> parse(std::string_view text, ParseOptions options = {});
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Value& root() noexcept;
  const Value& root() const noexcept;

 private:
  struct Arena;
  explicit Document(std::unique_ptr<Arena> arena);
  std::unique_ptr<Arena> arena_;
};

}  // namespace mainspring::json
