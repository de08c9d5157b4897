#include "slurm/conf_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace mainspring::slurm {
namespace {

using Kind = ConfFault::Kind;

bool is_key_char(char c) {
  return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_' ||
         c == '.';
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && !is_conf_space(c)) || byte == 0x7f;
}

std::string_view without_comment(std::string_view line) {
  std::size_t backslashes = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && backslashes % 2 == 0) return line.substr(0, i);
    backslashes = line[i] == '\\' ? backslashes + 1 : 0;
  }
  return line;
}

// Where the text ends that the next line continues: before the last of an odd number of
// backslashes.
std::optional<std::size_t> continuation(std::string_view line) {
  std::size_t end = line.size();
  while (end > 0 && is_conf_space(line[end - 1])) --end;
  std::size_t first = end;
  while (first > 0 && line[first - 1] == '\\') --first;
  if ((end - first) % 2 == 0) return std::nullopt;
  return end - 1;
}

std::string unescaped(std::string_view line) {
  std::string text;
  text.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && ++i == line.size()) break;
    text.push_back(line[i]);
  }
  return text;
}

void skip_spaces(std::string_view& text) {
  while (!text.empty() && is_conf_space(text.front())) text.remove_prefix(1);
}

// A quoted value counts as one only if a blank or the end follows the second quote.
std::optional<std::string_view> take_quoted(std::string_view& text) {
  if (text.empty() || text.front() != '"') return std::nullopt;
  const std::size_t close = text.find('"', 1);
  if (close == std::string_view::npos) return std::nullopt;
  if (close + 1 < text.size() && !is_conf_space(text[close + 1])) return std::nullopt;
  const std::string_view value = text.substr(1, close - 1);
  text.remove_prefix(close + 1);
  return value;
}

std::string_view take_word(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && !is_conf_space(text[size])) ++size;
  const std::string_view word = text.substr(0, size);
  text.remove_prefix(size);
  return word;
}

// The pair at the front of `text`, which is left alone if there is none.
std::optional<ConfPair> take_pair(std::string_view& text) {
  std::string_view rest = text;
  skip_spaces(rest);
  std::size_t size = 0;
  while (size < rest.size() && is_key_char(rest[size])) ++size;
  if (size == 0) return std::nullopt;
  ConfPair pair{.key = std::string(rest.substr(0, size)), .value = {}};
  rest.remove_prefix(size);
  skip_spaces(rest);
  if (!rest.empty() && std::string_view("+-*/").find(rest.front()) != std::string_view::npos) {
    pair.modifier = rest.front();
    rest.remove_prefix(1);
  }
  if (rest.empty() || rest.front() != '=') return std::nullopt;
  rest.remove_prefix(1);
  skip_spaces(rest);
  if (const auto quoted_value = take_quoted(rest)) {
    pair.value = *quoted_value;
  } else {
    pair.value = take_word(rest);
    if (pair.value.empty()) return std::nullopt;
  }
  text = rest;
  return pair;
}

class Reading {
 public:
  Reading(const ConfProvider& provider, const ConfReadOptions& options)
      : provider_(provider), options_(options) {}

  void read(std::string_view file, std::string_view text, std::size_t depth) {
    if (text.size() > options_.max_bytes - bytes_) {
      fault(Kind::kTooLarge, file, 1, file);
      return;
    }
    bytes_ += text.size();
    std::size_t number = 0;
    while (!text.empty()) {
      const std::size_t first = number + 1;
      const std::string line = logical_line(file, text, number);
      if (line.size() > options_.max_line) fault(Kind::kLongLine, file, first, {});
      take_line(file, line, first, depth);
    }
  }

  ConfFile result;

 private:
  void fault(Kind kind, std::string_view file, std::size_t line, std::string_view text) {
    if (result.faults.size() >= options_.max_faults) return;
    result.faults.push_back({kind, std::string(file), line, std::string(trim(text))});
  }

