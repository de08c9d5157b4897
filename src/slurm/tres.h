// slurm/tres.h
//
// What Slurm writes about resources: TRES strings ("cpu=4,mem=4G,node=1,gres/gpu:h100=2"), GRES
// strings ("gpu:h100:8(S:0-1)", "gpu:h100:2(IDX:0-1,3)") and sets of cores or devices ("0x0003",
// "0-3,8"). Pure functions, safe against hostile input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace mainspring::slurm {

struct TresCount {
  std::string name;        // "cpu", "gres/gpu", "gres/gpu:h100", "license/matlab"
  std::int64_t count = 0;  // "mem" in MB, as everywhere in Slurm; everything else in ones
  bool operator==(const TresCount&) const = default;
};

class Tres {
 public:
  Tres() = default;
  explicit Tres(std::vector<TresCount> counts) : counts_(std::move(counts)) {}

  // Also the form of requests ("gres/gpu:2", "gres/gpu:h100:2", "gres:gpu:2"). A count may have a
  // suffix of 1024s (K M G T P); memory without one is in MB. "" and "N/A" are nothing.
  static Result<Tres> parse(std::string_view text);

  // Nothing where it is not named.
  std::optional<std::int64_t> find(std::string_view name) const;
  std::int64_t count(std::string_view name) const { return find(name).value_or(0); }
  // Devices of one kind, of whatever type: Slurm may name only the total, only the types, or both.
  std::int64_t gres(std::string_view name) const;
  void set(std::string_view name, std::int64_t count);

  const std::vector<TresCount>& all() const { return counts_; }
  bool empty() const { return counts_.empty(); }
  // Memory as Slurm writes it: in the largest unit that leaves no fraction.
  std::string to_string() const;

  bool operator==(const Tres&) const = default;

 private:
  std::vector<TresCount> counts_;
};

// At most this many members: more cores than any machine has.
inline constexpr std::size_t kMaxIndexes = 65536;

// "0-3,8": in order, each once. "" and "N/A" are none.
Result<std::vector<std::uint32_t>> parse_index_list(std::string_view text);
// `indexes` ascending.
std::string format_index_list(std::span<const std::uint32_t> indexes);
// The members of a set in hexadecimal, core 0 in the last digit ("0x0003"), or as a list.
Result<std::vector<std::uint32_t>> parse_core_bitmap(std::string_view text);
// As wide as `size` bits need.
std::string format_core_bitmap(std::span<const std::uint32_t> cores, std::size_t size);

struct Gres {
  std::string name;  // "gpu"
  std::string type;  // "h100"; "" where none is named
  std::int64_t count = 0;
  std::vector<std::uint32_t> indexes;  // (IDX:...), which of them
  std::vector<std::uint32_t> sockets;  // (S:...), where they are
  bool operator==(const Gres&) const = default;
};
// "", "(null)" and "N/A" are none. What stands in parentheses and is not known is left out.
Result<std::vector<Gres>> parse_gres(std::string_view text);
std::string format_gres(std::span<const Gres> list);

}  // namespace mainspring::slurm
