#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>

#include "api/checks.h"
#include "api/validate.h"
#include "base/go_duration.h"
#include "base/text.h"

namespace mainspring::api {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (auto at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const auto end = std::min(text.find_first_of(kBlanks, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return out;
}

bool is_alphanumeric(char c) {
  return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z');
}

bool made_of(std::string_view text, std::string_view also) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return is_alphanumeric(c) || also.find(c) != std::string_view::npos;
  });
}

// slurmd's --conf goes through a shell and the kubelet's $(NAME) before slurmd reads it.
bool is_harmless(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '\'' || c == '"' ||
           c == '\\' || c == '$' || c == '`';
  });
}

void check_setting(Checks& checks, std::string_view word) {
  constexpr auto kField = "spec.extraConf";
  const auto equal = std::min(word.find('='), word.size());
  const std::string_view key = word.substr(0, equal);
  const std::string_view value = word.substr(std::min(equal + 1, word.size()));
  if (equal == word.size() || !made_of(key, "_") || value.empty()) {
    return checks.refuse(kField,
                         fmt::format("{} is not KEY=VALUE: write settings of a Slurm node so, "
                                     "with blanks between them and none inside",
                                     quoted(word)));
  }
  if (!is_harmless(word)) {
    return checks.refuse(kField, fmt::format("{} has quotes, backslashes, dollars or control "
                                             "characters: write the value without",
                                             quoted(word)));
  }
  if (equals_ignore_case(key, "NodeName")) {
    return checks.refuse(kField, fmt::format("{}: the names of workers are made from the NodeSet's "
                                             "name or template.spec.hostname, leave NodeName out",
                                             quoted(word)));
  }
  if (equals_ignore_case(key, "Topology") && !made_of(value, "_-.:,/")) {
    checks.refuse(kField, fmt::format("{} does not name switches or blocks: write "
                                      "TOPOLOGY:UNIT, such as default:leaf1",
                                      quoted(word)));
  }
}

void check_partition(Checks& checks, const NodeSet& nodeset) {
  constexpr auto kField = "spec.partition.config";
  const NodeSetSpec& spec = nodeset.spec;
  checks.line(kField, spec.partition_config);
  for (const std::string_view word : words(spec.partition_config)) {
    if (starts_with_ignore_case(word, "PartitionName=")) {
      checks.refuse(kField, fmt::format("{}: the partition is called like the NodeSet, leave "
                                        "PartitionName out",
                                        quoted(word)));
    }
  }
  if (spec.partition_enabled && equals_ignore_case(nodeset.slurm_name(), "default")) {
    checks.refuse(
        "spec.partition.enabled",
        fmt::format("{} cannot be a partition, because PartitionName=DEFAULT sets defaults "
                    "for others: name the NodeSet or its hostname otherwise",
                    quoted(nodeset.slurm_name())));
  }
}

// Names of pods and hosts end in the worker's number.
void check_hostname(Checks& checks, const NodeSet& nodeset) {
  constexpr auto kField = "spec.template.spec.hostname";
  constexpr std::size_t kLongest = 63;
  const std::string_view prefix = nodeset.hostname_prefix();
  const json::Value* const written = nodeset.spec.pod_template.spec.find("hostname");
  if (written != nullptr && !written->is_null() && !written->is_string()) {
    return checks.refuse(kField, fmt::format("{} is not a string: put it in quotes",
                                             quoted(json::to_text(*written))));
  }
  if (!prefix.empty() && !is_dns1123_subdomain(std::string(prefix) + "0")) {
    return checks.refuse(kField, fmt::format("{} cannot begin a host name: use lower case letters, "
                                             "digits and dashes, and begin with a letter or digit",
                                             quoted(prefix)));
  }
  if (nodeset.spec.scaling_mode != ScalingMode::kStatefulSet) return;
  if (prefix.find('.') != std::string_view::npos) {
    return checks.refuse(kField,
                         fmt::format("{} has a dot, and the number of a worker is put behind "
                                     "it: use a prefix without dots",
                                     quoted(prefix)));
  }
  const std::string last = std::to_string(std::max(nodeset.spec.replicas - 1, 0));
  const std::size_t digits = std::max<std::size_t>(last.size(), nodeset.spec.ordinal_padding);
  const std::string stem = prefix.empty() ? nodeset.meta.name + "-" : std::string(prefix);
  if (digits > kLongest || stem.size() + digits > kLongest) {
    checks.refuse(prefix.empty() ? "spec.ordinalPadding" : kField,
                  fmt::format("{} and a number of {} digits are more than the {} characters of a "
                              "host name: use a shorter name or less padding",
                              quoted(stem), digits, kLongest));
  }
}

