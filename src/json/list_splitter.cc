#include "json/list_splitter.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mainspring::json {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

bool ends_scalar(char c) {
  switch (c) {
    case ' ':
    case '\n':
    case '\t':
    case '\r':
    case ',':
    case ':':
    case '"':
    case '{':
    case '}':
    case '[':
    case ']':
      return true;
    default:
      return false;
  }
}

// Goes on to the end of the string or bracket that is open: one past its last byte, or null if it
// does not end here.
const char* skip_bytes(Nesting& nesting, const char* p, const char* end) {
  for (; p != end; ++p) {
    const char c = *p;
    if (nesting.in_string) {
      if (nesting.escaped) {
        nesting.escaped = false;
      } else if (c == '\\') {
        nesting.escaped = true;
      } else if (c == '"') {
        nesting.in_string = false;
        if (nesting.depth == 0) return p + 1;
      }
    } else if (c == '"') {
      nesting.in_string = true;
    } else if (c == '{' || c == '[') {
      ++nesting.depth;
    } else if ((c == '}' || c == ']') && --nesting.depth == 0) {
      return p + 1;
    }
  }
  return nullptr;
}

#ifdef __x86_64__

// What every x86-64 server made since 2015 has; elsewhere bytes are looked at one by one.
#define MS_WIDE [[gnu::target("avx2,bmi,pclmul,popcnt")]]

constexpr std::ptrdiff_t kBlock = 64;

// One half of a block: a bit for each byte that equals `wanted`.
MS_WIDE inline std::uint64_t equal_bytes(__m256i half, char wanted) {
  const __m256i hits = _mm256_cmpeq_epi8(half, _mm256_set1_epi8(wanted));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(hits));
}

// Each bit becomes the parity of itself and the bits below: from quotes to what they enclose.
MS_WIDE inline std::uint64_t between(std::uint64_t quotes) {
  const __m128i bits = _mm_set_epi64x(0, static_cast<std::int64_t>(quotes));
  const __m128i product = _mm_clmulepi64_si128(bits, _mm_set1_epi8(-1), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

// The same as skip_bytes() for an object or array, with no branch that depends on a single byte.
MS_WIDE const char* skip_blocks(Nesting& nesting, const char* p, const char* end) {
  for (; end - p >= kBlock; p += kBlock) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p) + 1);
    const std::uint64_t backslashes = equal_bytes(low, '\\') | equal_bytes(high, '\\');
    if (backslashes != 0 || nesting.escaped) {  // too rare in what Slurm writes for a quicker way
      if (const char* closed = skip_bytes(nesting, p, p + kBlock)) return closed;
      continue;
    }
    const std::uint64_t quotes = equal_bytes(low, '"') | equal_bytes(high, '"') << 32;
    const std::uint64_t inside = between(quotes) ^ (nesting.in_string ? ~std::uint64_t{0} : 0);
    // The bit that tells capitals from small letters makes '{' of '[' and '}' of ']', and nothing
    // else becomes either.
    const __m256i small = _mm256_set1_epi8(0x20);
    const __m256i low_folded = _mm256_or_si256(low, small);
    const __m256i high_folded = _mm256_or_si256(high, small);
    const std::uint64_t opening =
        (equal_bytes(low_folded, '{') | equal_bytes(high_folded, '{') << 32) & ~inside;
    const std::uint64_t closing =
        (equal_bytes(low_folded, '}') | equal_bytes(high_folded, '}') << 32) & ~inside;
    std::size_t closed = 0;
    for (std::uint64_t rest = closing; rest != 0; rest &= rest - 1) {
      const int at = std::countr_zero(rest);
      const std::uint64_t before = opening & ((std::uint64_t{1} << at) - 1);
      ++closed;
      if (nesting.depth + static_cast<std::size_t>(std::popcount(before)) == closed) {
        nesting = {};
        return p + at + 1;
      }
    }
    nesting.depth += static_cast<std::size_t>(std::popcount(opening)) - closed;
    nesting.in_string = (inside >> 63) != 0;
  }
  return skip_bytes(nesting, p, end);
}

const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("popcnt");
const auto skip_brackets = wide ? skip_blocks : skip_bytes;

#else

constexpr auto skip_brackets = skip_bytes;

#endif

}  // namespace

void ListSplitter::begin(std::string_view piece) {
  if (error_) return;
  piece_ = at_ = kept_ = value_ = piece.data();
  end_ = piece_ + piece.size();
}

bool ListSplitter::next(std::string_view& element) {
  while (!error_ && at_ != end_) {
    if (step(element)) return true;
  }
  if (!error_) carry();
  return false;
}

bool ListSplitter::step(std::string_view& element) {
  if (state_ == State::kInScalar) {
    while (at_ != end_ && !ends_scalar(*at_)) ++at_;
    return at_ != end_ && end_value(element);
  }
  if (state_ == State::kInKey || state_ == State::kInValue) {
    const auto skip = nesting_.depth > 0 ? skip_brackets : skip_bytes;
    const char* const behind = skip(nesting_, at_, end_);
    at_ = behind == nullptr ? end_ : behind;
    if (behind == nullptr) return false;
    if (state_ == State::kInValue) return end_value(element);
    end_key();
    return false;
  }
  while (at_ != end_ && is_space(*at_)) ++at_;
  if (at_ != end_) step_between();
  return false;
}

