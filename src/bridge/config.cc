// bridge/config.cc
#include "bridge/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "bridge/names.h"
#include "http/url.h"
#include "json/fields.h"
#include "json/yaml.h"

namespace mainspring::bridge {
namespace {

using json::Value;

// What says that a priority is not set begins here; 0 would hold the job.
constexpr std::int64_t kHighestPriority = 4294967293;

tl::unexpected<Error> wrong(std::string_view key, const Value& value, std::string_view expected) {
  return fail(Code::kInvalid,
              fmt::format("{} is {}: expected {}", key, quoted(json::to_text(value)), expected));
}

Result<std::string> text(std::string_view key, const Value& value, std::string_view expected) {
  const auto found = value.as_string();
  if (!found || found->empty()) return wrong(key, value, expected);
  return std::string(*found);
}

// Users and groups may be numbers, which YAML does not make into text.
Result<std::string> name_or_id(std::string_view key, const Value& value) {
  if (const auto id = value.as_uint()) return std::to_string(*id);
  return text(key, value, "a name or a number");
}

Result<void> set_flag(std::string_view key, const Value& value, bool& out) {
  const auto found = value.as_bool();
  if (!found) return wrong(key, value, "true or false");
  out = *found;
  return {};
}

Result<void> set_scheduler(std::string_view key, const Value& value, BridgeConfig& out) {
  constexpr std::string_view kExpected =
      "a DNS name of at most 63 characters, which is the value of a taint as well";
  MS_TRY(out.scheduler_name, text(key, value, kExpected));
  if (!is_dns1123_subdomain(out.scheduler_name) || !kube::check_label_value(out.scheduler_name)) {
    return wrong(key, value, kExpected);
  }
  if (out.scheduler_name == "default-scheduler") {
    return wrong(key, value,
                 "a name of its own: this one is of the cluster's scheduler, whose pods all have "
                 "it");
  }
  return {};
}

Result<void> set_rest_api(std::string_view key, const Value& value, BridgeConfig& out) {
  constexpr std::string_view kExpected = "slurmrestd's URL, as in http://slurm-restapi.slurm:6820";
  MS_TRY(out.slurm_rest_api, text(key, value, kExpected));
  if (!http::Url::parse(out.slurm_rest_api)) return wrong(key, value, kExpected);
  return {};
}

Result<void> set_cluster(std::string_view key, const Value& value, BridgeConfig& out) {
  constexpr std::string_view kExpected =
      "namespace and name of a Cluster (slinky.slurm.net/v1alpha1)";
  if (!value.is_object()) return wrong(key, value, kExpected);
  ObjectKey cluster;
  for (const auto [member, part] : value.members()) {
    const std::string path = fmt::format("{}.{}", key, member);
    if (member == "namespace") {
      MS_TRY(cluster.ns, text(path, part, "the namespace of the Cluster"));
      if (!is_dns1123_label(cluster.ns)) return wrong(path, part, "the name of a namespace");
    } else if (member == "name") {
      MS_TRY(cluster.name, text(path, part, "the name of the Cluster"));
      if (!is_dns1123_subdomain(cluster.name)) return wrong(path, part, "the name of a Cluster");
    } else {
      return wrong(path, part, "no such key: there are namespace, name");
    }
  }
  if (cluster.ns.empty() || cluster.name.empty()) return wrong(key, value, kExpected);
  out.slurm_cluster = std::move(cluster);
  return {};
}

Result<void> set_namespaces(std::string_view key, const Value& value, BridgeConfig& out) {
  if (!value.is_array()) return wrong(key, value, "a list of namespaces");
  for (const Value& each : value) {
    const auto name = each.as_string();
    if (!name || !is_dns1123_label(*name)) return wrong(key, each, "the name of a namespace");
    out.managed_namespaces.emplace_back(*name);
  }
  return {};
}

Result<void> set_selector(std::string_view key, const Value& value, BridgeConfig& out) {
  constexpr std::string_view kExpected = "matchLabels or matchExpressions";
  if (!value.is_object()) return wrong(key, value, kExpected);
  // A misspelt one would otherwise select every namespace.
  for (const auto [name, part] : value.members()) {
    if (name != "matchLabels" && name != "matchExpressions") return wrong(key, value, kExpected);
  }
  json::Reader reader;
  auto selector = json::decode<kube::LabelSelector>(reader, json::to_text(value));
  if (!selector) return fail(std::move(selector).error().with_context(std::string(key)));
  if (selector->matches_everything()) {
    return wrong(key, value,
                 "at least one condition: without any, the pods of every namespace would be "
                 "Slurm's, those of kube-system too");
  }
  out.managed_namespace_selector = *std::move(selector);
  return {};
}

Result<void> set_mcs_label(std::string_view key, const Value& value, BridgeConfig& out) {
  const auto found = value.as_string();
  if (!found) return wrong(key, value, "a label, or \"\" for none");
  out.mcs_label = *found;
  return {};
}

Result<void> set_partition(std::string_view key, const Value& value, BridgeConfig& out) {
  MS_TRY(out.partition, text(key, value, "the name of a partition"));
  return {};
}

Result<Identity> read_identity(const std::string& path, const Value& value) {
  constexpr std::string_view kExpected = "user, group, account, qos, partition";
  Identity identity;
  if (!value.is_object()) return wrong(path, value, kExpected);
  for (const auto [name, part] : value.members()) {
    if (part.is_null()) continue;
    const std::string key = path + "." + std::string(name);
    if (name == "user") {
      MS_TRY(identity.user, name_or_id(key, part));
    } else if (name == "group") {
      MS_TRY(identity.group, name_or_id(key, part));
    } else if (name == "account") {
      MS_TRY(identity.account, text(key, part, "an account of Slurm"));
    } else if (name == "qos") {
      MS_TRY(identity.qos, text(key, part, "a QOS of Slurm"));
    } else if (name == "partition") {
      MS_TRY(identity.partition, text(key, part, "the name of a partition"));
    } else {
      return wrong(key, part, "no such key: there are " + std::string(kExpected));
    }
  }
  return identity;
}

Result<void> set_identities(std::string_view key, const Value& value, BridgeConfig& out) {
  if (!value.is_object()) return wrong(key, value, "a map from namespaces");
  for (const auto [ns, part] : value.members()) {
    if (ns != "*" && !is_dns1123_label(ns)) {
      return wrong(key, Value(ns), "the name of a namespace, or * for all others");
    }
    MS_TRY(Identity identity, read_identity(fmt::format("{}.{}", key, ns), part));
    out.identities.emplace(ns, std::move(identity));
  }
  return {};
}

Result<SlurmPriority> read_priority(const std::string& path, const Value& value) {
  SlurmPriority priority;
  if (!value.is_object()) return wrong(path, value, "qos, priority");
  for (const auto [name, part] : value.members()) {
    if (part.is_null()) continue;
    const std::string key = path + "." + std::string(name);
    if (name == "qos") {
      MS_TRY(priority.qos, text(key, part, "a QOS of Slurm"));
    } else if (name == "priority") {
      const auto number = part.as_int();
      if (!number || *number < 1 || *number > kHighestPriority) {
        return wrong(key, part, fmt::format("a number from 1 to {}", kHighestPriority));
      }
      priority.priority = *number;
    } else {
      return wrong(key, part, "no such key: there are qos, priority");
    }
  }
  return priority;
}

Result<void> set_priorities(std::string_view key, const Value& value, BridgeConfig& out) {
  if (!value.is_object()) return wrong(key, value, "a map from PriorityClasses");
  for (const auto [name, part] : value.members()) {
    if (!is_dns1123_subdomain(name)) {
      return wrong(key, Value(name), "the name of a PriorityClass");
    }
    MS_TRY(SlurmPriority priority, read_priority(fmt::format("{}.{}", key, name), part));
    out.priority_classes.emplace(name, std::move(priority));
  }
  return {};
}

Result<DeviceClassRule> read_device_class(const std::string& path, std::string_view name,
                                          const Value& value) {
  constexpr std::string_view kExpected = "driver, and prefix or attribute";
  DeviceClassRule rule{std::string(name), {}, {}};
  if (!value.is_object()) return wrong(path, value, kExpected);
  for (const auto [member, part] : value.members()) {
    if (part.is_null()) continue;
    const std::string key = path + "." + std::string(member);
    if (member == "driver") {
      MS_TRY(rule.driver, text(key, part, "the name of a DRA driver"));
    } else if (member == "prefix") {
      MS_TRY(rule.prefix, text(key, part, "what the names of devices have before their number"));
    } else if (member == "attribute") {
      MS_TRY(rule.attribute, text(key, part, "the attribute of devices that is their number"));
    } else {
      return wrong(key, part, "no such key: there are driver, prefix, attribute");
    }
  }
  if (rule.prefix.empty() == rule.attribute.empty()) {
    return wrong(path, value, "either prefix or attribute: how its devices are numbered");
  }
  return rule;
}

Result<void> set_device_classes(std::string_view key, const Value& value, BridgeConfig& out) {
  if (!value.is_object()) return wrong(key, value, "a map from DeviceClasses");
  for (const auto [name, part] : value.members()) {
    if (!is_dns1123_subdomain(name) || name == kCpuClass) {
      return wrong(key, Value(name),
                   fmt::format("the name of a DeviceClass other than {}", kCpuClass));
    }
    MS_TRY(DeviceClassRule rule, read_device_class(fmt::format("{}.{}", key, name), name, part));
    out.device_classes.insert_or_assign(std::string(name), std::move(rule));
  }
  return {};
}

using Setter = Result<void> (*)(std::string_view key, const Value& value, BridgeConfig& out);
constexpr std::pair<std::string_view, Setter> kKeys[] = {
    {"schedulerName", set_scheduler},
    {"slurmRestApi", set_rest_api},
    {"slurmCluster", set_cluster},
    {"managedNamespaces", set_namespaces},
    {"managedNamespaceSelector", set_selector},
    {"mcsLabel", set_mcs_label},
    {"partition", set_partition},
    {"exclusiveByDefault",
     [](auto key, const Value& value, BridgeConfig& out) {
       return set_flag(key, value, out.exclusive_by_default);
     }},
    {"taintNodes", [](auto key, const Value& value,
                      BridgeConfig& out) { return set_flag(key, value, out.taint_nodes); }},
    {"cordonNodes", [](auto key, const Value& value,
                       BridgeConfig& out) { return set_flag(key, value, out.cordon_nodes); }},
    {"identities", set_identities},
    {"priorityClasses", set_priorities},
    {"deviceClasses", set_device_classes},
};

Result<void> set(std::string_view key, const Value& value, BridgeConfig& out) {
  const auto* const found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                         [&](const auto& each) { return each.first == key; });
  if (found != std::end(kKeys)) {
    return value.is_null() ? Result<void>() : found->second(key, value, out);
  }
  std::vector<std::string> known;
  for (const auto& each : kKeys) known.emplace_back(each.first);
  return fail(Code::kInvalid,
              fmt::format("{}: no such key; there are {}", quoted(key), join(known, ", ")));
}

}  // namespace

