#include "slurm/conf_lint.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "slurm/conf_lint_internal.h"
#include "slurm/conf_value.h"

namespace mainspring::slurm {
namespace linting {
namespace {

std::string lower(std::string_view text) {
  std::string low(text);
  std::ranges::transform(low, low.begin(), ascii_lower);
  return low;
}

// Read by the parser itself: a bad one stops Slurm wherever it stands.
bool is_parsed_type(ConfType type) {
  return type == ConfType::kBool || type == ConfType::kUint16 || type == ConfType::kUint32 ||
         type == ConfType::kUint64 || type == ConfType::kFloat;
}

void unknown_key(const ConfLine& line, std::string_view name, std::span<const ConfKey> keys,
                 Findings& findings) {
  const std::string_view near = findings.full() ? std::string_view() : nearest_conf_key(keys, name);
  findings.error(line, name, "Slurm does not know this key",
                 near.empty() ? "remove it" : fmt::format("did you mean {}?", near));
}

std::string release_name(Release release) {
  return fmt::format("{}.{:02}", release / 100, release % 100);
}

bool check_release(const ConfLine& line, const ConfKey& key, Findings& findings) {
  if (findings.release() < key.since) {
    findings.error(line, key.name,
                   fmt::format("this key came with Slurm {}, the cluster has {}",
                               release_name(key.since), release_name(findings.release())),
                   "remove it, or upgrade Slurm first");
    return false;
  }
  if (findings.release() > key.until) {
    findings.error(line, key.name,
                   fmt::format("Slurm {} was the last to take this key", release_name(key.until)),
                   key.instead.empty() ? "remove it" : fmt::format("use {}", key.instead));
    return false;
  }
  return true;
}

void report(const ConfLine& line, std::string_view key, const ValueProblem& problem,
            Findings& findings) {
  if (problem.fatal) {
    findings.error(line, key, problem.message, problem.advice);
  } else {
    findings.warn(line, key, problem.message, problem.advice);
  }
}

// What holds for a pair wherever it stands. The value of a kind that Slurm looks at only where it
// is used, such as a time on a line of defaults, is left to check_nodes.
void check_pair(const ConfLine& line, const ConfPair& pair, const ConfKey& key, bool value_too,
                Findings& findings) {
  if (!check_release(line, key, findings)) return;
  if (pair.modifier != 0) {
    findings.warn(line, key.name, fmt::format("{}= is taken as =", pair.modifier), "use =");
  }
  if (pair.value.find('"') != std::string::npos) {
    findings.error(line, key.name, "there is a quote inside the value",
                   "put quotes around the whole value, with no # and no other quote in it");
  }
  if (key.use == ConfUse::kIgnored) {
    findings.warn(line, key.name, "this key has no effect any more", "remove it");
    return;
  }
  if (!key.instead.empty() && key.use != ConfUse::kRefused) {
    findings.warn(line, key.name, "this key is out of date", fmt::format("use {}", key.instead));
  }
  if (!value_too && !is_parsed_type(key.type)) return;
  if (const auto problem = findings.check(key, pair.value)) {
    report(line, key.name, *problem, findings);
  }
}

void check_more_pairs(std::string_view file, const ConfLine& line, Findings& findings) {
  const std::span<const ConfKey> keys = conf_line_keys(file, line.key());
  const bool deferred = equals_ignore_case(line.key(), "PartitionName") ||
                        (file == "slurm.conf" && equals_ignore_case(line.key(), "NodeName"));
  std::set<std::string_view> seen;
  for (std::size_t i = 1; i < line.pairs.size(); ++i) {
    const ConfPair& pair = line.pairs[i];
    const ConfKey* key = find_conf_key(keys, pair.key);
    if (key == nullptr) {
      unknown_key(line, pair.key, keys, findings);
      return;  // Slurm does not look at the rest of the line.
    }
    if (!seen.insert(key->name).second) {
      findings.warn(line, key->name, "it stands twice on this line; the last one counts",
                    "remove one of them");
    }
    check_pair(line, pair, *key, !deferred, findings);
  }
}

void report_fault(const ConfFault& fault, Findings& findings) {
  using Kind = ConfFault::Kind;
  ConfLine line{.file = fault.file, .line = fault.line, .pairs = {}};
  switch (fault.kind) {
    case Kind::kText:
      return findings.error(line, "", "this is not key=value",
                            "write one key=value on a line, with quotes around blanks and a "
                            "backslash before each # that is no comment");
    case Kind::kIncludeMissing:
      return findings.error(line, "Include", fmt::format("there is no file {}", quoted(fault.text)),
                            "add the file, or remove the line");
    case Kind::kIncludePattern:
      return findings.error(line, "Include", "Slurm takes no patterns in names of files",
                            "include each file by its name");
    case Kind::kIncludeDeep:
      return findings.error(line, "Include", "files include each other without end",
                            "remove one of the includes");
    case Kind::kIncludeOpen:
      return findings.error(line, "Include", "Slurm reads beyond the end of this line",
                            "end it with a line break, or a blank before the comment");
    case Kind::kIncludeCluster:
      return findings.error(line, "Include", "%c stands for ClusterName, which comes later",
                            "put ClusterName above this line");
    case Kind::kControlCharacter:
      return findings.error(line, "", "there is a control character in this line", "remove it");
    case Kind::kNotUtf8:
      return findings.warn(line, "", "this line is not UTF-8, which a ConfigMap cannot hold",
                           "save the file as UTF-8");
    case Kind::kLongLine:
      return findings.warn(line, "", "this line is very long",
                           "use ranges of nodes, or several lines");
    case Kind::kTooLarge:
      return findings.error(line, "", "the files are too large to read", "make them smaller");
  }
}

class Lint {
 public:
  Lint(const ConfSet& files, const LintOptions& options)
      : files_(files), options_(options), findings_(options) {}

