#include "slurm/job_written.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "base/text.h"
#include "slurm/number.h"
#include "slurm/tres.h"
#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

using json::Value;
using C = Compared;

constexpr auto kMembers = std::to_array<JobMember>({
    {"name", "name"},
    {"account", "account"},
    {"partition", "partition", C::kNames},
    {"qos", "qos", C::kTextIfAny},
    {"wckey", "wckey", C::kTextIfAny},
    {"mcs_label", "mcs_label"},
    {"comment", "comment"},
    {"admin_comment", "admin_comment"},
    {"extra", "extra"},
    {"nodes", "node_count", C::kNodeCount, true},
    {"minimum_nodes", "node_count", C::kAtLeast, true},
    {"maximum_nodes", "max_nodes", C::kNumber, true},
    {"tasks", "tasks", C::kNumber, true},
    {"tasks_per_node", "tasks_per_node", C::kNumber, true},
    {"cpus_per_task", "cpus_per_task", C::kNumber, true},
    {"minimum_cpus", "cpus", C::kAtLeast, true},
    {"threads_per_core", "threads_per_core", C::kNumber, true},
    {"memory_per_node", "memory_per_node", C::kNumber, true},
    {"memory_per_cpu", "memory_per_cpu", C::kNumber, true},
    {"tres_per_job", "tres_per_job", C::kTres},
    {"tres_per_node", "tres_per_node", C::kTres},
    {"tres_per_socket", "tres_per_socket", C::kTres},
    {"tres_per_task", "tres_per_task", C::kTres},
    {"constraints", "features"},
    {"prefer", "prefer"},
    {"required_nodes", "required_nodes", C::kHosts},
    {"excluded_nodes", "excluded_nodes", C::kHosts},
    {"licenses", "licenses", C::kLicenses},
    {"reservation", "resv_name", C::kNames},
    {"required_switches", "required_switches", C::kNumber},
    {"contiguous", "contiguous", C::kFlag},
    {"time_limit", "time_limit", C::kNumber},
    {"time_minimum", "time_minimum", C::kNumber},
    {"begin_time", "eligible_time", C::kAtLeast, true},
    {"deadline", "deadline", C::kNumber},
    {"priority", "priority", C::kNumber, true},
    {"nice", "nice", C::kNumber},
    {"hold", "hold", C::kFlag, true},
    {"requeue", "requeue", C::kFlag},
    {"dependency", "dependency", C::kCleared},
    {"user_id", "user_id", C::kOwner},
    {"group_id", "group_id", C::kOwner},
    {"current_working_directory", "current_working_directory", C::kPath},
    {"standard_input", "standard_input", C::kPath},
    {"standard_output", "standard_output", C::kPath},
    {"standard_error", "standard_error", C::kPath},
    {"mail_user", "mail_user"},
    // What the record calls so are facts of the job, of which those that can be asked for are some.
    {"flags", "flags", C::kNever},
    {"shared", "shared", C::kNever},  // "Ignored", say the documents of v0.0.45 of the record's.
    {"array", "", C::kNever},         // Of an update it says which tasks are meant.
    {"environment", "", C::kNever},
    {"immediate", "", C::kNever},
    {"kill_on_node_fail", "", C::kNever},
    {"site_factor", "", C::kNever},
});

std::string_view text_of(const Value& value) { return value.as_string().value_or(""); }

// A plain number, or {set,infinite,number}. Unset where it is neither.
Number number_of(const Value& value) {
  if (const auto plain = value.as_int()) return *plain;
  const auto flag = [&](std::string_view name) {
    const Value* member = value.find(name);
    return member != nullptr && member->as_bool().value_or(false);
  };
  if (!value.is_object()) return {};
  if (flag("infinite")) return Number::infinite();
  const Value* number = value.find("number");
  if (!flag("set") || number == nullptr) return {};
  const auto whole = number->as_int();
  return whole ? Number(*whole) : Number();
}

std::optional<std::int64_t> leading_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

