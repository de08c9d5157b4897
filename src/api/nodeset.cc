#include "api/nodeset.h"

#include <algorithm>
#include <limits>

#include "base/go_duration.h"
#include "base/rfc3339.h"
#include "base/text.h"

namespace mainspring::api {
namespace {

// A whole number or a whole number of percent.
std::optional<IntOrPercent> parse_int_or_percent(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const auto value = parse_integer<std::int32_t>(text);
  if (!value || *value < 0) return std::nullopt;
  return IntOrPercent{.value = *value, .percent = percent};
}

bool read_is(json::Reader& reader, std::string_view word) {
  std::string_view text;
  return reader.read(text) && text == word;
}

}  // namespace

std::string_view to_string(ScalingMode mode) {
  return mode == ScalingMode::kDaemonSet ? "DaemonSet" : "StatefulSet";
}

bool read(json::Reader& reader, ScalingMode& out) {
  return kube::read_word<ScalingMode>(
      reader, out,
      {{"StatefulSet", ScalingMode::kStatefulSet}, {"DaemonSet", ScalingMode::kDaemonSet}});
}

bool read(json::Reader& reader, UpdateType& out) {
  std::string_view text;
  if (!reader.read(text)) return false;
  // A strategy of a later version: the one that takes no pod away by itself.
  out = text == "RollingUpdate"     ? UpdateType::kRollingUpdate
        : text == "ScheduledUpdate" ? UpdateType::kScheduledUpdate
                                    : UpdateType::kOnDelete;
  return true;
}

bool read(json::Reader& reader, DeletionPolicy& out) {
  return kube::read_word<DeletionPolicy>(
      reader, out, {{"Drain", DeletionPolicy::kDrain}, {"Immediate", DeletionPolicy::kImmediate}});
}

std::int32_t IntOrPercent::of(std::int32_t total) const {
  if (!percent) return std::max(value, 0);
  constexpr std::int64_t kWhole = 100;
  const std::int64_t parts = std::int64_t{std::max(value, 0)} * std::max(total, 0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::min((parts + kWhole - 1) / kWhole, kMost));
}

bool read(json::Reader& reader, IntOrPercent& out) {
  std::string_view text;
  const bool found =
      reader.kind() == json::Reader::Kind::kString ? reader.read(text) : reader.raw(text);
  if (!found || text == "null") return false;
  out = parse_int_or_percent(text).value_or(IntOrPercent{.value = 0, .percent = false});
  return true;
}

std::string two_recurrences(const std::vector<std::string>& flags) {
  std::string first;
  for (const std::string_view recurrence : kRecurrences) {
    const bool there = std::any_of(flags.begin(), flags.end(), [&](const std::string& flag) {
      return equals_ignore_case(flag, recurrence);
    });
    if (!there) continue;
    if (!first.empty()) return first + " and " + quoted(recurrence);
    first = quoted(recurrence);
  }
  return {};
}

namespace detail {

void read_claim_policy_deleted(json::Reader& reader, NodeSetSpec& out) {
  out.delete_claims_when_deleted = read_is(reader, "Delete");
}

void read_claim_policy_scaled(json::Reader& reader, NodeSetSpec& out) {
  out.delete_claims_when_scaled = read_is(reader, "Delete");
}

void read_prune(json::Reader& reader, NodeSetSpec& out) {
  out.prune_defunct = read_is(reader, "NodeNotFound");
}

void read_deletion_deadline(json::Reader& reader, NodeSetSpec& out) {
  std::string_view text;
  if (!reader.read(text)) return;
  // The schema lets through only what is too long to be held, which is as good as for ever.
  out.deletion_deadline = std::max(parse_go_duration(text).value_or(Duration{}), Duration{});
}

void read_start_time(json::Reader& reader, ScheduledUpdate& out) {
  std::string_view text;
  if (!reader.read(text)) return;
  if (const auto time = parse_rfc3339(text)) out.start_time = *time;
}

void read_claim_templates(json::Reader& reader, NodeSetSpec& out) {
  if (reader.kind() == json::Reader::Kind::kArray) {
    json::read(reader, out.volume_claim_templates);
  } else if (json::Value value; json::read(reader, value) && !value.is_null()) {
    out.volume_claim_templates = {std::move(value)};
  }
}

}  // namespace detail

std::string NodeSet::slurm_name() const {
  std::string_view name = hostname_prefix();
  name = name.substr(0, name.find_first_of(". \t\r\n"));
  const auto first = name.find_first_not_of('-');
  if (first == std::string_view::npos) return meta.name;
  return std::string(name.substr(first, name.find_last_not_of('-') - first + 1));
}

std::string_view NodeSet::hostname_prefix() const {
  const json::Value* const hostname = spec.pod_template.spec.find("hostname");
  return hostname == nullptr ? "" : hostname->as_string().value_or("");
}

}  // namespace mainspring::api