  std::vector<Finding> run() && {
    check_size();
    const std::vector<ConfLine> slurm = read("slurm.conf");
    const std::vector<ConfLine> cgroup = read("cgroup.conf");
    const std::vector<ConfLine> gres = read("gres.conf");
    const std::vector<ConfLine> dbd = read("slurmdbd.conf");
    const auto topology = files_.find("topology.yaml");
    Topologies topologies;
    if (topology != files_.end()) topologies = read_topologies(topology->second, findings_);
    Cluster cluster;
    const bool has_slurm = files_.contains("slurm.conf");
    if (has_slurm) {
      cluster.settings = Settings(slurm);
      check_settings(slurm, files_, cluster, findings_);
      check_nodes(slurm, topologies, cluster, findings_);
      if (topology != files_.end()) check_topology_nodes(topology->second, cluster, findings_);
    }
    const Cluster* known = has_slurm ? &cluster : nullptr;
    check_cgroup(cgroup, known, findings_);
    check_gres(gres, known, findings_);
    if (files_.contains("slurmdbd.conf")) check_dbd(dbd, findings_);
    return std::move(findings_).sorted();
  }

 private:
  void check_size() {
    std::size_t total = 0;
    for (const auto& [name, text] : files_) total += name.size() + text.size();
    if (total <= options_.max_bytes) return;
    findings_.add({.severity = Severity::kError,
                   .file = files_.begin()->first,
                   .line = 0,
                   .key = {},
                   .message = fmt::format("the files have {} bytes, a ConfigMap holds {}", total,
                                          options_.max_bytes),
                   .advice = "use ranges of nodes, or fewer comments"});
  }

  std::vector<ConfLine> read(const std::string& name) {
    const auto file = files_.find(name);
    if (file == files_.end()) return {};
    const auto provider = [this](std::string_view wanted) -> std::optional<std::string_view> {
      const auto found = files_.find(wanted);
      if (found == files_.end()) return std::nullopt;
      return found->second;
    };
    ConfFile conf = read_conf(name, file->second, provider);
    for (const ConfFault& fault : conf.faults) report_fault(fault, findings_);
    check_lines(name, conf.lines, findings_);
    return std::move(conf.lines);
  }