  // Takes one line and those that continue it off `text`.
  std::string logical_line(std::string_view file, std::string_view& text, std::size_t& number) {
    std::string joined;
    while (!text.empty()) {
      ++number;
      const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end);
      check_bytes(file, line, number);
      line = without_comment(line.substr(0, line.find('\0')));
      const auto continued = continuation(line);
      joined += line.substr(0, continued.value_or(line.size()));
      if (!continued) break;
    }
    return unescaped(joined);
  }

  void check_bytes(std::string_view file, std::string_view line, std::size_t number) {
    if (std::ranges::any_of(line, is_control)) {
      fault(Kind::kControlCharacter, file, number, line);
    }
    if (!is_valid_utf8(line)) fault(Kind::kNotUtf8, file, number, line);
  }

  void take_line(std::string_view file, std::string_view line, std::size_t number,
                 std::size_t depth) {
    constexpr std::string_view kInclude = "include";
    if (starts_with_ignore_case(line, kInclude) && line.size() > kInclude.size() &&
        is_conf_space(line[kInclude.size()])) {
      line.remove_prefix(kInclude.size());
      include(file, line, number, depth);
      return;
    }
    ConfLine found{.file = std::string(file), .line = number, .pairs = {}};
    while (auto pair = take_pair(line)) found.pairs.push_back(*std::move(pair));
    skip_spaces(line);
    if (!line.empty()) fault(Kind::kText, file, number, line);
    if (found.pairs.empty()) return;
    if (equals_ignore_case(found.key(), "ClusterName")) cluster_ = found.value();
    result.lines.push_back(std::move(found));
  }

  void include(std::string_view file, std::string_view rest, std::size_t number,
               std::size_t depth) {
    skip_spaces(rest);
    std::string name(take_word(rest));
    if (rest.empty()) fault(Kind::kIncludeOpen, file, number, name);
    skip_spaces(rest);
    if (!rest.empty()) fault(Kind::kText, file, number, rest);
    if (!expand_cluster(name)) {
      fault(Kind::kIncludeCluster, file, number, name);
    } else if (name.find('*') != std::string::npos) {
      fault(Kind::kIncludePattern, file, number, name);
    } else if (depth >= options_.max_depth) {
      fault(Kind::kIncludeDeep, file, number, name);
    } else if (const auto text = provider_(name)) {
      read(name, *text, depth + 1);
    } else {
      fault(Kind::kIncludeMissing, file, number, name);
    }
  }

  bool expand_cluster(std::string& name) const {
    if (name.find("%c") == std::string::npos) return true;
    if (cluster_.empty()) return false;
    std::string lower = cluster_;
    std::ranges::transform(lower, lower.begin(), ascii_lower);
    for (std::size_t at = name.find("%c"); at != std::string::npos;
         at = name.find("%c", at + lower.size())) {
      name.replace(at, 2, lower);
    }
    return true;
  }

  const ConfProvider& provider_;
  const ConfReadOptions& options_;
  std::size_t bytes_ = 0;
  std::string cluster_;
};

bool is_conf_key(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, is_key_char);
}

Result<void> render_pair(const ConfPair& pair, std::string& text) {
  MS_CHECK(check_conf_value(pair.key, pair.value));
  if (pair.modifier != 0 &&
      std::string_view("+-*/").find(pair.modifier) == std::string_view::npos) {
    return fail(Code::kInvalid, fmt::format("{}: {} is no modifier; use one of + - * /", pair.key,
                                            quoted({&pair.modifier, 1})));
  }
  const bool blanks = pair.value.empty() || pair.value.find(' ') != std::string::npos;
  text += pair.key;
  if (pair.modifier != 0) text.push_back(pair.modifier);
  text += blanks ? "=\"" : "=";
  for (const char c : pair.value) {
    if (c == '#' || c == '\\') text.push_back('\\');
    text.push_back(c);
  }
  if (blanks) text.push_back('"');
  return {};
}

}  // namespace

bool is_conf_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

const ConfPair* ConfLine::find(std::string_view name) const {
  for (std::size_t i = pairs.size(); i-- > 1;) {
    if (equals_ignore_case(pairs[i].key, name)) return &pairs[i];
  }
  return nullptr;
}

ConfFile read_conf(std::string_view file, std::string_view text, const ConfProvider& provider,
                   const ConfReadOptions& options) {
  Reading reading(provider, options);
  reading.read(file, text, 0);
  return std::move(reading.result);
}

Result<void> check_conf_value(std::string_view key, std::string_view value) {
  if (!is_conf_key(key)) {
    return fail(
        Code::kInvalid,
        fmt::format("{} is no key of a Slurm file; use letters, digits, '_' and '.'", quoted(key)));
  }
  for (const char c : value) {
    if (is_control(c) || (is_conf_space(c) && c != ' ')) {
      return fail(Code::kInvalid, fmt::format("{}: the value {} has a line break or a control "
                                              "character, which Slurm would take as the end of it",
                                              key, quoted(value)));
    }
    if (c == '"') {
      return fail(Code::kInvalid,
                  fmt::format("{}: the value {} has a quote, which Slurm cannot escape; remove it",
                              key, quoted(value)));
    }
  }
  return {};
}

Result<std::string> render_conf(const ConfLine& line) {
  if (line.pairs.empty()) return fail(Code::kInvalid, "a line of a Slurm file needs a key");
  std::string text;
  for (const ConfPair& pair : line.pairs) {
    if (!text.empty()) text.push_back(' ');
    MS_CHECK(render_pair(pair, text));
  }
  text.push_back('\n');
  return text;
}

Result<std::string> render_conf(std::span<const ConfLine> lines) {
  std::string text;
  for (const ConfLine& line : lines) {
    MS_TRY(const std::string rendered, render_conf(line));
    text += rendered;
  }
  return text;
}

}  // namespace mainspring::slurm
