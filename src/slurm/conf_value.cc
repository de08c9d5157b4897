#include "slurm/conf_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <limits>

#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/conf_file.h"

namespace mainspring::slurm {
namespace {

using Problem = std::optional<ValueProblem>;

Problem wrong(std::string message, std::string advice) {
  return ValueProblem{.fatal = true, .message = std::move(message), .advice = std::move(advice)};
}

bool is_infinite(std::string_view text) {
  return equals_ignore_case(text, "UNLIMITED") || equals_ignore_case(text, "INFINITE");
}

struct CNumber {
  std::uint64_t value = 0;
  bool negative = false;
  bool overflow = false;
  std::string_view rest;  // what is behind the number; all of it where there is no number
};

int digit_of(char c) {
  if (is_ascii_digit(c)) return c - '0';
  const char lower = ascii_lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

// As C's strtoull with base 0.
CNumber c_number(std::string_view text) {
  CNumber number{.rest = text};
  std::string_view at = text;
  while (!at.empty() && is_conf_space(at.front())) at.remove_prefix(1);
  if (!at.empty() && (at.front() == '-' || at.front() == '+')) {
    number.negative = at.front() == '-';
    at.remove_prefix(1);
  }
  std::uint64_t base = 10;
  if (at.size() > 2 && at[0] == '0' && ascii_lower(at[1]) == 'x' && digit_of(at[2]) < 16) {
    base = 16;
    at.remove_prefix(2);
  } else if (!at.empty() && at[0] == '0') {
    base = 8;
  }
  while (!at.empty() && static_cast<std::uint64_t>(digit_of(at.front())) < base) {
    const auto digit = static_cast<std::uint64_t>(digit_of(at.front()));
    if (number.value > (std::numeric_limits<std::uint64_t>::max() - digit) / base) {
      number.overflow = true;
    }
    number.value = number.value * base + digit;
    at.remove_prefix(1);
    number.rest = at;
  }
  return number;
}

Problem check_number(const ConfKey& key, std::string_view value) {
  const bool small = key.type == ConfType::kUint16;
  const std::uint64_t most = small ? std::numeric_limits<std::uint16_t>::max()
                             : key.type == ConfType::kUint32
                                 ? std::numeric_limits<std::uint32_t>::max()
                                 : std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t allowed = std::min(most, key.max);
  std::uint64_t number = most;
  if (!is_infinite(value)) {
    CNumber found = c_number(value);
    if (!small && !found.rest.empty() && ascii_lower(found.rest.front()) == 'k') {
      found.rest.remove_prefix(1);
      found.overflow = found.overflow || found.value > most / 1024;
      found.value *= 1024;
    }
    if (!found.rest.empty()) {
      return wrong(fmt::format("{} is not a number", quoted(value)),
                   fmt::format("use a number from {} to {}", key.min, allowed));
    }
    if (found.overflow || found.negative) {
      return wrong(fmt::format("{} is out of range", quoted(value)),
                   fmt::format("use {} to {}", key.min, allowed));
    }
    number = found.value;
  }
  if (number < key.min || number > allowed) {
    return wrong(fmt::format("{} is out of range", quoted(value)),
                 fmt::format("use {} to {}", key.min, allowed));
  }
  return std::nullopt;
}

Problem check_float(std::string_view value) {
  if (is_infinite(value)) return std::nullopt;
  const std::string text(value);
  char* end = nullptr;
  errno = 0;
  std::strtof(text.c_str(), &end);
  if (*end == '\0' && errno != ERANGE) return std::nullopt;
  return wrong(fmt::format("{} is not a number", quoted(value)), "use a number such as 95.5");
}

Problem check_seconds(std::string_view value) {
  if (equals_ignore_case(value, "NONE") || equals_ignore_case(value, "INFINITE") || value == "-1") {
    return std::nullopt;
  }
  constexpr std::string_view kAdvice = "use a number of seconds, or INFINITE";
  const CNumber number = c_number(value);
  if (number.overflow || number.value > std::numeric_limits<std::uint32_t>::max() ||
      (number.negative && number.value > 0)) {
    return wrong(fmt::format("{} is out of range", quoted(value)), std::string(kAdvice));
  }
  if (number.rest.empty() && !value.empty()) return std::nullopt;
  return ValueProblem{
      .fatal = false,
      .message = fmt::format("{} is not a number and counts as {}", quoted(value), number.value),
      .advice = std::string(kAdvice)};
}

Problem check_period(std::string_view value) {
  std::size_t digits = 0;
  while (digits < value.size() && is_ascii_digit(value[digits])) ++digits;
  const std::string_view unit = value.substr(digits);
  if (digits > 0) {
    for (const std::string_view name : {"months", "hours", "days"}) {
      if (unit.empty() || starts_with_ignore_case(name, unit)) return std::nullopt;
    }
  }
  return wrong(fmt::format("{} is no period", quoted(value)), "use for example 12months or 30days");
}

Problem check_log_level(std::string_view value) {
  constexpr std::string_view kLevels =
      "quiet,fatal,error,info,verbose,debug,debug2,debug3,debug4,debug5";
  if (!value.empty() && (is_ascii_digit(value.front()) || list_has(kLevels, value))) {
    return std::nullopt;
  }
  return wrong(fmt::format("{} is no log level", quoted(value)),
               fmt::format("use one of {}", kLevels));
}

Problem check_port(std::string_view value) {
  const std::vector<std::string_view> ends = split(value, '-');
  std::uint16_t last = 0;
  bool fine = ends.size() <= 2;
  for (const std::string_view end : ends) {
    const auto port = parse_integer<std::uint16_t>(end);
    fine = fine && port && *port > last;
    if (port) last = *port;
  }
  if (fine) return std::nullopt;
  return wrong(fmt::format("{} is no port", quoted(value)), "use 1 to 65535, or a range of them");
}

// Choices that the release has, without the mark that says since when.
std::vector<std::string_view> choices_of(std::string_view choices, Release release) {
  std::vector<std::string_view> found;
  for (const std::string_view choice : list_words(choices)) {
    const std::size_t mark = choice.find('>');
    if (mark != std::string_view::npos) {
      const auto since = parse_integer<Release>(choice.substr(mark + 1));
      if (since && *since > release) continue;
    }
    found.push_back(choice.substr(0, mark));
  }
  return found;
}

Problem not_a_choice(std::string_view value, const std::vector<std::string_view>& choices) {
  return wrong(
      fmt::format("{} is not known", quoted(value)),
      fmt::format("use {}{}", choices.size() > 1 ? "one of " : "", fmt::join(choices, ", ")));
}

Problem check_choice(const ConfKey& key, std::string_view value, Release release) {
  const auto choices = choices_of(key.choices, release);
  const auto matches = [&](std::string_view word) {
    return std::ranges::any_of(choices, [&](std::string_view choice) {
      return key.type == ConfType::kPrefix ? starts_with_ignore_case(word, choice)
                                           : equals_ignore_case(word, choice);
    });
  };
  if (key.type != ConfType::kChoices) {
    if (matches(value)) return std::nullopt;
    return not_a_choice(value, choices);
  }
  for (const std::string_view word : list_words(value)) {
    if (!matches(word)) return not_a_choice(word, choices);
  }
  return std::nullopt;
}

Problem check_plugin(const ConfKey& key, std::string_view value, Release release) {
  const std::string known = plugins_of(key.choices, release);
  const bool several = key.type == ConfType::kPlugins;
  const std::vector<std::string_view> words =
      several ? list_words(value) : std::vector<std::string_view>{value};
  for (std::string_view word : words) {
    const std::size_t slash = word.find('/');
    const std::string_view kind = slash == std::string_view::npos ? "" : word.substr(0, slash);
    const std::string_view name = slash == std::string_view::npos ? word : word.substr(slash + 1);
    // Where "none" means no plugin, Slurm looks for the word only.
    const bool nothing = list_has(known, "none") &&
                         (equals_ignore_case(name, "none") || equals_ignore_case(name, "default"));
    const bool kind_fits = kind == key.choices || (several && kind.empty());
    // Several versions of PMIx are loaded by their own names.
    const bool version = key.choices == "mpi" && name.starts_with("pmix_v");
    if (nothing || version || (kind_fits && std::ranges::count(list_words(known), name) > 0)) {
      continue;
    }
    std::vector<std::string> full;
    for (const std::string_view plugin : list_words(known)) {
      full.push_back(fmt::format("{}/{}", key.choices, plugin));
    }
    return wrong(fmt::format("Slurm has no plugin {}", quoted(word)),
                 full.empty() ? "remove it: this release has no such plugins"
                              : fmt::format("use one of {}", fmt::join(full, ", ")));
  }
  return std::nullopt;
}

Problem check_path(const ConfKey& key, std::string_view value) {
  std::vector<std::string_view> paths{value};
  if (key.type == ConfType::kPaths) {
    if (equals_ignore_case(value, "none")) return std::nullopt;
    paths = list_words(value);
  }
  for (const std::string_view path : paths) {
    if (!path.starts_with('/')) {
      return wrong(fmt::format("{} is not an absolute path", quoted(path)), "begin it with a /");
    }
  }
  return std::nullopt;
}

Problem check_weights(std::string_view value) {
  constexpr std::string_view kKinds =
      "billing,bb,cpu,energy,fs,gres,ic,interconnect,license,mem,node,pages,vmem";
  for (const std::string_view word : list_words(value)) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string text(equals == std::string_view::npos ? "" : word.substr(equals + 1));
    char* end = nullptr;
    errno = 0;
    std::strtod(text.c_str(), &end);
    const bool number =
        !text.empty() && errno != ERANGE &&
        (*end == '\0' || std::string_view("KMGTP").find(*end) != std::string_view::npos);
    if (!list_has(kKinds, name.substr(0, name.find('/'))) || !number) {
      return wrong(fmt::format("{} is no weight of a TRES", quoted(word)),
                   "use for example cpu=1.0,mem=0.25G");
    }
  }
  return std::nullopt;
}

Problem check_licenses(std::string_view value) {
  const bool either = value.find('|') != std::string_view::npos;
  bool fine = !either || value.find_first_of(",;(") == std::string_view::npos;
  std::string text(value);
  std::ranges::replace_if(
      text, [](char c) { return c == ';' || c == '|'; }, ',');
  for (const std::string_view word : list_words(text)) {
    const std::size_t colon = word.find_first_of(":=");
    fine = fine && word.substr(0, colon).find_first_of(" \t") == std::string_view::npos;
    if (colon == std::string_view::npos || colon + 1 == word.size()) continue;
    fine = fine && parse_integer<std::int32_t>(word.substr(colon + 1)).has_value();
  }
  if (fine) return std::nullopt;
  return wrong(fmt::format("{} is no list of licences", quoted(value)),
               "use for example matlab:10,ansys:4");
}

Problem check_hosts(std::string_view value, Release release) {
  const auto hosts = expand_conf_hosts(value, release);
  if (hosts) return std::nullopt;
  return wrong(fmt::format("{} is no hostlist: {}", quoted(value), hosts.error().message()),
               "use for example node[1-3,7]");
}

Problem check_type(const ConfKey& key, std::string_view value, Release release) {
  switch (key.type) {
    case ConfType::kText:
      return std::nullopt;
    case ConfType::kBool:
      if (conf_bool(value)) return std::nullopt;
      return wrong(fmt::format("{} is neither yes nor no", quoted(value)), "use YES or NO");
    case ConfType::kUint16:
    case ConfType::kUint32:
    case ConfType::kUint64:
      return check_number(key, value);
    case ConfType::kFloat:
      return check_float(value);
    case ConfType::kTime: {
      const auto minutes = conf_minutes(value);
      if (minutes && (key.min == 0 || *minutes >= static_cast<std::int64_t>(key.min))) {
        return std::nullopt;
      }
      return wrong(fmt::format("{} is no time that Slurm takes here", quoted(value)),
                   "use for example 90, 1:30:00 or 7-12:00:00");
    }
    case ConfType::kSeconds:
      return check_seconds(value);
    case ConfType::kPeriod:
      return check_period(value);
    case ConfType::kLogLevel:
      return check_log_level(value);
    case ConfType::kPort:
      return check_port(value);
    case ConfType::kChoice:
    case ConfType::kChoices:
    case ConfType::kPrefix:
      return check_choice(key, value, release);
    case ConfType::kPlugin:
    case ConfType::kPlugins:
      return check_plugin(key, value, release);
    case ConfType::kPath:
    case ConfType::kPaths:
      return check_path(key, value);
    case ConfType::kHosts:
      return check_hosts(value, release);
    case ConfType::kWeights:
      return check_weights(value);
    case ConfType::kLicenses:
      return check_licenses(value);
  }
  return std::nullopt;
}

// "days-hours:minutes:seconds" with parts left out; only the shape, as Slurm checks it.
bool has_time_shape(std::string_view text) {
  int groups = 0;
  int dashes = 0;
  int colons = 0;
  bool in_digits = false;
  for (const char c : text) {
    if (is_ascii_digit(c)) {
      groups += in_digits ? 0 : 1;
      in_digits = true;
      continue;
    }
    in_digits = false;
    if (c == '-' && colons == 0) {
      ++dashes;
    } else if (c == ':') {
      ++colons;
    } else {
      return false;
    }
  }
  if (groups == 0 || dashes > 1 || colons > 2) return false;
  return colons == 0 || groups >= colons + 1 + dashes;
}

}  // namespace

std::optional<ValueProblem> check_value(const ConfKey& key, std::string_view value,
                                        Release release) {
  Problem problem = check_type(key, value, release);
  if (problem && key.tolerant) problem->fatal = false;
  return problem;
}

std::optional<std::int64_t> conf_minutes(std::string_view text) {
  if (text == "-1" || is_infinite(text)) return -1;
  if (!has_time_shape(text)) return std::nullopt;
  const std::size_t dash = text.find('-');
  std::int64_t seconds = 0;
  std::vector<std::int64_t> parts;
  // Slurm counts in 32 bits; what does not fit comes out negative there, and is refused.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const std::string_view part :
       split(dash == std::string_view::npos ? text : text.substr(dash + 1), ':')) {
    parts.push_back(parse_integer<std::int32_t>(part).value_or(part.empty() ? 0 : kMost));
  }
  if (dash != std::string_view::npos) {
    const std::string_view days = text.substr(0, dash);
    seconds +=
        std::int64_t{86'400} * parse_integer<std::int32_t>(days).value_or(days.empty() ? 0 : kMost);
    parts.resize(3);
    seconds += parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else if (parts.size() == 3) {
    seconds += parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else {
    parts.resize(2);
    seconds += parts[0] * 60 + parts[1];
  }
  if (seconds > kMost) return std::nullopt;
  return (seconds + 59) / 60;
}

std::optional<bool> conf_bool(std::string_view text) {
  if (list_has("yes,up,true,1", text)) return true;
  if (list_has("no,down,false,0", text)) return false;
  return std::nullopt;
}

std::vector<std::string_view> list_words(std::string_view list) {
  std::vector<std::string_view> words = split(list, ',');
  std::erase_if(words, [](std::string_view word) { return word.empty(); });
  return words;
}

bool list_has(std::string_view list, std::string_view word) {
  return std::ranges::any_of(list_words(list), [&](std::string_view candidate) {
    return equals_ignore_case(candidate, word);
  });
}

Result<std::vector<std::string>> expand_conf_hosts(std::string_view text, Release release,
                                                   std::size_t max_hosts) {
  std::vector<std::string> names;
  while (!text.empty()) {
    // A name with its brackets, up to the next comma or blank outside of them.
    std::size_t end = 0;
    for (bool inside = false; end < text.size(); ++end) {
      if (text[end] == '[') inside = true;
      if (text[end] == ']') inside = false;
      if (!inside && (text[end] == ',' || is_conf_space(text[end]))) break;
    }
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t close = word.rfind(']');
    // Text behind the brackets came with 25.05.
    const bool suffixed = close != std::string_view::npos && close + 1 < word.size() &&
                          word.find('[') != std::string_view::npos && release >= 2505;
    const std::string_view suffix = suffixed ? word.substr(close + 1) : "";
    MS_TRY(const std::vector<std::string> found,
           expand_hostlist(word.substr(0, word.size() - suffix.size()), max_hosts));
    if (names.size() + found.size() > max_hosts) {
      return fail(Code::kTooLarge, fmt::format("it names more than {} hosts", max_hosts));
    }
    for (const std::string& name : found) names.push_back(name + std::string(suffix));
  }
  return names;
}

}  // namespace mainspring::slurm
