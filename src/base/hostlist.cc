#include "base/hostlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <iterator>

#include "base/text.h"

namespace mainspring {
namespace {

// Keeps every number inside 64 bits, also one past the end of a range.
constexpr std::size_t kMaxDigits = 18;

bool is_separator(char c) { return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_character(char c) { return c > ' ' && c < 0x7F && c != ',' && c != '[' && c != ']'; }

std::size_t digits_in(std::uint64_t number) {
  std::size_t digits = 1;
  while (number >= 10) {
    number /= 10;
    ++digits;
  }
  return digits;
}

void append_padded(std::string& out, std::uint64_t number, std::size_t width) {
  const std::size_t start = out.size();
  out.append(std::max(width, digits_in(number)), '0');
  for (std::size_t at = out.size(); at > start && number > 0; number /= 10) {
    out[--at] = static_cast<char>('0' + number % 10);
  }
}

struct Range {
  std::uint64_t first;
  std::uint64_t last;
  std::size_t width;
};

// Literal text and the bracket behind it.
struct Segment {
  std::string_view literal;
  std::vector<Range> ranges;
};

// Reads one hostlist from front to back.
class Expander {
 public:
  // The limit is kept far from where counting could overflow.
  Expander(std::string_view text, std::size_t max_hosts)
      : text_(text), max_hosts_(std::min(max_hosts, std::size_t{1} << 62)) {}

  Result<std::vector<std::string>> run() {
    for (;;) {
      while (at_ < text_.size() && is_separator(text_[at_])) ++at_;
      if (at_ == text_.size()) return std::move(hosts_);
      MS_CHECK(read_term());
    }
  }

 private:
  tl::unexpected<Error> invalid(std::size_t at, std::string_view why) const {
    return fail(Code::kInvalid,
                fmt::format("hostlist {}: {} at position {}", quoted(text_), why, at));
  }

  Result<void> read_term() {
    std::vector<Segment> segments;
    while (at_ < text_.size() && !is_separator(text_[at_])) {
      if (!segments.empty() && segments.back().ranges.empty()) {
        return invalid(at_, "unexpected character");
      }
      Segment segment;
      const std::size_t start = at_;
      while (at_ < text_.size() && is_name_character(text_[at_])) ++at_;
      segment.literal = text_.substr(start, at_ - start);
      if (at_ < text_.size() && text_[at_] == '[') {
        MS_TRY(segment.ranges, read_bracket());
      } else if (!segments.empty()) {
        return invalid(start, "text after the last bracket (Slurm does not know suffixes)");
      } else if (segment.literal.empty()) {
        return invalid(at_, text_[at_] == ']' ? "']' without '['" : "unexpected character");
      }
      segments.push_back(std::move(segment));
    }
    MS_CHECK(check_limits(segments));
    std::string name;
    expand(segments, name);
    return {};
  }

  Result<std::vector<Range>> read_bracket() {
    const std::size_t open = at_++;
    std::vector<Range> ranges;
    for (;;) {
      MS_TRY(const Range range, read_range());
      ranges.push_back(range);
      if (at_ == text_.size()) return invalid(open, "'[' without ']'");
      const char next = text_[at_];
      if (next != ',' && next != ']') return invalid(at_, "expected ',' '-' or ']'");
      ++at_;
      if (next == ']') return ranges;
    }
  }

  Result<Range> read_range() {
    const std::size_t start = at_;
    MS_TRY(const std::uint64_t first, read_number());
    Range range{first, first, at_ - start};
    if (at_ == text_.size() || text_[at_] != '-') return range;
    ++at_;
    MS_TRY(range.last, read_number());
    if (range.last < range.first) return invalid(start, "a range must not run backwards");
    return range;
  }

  Result<std::uint64_t> read_number() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_ascii_digit(text_[at_])) ++at_;
    if (at_ == start) return invalid(at_, "expected a number");
    if (at_ - start > kMaxDigits) {
      return invalid(start, fmt::format("a number of more than {} digits", kMaxDigits));
    }
    return parse_integer<std::uint64_t>(text_.substr(start, at_ - start));
  }