const Identity& BridgeConfig::identity_of(std::string_view ns) const {
  static const Identity kNone;
  auto found = identities.find(ns);
  if (found == identities.end()) found = identities.find("*");
  return found == identities.end() ? kNone : found->second;
}

Result<BridgeConfig> parse_bridge_config(std::string_view yaml) {
  MS_TRY(const Value root, json::parse_yaml(yaml));
  if (!root.is_object()) return fail(Code::kInvalid, "expected keys and values");
  BridgeConfig config;
  for (const auto [key, value] : root.members()) MS_CHECK(set(key, value, config));
  if (config.slurm_rest_api.empty() && !config.slurm_cluster) {
    return fail(Code::kInvalid,
                "slurmRestApi is missing: expected slurmrestd's URL, as in "
                "http://slurm-restapi.slurm:6820, or instead of it slurmCluster, the namespace and "
                "name of a Cluster that has it");
  }
  if (!config.slurm_rest_api.empty() && config.slurm_cluster) {
    return fail(
        Code::kInvalid,
        fmt::format("slurmRestApi is {} and slurmCluster is {}: expected one of the two, "
                    "since both say where Slurm is",
                    quoted(config.slurm_rest_api), quoted(config.slurm_cluster->to_string())));
  }
  return config;
}

Result<BridgeConfig> read_bridge_config(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    return fail(Code::kNotFound,
                fmt::format("{}: cannot be read; --config says where it is", path));
  }
  return with_context(parse_bridge_config(text), path);
}

}  // namespace mainspring::bridge
