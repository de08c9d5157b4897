// operator/webhook/config_check.cc
#include "operator/webhook/config_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "base/text.h"
#include "operator/build/etc_files.h"

namespace mainspring::op {
namespace {

using slurm::Finding;
using slurm::Severity;

constexpr std::string_view kSlurmConf = "slurm.conf";
constexpr std::string_view kPrivileged = "spec.slurmd.securityContext.privileged";
// kubectl shows each on a line of its own.
constexpr std::size_t kMostWarnings = 10;

struct Placed {
  Finding finding;
  std::string field;  // Empty where no text of the user's is to blame.
  std::string hint;   // Where in that field.
};

std::size_t lines_in(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// Which line of spec.extraConf a line of slurm.conf is; 0 where it is another one.
std::size_t line_of_extra(const std::string& conf, const std::string& extra, std::size_t line) {
  if (extra.empty()) return 0;
  const std::size_t at = conf.rfind(extra);
  if (at == std::string::npos) return 0;
  const std::size_t first = lines_in(std::string_view(conf).substr(0, at)) + 1;
  return line < first || line > first + lines_in(extra) ? 0 : line - first + 1;
}

std::string_view line_at(std::string_view text, std::size_t line) {
  const auto lines = split(text, '\n');
  return line == 0 || line > lines.size() ? std::string_view() : lines[line - 1];
}

bool is_partition_of(const api::NodeSet& nodeset, std::string_view line) {
  const std::string name = nodeset.slurm_name();
  return line.starts_with(fmt::format("PartitionName={} ", name)) ||
         line.starts_with(fmt::format("NodeSet={} ", name));
}

bool has_file(const kube::ConfigMap* map, std::string_view name) {
  return map != nullptr && (map->data.contains(name) || map->binary_data.contains(name));
}

bool brings(const build::ConfigMaps& maps, std::string_view file) {
  return std::any_of(maps.begin(), maps.end(),
                     [&](const auto& map) { return has_file(map.get(), file); });
}

Placed place(ConfigSubject subject, const ConfigVersion& version, const slurm::ConfSet& files,
             Finding finding) {
  Placed placed{std::move(finding), {}, {}};
  const bool generated = placed.finding.file == kSlurmConf;
  const std::string& conf = files.find(kSlurmConf)->second;
  switch (subject) {
    case ConfigSubject::kController:
      if (!generated) {
        // Scripts may bring files, too.
        if (brings(version.inputs.config_files, placed.finding.file)) {
          placed.field = "spec.configFileRefs";
        }
      } else if (const std::size_t line = line_of_extra(
                     conf, version.inputs.controller.spec.extra_conf, placed.finding.line)) {
        placed.field = "spec.extraConf";
        placed.hint = fmt::format(" (line {} of it)", line);
      }
      break;
    case ConfigSubject::kNodeSet:
      if (generated && version.nodeset != nullptr &&
          is_partition_of(*version.nodeset, line_at(conf, placed.finding.line))) {
        placed.field = "spec.partition.config";
      }
      break;
    case ConfigSubject::kConfigMap:
      if (!generated) placed.field = fmt::format("data[{}]", placed.finding.file);
      break;
  }
  return placed;
}

slurm::LintOptions lint_options(const build::SlurmConfInputs& inputs) {
  slurm::LintOptions options;
  // Each ConfigMap holds as much, and they come together here.
  std::size_t maps = 2;
  for (const build::ConfigMaps* const each :
       {&inputs.config_files, &inputs.prologs, &inputs.epilogs, &inputs.prologs_slurmctld,
        &inputs.epilogs_slurmctld}) {
    maps += each->size();
  }
  options.max_bytes *= maps;
  return options;
}

// The line that slurmd -Z --conf gives slurmctld when a worker registers. Under a name that no node
// has, and last, so that nothing else changes its meaning.
void lint_worker(const ConfigVersion& version, slurm::ConfSet files, std::vector<Placed>& out) {
  std::string& conf = files.find(kSlurmConf)->second;
  const std::size_t line = lines_in(conf) + 1;
  // Any blank separates its settings, a newline too.
  std::string extra = version.nodeset->spec.extra_conf;
  std::replace_if(
      extra.begin(), extra.end(), [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
  conf +=
      fmt::format("NodeName={}-worker-of-this-nodeset {}\n", version.nodeset->slurm_name(), extra);
  for (Finding& finding : slurm::lint(files, lint_options(version.inputs))) {
    if (finding.file != kSlurmConf || finding.line != line) continue;
    finding.file = "extraConf";
    finding.line = 0;
    out.push_back({std::move(finding), "spec.extraConf", {}});
  }
}

std::vector<Placed> lint(ConfigSubject subject, const ConfigVersion& version) {
  const auto made = build::etc_files(version.inputs);
  const slurm::ConfSet files(made.begin(), made.end());
  std::vector<Placed> all;
  for (Finding& finding : slurm::lint(files, lint_options(version.inputs))) {
    all.push_back(place(subject, version, files, std::move(finding)));
  }
  if (version.nodeset != nullptr && !trim(version.nodeset->spec.extra_conf).empty()) {
    lint_worker(version, files, all);
  }
  if (auto mixed = build::mixed_privilege(version.inputs)) {
    const bool is_theirs = subject == ConfigSubject::kNodeSet;
    all.push_back({*std::move(mixed), is_theirs ? std::string(kPrivileged) : std::string(), {}});
  }
  return all;
}

// Lines move when others come and go; what is said of them does not.
using Identity = std::tuple<std::string, std::string, std::string>;
Identity identity_of(const Finding& finding) {
  return {finding.file, finding.key, finding.message};
}

// A chart brings the Controller before the NodeSets that its partitions name, and the operator
// hands on no file that names one which is not there. So only who takes a name away is to blame.
bool may_come_later(const Finding& finding, const api::NodeSet* changed) {
  if (finding.undefined.empty()) return false;
  return changed == nullptr || changed->slurm_name() != finding.undefined;
}

std::string told_of_later(const Placed& each) {
  return fmt::format(
      "{}{}there is no node or NodeSet {} yet{}; the configuration stays as it is until it is "
      "there",
      each.field, each.field.empty() ? "" : ": ", quoted(each.finding.undefined), each.hint);
}

// `changed`: the NodeSet as it was, where one changes.
api::Findings judge(const std::vector<Placed>& after, const std::vector<Placed>& before,
                    const std::string& whole, const api::NodeSet* changed = nullptr) {
  std::set<Identity> known;
  for (const Placed& each : before) known.insert(identity_of(each.finding));
  api::Findings findings;
  for (const Placed& each : after) {
    const bool later = may_come_later(each.finding, changed);
    const std::string text =
        later ? told_of_later(each) : slurm::to_string(each.finding) + each.hint;
    const bool is_error = each.finding.severity == Severity::kError;
    if (is_error && !later && !known.contains(identity_of(each.finding))) {
      findings.problems.push_back({each.field.empty() ? whole : each.field, text});
    } else if ((is_error || !each.field.empty()) && findings.warnings.size() < kMostWarnings) {
      // Complaints about our own lines would only puzzle.
      findings.warnings.push_back(text);
    }
  }
  return findings;
}

std::vector<Placed> lint_slurmdbd(const api::Accounting& accounting) {
  // The password goes in as one that is not there: its text could only end up in a finding.
  const auto conf = build::slurmdbd_conf(accounting, Secret("x"));
  if (!conf) {
    return {
        {{.file = "slurmdbd.conf", .key = {}, .message = conf.error().to_string(), .advice = {}},
         "spec",
         {}}};
  }
  std::vector<Placed> all;
  for (Finding& finding : slurm::lint({{"slurmdbd.conf", *conf}})) {
    const std::size_t line = line_of_extra(*conf, accounting.spec.extra_conf, finding.line);
    const bool theirs = line != 0;
    all.push_back({std::move(finding), theirs ? "spec.extraConf" : "",
                   theirs ? fmt::format(" (line {} of it)", line) : ""});
  }
  return all;
}

}  // namespace

api::Findings check_config(ConfigSubject subject, const ConfigVersion& after,
                           const ConfigVersion* before) {
  return judge(lint(subject, after),
               before == nullptr ? std::vector<Placed>() : lint(subject, *before),
               subject == ConfigSubject::kConfigMap ? "data" : "spec",
               before == nullptr ? nullptr : before->nodeset);
}

api::Findings check_slurmdbd(const api::Accounting& after, const api::Accounting* before) {
  if (after.spec.external) return {};
  return judge(lint_slurmdbd(after),
               before == nullptr ? std::vector<Placed>() : lint_slurmdbd(*before), "spec");
}

api::Findings check_file_names(const std::string& field, FileKind kind,
                               const kube::ConfigMap& after, const kube::ConfigMap* before) {
  api::Findings findings;
  const auto check = [&](std::string_view name) {
    switch (api::judge_config_file(name)) {
      case api::ConfigFile::kKnown:
        break;
      case api::ConfigFile::kUnknown:
        if (kind == FileKind::kScript) break;
        findings.warnings.push_back(
            fmt::format("ConfigMap {}: {} is not a file that Slurm is known to read",
                        after.meta.name, quoted(name)));
        break;
      case api::ConfigFile::kRefused:
        if (has_file(before, name)) break;
        findings.problems.push_back(
            {field,
             fmt::format("ConfigMap {}: {} is written by the operator; put your settings into "
                         "spec.extraConf and remove this key",
                         after.meta.name, quoted(name))});
        break;
    }
  };
  for (const auto& [name, text] : after.data) check(name);
  for (const auto& [name, text] : after.binary_data) check(name);
  return findings;
}

void append(api::Findings& to, api::Findings more) {
  std::move(more.problems.begin(), more.problems.end(), std::back_inserter(to.problems));
  std::move(more.warnings.begin(), more.warnings.end(), std::back_inserter(to.warnings));
}

}  // namespace mainspring::op
