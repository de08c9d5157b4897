// Revisions of a NodeSet: what of it makes pods, and whether two of them make the same.
//
// Upstream's data is this object after a trip through the typed structs of its API. Beside the
// `$patch` markers that it adds, such a trip
//   - drops empty text, empty lists and null, and adds null for a list that must be there
//     (`containers`, `creationTimestamp`);
//   - adds empty objects where a struct is not behind a pointer (`resources`, `metadata`);
//   - drops false and 0 of fields that are not behind a pointer (`hostNetwork`, `tty`), though not
//   of
//     those that are (`privileged`, `runAsUser`), where they mean something;
//   - writes quantities in their shortest form ("1024Mi" as "1Gi", 2 as "2"), also one that nobody
//     set (`divisor`).
// Both sides are brought to the form in which all of that is absent. Keys and values of labels and
// selectors are left alone: there empty text is a value.
#include <algorithm>
#include <array>

#include "base/quantity.h"
#include "operator/build/worker.h"

namespace mainspring::op::build {
namespace {

using json::Value;

template <std::size_t N>
bool is_one_of(std::string_view key, const std::array<std::string_view, N>& keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

// Objects whose members are named by the user.
constexpr std::array<std::string_view, 4> kTextMaps{"labels", "annotations", "nodeSelector",
                                                    "matchLabels"};
constexpr std::array<std::string_view, 3> kQuantityMaps{"limits", "requests", "overhead"};
constexpr std::array<std::string_view, 2> kQuantities{"sizeLimit", "divisor"};
constexpr std::array<std::string_view, 5> kPlainStructs{"metadata", "resources", "spec",
                                                        "sssdConfRef", "status"};
constexpr std::array<std::string_view, 11> kPlainScalars{
    "enabled",  "hostIPC",  "hostNetwork", "hostPID",   "hostPort", "initialDelaySeconds",
    "optional", "readOnly", "stdin",       "stdinOnce", "tty"};
// An empty class of storage is no class; none is the default one.
constexpr std::string_view kStorageClass = "storageClassName";

bool is_zero(const Value& value) {
  if (value.is_number()) return value.as_double() == 0.0;
  return value.as_bool() == false;
}

bool is_empty(const Value& value) {
  return value.is_null() || (value.is_string() && value.as_string()->empty()) ||
         ((value.is_array() || value.is_object()) && value.empty());
}

void shorten(Value& quantity) {
  const auto text = quantity.as_string();
  const auto parsed = Quantity::parse(text ? std::string(*text) : json::to_text(quantity));
  if (parsed) quantity = parsed->to_string();
}

bool says_nothing(std::string_view key, const Value& value) {
  if (key == "$patch") return true;
  if (key == "divisor") return value == Value("0");
  if (value.is_object()) return value.empty() && is_one_of(key, kPlainStructs);
  if (is_zero(value)) return is_one_of(key, kPlainScalars);
  return is_empty(value) && key != kStorageClass;
}

void normalise(Value& value);

void normalise_member(std::string_view key, Value& value) {
  if (is_one_of(key, kQuantities)) return shorten(value);
  if (is_one_of(key, kTextMaps)) return;
  if (is_one_of(key, kQuantityMaps)) {
    for (auto [name, quantity] : value.members()) shorten(quantity);
    return;
  }
  normalise(value);
}

// Lists and objects are nested no deeper than the parser allows.
void normalise(Value& value) {  // NOLINT(misc-no-recursion)
  for (Value& item : value) normalise(item);
  std::vector<std::string> silent;
  for (auto [key, member] : value.members()) {
    normalise_member(key, member);
    if (says_nothing(key, member)) silent.emplace_back(key);
  }
  for (const std::string& key : silent) value.erase(key);
}

// {"spec": {...}}: of the fields themselves every kind of nothing is the same.
Value normalised(Value data) {
  normalise(data);
  Value* spec = data.find("spec");
  if (spec == nullptr) return data;
  std::vector<std::string> silent;
  for (auto [key, value] : spec->members()) {
    if (is_empty(value) || is_zero(value)) silent.emplace_back(key);
  }
  for (const std::string& key : silent) spec->erase(key);
  return data;
}

Value text_map(const json::StringMap& map) {
  Value out = Value::object();
  for (const auto& [key, value] : map) out.set(key, value);
  return out;
}

Value template_data(const api::PodTemplate& pod_template) {
  Value out = Value::object();
  const api::TemplateMeta& meta = pod_template.meta;
  if (!meta.labels.empty()) out["metadata"]["labels"] = text_map(meta.labels);
  if (!meta.annotations.empty()) out["metadata"]["annotations"] = text_map(meta.annotations);
  if (!pod_template.spec.is_null()) out["spec"] = pod_template.spec;
  return out;
}

Value ssh_data(const api::NodeSetSpec& spec) {
  Value out = Value::object();
  if (spec.ssh_enabled) out["enabled"] = true;
  if (!spec.extra_sshd_config.empty()) out["extraSshdConfig"] = spec.extra_sshd_config;
  const api::KeyRef& ref = spec.sssd_conf_ref;
  if (ref == api::KeyRef()) return out;
  out["sssdConfRef"] = Value::object({{"name", ref.name}, {"key", ref.key}});
  if (ref.optional) out["sssdConfRef"]["optional"] = true;
  return out;
}

}  // namespace

Value revision_data(const api::NodeSet& nodeset) {
  const api::NodeSetSpec& from = nodeset.spec;
  Value spec = Value::object();
  spec["template"] = template_data(from.pod_template);
  spec["ordinalPadding"] = from.ordinal_padding;
  spec["oversubscribeNode"] = from.oversubscribe_node;
  if (!from.slurmd.is_null()) spec["slurmd"] = from.slurmd;
  if (!from.extra_conf.empty()) spec["extraConf"] = from.extra_conf;
  if (!from.logfile.is_null()) spec["logfile"] = from.logfile;
  if (Value ssh = ssh_data(from); !ssh.empty()) spec["ssh"] = std::move(ssh);
  Value data = Value::object();
  data["spec"] = std::move(spec);
  return data;
}

bool same_revision(const Value& ours, std::string_view theirs) {
  auto parsed = json::parse(theirs);
  if (!parsed) return false;
  const bool is_upstreams = parsed->at_pointer("/spec/template/$patch") != nullptr;
  if (!is_upstreams) return ours == *parsed;
  return normalised(ours) == normalised(*std::move(parsed));
}

}  // namespace mainspring::op::build
