// The walk over the index. Every function here stands on a token (`next_`) and moves forward only
// when the token is the one it wants; past the last token there is a 0 byte, which nobody wants.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "json/key_table.h"
#include "json/reader.h"
#include "json/unescape.h"

namespace mainspring::json {
namespace {

// A hostile document must not fill the log.
constexpr std::size_t kQuoted = 40;

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool begins_scalar(char c) {
  return c == '"' || is_digit(c) || c == 't' || c == 'f' || c == 'n' || c == '-';
}

const char* describe(Reader::Kind kind) {
  switch (kind) {
    case Reader::Kind::kNull:
      return "null";
    case Reader::Kind::kBool:
      return "a boolean";
    case Reader::Kind::kNumber:
      return "a number";
    case Reader::Kind::kString:
      return "a string";
    case Reader::Kind::kArray:
      return "an array";
    case Reader::Kind::kObject:
      return "an object";
    case Reader::Kind::kNothing:
      break;
  }
  return "nothing";
}

std::string quoted(std::string_view text) {
  if (text.size() <= kQuoted) return fmt::format("'{}'", text);
  return fmt::format("'{}...' ({} characters)", text.substr(0, kQuoted), text.size());
}

bool has_backslash(const char* begin, std::size_t size) {
  // Most strings are shorter than what a call to memchr costs, and of no length that a branch could
  // guess. The padding makes all of the bytes readable; those beyond the string are masked.
  constexpr std::size_t kShort = 32;
  if (size > kShort) return std::memchr(begin, '\\', size) != nullptr;
#ifdef __SSE2__
  const auto* const at = reinterpret_cast<const __m128i*>(begin);
  const __m128i wanted = _mm_set1_epi8('\\');
  const int low = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(at), wanted));
  const int high = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(at + 1), wanted));
  const std::uint64_t hits = static_cast<std::uint32_t>(low | high << 16);
  return (hits & ((std::uint64_t{1} << size) - 1)) != 0;
#else
  return std::find(begin, begin + size, '\\') != begin + size;
#endif
}

}  // namespace

bool Reader::enter(char open) {
  if (here() != open) return mismatch(open == '{' ? "an object" : "an array");
  if (depth_ == kMaxDepth) {
    return broken(Code::kTooLarge, fmt::format("nested deeper than {} levels", kMaxDepth));
  }
  ++depth_;
  ++next_;
  steps_[depth_] = {.key = nullptr, .at = 0};
  return true;
}

[[gnu::always_inline]] inline bool Reader::take_string(std::string_view& out) {
  char* const begin = text_ + *next_ + 1;
  if (*begin == '"') {  // Every third string of Slurm's is empty.
    out = std::string_view(begin, begin);
    ++next_;
    return true;
  }
  // Between the closing quote and the next token there can only be white space.
  char* end = text_ + next_[1] - 1;
  while (*end != '"') --end;
  const auto size = static_cast<std::size_t>(end - begin);
  if (has_backslash(begin, size)) return unescape(begin, end, out);
  out = std::string_view(begin, size);
  ++next_;
  return true;
}

[[gnu::always_inline]] inline bool Reader::take_key(std::string_view& key) {
  const std::uint32_t* const token = next_;
  const char* const begin = text_ + token[0];
  const char* const colon = text_ + token[1];
  // As every server writes it, with the colon right behind the quote.
  if (*begin == '"' && *colon == ':' && colon[-1] == '"') {
    key = std::string_view(begin + 1, static_cast<std::size_t>(colon - begin - 2));
    if (!has_backslash(key.data(), key.size())) {
      steps_[depth_] = {.key = key.data(), .at = key.size()};
      next_ = token + 2;
      return true;
    }
  }
  if (here() != '"') return broken(Code::kInvalid, "expected a key in quotes");
  if (!take_string(key)) return false;
  steps_[depth_] = {.key = key.data(), .at = key.size()};
  if (here() != ':') return broken(Code::kInvalid, "expected ':' after a key");
  ++next_;
  return true;
}

[[gnu::always_inline]] inline bool Reader::take_member(std::string_view& key) {
  const char c = here();
  if (c == '}') {
    ++next_;
    return leave();
  }
  if (steps_[depth_].key != nullptr) {
    if (c != ',') {
      broken(Code::kInvalid, "expected ',' or '}' after a member of an object");
      return leave();
    }
    ++next_;
  }
  return take_key(key) || leave();
}

