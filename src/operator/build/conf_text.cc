#include "operator/build/conf_text.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/text.h"
#include "slurm/conf_file.h"

namespace mainspring::op::build {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

std::string option_name(std::string_view option) {
  return lower(option.substr(0, option.find('=')));
}

// Names of options are the same in any case; what follows may be a path or a claim's name.
std::string normal_option(std::string_view option) {
  return option_name(option) +
         std::string(option.substr(std::min(option.find('='), option.size())));
}

slurm::ConfFile parse(std::string_view text) {
  return slurm::read_conf("extraConf", text,
                          [](std::string_view) { return std::optional<std::string_view>(); });
}

// The last value of the key where it stands alone on its line; empty otherwise.
std::string last_value(const slurm::ConfFile& conf, std::string_view key) {
  std::string value;
  for (const slurm::ConfLine& line : conf.lines) {
    if (line.pairs.size() == 1 && equals_ignore_case(line.key(), key)) value = line.value();
  }
  return value;
}

std::string united(const std::vector<std::string>& ours, std::string_view users) {
  std::set<std::string> options(ours.begin(), ours.end());
  std::set<std::string> names;
  for (const std::string& option : ours) names.insert(option_name(option));
  for (const std::string_view piece : split(users, ',')) {
    const std::string_view option = trim(piece);
    if (!option.empty() && names.insert(option_name(option)).second) {
      options.insert(normal_option(option));
    }
  }
  return join_options({options.begin(), options.end()});
}

}  // namespace

void ConfText::section(std::string_view title) {
  line("#");
  line("### " + std::string(title) + " ###");
}

void ConfText::set(std::string_view key, std::string_view value) {
  line(std::string(key) + "=" + std::string(value));
}

void ConfText::line(std::string_view text) {
  text_ += text;
  text_ += '\n';
}

void ConfText::extra(std::string_view users, const Options& ours) {
  if (users.empty()) return;
  section("EXTRA CONFIG");
  line(users);
  const slurm::ConfFile conf = parse(users);
  bool titled = false;
  for (const auto& [key, options] : ours) {
    const std::string theirs = last_value(conf, key);
    if (theirs.empty()) continue;
    if (!titled) section("MERGED CONFIG");
    titled = true;
    set(key, united(options, theirs));
  }
}

std::string join_options(const std::vector<std::string>& options) { return join(options, ","); }

bool sets_key(std::string_view conf, std::string_view key) {
  const slurm::ConfFile file = parse(conf);
  return std::any_of(file.lines.begin(), file.lines.end(), [&](const slurm::ConfLine& line) {
    return equals_ignore_case(line.key(), key);
  });
}

}  // namespace mainspring::op::build
