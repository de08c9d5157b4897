// base/text.h
//
// Small helpers over strings that several rooms need: splitting, strict numbers, Kubernetes names
// and UTF-8. Pure functions over bytes; nothing here knows a locale. Results of `split` and `trim`
// point into their argument and live no longer than it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainspring {

inline bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
inline char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Every piece between separators, empty ones too: "a,,b" gives 3 pieces and "" gives 1.
std::vector<std::string_view> split(std::string_view text, char separator);

std::string join(std::span<const std::string> parts, std::string_view separator);

// Without the spaces, tabs, carriage returns and newlines at both ends.
std::string_view trim(std::string_view text);

// ASCII only, as HTTP header names and media types ask for.
bool equals_ignore_case(std::string_view a, std::string_view b);
bool starts_with_ignore_case(std::string_view text, std::string_view prefix);

// What an error message may repeat of foreign bytes: in quotes, printable, and of bounded length.
std::string quoted(std::string_view text, std::size_t max_bytes = 64);

namespace detail {
Result<std::int64_t> parse_signed(std::string_view text, std::int64_t min, std::int64_t max);
Result<std::uint64_t> parse_unsigned(std::string_view text, std::uint64_t max);
}  // namespace detail

// The whole text is one decimal number that fits T, or an error. No spaces, no '+', no prefix.
template <std::integral T>
Result<T> parse_integer(std::string_view text) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::signed_integral<T>) {
    MS_TRY(const std::int64_t value, detail::parse_signed(text, Limits::min(), Limits::max()));
    return static_cast<T>(value);
  } else {
    MS_TRY(const std::uint64_t value, detail::parse_unsigned(text, Limits::max()));
    return static_cast<T>(value);
  }
}

// Kubernetes object names. A label is one segment of at most 63 characters; a subdomain is labels
// joined by dots, at most 253 characters in all (Kubernetes does not bound each of them).
bool is_dns1123_label(std::string_view name);
bool is_dns1123_subdomain(std::string_view name);

// How many bytes the character at the front of `text` takes; 0 if it is not well-formed UTF-8 (also
// for overlong forms, surrogates and values beyond U+10FFFF) or `text` is empty.
std::size_t utf8_sequence_length(std::string_view text);

bool is_valid_utf8(std::string_view text);

// The same text with every byte that is not part of well-formed UTF-8 replaced by U+FFFD.
std::string sanitize_utf8(std::string_view text);

}  // namespace mainspring
