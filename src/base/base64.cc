#include "base/base64.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace mainspring {
namespace {

constexpr std::string_view kStandardLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::uint8_t kNoLetter = 0xFF;
using Values = std::array<std::uint8_t, 256>;

constexpr Values values_of(std::string_view letters) {
  Values values;
  values.fill(kNoLetter);
  for (std::size_t i = 0; i < letters.size(); ++i) {
    values[static_cast<std::uint8_t>(letters[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr Values kStandardValues = values_of(kStandardLetters);
constexpr Values kUrlValues = values_of(kUrlLetters);

std::uint32_t byte(char c) { return static_cast<std::uint8_t>(c); }

tl::unexpected<Error> invalid(std::string why) {
  return fail(Code::kInvalid, "base64: " + std::move(why));
}

// The letters without the padding, which has to be exactly what their number asks for.
Result<std::string_view> without_padding(std::string_view text) {
  if (text.size() % 4 != 0) {
    return invalid(fmt::format("the length {} is not a multiple of 4", text.size()));
  }
  if (text.ends_with("==")) return text.substr(0, text.size() - 2);
  if (text.ends_with('=')) return text.substr(0, text.size() - 1);
  return text;
}

}  // namespace

std::string base64_encode(std::string_view bytes, Base64Alphabet alphabet, Base64Padding padding) {
  const std::string_view letters =
      alphabet == Base64Alphabet::kStandard ? kStandardLetters : kUrlLetters;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  while (!bytes.empty()) {
    const std::size_t taken = std::min<std::size_t>(bytes.size(), 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) bits = (bits << 8) | (i < taken ? byte(bytes[i]) : 0);
    for (std::size_t i = 0; i <= taken; ++i) text += letters[(bits >> (18 - 6 * i)) & 0x3F];
    if (padding == Base64Padding::kRequired) text.append(3 - taken, '=');
    bytes.remove_prefix(taken);
  }
  return text;
}

Result<std::string> base64_decode(std::string_view text, Base64Alphabet alphabet,
                                  Base64Padding padding) {
  if (padding == Base64Padding::kRequired) {
    MS_TRY(text, without_padding(text));
  }
  if (text.size() % 4 == 1) {
    return invalid(fmt::format("one letter is missing or too many at position {}", text.size()));
  }
  const Values& values = alphabet == Base64Alphabet::kStandard ? kStandardValues : kUrlValues;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::uint8_t value = values[byte(text[at])];
    if (value == kNoLetter) {
      return invalid(fmt::format("byte 0x{:02x} at position {} is not of the {} alphabet",
                                 byte(text[at]), at,
                                 alphabet == Base64Alphabet::kStandard ? "standard" : "URL"));
    }
    bits = (bits << 6) | value;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>((bits >> held) & 0xFF);
    }
  }
  if ((bits & ((1U << held) - 1)) != 0) {
    return invalid(
        fmt::format("the letter at position {} has bits that belong to no byte", text.size() - 1));
  }
  return bytes;
}

}  // namespace mainspring