// at_ stands on a byte that no key and no value holds.
void ListSplitter::step_between() {
  const char c = *at_;
  switch (state_) {
    case State::kDocument:
      if (c != '{') return expected("an object");
      state_ = State::kFirstKey;
      break;
    case State::kFirstKey:
    case State::kKey:
      if (c == '}' && state_ == State::kFirstKey) {
        state_ = State::kEnd;
        break;
      }
      if (c != '"') return expected("a key in quotes");
      key_at_ = envelope_.size() + static_cast<std::size_t>(at_ + 1 - kept_);
      nesting_.in_string = true;
      state_ = State::kInKey;
      break;
    case State::kColon:
      if (c != ':') return expected("':' after a key");
      state_ = State::kValue;
      break;
    case State::kFirstElement:
      if (c == ']') return leave_list();
      return start_value();
    case State::kValue:
      return start_value();
    case State::kAfterValue:
      if (c == ']' && in_list_) return leave_list();
      if (c == '}' && !in_list_) {
        state_ = State::kEnd;
      } else if (c == ',') {
        state_ = in_list_ ? State::kValue : State::kKey;
      } else {
        return expected(in_list_ ? "',' or ']' after an element of the list"
                                 : "',' or '}' after a member of the document");
      }
      break;
    default:
      return expected("nothing after the document");
  }
  ++at_;
}

void ListSplitter::end_key() {
  keep();
  if (error_) return;
  const std::string_view key = std::string_view(envelope_).substr(key_at_);
  state_ = State::kColon;
  name_is_next_ = key.substr(0, key.size() - 1) == options_.list;
  if (!name_is_next_) return;
  if (name_seen_) {
    broken(Code::kInvalid,
           fmt::format("\"{}\" appears twice (at byte {})", options_.list, offset()));
  }
  name_seen_ = true;
}

void ListSplitter::start_value() {
  const char c = *at_;
  if (name_is_next_ && c == '[') return enter_list();
  name_is_next_ = false;
  if (in_list_) {
    value_ = at_;
    element_at_ = offset();
    element_.clear();
  }
  if (c == '{' || c == '[') {
    nesting_.depth = 1;
    state_ = State::kInValue;
  } else if (c == '"') {
    nesting_.in_string = true;
    state_ = State::kInValue;
  } else if (ends_scalar(c)) {
    return expected("a value");
  } else {
    state_ = State::kInScalar;
  }
  ++at_;
}

bool ListSplitter::end_value(std::string_view& element) {
  state_ = State::kAfterValue;
  if (!in_list_) return false;
  element = std::string_view(value_, static_cast<std::size_t>(at_ - value_));
  if (element_.size() + element.size() > options_.max_element) {
    element_too_large();
    return false;
  }
  if (!element_.empty()) element = element_.append(element);
  return true;
}

void ListSplitter::enter_list() {
  ++at_;
  keep();
  if (error_) return;
  name_is_next_ = false;
  in_list_ = has_list_ = true;
  state_ = State::kFirstElement;
}

void ListSplitter::leave_list() {
  kept_ = at_++;
  in_list_ = false;
  state_ = State::kAfterValue;
}

void ListSplitter::keep() {
  const std::string_view text(kept_, static_cast<std::size_t>(at_ - kept_));
  kept_ = at_;
  if (in_list_ || error_) return;
  if (envelope_.size() + text.size() > options_.max_envelope) {
    error_ = Error(Code::kTooLarge, fmt::format("what surrounds \"{}\" is larger than {} bytes",
                                                options_.list, options_.max_envelope));
    return;
  }
  envelope_ += text;
}

// Saves what the end of the piece cuts off.
void ListSplitter::carry() {
  keep();
  if (in_list_ && (state_ == State::kInValue || state_ == State::kInScalar)) {
    const std::string_view text(value_, static_cast<std::size_t>(at_ - value_));
    if (element_.size() + text.size() > options_.max_element) return element_too_large();
    element_ += text;
  }
  fed_ = offset();
  piece_ = at_ = end_ = kept_ = value_ = nullptr;
}

void ListSplitter::element_too_large() {
  broken(Code::kTooLarge, fmt::format("the element of \"{}\" at byte {} is larger than {} bytes",
                                      options_.list, element_at_, options_.max_element));
}

void ListSplitter::broken(Code code, std::string message) {
  keep();  // what is too large already, is so before it is broken, wherever the pieces end
  if (!error_) error_ = Error(code, std::move(message));
}

void ListSplitter::expected(const char* what) {
  broken(Code::kInvalid, fmt::format("expected {} (at byte {})", what, offset()));
}

Result<std::string_view> ListSplitter::finish() {
  if (!error_ && state_ != State::kEnd) {
    broken(Code::kInvalid, fmt::format("the document ends too early (at byte {})", offset()));
  }
  if (error_) return fail(*error_);
  return envelope_;
}

}  // namespace mainspring::json
