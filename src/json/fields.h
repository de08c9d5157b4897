// json/fields.h
//
// Projections as tables. A struct lists the fields it wants once, beside its definition:
//
//   struct Pod {
//     std::string name;
//     std::map<std::string, std::string> labels;
//     std::vector<Container> containers;
//     std::optional<int64_t> deletion_grace;
//   };
//   constexpr auto json_fields(json::Tag<Pod>) {
//     return json::fields(
//         json::group("metadata", json::field("name", &Pod::name),
//                     json::field("labels", &Pod::labels),
//                     json::field("deletionGracePeriodSeconds", &Pod::deletion_grace)),
//         json::group("spec", json::field("containers", &Pod::containers)));
//   }
//   Result<Pod> pod = json::decode<Pod>(reader, line);
//
// `group` reads a nested object into the same struct. A field may also name a function,
// `field("cpu", [](Reader& r, Pod& p) {...})`, for values that need converting. Unknown keys are
// skipped, null leaves the default, and a key of the table that comes twice is an error.
//
// The table costs nothing at run time: its keys are put into a collision-free hash table by the
// compiler, so an unknown key is dismissed after one look and a known one is compared once. A table
// in the order in which the server writes is read fastest, whatever stands between its fields; any
// order is right.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/key_table.h"
#include "json/reader.h"

namespace mainspring::json {

// Names a type in an overload, so that json_fields is found beside the struct it describes.
template <class T>
struct Tag {};

template <class Access>
struct Field {
  std::string_view name;
  Access access;
};

template <class Access>
constexpr Field<Access> field(std::string_view name, Access access) {
  return {name, access};
}

// A tuple as plain as it gets: every file that includes a projection pays for this one, and the
// constructors of std::tuple took half of the time to compile a reconciler.
template <std::size_t I, class Access>
struct Entry {
  Access access;
};
template <class Indexes, class... Accesses>
struct Entries;
template <std::size_t... I, class... Accesses>
struct Entries<std::index_sequence<I...>, Accesses...> : Entry<I, Accesses>... {};

template <std::size_t I, class Access>
constexpr const Access& entry_at(const Entry<I, Access>& entry) {
  return entry.access;
}

template <class... Accesses>
class Fields {
 public:
  static constexpr std::size_t kCount = sizeof...(Accesses);
  static_assert(kCount > 0 && kCount <= 64, "the account of keys seen is one word");

  consteval explicit Fields(Field<Accesses>... entries)
      : names_{entries.name...}, entries_{{entries.access}...} {}

  constexpr const std::array<std::string_view, kCount>& names() const { return names_; }
  template <std::size_t I>
  constexpr std::string_view name() const {
    return names_[I];
  }
  template <std::size_t I>
  constexpr const auto& access() const {
    return entry_at<I>(entries_);
  }