  const ConfSet& files_;
  const LintOptions& options_;
  Findings findings_;
};

}  // namespace

void Findings::error(const ConfLine& line, std::string_view key, std::string message,
                     std::string advice) {
  add({Severity::kError, line.file, line.line, std::string(key), std::move(message),
       std::move(advice)});
}

void Findings::warn(const ConfLine& line, std::string_view key, std::string message,
                    std::string advice) {
  add({Severity::kWarning, line.file, line.line, std::string(key), std::move(message),
       std::move(advice)});
}

// Errors are kept even when there is no room for warnings any more: the verdict must be right.
void Findings::add(Finding finding) {
  const bool room = all_.size() < options_.max_findings;
  const bool first_error = finding.severity == Severity::kError && !room && !has_errors(all_);
  if (room || first_error) all_.push_back(std::move(finding));
}

Result<std::vector<std::string>> Findings::hosts(std::string_view text) {
  auto names = expand_conf_hosts(text, release(), std::min(hosts_left_, kMaxConfHosts));
  hosts_left_ -= names ? names->size() : std::min(hosts_left_, text.size());
  return names;
}

std::optional<ValueProblem> Findings::check(const ConfKey& key, std::string_view value) {
  if (key.type != ConfType::kHosts) return check_value(key, value, release());
  const auto names = hosts(value);
  if (names) return std::nullopt;
  return ValueProblem{
      .fatal = !key.tolerant,
      .message = fmt::format("{} is no hostlist: {}", quoted(value), names.error().message()),
      .advice = "use for example node[1-3,7]"};
}

std::vector<Finding> Findings::sorted() && {
  const auto order = [](const Finding& finding) {
    return std::tie(finding.file, finding.line, finding.key, finding.message);
  };
  std::ranges::stable_sort(all_, {}, order);
  const auto repeated = std::ranges::unique(all_);
  all_.erase(repeated.begin(), repeated.end());
  return std::move(all_);
}

std::optional<NameProblem> check_name(std::string_view name) {
  // Slurm takes nearly anything. A colon or a comma splits "tree:rack1,gpu:a100:2", brackets are a
  // hostlist in SLURM_TOPOLOGY_ADDR, and the rest means something in a file, a log or a shell.
  constexpr std::string_view kMarks = "-_.+@/%~";
  const auto ordinary = [&](char c) {
    return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
           kMarks.find(c) != std::string_view::npos;
  };
  const auto odd = std::ranges::find_if_not(name, ordinary);
  if (odd == name.end()) return std::nullopt;
  return NameProblem{.message = fmt::format("{} is no name: it has {} in it", quoted(name),
                                            quoted(std::string_view(&*odd, 1))),
                     .advice = fmt::format("use letters, digits and any of {}", kMarks)};
}

Settings::Settings(std::span<const ConfLine> lines) {
  for (const ConfLine& line : lines) last_[lower(line.key())] = &line;
}

const ConfLine* Settings::line(std::string_view key) const {
  const auto found = last_.find(lower(key));
  return found == last_.end() ? nullptr : found->second;
}

std::string_view Settings::value(std::string_view key) const {
  const ConfLine* found = line(key);
  return found == nullptr ? std::string_view() : std::string_view(found->value());
}

void check_lines(std::string_view file, std::span<const ConfLine> lines, Findings& findings) {
  const std::span<const ConfKey> keys = conf_keys(file);
  const Settings settings(lines);
  std::set<std::string_view> seen;
  for (const ConfLine& line : lines) {
    const ConfKey* key = find_conf_key(keys, line.key());
    if (key == nullptr) {
      unknown_key(line, line.key(), keys, findings);
      continue;
    }
    // A bad name of a node is found where it is used; a value that is set again below never is.
    const bool deferred = (file == "slurm.conf" && equals_ignore_case(key->name, "NodeName")) ||
                          (key->use == ConfUse::kOnce && settings.line(key->name) != &line);
    check_pair(line, line.pairs.front(), *key, !deferred, findings);
    if (key->use == ConfUse::kLine) {
      check_more_pairs(file, line, findings);
    } else if (line.pairs.size() > 1) {
      findings.error(line, line.pairs[1].key,
                     fmt::format("nothing may follow {} on its line", key->name),
                     "put it on a line of its own, or the value in quotes");
    }
    if (key->use == ConfUse::kOnce && !seen.insert(key->name).second) {
      findings.warn(line, key->name, "it was set above; the last one counts", "remove one of them");
    }
  }
}

}  // namespace linting

std::string to_string(const Finding& finding) {
  std::string text = finding.file;
  if (finding.line > 0) text += fmt::format(":{}", finding.line);
  text += finding.severity == Severity::kError ? ": error: " : ": warning: ";
  if (!finding.key.empty()) text += finding.key + ": ";
  text += finding.message;
  if (!finding.advice.empty()) text += "; " + finding.advice;
  return text;
}

std::vector<Finding> lint(const ConfSet& files, const LintOptions& options) {
  return linting::Lint(files, options).run();
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::ranges::any_of(
      findings, [](const Finding& finding) { return finding.severity == Severity::kError; });
}

}  // namespace mainspring::slurm
