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
// compiler, so an unknown key is dismissed after one look and a known one is compared once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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

// A hash of the length and a few characters: enough to tell the keys of one object apart, and
// nothing that has to look at every character of a key that nobody wants. Four characters do for
// most tables; `closely` takes two more.
constexpr std::uint64_t key_hash(const char* key, std::size_t size, std::uint64_t seed,
                                 bool closely = false) {
  if (size == 0) return 0;
  const auto at = [&](std::size_t i) {
    return static_cast<std::uint64_t>(static_cast<unsigned char>(key[i]));
  };
  std::uint64_t mix = at(0) | at(size / 2) << 8 | at(size - 1) << 16 |
                      at(size - (size > 1 ? 2 : 1)) << 24 | static_cast<std::uint64_t>(size) << 32;
  if (closely) mix ^= at(size / 4) << 4 ^ at(3 * size / 4) << 12;
  return (mix * seed) >> 40;
}

template <class... Accesses>
class Fields {
 public:
  static constexpr std::size_t kCount = sizeof...(Accesses);
  static_assert(kCount > 0 && kCount <= 64, "the account of keys seen is one word");

  consteval explicit Fields(Field<Accesses>... entries)
      : names_{entries.name...}, accesses_{entries.access...} {
    constexpr int kTries = 100;
    std::uint64_t seed = 0x9E3779B97F4A7C15;
    for (int tries = 0; !place(seed | 1, tries >= kTries); ++tries) {
      seed = seed * 0xD1342543DE82EF95 + 0x6A09E667;
    }
  }

  // The only entry that `key` can be, or kCount. Whether it is that one, name<I>() tells.
  constexpr std::size_t candidate(std::string_view key) const {
    return slots_[key_hash(key.data(), key.size(), seed_, closely_) % kSlots];
  }

  template <std::size_t I>
  constexpr std::string_view name() const {
    return names_[I];
  }
  template <std::size_t I>
  constexpr const auto& access() const {
    return std::get<I>(accesses_);
  }

 private:
  static constexpr std::size_t kSlots = std::bit_ceil(kCount * kCount / 2 + 4);

  constexpr bool place(std::uint64_t seed, bool closely) {
    seed_ = seed;
    closely_ = closely;
    slots_.fill(static_cast<std::uint8_t>(kCount));
    for (std::size_t i = 0; i < kCount; ++i) {
      auto& slot = slots_[key_hash(names_[i].data(), names_[i].size(), seed, closely) % kSlots];
      if (slot != kCount) return false;
      slot = static_cast<std::uint8_t>(i);
    }
    return true;
  }

  std::array<std::string_view, kCount> names_;
  std::tuple<Accesses...> accesses_;
  std::array<std::uint8_t, kSlots> slots_{};
  std::uint64_t seed_ = 0;
  bool closely_ = false;
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

template <class Table, std::size_t I, class T>
void read_entry(Reader& reader, T& out, std::string_view key, std::uint64_t& seen) {
  constexpr std::string_view name = Table::get().template name<I>();
  if (key.size() != name.size() || std::memcmp(key.data(), name.data(), name.size()) != 0) return;
  constexpr std::uint64_t kBit = std::uint64_t{1} << I;
  if ((seen & kBit) != 0) return reader.refuse_repeated(key);
  seen |= kBit;
  read_field<Table, I>(reader, out);
}

// An entry at the place where the table has it. Small objects are written so by every server, and
// this way costs no look into the table.
template <class Table, std::size_t I, class T>
bool read_expected(Reader& reader, T& out, std::uint64_t& seen) {
  constexpr std::string_view name = Table::get().template name<I>();
  if (!reader.expect_key(name)) return false;
  seen |= std::uint64_t{1} << I;
  const auto before = reader.position();
  read_field<Table, I>(reader, out);
  return reader.position() != before || reader.skip();
}

template <class Table, class T, std::size_t... I>
bool read_entries(Reader& reader, T& out, std::index_sequence<I...>) {
  std::uint64_t seen = 0;
  const auto by_name = [&](std::string_view key) {
    const std::size_t n = Table::get().candidate(key);
    static_cast<void>(((n == I && (read_entry<Table, I>(reader, out, key, seen), true)) || ...));
  };
  // Larger objects have members that nobody asked for, which end the order at once.
  constexpr std::size_t kSmall = 4;
  if constexpr (sizeof...(I) <= kSmall) {
    const auto in_order = [&] {
      static_cast<void>((read_expected<Table, I>(reader, out, seen) && ...));
    };
    return reader.object(in_order, by_name);
  } else {
    return reader.object(by_name);
  }
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