  // Before anything is allocated, and without overflow: each factor stops at the limit.
  Result<void> check_limits(const std::vector<Segment>& segments) const {
    const std::size_t room = max_hosts_ - hosts_.size();
    std::size_t names = 1;
    std::size_t longest = 0;
    for (const Segment& segment : segments) {
      longest += segment.literal.size();
      if (segment.ranges.empty()) continue;
      std::uint64_t count = 0;
      std::size_t widest = 0;
      for (const Range& range : segment.ranges) {
        count = std::min<std::uint64_t>(count + (range.last - range.first) + 1, room + 1);
        widest = std::max({widest, range.width, digits_in(range.last)});
      }
      longest += widest;
      names = count > room / names ? room + 1 : names * count;
      if (names > room) break;
    }
    if (names > room) {
      return fail(Code::kTooLarge,
                  fmt::format("hostlist {} names more than {} hosts", quoted(text_), max_hosts_));
    }
    if (longest > kHostNameMax) {
      return fail(Code::kTooLarge, fmt::format("hostlist {} has a name of {} characters, the limit "
                                               "is {}",
                                               quoted(text_), longest, kHostNameMax));
    }
    return {};
  }

  // As deep as a name has brackets, which kHostNameMax bounds.
  void expand(std::span<const Segment> segments, std::string& name) {
    if (segments.empty()) {
      hosts_.push_back(name);
      return;
    }
    const Segment& segment = segments.front();
    const std::size_t before = name.size();
    name += segment.literal;
    if (segment.ranges.empty()) expand(segments.subspan(1), name);
    for (const Range& range : segment.ranges) {
      for (std::uint64_t number = range.first; number <= range.last; ++number) {
        name.resize(before + segment.literal.size());
        append_padded(name, number, range.width);
        expand(segments.subspan(1), name);
      }
    }
    name.resize(before);
  }

  std::string_view text_;
  std::size_t max_hosts_;
  std::size_t at_ = 0;
  std::vector<std::string> hosts_;
};

// A name taken apart at its trailing number.
struct Host {
  std::string_view prefix;
  std::uint64_t number = 0;
  std::size_t digits = 0;   // 0: the name has no trailing number.
  std::size_t padding = 0;  // The width of the ranges it can stand in; 0: not padded.