bool Reader::next_member(std::string_view& key) { return take_member(key); }

std::size_t Reader::next_entry(const KeyTable& table, std::string_view& key) {
  do {
    if (steps_[depth_].key != nullptr) {
      const std::size_t entry = next_usual_entry(table, key);
      if (entry != table.count) return entry;
    }
    if (!take_member(key)) return table.count;
    const std::size_t entry = table.candidate(key);
    if (entry != table.count) return entry;
  } while (skip_value());
  leave();
  return table.count;
}

// The same over members as every server writes them, of four tokens each: a comma, a key without
// escapes, the colon right behind it, and a value that nobody wants. Stops at what is not so.
[[gnu::always_inline]] inline std::size_t Reader::next_usual_entry(const KeyTable& table,
                                                                   std::string_view& key) {
  const char* const text = text_;
  const std::uint32_t* token = next_;
  while (text[token[0]] == ',') {
    const char* const begin = text + token[1];
    const char* const colon = text + token[2];
    if (*begin != '"' || *colon != ':' || colon[-1] != '"') break;
    const std::string_view found(begin + 1, static_cast<std::size_t>(colon - begin - 2));
    if (has_backslash(found.data(), found.size())) break;
    const std::size_t entry = table.candidate(found);
    if (entry == table.count && begins_scalar(text[token[3]])) {
      token += 4;
      continue;
    }
    steps_[depth_] = {.key = found.data(), .at = found.size()};
    next_ = token + 3;
    key = found;
    if (entry != table.count) return entry;
    skip_value();
    token = next_;
  }
  next_ = token;
  return table.count;
}

bool Reader::first_item() {
  if (here() == ']') {
    ++next_;
    return false;
  }
  return next_ != end_ || broken(Code::kInvalid, "the document ends inside an array");
}

bool Reader::next_item() {
  const char c = here();
  if (c == ',') {
    ++next_;
    ++steps_[depth_].at;
    return true;
  }
  if (c == ']') {
    ++next_;
    return false;
  }
  return broken(Code::kInvalid, "expected ',' or ']' after an element of an array");
}

bool Reader::unescape(char* begin, char* end, std::string_view& out) {
  const auto size = unescape_in_place(begin, end);
  if (!size) return broken(Code::kInvalid, "a string holds a broken escape sequence");
  out = std::string_view(begin, *size);
  ++next_;
  return true;
}

bool Reader::read(std::string_view& out) {
  if (here() != '"') return mismatch("a string");
  return take_string(out);
}

bool Reader::read(std::string& out) {
  std::string_view view;
  if (!read(view)) return false;
  out.assign(view);
  return true;
}

[[gnu::always_inline]] inline bool Reader::read_literal(std::string_view word) {
  const char* const begin = text_ + *next_;
  const char* const end = begin + word.size();
  // Padding makes the comparison safe at the end of the document.
  if (std::memcmp(begin, word.data(), word.size()) != 0 ||
      (end != text_ + next_[1] && !is_space(*end))) {
    return broken(Code::kInvalid, "expected a value, found an unknown word");
  }
  ++next_;
  return true;
}

bool Reader::read(bool& out) {
  const char c = here();
  if (c != 't' && c != 'f') return mismatch("a boolean");
  if (!(c == 't' ? read_literal("true") : read_literal("false"))) return false;
  out = c == 't';
  return true;
}

// Most are whole and short.
[[gnu::always_inline]] inline bool Reader::take_small(std::int64_t& out) {
  constexpr std::ptrdiff_t kDigits = 18;  // As many always fit.
  const char* const begin = text_ + *next_;
  const char* end = begin;
  std::uint64_t value = 0;
  for (; is_digit(*end); ++end) value = value * 10 + static_cast<std::uint64_t>(*end - '0');
  const std::ptrdiff_t count = end - begin;
  if (count == 0 || count > kDigits || (*begin == '0' && count > 1)) return false;
  if (end != text_ + next_[1] && !is_space(*end)) return false;
  out = static_cast<std::int64_t>(value);
  ++next_;
  return true;
}

