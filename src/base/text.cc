#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace mainspring {
namespace {

constexpr std::size_t kDnsLabelMax = 63;
constexpr std::size_t kDnsSubdomainMax = 253;

template <class T>
Result<T> parse_number(std::string_view text, T min, T max) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  if (code == std::errc::result_out_of_range ||
      (code == std::errc() && rest == end && (value < min || value > max))) {
    return fail(Code::kInvalid,
                fmt::format("{} is out of range: use {} to {}", quoted(text), min, max));
  }
  if (code != std::errc() || rest != end) {
    return fail(Code::kInvalid, fmt::format("{} is not a decimal integer", quoted(text)));
  }
  return value;
}

bool is_lower_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || is_ascii_digit(c); }

bool is_name_segment(std::string_view part) {
  return !part.empty() && is_lower_alphanumeric(part.front()) &&
         is_lower_alphanumeric(part.back()) && std::all_of(part.begin(), part.end(), [](char c) {
           return c == '-' || is_lower_alphanumeric(c);
         });
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The first continuation byte is where overlong forms, surrogates and too large values show.
bool second_byte_fits(unsigned char first, unsigned char second) {
  switch (first) {
    case 0xE0:
      return second >= 0xA0;
    case 0xED:
      return second <= 0x9F;
    case 0xF0:
      return second >= 0x90;
    case 0xF4:
      return second <= 0x8F;
    default:
      return true;
  }
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (&part != parts.data()) text += separator;
    text += part;
  }
  return text;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool equals_ignore_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && starts_with_ignore_case(a, b);
}

bool starts_with_ignore_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), text.begin(),
                    [](char x, char y) { return ascii_lower(x) == ascii_lower(y); });
}

std::string quoted(std::string_view text, std::size_t max_bytes) {
  std::string out = "\"";
  for (const char c : text.substr(0, max_bytes)) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c >= 0x20 && c < 0x7F) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  if (text.size() <= max_bytes) return out + '"';
  return out + fmt::format("\"... ({} bytes)", text.size());
}

namespace detail {

Result<std::int64_t> parse_signed(std::string_view text, std::int64_t min, std::int64_t max) {
  return parse_number<std::int64_t>(text, min, max);
}

Result<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max) {
  return parse_number<std::uint64_t>(text, 0, max);
}

}  // namespace detail

bool is_dns1123_label(std::string_view name) {
  return name.size() <= kDnsLabelMax && is_name_segment(name);
}

bool is_dns1123_subdomain(std::string_view name) {
  if (name.size() > kDnsSubdomainMax) return false;
  // Kubernetes bounds the whole name only: one segment may be longer than a label.
  const std::vector<std::string_view> parts = split(name, '.');
  return std::all_of(parts.begin(), parts.end(), is_name_segment);
}

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  return second_byte_fits(first, static_cast<unsigned char>(text[1])) ? length : 0;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string sanitize_utf8(std::string_view text) {
  constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    out += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

}  // namespace mainspring
