#include "json/unescape.h"

#include <cstdint>
#include <cstring>

namespace mainspring::json {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The four digits after \u.
std::optional<std::uint32_t> hex4(const char* p, const char* end) {
  if (end - p < 4) return std::nullopt;
  std::uint32_t unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(p[i]);
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

// `p` stands after "\u" and is moved past the code point.
std::optional<std::uint32_t> code_point(const char*& p, const char* end) {
  const auto unit = hex4(p, end);
  if (!unit) return std::nullopt;
  p += 4;
  if (*unit < 0xD800 || *unit > 0xDFFF) return unit;
  if (*unit > 0xDBFF || end - p < 6 || p[0] != '\\' || p[1] != 'u') return std::nullopt;
  const auto low = hex4(p + 2, end);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return std::nullopt;
  p += 6;
  return 0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00);
}

char* put_utf8(char* out, std::uint32_t point) {
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) {
    *out++ = static_cast<char>(point);
  } else if (point < 0x800) {
    *out++ = static_cast<char>(0xC0 | (point >> 6));
    *out++ = tail(0);
  } else if (point < 0x10000) {
    *out++ = static_cast<char>(0xE0 | (point >> 12));
    *out++ = tail(6);
    *out++ = tail(0);
  } else {
    *out++ = static_cast<char>(0xF0 | (point >> 18));
    *out++ = tail(12);
    *out++ = tail(6);
    *out++ = tail(0);
  }
  return out;
}

char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/':
      return c;
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return 0;
  }
}

}  // namespace

std::optional<std::size_t> unescape_in_place(char* begin, char* end) {
  char* out = begin;
  const char* p = begin;
  while (p != end) {
    const auto left = static_cast<std::size_t>(end - p);
    const void* found = std::memchr(p, '\\', left);
    const char* escape = found == nullptr ? end : static_cast<const char*>(found);
    const auto plain = static_cast<std::size_t>(escape - p);
    std::memmove(out, p, plain);
    out += plain;
    if (escape == end) break;
    if (end - escape < 2) return std::nullopt;
    p = escape + 2;
    if (escape[1] == 'u') {
      const auto point = code_point(p, end);
      if (!point) return std::nullopt;
      out = put_utf8(out, *point);
    } else {
      *out = simple_escape(escape[1]);
      if (*out++ == 0) return std::nullopt;
    }
  }
  return static_cast<std::size_t>(out - begin);
}

}  // namespace mainspring::json