bool Reader::read(Number& out) {
  if (std::int64_t small = 0; take_small(small)) {
    out = {};
    out.integer = small;
    return true;
  }
  if (kind() != Kind::kNumber) return mismatch("a number");
  const char* const begin = text_ + *next_;
  const NumberScan scan = scan_number(begin);
  if (scan.fault == NumberFault::kRange) {
    return broken(Code::kInvalid, fmt::format("the number {} is out of range",
                                              quoted(std::string_view(begin, scan.end))));
  }
  if (scan.fault == NumberFault::kSyntax ||
      (scan.end != text_ + next_[1] && !is_space(*scan.end))) {
    return broken(Code::kInvalid, "expected a value, found a malformed number");
  }
  out = scan.number;
  ++next_;
  return true;
}

template <class Int>
bool Reader::read_integer(Int& out) {
  const std::uint32_t* const token = next_;
  Number number;
  if (take_small(number.integer)) {
    number.type = Number::Type::kInt;
  } else if (!read(number)) {
    return false;
  }
  using Limits = std::numeric_limits<Int>;
  bool fits = false;
  if (number.type == Number::Type::kInt) {
    fits = std::in_range<Int>(number.integer);
    if (fits) out = static_cast<Int>(number.integer);
  } else if (number.type == Number::Type::kUint) {
    fits = std::in_range<Int>(number.natural);
    if (fits) out = static_cast<Int>(number.natural);
  }
  if (fits) return true;
  next_ = token;
  const char* const begin = text_ + *token;
  return broken(
      Code::kInvalid,
      fmt::format("expected an integer from {} to {}, found {}", Limits::min(), Limits::max(),
                  quoted(std::string_view(begin, scan_number(begin).end))));
}

bool Reader::read(std::int64_t& out) { return read_integer(out); }
bool Reader::read(std::uint64_t& out) { return read_integer(out); }
bool Reader::read(std::int32_t& out) { return read_integer(out); }
bool Reader::read(std::uint32_t& out) { return read_integer(out); }

bool Reader::read(double& out) {
  Number number;
  if (!read(number)) return false;
  switch (number.type) {
    case Number::Type::kInt:
      out = static_cast<double>(number.integer);
      break;
    case Number::Type::kUint:
      out = static_cast<double>(number.natural);
      break;
    case Number::Type::kDouble:
      out = number.real;
      break;
  }
  return true;
}

[[gnu::always_inline]] inline bool Reader::skip_value() {
  const char first = here();
  if (first == '{' || first == '[') return skip_nested();
  if (!begins_scalar(first)) return mismatch("a value");
  ++next_;
  return true;
}

bool Reader::skip() { return skip_value(); }

bool Reader::skip_nested() {
  char open[kMaxDepth + 1];
  std::size_t depth = depth_;
  const std::uint32_t* token = next_;
  do {
    char c = text_[*token];
    // Nearly every token is not a bracket, and one comparison is enough to see that: these bits
    // tell the four brackets apart, and only letters that begin no value are taken for one.
    while ((c | 0x26) != 0x7F && token != end_) c = text_[*++token];
    if (c == '{' || c == '[') {
      if (depth == kMaxDepth) {
        next_ = token;
        return broken(Code::kTooLarge, fmt::format("nested deeper than {} levels", kMaxDepth));
      }
      open[depth++] = c;
    } else if (c == '}' || c == ']') {
      if (open[--depth] + 2 != c) {  // '{' + 2 is '}', '[' + 2 is ']'
        next_ = token;
        return broken(Code::kInvalid, fmt::format("'{}' is closed by '{}'", open[depth], c));
      }
    } else if (token == end_) {
      next_ = token;
      return broken(Code::kInvalid, "the document ends inside an object or array");
    }
    ++token;
  } while (depth != depth_);
  next_ = token;
  return true;
}

bool Reader::raw(std::string_view& out) {
  const char* const begin = text_ + *next_;
  if (!skip()) return false;
  const char* end = text_ + *next_;
  while (is_space(end[-1])) --end;
  out = std::string_view(begin, static_cast<std::size_t>(end - begin));
  return true;
}

bool Reader::mismatch(const char* expected) {
  if (failed_) return false;
  if (here() == 'n') {
    read_literal("null");
    return false;
  }
  if (next_ == end_) {
    return broken(Code::kInvalid,
                  fmt::format("expected {}, found the end of the document", expected));
  }
  const Kind found = kind();
  if (found == Kind::kNothing) {
    return broken(Code::kInvalid, fmt::format("expected {}, found '{}'", expected, here()));
  }
  return broken(Code::kInvalid, fmt::format("expected {}, found {}", expected, describe(found)));
}

}  // namespace mainspring::json