 private:
  std::array<std::string_view, kCount> names_;
  Entries<std::index_sequence_for<Accesses...>, Accesses...> entries_;
};

template <class... Accesses>
consteval auto fields(Field<Accesses>... entries) {
  return Fields<Accesses...>(entries...);
}

template <class... Accesses>
consteval auto group(std::string_view name, Field<Accesses>... entries) {
  return field(name, fields(entries...));
}

template <class T>
concept Projected = requires { json_fields(Tag<T>{}); };

template <class T>
  requires requires(Reader& reader, T& out) { reader.read(out); }
bool read(Reader& reader, T& out) {
  return reader.read(out);
}
template <Projected T>
bool read(Reader& reader, T& out);
template <class T>
bool read(Reader& reader, std::optional<T>& out);
template <class T>
bool read(Reader& reader, std::shared_ptr<const T>& out);
template <class T>
bool read(Reader& reader, std::vector<T>& out);
template <class T, class Compare>
bool read(Reader& reader, std::map<std::string, T, Compare>& out);

// The object that comes next, by a table that stands at namespace scope. For projections that are
// not found by json_fields.
template <const auto& Table, class T>
bool read_fields(Reader& reader, T& out);

namespace detail {

// Where a table is, as a type: so that its names are constants wherever it is used, and comparing
// a key with one is an instruction or two.
template <class T>
struct ProjectionTable {
  static constexpr auto kValue = json_fields(Tag<T>{});
  static constexpr const auto& get() { return kValue; }
};
template <const auto& Value>
struct NamedTable {
  static constexpr const auto& get() { return Value; }
};
template <class Outer, std::size_t I>
struct GroupTable {
  static constexpr const auto& get() { return Outer::get().template access<I>(); }
};

template <class Table, class T>
bool read_table(Reader& reader, T& out);

template <class Table, std::size_t I, class T>
void read_field(Reader& reader, T& out) {
  constexpr const auto& access = Table::get().template access<I>();
  using Access = std::remove_cvref_t<decltype(access)>;
  if constexpr (std::is_member_object_pointer_v<Access>) {
    read(reader, out.*access);
  } else if constexpr (std::invocable<const Access&, Reader&, T&>) {
    access(reader, out);
  } else {
    read_table<GroupTable<Table, I>>(reader, out);
  }
}

// Found here and not by Fields: only the file that reads by a table pays for the search.
template <class Table>
inline constexpr auto kPlaces = KeyPlaces(Table::get().names());
template <class Table>
inline constexpr KeyTable kKeys = kPlaces<Table>.table();

// An object on its way into a struct.
template <class T>
struct Progress {
  Reader& reader;
  T& out;
  std::uint64_t seen = 0;
  std::size_t next = 0;  // The first entry that is not passed; those behind it are not seen.
};

template <class Table, std::size_t I, class T>
void read_value(Progress<T>& object) {
  object.seen |= std::uint64_t{1} << I;
  const auto before = object.reader.position();
  read_field<Table, I>(object.reader, object.out);
  if (object.reader.position() == before) object.reader.skip();
}

template <class Table, std::size_t I, class T>
void read_if_named(Progress<T>& object, std::string_view key) {
  constexpr std::string_view name = Table::get().template name<I>();
  if (key.size() != name.size() || std::memcmp(key.data(), name.data(), name.size()) != 0) {
    object.reader.skip();
  } else if ((object.seen >> I & 1) != 0) {
    object.reader.refuse_repeated(key);
  } else {
    read_value<Table, I>(object);
  }
}

template <class Table, class T, std::size_t... I>
[[gnu::noinline]] void read_entry(Progress<T>& object, std::size_t entry, std::string_view key,
                                  std::index_sequence<I...>) {
  static_cast<void>(((entry == I && (read_if_named<Table, I>(object, key), true)) || ...));
}

// Reads members up to and with entry I, or a later one where the object does not have it there.
// False at the end of the object. Servers write the fields of a kind in one order, so there is
// nearly always one way through this, without a look into the table or a jump by its answer.
template <class Table, std::size_t I, class T, class Indexes>
bool read_up_to(Progress<T>& object, Indexes indexes) {
  while (object.next <= I) {
    if (object.reader.expect_key(Table::get().template name<I>())) {
      read_value<Table, I>(object);
      object.next = I + 1;
      return true;
    }
    std::string_view key;
    const std::size_t entry = object.reader.next_entry(kKeys<Table>, key);
    if (entry == kKeys<Table>.count) return false;
    if (entry == I) {
      read_if_named<Table, I>(object, key);
    } else {
      read_entry<Table>(object, entry, key, indexes);
    }
    if (entry >= I) object.next = entry + 1;
  }
  return true;
}

template <class Table, class T, std::size_t... I>
bool read_entries(Reader& reader, T& out, std::index_sequence<I...> indexes) {
  if (!reader.enter_object()) return false;
  Progress<T> object{reader, out};
  if ((read_up_to<Table, I>(object, indexes) && ...)) {
    std::string_view key;
    std::size_t entry = 0;
    while ((entry = reader.next_entry(kKeys<Table>, key)) != kKeys<Table>.count) {
      read_entry<Table>(object, entry, key, indexes);
    }
  }
  return reader.ok();
}

template <class Table, class T>
bool read_table(Reader& reader, T& out) {
  constexpr std::size_t kCount = std::remove_cvref_t<decltype(Table::get())>::kCount;
  return read_entries<Table>(reader, out, std::make_index_sequence<kCount>());
}

}  // namespace detail

template <const auto& Table, class T>
bool read_fields(Reader& reader, T& out) {
  return detail::read_table<detail::NamedTable<Table>>(reader, out);
}

template <Projected T>
bool read(Reader& reader, T& out) {
  return detail::read_table<detail::ProjectionTable<T>>(reader, out);
}

template <class T>
bool read(Reader& reader, std::optional<T>& out) {
  T value{};
  if (!read(reader, value)) return false;
  out = std::move(value);
  return true;
}

// As stores keep projections.
template <class T>
bool read(Reader& reader, std::shared_ptr<const T>& out) {
  auto value = std::make_shared<T>();
  if (!read(reader, *value)) return false;
  out = std::move(value);
  return true;
}

template <class T>
bool read(Reader& reader, std::vector<T>& out) {
  out.clear();
  // Lists of strings are rarely single; three allocations on the way to four elements add up.
  constexpr std::size_t kSmall = 32;
  return reader.array([&] {
    if (sizeof(T) <= kSmall && out.empty()) out.reserve(4);
    read(reader, out.emplace_back());
  });
}

template <class T, class Compare>
bool read(Reader& reader, std::map<std::string, T, Compare>& out) {
  out.clear();
  return reader.object([&](std::string_view key) {
    // API servers write maps sorted, so the end is nearly always the right place.
    const std::size_t before = out.size();
    const auto it = out.emplace_hint(out.end(), key, T{});
    if (out.size() == before) return reader.refuse_repeated(key);
    read(reader, it->second);
  });
}

// One whole document.
template <class T>
Result<T> decode_opened(Reader& reader) {
  T out{};
  read(reader, out);
  MS_CHECK(reader.finish());
  return out;
}
template <class T>
Result<T> decode(Reader& reader, std::string_view text) {
  reader.open(text);
  return decode_opened<T>(reader);
}
// The same for a body that is not needed any more: it is read where it lies.
template <class T>
Result<T> decode_body(Reader& reader, std::string&& text) {
  reader.adopt(std::move(text));
  return decode_opened<T>(reader);
}

}  // namespace mainspring::json
