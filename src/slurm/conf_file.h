// slurm/conf_file.h
//
// Slurm's key=value files (slurm.conf, cgroup.conf, gres.conf, slurmdbd.conf) as lines of pairs,
// and back to text.
//
// Reading follows what Slurm 24.11 to 26.05 do, also where that surprises: '#' begins a comment
// even inside quotes, a backslash takes the meaning from the next byte and joins lines at the end
// of one, quotes hold blanks only when they are the whole value, and `Include` counts only in the
// first column. Nothing here knows which keys exist: see slurm/conf_keys.h. What Slurm could not
// make sense of is kept as a fault, so that a linter can show all of them.
//
// Pure functions: files come from a function that the caller gives. Safe against hostile text: the
// number of bytes, lines and nested files is bounded.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace mainspring::slurm {

struct ConfPair {
  std::string key;
  std::string value;
  char modifier = 0;  // '+' of "key+=value", or one of "-*/". Slurm takes them and sets the value.

  bool operator==(const ConfPair&) const = default;
};

// One line, continuations joined and comments gone. Never without a pair.
struct ConfLine {
  std::string file;
  std::size_t line = 0;  // of its first part, counted from 1
  std::vector<ConfPair> pairs;

  const std::string& key() const { return pairs.front().key; }
  const std::string& value() const { return pairs.front().value; }
  // The last pair of that name, in any case, after the first pair.
  const ConfPair* find(std::string_view name) const;

  bool operator==(const ConfLine&) const = default;
};

struct ConfFault {
  enum class Kind {
    kText,              // no key=value: Slurm stops
    kIncludeMissing,    // Slurm waits a minute for the file, then stops
    kIncludePattern,    // '*' in the name: Slurm stops
    kIncludeDeep,       // a file that includes itself: Slurm crashes
    kIncludeOpen,       // no blank after the name: Slurm reads on behind the end of the line
    kIncludeCluster,    // %c in the name, before ClusterName
    kControlCharacter,  // accepted by Slurm, but nobody sees it; what follows a NUL is lost
    kNotUtf8,           // no ConfigMap can hold it as text
    kLongLine,
    kTooLarge,  // reading ended here
  };
  Kind kind;
  std::string file;
  std::size_t line = 0;
  std::string text;  // what was found

  bool operator==(const ConfFault&) const = default;
};

struct ConfFile {
  std::vector<ConfLine> lines;  // those of included files in place
  std::vector<ConfFault> faults;
};

struct ConfReadOptions {
  std::size_t max_bytes = std::size_t{4} << 20;  // of all files together
  std::size_t max_line = std::size_t{64} << 10;  // longer ones are read, and are a fault
  std::size_t max_depth = 8;                     // of included files
  std::size_t max_faults = 200;
};

// The text of a file by the name that stands behind Include; nothing if there is no such file.
using ConfProvider = std::function<std::optional<std::string_view>(std::string_view name)>;

ConfFile read_conf(std::string_view file, std::string_view text, const ConfProvider& provider,
                   const ConfReadOptions& options = {});

// One line of text for Slurm. kInvalid for whatever could end its value early and so smuggle in
// another key or line: control characters, quotes, keys that are none. '#' and backslashes are
// escaped. Reading the text gives the same pairs.
Result<std::string> render_conf(const ConfLine& line);
Result<std::string> render_conf(std::span<const ConfLine> lines);

// Whether `value` can be the value of a key; the reason if not.
Result<void> check_conf_value(std::string_view key, std::string_view value);

// As Slurm's isspace(): blank, tab, newline, carriage return, form feed, vertical tab.
bool is_conf_space(char c);

}  // namespace mainspring::slurm
