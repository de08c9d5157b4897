// kube/compact.h
//
// The building blocks of projections that are kept by the hundred thousand: text, a list, a part
// that many objects have in common and a part that most do not have, each of one pointer. Values
// like std::string, std::vector and std::optional that compare by content. Made once by the
// decoder, never edited afterwards.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shared_array.h"
#include "json/fields.h"

namespace mainspring::kube {

// The words that Kubernetes itself puts into every pod ("Ready", "default-scheduler",
// "node.kubernetes.io/not-ready") come from a table and take no memory of their own.
class Text {
 public:
  Text() = default;
  Text(std::string_view text);                              // NOLINT(google-explicit-constructor)
  Text(const char* text) : Text(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Text(const std::string& text)
      : Text(std::string_view(text)) {}  // NOLINT(google-explicit-constructor)
  Text(const Text& other) : Text(other.view()) {}
  Text(Text&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Text& operator=(const Text& other) {
    if (this != &other) *this = Text(other);
    return *this;
  }
  Text& operator=(Text&& other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Text() {
    if (block_ != nullptr) release();
  }

  std::string_view view() const;
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  std::string str() const { return std::string(view()); }
  bool empty() const { return block_ == nullptr; }

  friend bool operator==(const Text& a, const Text& b) {
    return a.block_ == b.block_ || a.view() == b.view();
  }
  friend bool operator==(const Text& a, std::string_view b) { return a.view() == b; }
  friend bool operator==(const Text& a, const char* b) { return a.view() == b; }
  friend bool operator==(const Text& a, const std::string& b) { return a.view() == b; }
  friend std::ostream& operator<<(std::ostream& out, const Text& text) {
    return out << text.view();
  }

 private:
  void release() noexcept;

  // The length in four bytes and the text behind it; null for no text. In the table or our own.
  const char* block_ = nullptr;
};

bool read(json::Reader& reader, Text& out);

// Copies share what they hold, which never changes.
template <class T>
class Seq {
 public:
  using value_type = T;
  using const_iterator = const T*;

  Seq() = default;
  Seq(std::vector<T> items)  // NOLINT(google-explicit-constructor)
      : items_(items.size(), [&](T* out) { std::move(items.begin(), items.end(), out); }) {}
  Seq(std::initializer_list<T> items) : Seq(std::vector<T>(items)) {}

  const T* begin() const { return items_.data(); }
  const T* end() const { return begin() + size(); }
  std::size_t size() const { return items_.size(); }
  bool empty() const { return items_.empty(); }
  const T& operator[](std::size_t index) const { return begin()[index]; }
  const T& front() const { return *begin(); }

  friend bool operator==(const Seq& a, const Seq& b) {
    return a.items_.shares_with(b.items_) || std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  SharedArray<T> items_;
};

template <class T>
bool read(json::Reader& reader, Seq<T>& out) {
  std::vector<T> items;
  items.reserve(4);
  if (!reader.array([&] { read(reader, items.emplace_back()); })) return false;
  out = Seq<T>(std::move(items));
  return true;
}

// One T, like a Seq of one: copies share it. The default is T's.
template <class T>
class Shared {
 public:
  Shared() = default;
  Shared(T value)  // NOLINT(google-explicit-constructor)
      : value_(1, [&](T* out) { *out = std::move(value); }) {}

  const T& operator*() const {
    static const T kDefault{};
    return value_.empty() ? kDefault : *value_.data();
  }
  const T* operator->() const { return &**this; }

  friend bool operator==(const Shared& a, const Shared& b) {
    return a.value_.shares_with(b.value_) || *a == *b;
  }
  friend bool operator==(const Shared& a, const T& b) { return *a == b; }

 private:
  SharedArray<T> value_;
};

// Pods come from templates: most have the containers, tolerations and labels of their neighbours.
// What was met a moment ago and equals `value`, so that all have it once; else `value`. Remembers a
// few for each type and thread; that changes what is stored where, and nothing else.
template <class Kept, class Value>
Kept shared_equal(Value&& value) {
  constexpr std::size_t kRemembered = 4;
  thread_local std::array<Kept, kRemembered> recent;
  thread_local std::size_t oldest = 0;
  for (const Kept& known : recent) {
    if (known == value) return known;
  }
  return recent[oldest++ % kRemembered] = Kept(std::forward<Value>(value));
}
template <class Kept>
void share_equal(Kept& value) {
  if (!value.empty()) value = shared_equal<Kept>(std::as_const(value));
}

// The same where an earlier version of the object is at hand.
template <class Kept>
void share_equal(Kept& value, const Kept& earlier) {
  if (value == earlier) value = earlier;
}

// Present or not; what is present costs an allocation, what is not costs a pointer.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare(T value)
      : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT(google-explicit-constructor)
  Rare(const Rare& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Rare(Rare&&) noexcept = default;
  Rare& operator=(const Rare& other) {
    if (this != &other) *this = Rare(other);
    return *this;
  }
  Rare& operator=(Rare&&) noexcept = default;
  ~Rare() = default;

  explicit operator bool() const { return value_ != nullptr; }
  const T& operator*() const { return *value_; }
  const T* operator->() const { return value_.get(); }

  friend bool operator==(const Rare& a, const Rare& b) { return a && b ? *a == *b : !a && !b; }

 private:
  std::unique_ptr<const T> value_;
};

template <class T>
bool read(json::Reader& reader, Rare<T>& out) {
  T value{};
  if (!read(reader, value)) return false;
  out = Rare<T>(std::move(value));
  return true;
}

}  // namespace mainspring::kube
