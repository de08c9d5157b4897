#include "operator/build/merge.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "json/strategic_merge.h"

namespace mainspring::op::build {
namespace {

using json::Value;

constexpr std::array<std::string_view, 5> kHandlers = {"exec", "httpGet", "tcpSocket", "grpc",
                                                       "sleep"};
constexpr std::array<std::string_view, 2> kContainerLists = {"containers", "initContainers"};

// Charts write null and {} for "nothing to say", and the public contract reads them so. Elements of
// lists are left as they are: `emptyDir: {}` says something.
void drop_silence(Value& value) {
  std::vector<std::string> silent;
  for (const auto member : value.members()) {
    if (member.value.is_object()) drop_silence(member.value);
    if (member.value.is_null() || (member.value.is_object() && member.value.empty())) {
      silent.emplace_back(member.key);
    }
  }
  for (const std::string& key : silent) value.erase(key);
}

Result<Value> wishes(const Value& users, std::string_view what) {
  if (users.is_null()) return Value::object();
  if (!users.is_object()) return fail(Code::kInvalid, fmt::format("{} must be an object", what));
  Value copy = users;
  drop_silence(copy);
  return copy;
}

bool has_handler(const Value& probe) {
  for (const std::string_view handler : kHandlers) {
    if (probe.find(handler) != nullptr) return true;
  }
  return false;
}

// Kubernetes takes exactly one handler: the user's takes the place of ours, not a place beside it.
void make_way_for_handler(Value& ours, const Value& users, std::string_view field) {
  const Value* wanted = users.find(field);
  Value* probe = ours.find(field);
  if (wanted == nullptr || probe == nullptr || !has_handler(*wanted)) return;
  for (const std::string_view handler : kHandlers) probe->erase(handler);
}

void append_all(Value& list, const Value& more) {
  for (const Value& item : more) list.push_back(item);
}

std::string_view name_of(const Value& item) {
  const Value* name = item.find("name");
  return name == nullptr ? std::string_view() : name->as_string().value_or("");
}

Result<void> append_containers(Value& ours, const Value& users, std::string_view field) {
  if (!users.is_array()) {
    return fail(Code::kInvalid, fmt::format("template.spec.{} must be a list", field));
  }
  if (users.empty()) return {};
  Value& list = ours[field];
  for (const Value& item : users) {
    for (const Value& taken : list) {
      if (name_of(taken) != name_of(item)) continue;
      return fail(Code::kInvalid,
                  fmt::format("template.spec.{} has a second container named {}; give it another "
                              "name, or set the fields of the first in its own place in spec",
                              field, quoted(name_of(item))));
    }
    list.push_back(item);
  }
  return {};
}

Result<void> check_ports(const Value& ports) {
  for (std::size_t i = 0; i < ports.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Value* number = ports.at(i).find("port");
      const Value* other = ports.at(j).find("port");
      if (name_of(ports.at(i)) == name_of(ports.at(j))) {
        return fail(Code::kInvalid, fmt::format("service.spec.ports: the name {} is taken by "
                                                "another port; every port needs its own",
                                                quoted(name_of(ports.at(i)))));
      }
      if (number != nullptr && other != nullptr && *number == *other) {
        return fail(Code::kInvalid, fmt::format("service.spec.ports: the number {} is taken by "
                                                "another port; set service.port to a free one",
                                                json::to_text(*number)));
      }
    }
  }
  return {};
}

Value port_object(const ServicePort& port) {
  Value object = Value::object(
      {{"name", port.name}, {"protocol", "TCP"}, {"port", port.port}, {"targetPort", port.target}});
  if (port.node_port != 0) object.set("nodePort", port.node_port);
  return object;
}

}  // namespace

Result<Value> merge_container(Value ours, const Value& users) {
  MS_TRY(Value wanted, wishes(users, "a container"));
  if (const Value* args = wanted.find("args"); args != nullptr) {
    if (!args->is_array()) return fail(Code::kInvalid, "args must be a list");
    if (!args->empty()) append_all(ours["args"], *args);
    wanted.erase("args");
  }
  for (const std::string_view probe : {"startupProbe", "livenessProbe", "readinessProbe"}) {
    make_way_for_handler(ours, wanted, probe);
  }
  Value* hooks = ours.find("lifecycle");
  if (const Value* theirs = wanted.find("lifecycle"); hooks != nullptr && theirs != nullptr) {
    make_way_for_handler(*hooks, *theirs, "preStop");
    make_way_for_handler(*hooks, *theirs, "postStart");
  }
  return json::apply_strategic_merge(std::move(ours), wanted, json::MergeType::kContainer);
}

Result<Value> merge_pod_spec(Value ours, const Value& users) {
  MS_TRY(Value wanted, wishes(users, "template.spec"));
  for (const std::string_view field : kContainerLists) {
    if (const Value* list = wanted.find(field); list != nullptr) {
      MS_CHECK(append_containers(ours, *list, field));
      wanted.erase(field);
    }
  }
  return json::apply_strategic_merge(std::move(ours), wanted, json::MergeType::kPodSpec);
}

Result<Value> build_service(ServiceParts parts, const Value& users_spec) {
  MS_TRY(Value spec, wishes(users_spec, "service.spec"));
  if (Value* ports = spec.find("ports"); ports != nullptr && !ports->is_array()) {
    return fail(Code::kInvalid, "service.spec.ports must be a list");
  }
  Value& ports = spec["ports"];
  for (const ServicePort& port : parts.ports) ports.push_back(port_object(port));
  MS_CHECK(check_ports(ports));
  for (const auto member : parts.selector.members()) spec["selector"].set(member.key, member.value);
  // Whoever may create one of our objects must not thereby draw foreign traffic to it.
  spec.erase("externalIPs");
  if (parts.headless) {
    spec.set("clusterIP", "None");
    spec.set("publishNotReadyAddresses", true);
  }
  Value meta = Value::object({{"name", parts.name}, {"namespace", parts.ns}});
  if (!parts.labels.empty()) meta.set("labels", std::move(parts.labels));
  if (!parts.annotations.empty()) meta.set("annotations", std::move(parts.annotations));
  return Value::object({{"apiVersion", "v1"},
                        {"kind", "Service"},
                        {"metadata", std::move(meta)},
                        {"spec", std::move(spec)}});
}

}  // namespace mainspring::op::build
