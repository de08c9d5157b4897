// json/key_table.h
//
// KeyTable: which field of a projection a key can be, in one look. Made by the compiler for each
// table of json/fields.h; the Reader walks past what is not in it without coming back to the table.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mainspring::json {

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

struct KeyTable {
  const std::uint8_t* slots;
  std::uint64_t mask;
  std::uint64_t seed;
  std::size_t count;
  bool closely;

  // The only entry that `key` can be, or `count`. Whether it is that one, its name tells.
  constexpr std::size_t candidate(std::string_view key) const {
    return slots[key_hash(key.data(), key.size(), seed, closely) & mask];
  }
};

// Where the compiler found a place for every key of a table without two in one.
template <std::size_t Count>
class KeyPlaces {
 public:
  consteval explicit KeyPlaces(const std::array<std::string_view, Count>& names) {
    constexpr int kTries = 100;
    std::uint64_t seed = 0x9E3779B97F4A7C15;
    for (int tries = 0; !place(names, seed | 1, tries >= kTries); ++tries) {
      seed = seed * 0xD1342543DE82EF95 + 0x6A09E667;
    }
  }

  // Of places that stay where they are.
  constexpr KeyTable table() const { return {slots_.data(), kSlots - 1, seed_, Count, closely_}; }

 private:
  static constexpr std::size_t kSlots = std::bit_ceil(Count * Count / 2 + 4);

  constexpr bool place(const std::array<std::string_view, Count>& names, std::uint64_t seed,
                       bool closely) {
    seed_ = seed;
    closely_ = closely;
    slots_.fill(static_cast<std::uint8_t>(Count));
    for (std::size_t i = 0; i < Count; ++i) {
      auto& slot = slots_[key_hash(names[i].data(), names[i].size(), seed, closely) % kSlots];
      if (slot != Count) return false;
      slot = static_cast<std::uint8_t>(i);
    }
    return true;
  }

  std::array<std::uint8_t, kSlots> slots_{};
  std::uint64_t seed_ = 0;
  bool closely_ = false;
};

}  // namespace mainspring::json