bool same_tres(std::string_view asked, std::string_view is) {
  const auto first = Tres::parse(asked), second = Tres::parse(is);
  if (!first || !second) return asked == is;
  return std::is_permutation(first->all().begin(), first->all().end(), second->all().begin(),
                             second->all().end());
}

std::set<std::string> licenses_of(std::string_view text) {
  std::set<std::string> all;
  for (const std::string_view one : split(text, ',')) {
    if (one.empty()) continue;
    all.insert(one.find(':') == std::string_view::npos ? std::string(one) + ":1"
                                                       : std::string(one));
  }
  return all;
}

bool same_listed_names(std::string_view asked, std::string_view is) {
  std::vector<std::string> names;
  for (const std::string_view name : split(asked, ',')) {
    if (!name.empty()) names.emplace_back(name);
  }
  return same_names(names, is);
}

bool same_listed_hosts(const Value& sent, std::string_view is) {
  std::vector<std::string> names;
  for (const Value& each : sent) names.emplace_back(text_of(each));
  return same_hosts(join(names, ","), is);
}

bool same_path(std::string_view asked, std::string_view is) {
  const bool completed = !asked.starts_with('/') || asked.find('%') != std::string_view::npos;
  return completed || asked == is;
}

bool same_owner(std::string_view asked, const Value& is) {
  const auto number = leading_number(asked);
  return !number || std::to_string(*number) != asked || is.as_int() == number;
}

bool same_number(const Value& sent, const Value& is) { return number_of(sent) == number_of(is); }

bool at_least(Number asked, const Value& is) {
  return number_of(is).value_or(0) >= asked.value_or(0);
}

bool agrees(Compared how, const Value& sent, const Value& is) {
  const std::string_view asked = text_of(sent);
  const std::string_view text = text_of(is);
  switch (how) {
    case C::kText:
      return asked == text;
    case C::kTextIfAny:
      return asked.empty() || asked == text;
    case C::kPath:
      return same_path(asked, text);
    case C::kNames:
      return same_listed_names(asked, text);
    case C::kHosts:
      return same_listed_hosts(sent, text);
    case C::kTres:
      return same_tres(asked, text);
    case C::kLicenses:
      return licenses_of(asked) == licenses_of(text);
    case C::kNumber:
      return same_number(sent, is);
    case C::kAtLeast:
      return at_least(number_of(sent), is);
    case C::kNodeCount:
      return at_least(leading_number(asked).value_or(0), is);
    case C::kFlag:
      return sent.as_bool() == is.as_bool();
    case C::kOwner:
      return same_owner(asked, is);
    case C::kCleared:
      return !asked.empty() || text.empty();
    case C::kNever:
      return true;
  }
  return true;
}

// As a person writes it.
std::string shown_as(const Value& value) {
  if (const auto text = value.as_string()) return fmt::format("'{}'", *text);
  const Number number = number_of(value);
  if (number.is_infinite()) return "infinite";
  if (number.set()) return std::to_string(*number.value());
  return value.is_object() ? "unset" : json::to_text(value);
}

bool is_pending(const Value& job) {
  const Value* states = job.find("job_state");
  if (states == nullptr || !states->is_array()) return false;
  return std::any_of(states->begin(), states->end(),
                     [](const Value& state) { return text_of(state) == "PENDING"; });
}

}  // namespace

std::span<const JobMember> job_members() { return kMembers; }

std::string job_difference(const Value& sent, const Value& is) {
  const bool pending = is_pending(is);
  const bool has_minimum = sent.find("minimum_nodes") != nullptr;
  for (const JobMember& member : kMembers) {
    if (member.how == C::kNodeCount && has_minimum) continue;
    const Value* asked = sent.find(member.sent);
    const Value* found = member.shown.empty() ? nullptr : is.find(member.shown);
    if (asked == nullptr || found == nullptr || (member.pending_only && !pending)) continue;
    if (agrees(member.how, *asked, *found)) continue;
    if (member.sent == "hold") return *asked->as_bool() ? "it is not held" : "it is still held";
    return fmt::format("{} is {}, not {}", member.sent, shown_as(*found), shown_as(*asked));
  }
  return {};
}

}  // namespace mainspring::slurm
