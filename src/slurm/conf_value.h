// slurm/conf_value.h
//
// Whether a value is one that Slurm takes for a key, by the type in slurm/conf_keys.h. Numbers,
// times and lists are read as Slurm reads them, also where that is odd: 010 is eight, "" is zero,
// and K counts 1024s. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/conf_keys.h"

namespace mainspring::slurm {

struct ValueProblem {
  bool fatal = true;  // Slurm stops; else it goes on with another value
  std::string message;
  std::string advice;
};

// Nothing where the value is fine. Repeats parts of the value, never of a kText.
std::optional<ValueProblem> check_value(const ConfKey& key, std::string_view value,
                                        Release release);

// Minutes as Slurm rounds them, -1 for INFINITE, nothing where it is no time.
std::optional<std::int64_t> conf_minutes(std::string_view text);

std::optional<bool> conf_bool(std::string_view text);

// Yes where the comma list has that word, in any case.
bool list_has(std::string_view list, std::string_view word);

// The words between commas that are not empty.
std::vector<std::string_view> list_words(std::string_view list);

// A hostlist as expanded by Slurm, text after the brackets included: "n[1-2].example".
// kTooLarge where it names more than `max_hosts`.
inline constexpr std::size_t kMaxConfHosts = 65'536;  // Slurm's bound, for nodes and for one range
Result<std::vector<std::string>> expand_conf_hosts(std::string_view text, Release release,
                                                   std::size_t max_hosts = kMaxConfHosts);

}  // namespace mainspring::slurm
