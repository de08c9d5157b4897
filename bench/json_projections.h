// bench/json_projections.h
//
// The fields that json_bench takes out of its documents: structs, their tables for our Reader, and
// the same extraction written for nlohmann-json, so that both sides do the same work. Our tables
// are in the order in which the servers write, as those of the product are; nlohmann-json has no
// order.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "json/fields.h"
#include "json/string_list.h"
#include "json/string_map.h"

namespace mainspring::bench {

using json::StringMap;

struct OwnerReference {
  std::string kind, name, uid;
  bool controller = false;
};
constexpr auto json_fields(json::Tag<OwnerReference>) {
  return json::fields(json::field("kind", &OwnerReference::kind),
                      json::field("name", &OwnerReference::name),
                      json::field("uid", &OwnerReference::uid),
                      json::field("controller", &OwnerReference::controller));
}

struct Container {
  std::string name, image;
  StringMap requests, limits;
};
constexpr auto json_fields(json::Tag<Container>) {
  return json::fields(json::field("name", &Container::name),
                      json::field("image", &Container::image),
                      json::group("resources", json::field("requests", &Container::requests),
                                  json::field("limits", &Container::limits)));
}

struct Toleration {
  std::string key, op, value, effect;
  std::optional<std::int64_t> seconds;
};
constexpr auto json_fields(json::Tag<Toleration>) {
  return json::fields(
      json::field("key", &Toleration::key), json::field("operator", &Toleration::op),
      json::field("value", &Toleration::value), json::field("effect", &Toleration::effect),
      json::field("tolerationSeconds", &Toleration::seconds));
}

struct Condition {
  std::string type, status, reason, last_transition;
};
constexpr auto json_fields(json::Tag<Condition>) {
  return json::fields(json::field("type", &Condition::type),
                      json::field("status", &Condition::status),
                      json::field("reason", &Condition::reason),
                      json::field("lastTransitionTime", &Condition::last_transition));
}

struct Pod {
  std::string name, ns, uid, resource_version, created, deleted;
  StringMap labels, annotations;
  std::vector<OwnerReference> owners;
  std::string node, scheduler, priority_class;
  std::int64_t priority = 0;
  bool host_network = false;
  StringMap node_selector;
  std::vector<Container> containers;
  std::vector<Toleration> tolerations;
  std::string phase, reason, pod_ip, host_ip, start_time;
  std::vector<Condition> conditions;
};
constexpr auto json_fields(json::Tag<Pod>) {
  using json::field;
  return json::fields(
      json::group("metadata", field("name", &Pod::name), field("namespace", &Pod::ns),
                  field("uid", &Pod::uid), field("resourceVersion", &Pod::resource_version),
                  field("creationTimestamp", &Pod::created),
                  field("deletionTimestamp", &Pod::deleted), field("labels", &Pod::labels),
                  field("annotations", &Pod::annotations), field("ownerReferences", &Pod::owners)),
      json::group(
          "spec", field("containers", &Pod::containers), field("nodeSelector", &Pod::node_selector),
          field("nodeName", &Pod::node), field("hostNetwork", &Pod::host_network),
          field("schedulerName", &Pod::scheduler), field("tolerations", &Pod::tolerations),
          field("priorityClassName", &Pod::priority_class), field("priority", &Pod::priority)),
      json::group("status", field("phase", &Pod::phase), field("conditions", &Pod::conditions),
                  field("reason", &Pod::reason), field("hostIP", &Pod::host_ip),
                  field("podIP", &Pod::pod_ip), field("startTime", &Pod::start_time)));
}

struct PodList {
  std::string resource_version;
  std::vector<std::shared_ptr<const Pod>> items;
};
constexpr auto json_fields(json::Tag<PodList>) {
  return json::fields(
      json::group("metadata", json::field("resourceVersion", &PodList::resource_version)),
      json::field("items", &PodList::items));
}

// Slurm's way to write a number that may be unset or infinite.
struct MaybeNumber {
  bool set = false, infinite = false;
  std::int64_t number = 0;
};
constexpr auto json_fields(json::Tag<MaybeNumber>) {
  return json::fields(json::field("set", &MaybeNumber::set),
                      json::field("infinite", &MaybeNumber::infinite),
                      json::field("number", &MaybeNumber::number));
}

// What a scheduler bridge reads of a node.
struct SlurmNode {
  std::string name, hostname, address, comment, extra, reason, reason_user, gres, gres_used, tres,
      tres_used, topology, version, instance_id;
  json::StringList state, partitions, features, active_features;
  std::int64_t cpus = 0, alloc_cpus = 0, real_memory = 0, alloc_memory = 0, port = 0, weight = 0,
               cpu_load = 0;
  MaybeNumber boot_time, slurmd_start_time, free_mem, last_busy, reason_changed_at;
};
// In the order in which slurmrestd writes them, as in slurm/node.h.
constexpr auto json_fields(json::Tag<SlurmNode>) {
  using json::field;
  using N = SlurmNode;
  return json::fields(
      field("boot_time", &N::boot_time), field("cpu_load", &N::cpu_load),
      field("free_mem", &N::free_mem), field("cpus", &N::cpus), field("extra", &N::extra),
      field("features", &N::features), field("active_features", &N::active_features),
      field("gres", &N::gres), field("gres_used", &N::gres_used),
      field("instance_id", &N::instance_id), field("last_busy", &N::last_busy),
      field("name", &N::name), field("address", &N::address), field("hostname", &N::hostname),
      field("state", &N::state), field("partitions", &N::partitions), field("port", &N::port),
      field("real_memory", &N::real_memory), field("comment", &N::comment),
      field("reason", &N::reason), field("reason_changed_at", &N::reason_changed_at),
      field("reason_set_by_user", &N::reason_user), field("alloc_memory", &N::alloc_memory),
      field("alloc_cpus", &N::alloc_cpus), field("tres_used", &N::tres_used),
      field("slurmd_start_time", &N::slurmd_start_time), field("weight", &N::weight),
      field("topology", &N::topology), field("tres", &N::tres), field("version", &N::version));
}

struct SlurmNodes {
  std::vector<std::shared_ptr<const SlurmNode>> nodes;
};
constexpr auto json_fields(json::Tag<SlurmNodes>) {
  return json::fields(json::field("nodes", &SlurmNodes::nodes));
}

// The same fields by nlohmann's own conversion, absent ones left at their default.
template <class T>
void take(const nlohmann::json& from, const char* key, T& out) {
  const auto it = from.find(key);
  if (it != from.end() && !it->is_null()) it->get_to(out);
}

template <class T>
void take(const nlohmann::json& from, const char* key, std::vector<std::shared_ptr<const T>>& out) {
  for (const auto& item : from.at(key)) {
    auto value = std::make_shared<T>();
    item.get_to(*value);
    out.push_back(std::move(value));
  }
}

inline void take(const nlohmann::json& from, const char* key, json::StringList& out) {
  const auto it = from.find(key);
  if (it == from.end()) return;
  std::vector<std::string_view> items;
  items.reserve(it->size());
  for (const auto& item : *it) items.emplace_back(item.get_ref<const std::string&>());
  out = json::StringList(items);
}

inline void take(const nlohmann::json& from, const char* key, StringMap& out) {
  const auto it = from.find(key);
  if (it == from.end()) return;
  std::vector<StringMap::Member> members;
  members.reserve(it->size());
  for (const auto& [name, value] : it->items()) {
    members.emplace_back(name, value.get_ref<const std::string&>());
  }
  out = StringMap(members);
}

inline void from_json(const nlohmann::json& j, OwnerReference& out) {
  take(j, "kind", out.kind);
  take(j, "name", out.name);
  take(j, "uid", out.uid);
  take(j, "controller", out.controller);
}
inline void from_json(const nlohmann::json& j, Container& out) {
  take(j, "name", out.name);
  take(j, "image", out.image);
  if (const auto resources = j.find("resources"); resources != j.end()) {
    take(*resources, "requests", out.requests);
    take(*resources, "limits", out.limits);
  }
}
inline void from_json(const nlohmann::json& j, Toleration& out) {
  take(j, "key", out.key);
  take(j, "operator", out.op);
  take(j, "value", out.value);
  take(j, "effect", out.effect);
  if (const auto it = j.find("tolerationSeconds"); it != j.end()) {
    out.seconds = it->get<std::int64_t>();
  }
}
inline void from_json(const nlohmann::json& j, Condition& out) {
  take(j, "type", out.type);
  take(j, "status", out.status);
  take(j, "reason", out.reason);
  take(j, "lastTransitionTime", out.last_transition);
}
inline void from_json(const nlohmann::json& j, Pod& out) {
  const auto& metadata = j.at("metadata");
  take(metadata, "name", out.name);
  take(metadata, "namespace", out.ns);
  take(metadata, "uid", out.uid);
  take(metadata, "resourceVersion", out.resource_version);
  take(metadata, "creationTimestamp", out.created);
  take(metadata, "deletionTimestamp", out.deleted);
  take(metadata, "labels", out.labels);
  take(metadata, "annotations", out.annotations);
  take(metadata, "ownerReferences", out.owners);
  const auto& spec = j.at("spec");
  take(spec, "nodeName", out.node);
  take(spec, "schedulerName", out.scheduler);
  take(spec, "priorityClassName", out.priority_class);
  take(spec, "priority", out.priority);
  take(spec, "hostNetwork", out.host_network);
  take(spec, "nodeSelector", out.node_selector);
  take(spec, "containers", out.containers);
  take(spec, "tolerations", out.tolerations);
  const auto& status = j.at("status");
  take(status, "phase", out.phase);
  take(status, "reason", out.reason);
  take(status, "podIP", out.pod_ip);
  take(status, "hostIP", out.host_ip);
  take(status, "startTime", out.start_time);
  take(status, "conditions", out.conditions);
}
inline void from_json(const nlohmann::json& j, PodList& out) {
  take(j.at("metadata"), "resourceVersion", out.resource_version);
  take(j, "items", out.items);
}
inline void from_json(const nlohmann::json& j, MaybeNumber& out) {
  take(j, "set", out.set);
  take(j, "infinite", out.infinite);
  take(j, "number", out.number);
}
inline void from_json(const nlohmann::json& j, SlurmNode& out) {
  take(j, "name", out.name);
  take(j, "hostname", out.hostname);
  take(j, "address", out.address);
  take(j, "comment", out.comment);
  take(j, "extra", out.extra);
  take(j, "reason", out.reason);
  take(j, "reason_set_by_user", out.reason_user);
  take(j, "gres", out.gres);
  take(j, "gres_used", out.gres_used);
  take(j, "tres", out.tres);
  take(j, "tres_used", out.tres_used);
  take(j, "topology", out.topology);
  take(j, "state", out.state);
  take(j, "partitions", out.partitions);
  take(j, "features", out.features);
  take(j, "cpus", out.cpus);
  take(j, "alloc_cpus", out.alloc_cpus);
  take(j, "real_memory", out.real_memory);
  take(j, "alloc_memory", out.alloc_memory);
  take(j, "version", out.version);
  take(j, "instance_id", out.instance_id);
  take(j, "active_features", out.active_features);
  take(j, "weight", out.weight);
  take(j, "cpu_load", out.cpu_load);
  take(j, "port", out.port);
  take(j, "boot_time", out.boot_time);
  take(j, "slurmd_start_time", out.slurmd_start_time);
  take(j, "free_mem", out.free_mem);
  take(j, "last_busy", out.last_busy);
  take(j, "reason_changed_at", out.reason_changed_at);
}
inline void from_json(const nlohmann::json& j, SlurmNodes& out) { take(j, "nodes", out.nodes); }

}  // namespace mainspring::bench