void check_update(Checks& checks, const NodeSetSpec& spec) {
  if (spec.max_unavailable.value < 1) {
    checks.refuse(
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        "is not a number or percentage above 0, and no worker could ever be replaced: use "
        "at least 1 or 1%");
  }
  if (spec.update_type == UpdateType::kScheduledUpdate &&
      !(spec.scheduled_update && spec.scheduled_update->start_time)) {
    checks.refuse("spec.updateStrategy.scheduledUpdate.startTime",
                  "is not a time: write one such as 2026-11-15T09:00:00Z");
  }
  if (!spec.scheduled_update) return;
  const auto duration = parse_go_duration(spec.scheduled_update->duration);
  if (!duration || *duration < minutes(1)) {
    checks.refuse("spec.updateStrategy.scheduledUpdate.duration",
                  fmt::format("{} is not a duration of at least 1m: write one such as 30m or 2h",
                              quoted(spec.scheduled_update->duration)));
  }
  for (const std::string& flag : spec.scheduled_update->flags) {
    if (made_of(flag, "_")) continue;
    checks.refuse("spec.updateStrategy.scheduledUpdate.flags",
                  fmt::format("{} is not a flag of a reservation: use such as DAILY or FORCE_START",
                              quoted(flag)));
  }
  if (const std::string two = two_recurrences(spec.scheduled_update->flags); !two.empty()) {
    checks.refuse(
        "spec.updateStrategy.scheduledUpdate.flags",
        fmt::format("{} exclude each other: leave one of {}", two, fmt::join(kRecurrences, ", ")));
  }
}

void check_claims(Checks& checks, const NodeSetSpec& spec) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < spec.volume_claim_templates.size(); ++i) {
    const std::string field = fmt::format("spec.volumeClaimTemplates[{}].metadata.name", i);
    const json::Value* const found = spec.volume_claim_templates[i].at_pointer("/metadata/name");
    const std::string_view name = found == nullptr ? "" : found->as_string().value_or("");
    if (!is_dns1123_label(name)) {
      checks.refuse(field, fmt::format("{} cannot name a volume: give every claim a name of lower "
                                       "case letters, digits and dashes",
                                       quoted(name)));
    } else if (!names.insert(name).second) {
      checks.refuse(field,
                    fmt::format("{} is there twice: give each claim its own name", quoted(name)));
    }
  }
}

void check(Checks& checks, const NodeSet& nodeset) {
  const NodeSetSpec& spec = nodeset.spec;
  checks.required_name("spec.controllerRef.name", spec.controller_ref.name);
  checks.not_negative("spec.replicas", spec.replicas);
  checks.not_negative("spec.minReadySeconds", spec.min_ready_seconds);
  checks.not_negative("spec.revisionHistoryLimit", spec.revision_history_limit);
  if (spec.ssh_enabled && spec.sssd_conf_ref.name.empty()) {
    checks.refuse("spec.ssh.sssdConfRef.name",
                  "is empty: with ssh.enabled, set it to the Secret that holds sssd.conf");
  }
  checks.key_ref("spec.ssh.sssdConfRef", spec.sssd_conf_ref);
  checks.text("spec.ssh.extraSshdConfig", spec.extra_sshd_config);
  for (const std::string_view word : words(spec.extra_conf)) check_setting(checks, word);
  check_partition(checks, nodeset);
  check_hostname(checks, nodeset);
  check_update(checks, spec);
  check_claims(checks, spec);
}

void compare(Checks& checks, const NodeSet& before, const NodeSet& after) {
  checks.immutable("spec.controllerRef.name", before.spec.controller_ref.name,
                   after.spec.controller_ref.name);
  if (before.spec.volume_claim_templates != after.spec.volume_claim_templates) {
    checks.refuse("spec.volumeClaimTemplates",
                  "cannot change, because the claims of running workers would not: put it back, or "
                  "make a new NodeSet");
  }
}

}  // namespace

Findings validate(const NodeSet& after, const NodeSet* before) {
  return validate_with(after, before, &check, &compare);
}

}  // namespace mainspring::api
