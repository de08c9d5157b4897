// operator/build/conf_text.h
//
// How the generated slurm.conf and slurmdbd.conf are laid out: lines of Key=Value under titles, and
// at the end one line for each key whose options are ours and the user's together. Shared by the
// writers of both. Pure. It checks nothing: see slurm/conf_lint.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::op::build {

class ConfText {
 public:
  // "#" and "### TITLE ###".
  void section(std::string_view title);
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, int value) { set(key, std::to_string(value)); }
  // As it is, with a newline behind it.
  void line(std::string_view text);

  // What the user adds, under EXTRA CONFIG, and then under MERGED CONFIG the keys of `ours` that
  // the user sets too: Slurm takes the last line of a key, so without this the user's would undo
  // ours. Options are sorted; of two with the same name ours stays. Nothing for an empty text.
  using Options = std::map<std::string, std::vector<std::string>>;  // Key to our options.
  void extra(std::string_view users, const Options& ours);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The options of a list as text: "a,b=c".
std::string join_options(const std::vector<std::string>& options);

// Whether the text sets that key, in any case.
bool sets_key(std::string_view conf, std::string_view key);

}  // namespace mainspring::op::build