  bool zero_padded(std::string_view name) const { return digits > 1 && name[prefix.size()] == '0'; }
};

Result<Host> split_name(std::string_view name) {
  if (name.empty()) return fail(Code::kInvalid, "a host name is empty");
  if (name.size() > kHostNameMax) {
    return fail(Code::kTooLarge, fmt::format("host name {} is longer than {} characters",
                                             quoted(name), kHostNameMax));
  }
  if (!std::all_of(name.begin(), name.end(), is_name_character)) {
    return fail(Code::kInvalid,
                fmt::format("host name {} has a character that a hostlist cannot hold: use "
                            "printable ASCII without spaces, commas and brackets",
                            quoted(name)));
  }
  Host host;
  while (host.digits < std::min(name.size(), kMaxDigits) &&
         is_ascii_digit(name[name.size() - host.digits - 1])) {
    ++host.digits;
  }
  host.prefix = name.substr(0, name.size() - host.digits);
  if (host.digits == 0) return host;
  MS_TRY(host.number, parse_integer<std::uint64_t>(name.substr(host.prefix.size())));
  if (host.zero_padded(name)) host.padding = host.digits;
  return host;
}

Result<std::vector<Host>> split_names(std::span<const std::string> names) {
  std::vector<Host> hosts;
  hosts.reserve(names.size());
  for (const std::string& name : names) {
    MS_TRY(const Host host, split_name(name));
    hosts.push_back(host);
  }
  return hosts;
}

// Whether `next` is what a range that began with `first` and holds `last` would say next.
bool continues(const Host& first, const Host& last, const Host& next) {
  return next.number == last.number + 1 &&
         next.digits == std::max(first.digits, digits_in(next.number));
}

// `hosts` share their prefix and have numbers.
void append_group(std::string& out, std::span<const Host> hosts) {
  std::string inside;
  std::size_t ranges = 0;
  bool is_range = false;
  for (std::size_t i = 0; i < hosts.size(); ++ranges) {
    std::size_t end = i + 1;
    while (end < hosts.size() && continues(hosts[i], hosts[end - 1], hosts[end])) ++end;
    if (ranges > 0) inside += ',';
    append_padded(inside, hosts[i].number, hosts[i].digits);
    if (end - i > 1) {
      is_range = true;
      inside += '-';
      append_padded(inside, hosts[end - 1].number, hosts[end - 1].digits);
    }
    i = end;
  }
  out += hosts.front().prefix;
  out += ranges > 1 || is_range ? fmt::format("[{}]", inside) : inside;
}

// Hosts from the front of `hosts` with one prefix.
std::size_t group_size(std::span<const Host> hosts) {
  std::size_t size = 1;
  if (hosts[0].digits == 0) return size;
  while (size < hosts.size() && hosts[size].digits > 0 && hosts[size].prefix == hosts[0].prefix) {
    ++size;
  }
  return size;
}

std::string compress(std::span<const Host> hosts) {
  std::string out;
  while (!hosts.empty()) {
    const std::size_t size = group_size(hosts);
    if (!out.empty()) out += ',';
    if (hosts[0].digits == 0) {
      out += hosts[0].prefix;
    } else {
      append_group(out, hosts.first(size));
    }
    hosts = hosts.subspan(size);
  }
  return out;
}

std::string_view take_number(std::string_view& text) {
  std::size_t end = 0;
  while (end < text.size() && is_ascii_digit(text[end])) ++end;
  const std::size_t zeros = std::min(text.find_first_not_of('0'), end);
  const std::string_view number = text.substr(zeros, end - zeros);
  text.remove_prefix(end);
  return number;
}

// Numbers inside by their value, so that rack2-n stands before rack10-n.
std::strong_ordering natural_order(std::string_view a, std::string_view b) {
  if (a == b) return std::strong_ordering::equal;
  std::string_view x = a;
  std::string_view y = b;
  while (!x.empty() && !y.empty()) {
    if (is_ascii_digit(x[0]) && is_ascii_digit(y[0])) {
      const std::string_view m = take_number(x);
      const std::string_view n = take_number(y);
      if (m.size() != n.size()) return m.size() <=> n.size();
      if (m != n) return m <=> n;
    } else {
      if (x[0] != y[0]) return x[0] <=> y[0];
      x.remove_prefix(1);
      y.remove_prefix(1);
    }
  }
  return x.size() != y.size() ? x.size() <=> y.size() : a <=> b;
}

std::strong_ordering order(const Host& a, const Host& b) {
  if (const auto prefix = natural_order(a.prefix, b.prefix); std::is_neq(prefix)) return prefix;
  if (const auto named = (a.digits > 0) <=> (b.digits > 0); std::is_neq(named)) return named;
  if (const auto number = a.number <=> b.number; std::is_neq(number)) return number;
  return a.digits <=> b.digits;
}

// "10" continues "09" as well as "9": where a prefix has padded numbers, those wide enough to need
// no padding join the widest padding that they can continue.
void join_paddings(std::span<Host> group) {
  std::vector<std::size_t> widths;
  for (const Host& host : group) {
    if (host.padding > 0) widths.push_back(host.padding);
  }
  if (widths.empty()) return;
  std::sort(widths.begin(), widths.end());
  for (Host& host : group) {
    if (host.padding > 0) continue;
    const auto above = std::upper_bound(widths.begin(), widths.end(), host.digits);
    if (above != widths.begin()) host.padding = *std::prev(above);
  }
  std::stable_sort(group.begin(), group.end(),
                   [](const Host& a, const Host& b) { return a.padding < b.padding; });
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text, std::size_t max_hosts) {
  return Expander(text, max_hosts).run();
}

Result<std::string> compress_hostlist(std::span<const std::string> names) {
  MS_TRY(std::vector<Host> hosts, split_names(names));
  std::sort(hosts.begin(), hosts.end(),
            [](const Host& a, const Host& b) { return std::is_lt(order(a, b)); });
  hosts.erase(std::unique(hosts.begin(), hosts.end(),
                          [](const Host& a, const Host& b) { return std::is_eq(order(a, b)); }),
              hosts.end());
  for (std::size_t at = 0; at < hosts.size();) {
    const std::size_t size = group_size(std::span(hosts).subspan(at));
    join_paddings(std::span(hosts).subspan(at, size));
    at += size;
  }
  return compress(hosts);
}

Result<std::string> compress_hostlist_in_order(std::span<const std::string> names) {
  MS_TRY(const std::vector<Host> hosts, split_names(names));
  return compress(hosts);
}

}  // namespace mainspring
