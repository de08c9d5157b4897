// kube/projection.h
//
// What the field tables of many kinds need: times, closed sets of words, amounts of resources, and
// JSON kept as text. Pure; used by the headers of the kinds and by nobody else, except Quantities.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/quantity.h"
#include "json/fields.h"
#include "json/string_map.h"
#include "kube/compact.h"
#include "kube/meta.h"

namespace mainspring::kube {

namespace detail {

template <auto Member>
struct ReadTime {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    read_time(reader, out.*Member);
  }
};

template <auto Member>
struct ReadPresence {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    out.*Member = reader.kind() != json::Reader::Kind::kNull;
    reader.skip();
  }
};

template <auto Member>
struct ReadNonEmpty {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    bool any = false;
    if (reader.kind() == json::Reader::Kind::kObject) {
      reader.object([&](std::string_view) { any = true; });
    } else {
      reader.array([&] { any = true; });
    }
    out.*Member = any;
  }
};

template <auto Member>
struct ReadRaw {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    std::string_view text;
    if (reader.raw(text)) out.*Member = std::string(text);
  }
};

template <auto Member>
struct ReadScalar {
  template <class T>
  void operator()(json::Reader& reader, T& out) const {
    if (reader.kind() == json::Reader::Kind::kString) {
      read(reader, out.*Member);
    } else if (std::string_view text; reader.raw(text) && text != "null") {
      out.*Member = text;
    }
  }
};

}  // namespace detail

// A WallTime or std::optional<WallTime>.
template <auto Member>
constexpr auto time_field(std::string_view name) {
  return json::field(name, detail::ReadTime<Member>());
}
// A bool: the member is there and not null.
template <auto Member>
constexpr auto presence_field(std::string_view name) {
  return json::field(name, detail::ReadPresence<Member>());
}
// A bool: the list or object has at least one element.
template <auto Member>
constexpr auto non_empty_field(std::string_view name) {
  return json::field(name, detail::ReadNonEmpty<Member>());
}
// A std::string: the JSON as it stands in the document.
template <auto Member>
constexpr auto raw_field(std::string_view name) {
  return json::field(name, detail::ReadRaw<Member>());
}
// A Text: an IntOrString, "2" or "25%".
template <auto Member>
constexpr auto scalar_field(std::string_view name) {
  return json::field(name, detail::ReadScalar<Member>());
}

// One of a closed set of words. A word that we do not know yet leaves the enum's default: a newer
// server must not stop us from reading the rest.
template <class Enum, std::size_t N>
bool read_word(json::Reader& reader, Enum& out,
               const std::pair<std::string_view, Enum> (&words)[N]) {
  std::string_view text;
  if (!reader.read(text)) return false;
  for (const auto& [word, value] : words) {
    if (word == text) out = value;
  }
  return true;
}

// Amounts by resource name ("cpu", "memory", "nvidia.com/gpu"), as written: parsed when asked for.
class Quantities {
 public:
  Quantities() = default;
  explicit Quantities(json::StringMap text) : text_(std::move(text)) {}

  bool empty() const { return text_.empty(); }
  bool contains(std::string_view resource) const { return text_.contains(resource); }
  const json::StringMap& text() const { return text_; }
  // Zero where the resource is not named; kInvalid names the resource.
  Result<Quantity> amount(std::string_view resource) const;

  bool operator==(const Quantities&) const = default;

 private:
  json::StringMap text_;
};

// Custom resources may carry plain numbers where the core kinds always have text.
bool read(json::Reader& reader, Quantities& out);

}  // namespace mainspring::kube
