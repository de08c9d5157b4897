// slurm/tres.cc
#include "slurm/tres.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace mainspring::slurm {
namespace {

constexpr std::string_view kSuffixes = "KMGTP";
constexpr unsigned kBitsPerSuffix = 10;

bool is_nothing(std::string_view text) {
  return text.empty() || text == "N/A" || text == "(null)" || text == "NONE";
}

std::optional<std::size_t> suffix_of(char c) {
  const char upper = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  const std::size_t at = kSuffixes.find(upper);
  return at == std::string_view::npos ? std::nullopt : std::optional(at + 1);
}

// "12", "4G", "1.50G". `base` is the suffix that ones have: M for memory, none otherwise. What is
// smaller than a one is cut off.
std::optional<std::int64_t> parse_count(std::string_view text, std::size_t base) {
  std::size_t suffix = base;
  if (!text.empty()) {
    if (const auto found = suffix_of(text.back())) {
      suffix = *found;
      text.remove_suffix(1);
    }
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  const Result<std::int64_t> whole = parse_integer<std::int64_t>(text.substr(0, point));
  if (!whole || *whole < 0) return std::nullopt;
  __extension__ using Wide = __int128;
  constexpr std::size_t kDigits = 6;
  Wide millionths = Wide{*whole} * 1'000'000;
  if (point != text.size()) {
    std::string fraction(text.substr(point + 1));
    if (fraction.empty() || !std::all_of(fraction.begin(), fraction.end(), is_ascii_digit)) {
      return std::nullopt;
    }
    fraction.resize(kDigits, '0');
    millionths += *parse_integer<std::int64_t>(fraction);
  }
  constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
  for (; suffix > base; --suffix) {
    millionths <<= kBitsPerSuffix;
    if (millionths / 1'000'000 > kMax) return std::nullopt;
  }
  for (; suffix < base; ++suffix) millionths >>= kBitsPerSuffix;
  return static_cast<std::int64_t>(millionths / 1'000'000);
}

std::size_t base_suffix(std::string_view name) { return name == "mem" ? 2 : 0; }

// "gres/gpu:h100" and "gres:gpu:h100" are the same thing.
std::string tres_name(std::string_view text) {
  std::string name(text);
  for (const std::string_view type : {"gres", "license", "bb", "fs", "ic"}) {
    if (name.size() > type.size() && name.starts_with(type) && name[type.size()] == ':') {
      name[type.size()] = '/';
    }
  }
  return name;
}

tl::unexpected<Error> bad(const char* what, std::string_view item) {
  return fail(Code::kInvalid, std::string(what) + " " + quoted(item));
}

Result<TresCount> parse_tres_count(std::string_view item) {
  std::size_t end = item.rfind('=');
  std::string_view count = "1";
  if (end != std::string_view::npos) {
    count = item.substr(end + 1);
  } else {
    // In a request the count stands behind the last colon, if anything does.
    end = item.rfind(':');
    if (end != std::string_view::npos && end + 1 < item.size() && is_ascii_digit(item[end + 1])) {
      count = item.substr(end + 1);
    } else {
      end = item.size();
    }
  }
  TresCount parsed;
  parsed.name = tres_name(item.substr(0, end));
  const auto number = parse_count(count, base_suffix(parsed.name));
  if (parsed.name.empty() || !number) return bad("not a TRES with a count:", item);
  parsed.count = *number;
  return parsed;
}

std::string format_memory(std::int64_t megabytes) {
  std::size_t suffix = 1;
  while (megabytes != 0 && megabytes % 1024 == 0 && suffix + 1 < kSuffixes.size()) {
    megabytes /= 1024;
    ++suffix;
  }
  return std::to_string(megabytes) + kSuffixes[suffix];
}

}  // namespace

Result<Tres> Tres::parse(std::string_view text) {
  Tres tres;
  if (is_nothing(text)) return tres;
  for (const std::string_view item : split(text, ',')) {
    MS_TRY(TresCount count, parse_tres_count(item));
    tres.counts_.push_back(std::move(count));
  }
  return tres;
}

std::optional<std::int64_t> Tres::find(std::string_view name) const {
  for (const TresCount& entry : counts_) {
    if (entry.name == name) return entry.count;
  }
  return std::nullopt;
}

std::int64_t Tres::gres(std::string_view name) const {
  const std::string total = "gres/" + std::string(name);
  if (const auto found = find(total)) return *found;
  std::int64_t sum = 0;
  for (const TresCount& entry : counts_) {
    if (!entry.name.starts_with(total + ':')) continue;
    if (__builtin_add_overflow(sum, entry.count, &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

void Tres::set(std::string_view name, std::int64_t count) {
  for (TresCount& entry : counts_) {
    if (entry.name != name) continue;
    entry.count = count;
    return;
  }
  counts_.push_back({.name = std::string(name), .count = count});
}

std::string Tres::to_string() const {
  std::string text;
  for (const TresCount& entry : counts_) {
    if (!text.empty()) text += ',';
    text += entry.name;
    text += '=';
    text += entry.name == "mem" ? format_memory(entry.count) : std::to_string(entry.count);
  }
  return text;
}

Result<std::vector<std::uint32_t>> parse_index_list(std::string_view text) {
  std::vector<std::uint32_t> indexes;
  if (is_nothing(text)) return indexes;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t dash = std::min(item.find('-'), item.size());
    const auto first = parse_integer<std::uint32_t>(item.substr(0, dash));
    const auto last =
        dash == item.size() ? first : parse_integer<std::uint32_t>(item.substr(dash + 1));
    if (!first || !last || *first > *last || *last >= kMaxIndexes) {
      return bad("not a list of indexes below 65536:", text);
    }
    // Lists come in order; one that does not is put in order below.
    for (std::uint32_t i = *first; i <= *last; ++i) indexes.push_back(i);
    if (indexes.size() > 2 * kMaxIndexes) return bad("too many indexes:", text);
  }
  std::sort(indexes.begin(), indexes.end());
  indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
  return indexes;
}

std::string format_index_list(std::span<const std::uint32_t> indexes) {
  std::string text;
  for (std::size_t i = 0; i < indexes.size();) {
    std::size_t end = i + 1;
    while (end < indexes.size() && indexes[end] == indexes[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(indexes[i]);
    if (end - i > 1) text += '-' + std::to_string(indexes[end - 1]);
    i = end;
  }
  return text;
}

Result<std::vector<std::uint32_t>> parse_core_bitmap(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return parse_index_list(text);
  const std::string_view digits = text.substr(2);
  if (digits.empty() || digits.size() > kMaxIndexes / 4) return bad("not a bitmap:", text);
  std::vector<std::uint32_t> cores;
  std::uint32_t core = 0;
  for (std::size_t i = digits.size(); i-- > 0; core += 4) {
    const char c = ascii_lower(digits[i]);
    const bool letter = c >= 'a' && c <= 'f';
    if (!letter && !is_ascii_digit(c)) return bad("not a bitmap:", text);
    const unsigned digit = static_cast<unsigned>(letter ? c - 'a' + 10 : c - '0');
    for (std::uint32_t b = 0; b < 4; ++b) {
      if ((digit >> b & 1U) != 0) cores.push_back(core + b);
    }
  }
  return cores;
}

std::string format_core_bitmap(std::span<const std::uint32_t> cores, std::size_t size) {
  std::vector<unsigned> digits((size + 3) / 4);
  for (const std::uint32_t core : cores) {
    if (core < size) digits[digits.size() - 1 - core / 4] |= 1U << core % 4;
  }
  std::string text = "0x";
  for (const unsigned digit : digits) text += "0123456789ABCDEF"[digit];
  return text;
}

namespace {

// "gpu:h100:8" without what is in parentheses.
Result<Gres> parse_gres_name(std::string_view item) {
  std::string_view text = item;
  if (text.starts_with("gres:") || text.starts_with("gres/")) text.remove_prefix(5);
  std::vector<std::string_view> parts = split(text, ':');
  Gres gres;
  gres.name = parts.front();
  gres.count = 1;
  if (parts.size() > 1 && !parts.back().empty() && is_ascii_digit(parts.back().front())) {
    // A type may begin with a digit ("1g.5gb"), so what is no number is one.
    if (const auto count = parse_count(parts.back(), 0)) {
      gres.count = *count;
      parts.pop_back();
    }
  }
  if (parts.size() > 1) {
    const auto* const begin = parts[1].data();
    const std::string_view last = parts.back();
    gres.type =
        std::string_view(begin, static_cast<std::size_t>(last.data() + last.size() - begin));
    // A flag of configuration, not a type.
    constexpr std::string_view kNoConsume = "no_consume";
    if (gres.type == kNoConsume) gres.type.clear();
    if (gres.type.ends_with(":no_consume"))
      gres.type.resize(gres.type.size() - kNoConsume.size() - 1);
  }
  if (gres.name.empty()) return bad("not a GRES:", item);
  return gres;
}

Result<Gres> parse_gres_item(std::string_view item) {
  const std::size_t open = std::min(item.find('('), item.size());
  MS_TRY(Gres gres, parse_gres_name(item.substr(0, open)));
  if (open == item.size()) return gres;
  if (item.back() != ')') return bad("no closing parenthesis in GRES", item);
  const std::string_view inside = item.substr(open + 1, item.size() - open - 2);
  if (inside.starts_with("IDX:")) {
    MS_TRY(gres.indexes, parse_index_list(inside.substr(4)));
  } else if (inside.starts_with("S:")) {
    MS_TRY(gres.sockets, parse_index_list(inside.substr(2)));
  }
  return gres;
}

}  // namespace

Result<std::vector<Gres>> parse_gres(std::string_view text) {
  std::vector<Gres> list;
  if (is_nothing(text)) return list;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size()) {
      if (text[i] == '(') inside = true;
      if (text[i] == ')') inside = false;
      if (text[i] != ',' || inside) continue;
    }
    MS_TRY(Gres gres, parse_gres_item(text.substr(begin, i - begin)));
    list.push_back(std::move(gres));
    begin = i + 1;
  }
  return list;
}

std::string format_gres(std::span<const Gres> list) {
  std::string text;
  for (const Gres& gres : list) {
    if (!text.empty()) text += ',';
    text += gres.name;
    if (!gres.type.empty()) text += ':' + gres.type;
    text += ':' + std::to_string(gres.count);
    if (!gres.indexes.empty()) {
      text += "(IDX:" + format_index_list(gres.indexes) + ')';
    } else if (!gres.sockets.empty()) {
      text += "(S:" + format_index_list(gres.sockets) + ')';
    }
  }
  return text;
}

}  // namespace mainspring::slurm
