#include "slurm/conf_hash.h"

#include <algorithm>

#include "base/text.h"

namespace mainspring::slurm {
namespace {

bool includes_files(std::string_view text) {
  constexpr std::string_view kInclude = "include";
  for (const std::string_view line : split(text, '\n')) {
    if (equals_ignore_case(trim(line).substr(0, kInclude.size()), kInclude)) return true;
  }
  return false;
}

}  // namespace

std::optional<std::uint32_t> conf_hash(std::string_view text) {
  // The polynomial of CRC-16, on a register of 32 bits.
  constexpr std::uint32_t kPolynomial = 0x1021;
  constexpr std::uint32_t kTop = 0x8000;
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!plain || includes_files(text)) return std::nullopt;
  std::uint32_t hash = 0;
  for (const char c : text) {
    hash ^= static_cast<std::uint32_t>(c) << 8U;
    for (int bit = 0; bit < 8; ++bit) hash = (hash << 1U) ^ ((hash & kTop) != 0 ? kPolynomial : 0);
  }
  return hash;
}

}  // namespace mainspring::slurm
