#include "sim/shape.h"

#include "base/text.h"

namespace mainspring::sim {
namespace {

using json::Value;

// The members of a type that differ from the default. `how`: "@" atomic, "set", "=" always written
// by Go, or the keys of a list that merges; ":TCP" after a key is its default. `type` is what the
// member, or the list's element, is.
struct Rule {
  std::string_view owner;
  std::string_view member;
  std::string_view how;
  std::string_view type = {};
};

constexpr Rule kRules[] = {
    {"Any", "metadata", "=", "Meta"},
    {"Any", "spec", "="},
    {"Any", "status", "=", "Conditions"},
    {"Meta", "labels", "", "Map"},
    {"Meta", "annotations", "", "Map"},
    {"Meta", "finalizers", "set"},
    {"Meta", "ownerReferences", "uid", "Atomic"},
    {"Conditions", "conditions", "type"},

    {"ConfigMap", "metadata", "=", "Meta"},
    {"ConfigMap", "data", "", "Map"},
    {"ConfigMap", "binaryData", "", "Map"},
    {"Secret", "metadata", "=", "Meta"},
    {"Secret", "data", "", "Map"},
    {"ControllerRevision", "metadata", "=", "Meta"},
    {"ControllerRevision", "data", "@"},
    {"ControllerRevision", "revision", "="},

    {"Pod", "metadata", "=", "Meta"},
    {"Pod", "spec", "=", "PodSpec"},
    {"Pod", "status", "=", "PodStatus"},
    {"PodTemplate", "metadata", "=", "Meta"},
    {"PodTemplate", "spec", "=", "PodSpec"},
    {"PodStatus", "conditions", "type"},
    {"PodStatus", "podIPs", "ip"},
    {"PodStatus", "hostIPs", "@"},
    {"PodStatus", "resourceClaimStatuses", "name"},
    {"PodSpec", "containers", "=,name", "Container"},
    {"PodSpec", "initContainers", "name", "Container"},
    {"PodSpec", "ephemeralContainers", "name", "Container"},
    {"PodSpec", "volumes", "name"},
    {"PodSpec", "imagePullSecrets", "name"},
    {"PodSpec", "hostAliases", "ip"},
    {"PodSpec", "topologySpreadConstraints", "topologyKey,whenUnsatisfiable"},
    {"PodSpec", "schedulingGates", "name"},
    {"PodSpec", "resourceClaims", "name"},
    {"PodSpec", "nodeSelector", "@"},
    {"Container", "env", "name"},
    {"Container", "ports", "containerPort,protocol:TCP"},
    {"Container", "volumeMounts", "mountPath"},
    {"Container", "volumeDevices", "devicePath"},
    {"Container", "resources", "=", "Resources"},
    {"Resources", "claims", "name"},

    {"Workload", "metadata", "=", "Meta"},
    {"Workload", "spec", "=", "WorkloadSpec"},
    {"Workload", "status", "=", "Conditions"},
    {"WorkloadSpec", "selector", "@"},
    {"WorkloadSpec", "template", "=", "PodTemplate"},

    {"Service", "metadata", "=", "Meta"},
    {"Service", "spec", "=", "ServiceSpec"},
    {"Service", "status", "=", "Conditions"},
    {"ServiceSpec", "ports", "port,protocol:TCP"},
    {"ServiceSpec", "selector", "@"},
    {"ServiceAccount", "metadata", "=", "Meta"},
    {"ServiceAccount", "secrets", "name"},

    {"Node", "metadata", "=", "Meta"},
    {"Node", "spec", "=", "NodeSpec"},
    {"Node", "status", "=", "NodeStatus"},
    {"NodeSpec", "podCIDRs", "set"},
    {"NodeStatus", "conditions", "type"},
    {"NodeStatus", "addresses", "type"},
    {"PodDisruptionBudget", "metadata", "=", "Meta"},
    {"PodDisruptionBudget", "spec", "=", "PodDisruptionBudgetSpec"},
    {"PodDisruptionBudget", "status", "=", "Conditions"},
    {"PodDisruptionBudgetSpec", "selector", "@"},
    {"PersistentVolumeClaim", "metadata", "=", "Meta"},
    {"PersistentVolumeClaim", "spec", "=", "PersistentVolumeClaimSpec"},
    {"PersistentVolumeClaim", "status", "=", "Conditions"},
    {"PersistentVolumeClaimSpec", "resources", "="},
    {"PersistentVolumeClaimSpec", "selector", "@"},
    {"WebhookConfiguration", "metadata", "=", "Meta"},
    {"WebhookConfiguration", "webhooks", "name", "Webhook"},
    {"Webhook", "matchConditions", "name"},
    {"Webhook", "namespaceSelector", "@"},
    {"Webhook", "objectSelector", "@"},
};

constexpr std::pair<std::string_view, std::string_view> kTypes[] = {
    {"ConfigMap", "ConfigMap"},
    {"ControllerRevision", "ControllerRevision"},
    {"DaemonSet", "Workload"},
    {"Deployment", "Workload"},
    {"Job", "Workload"},
    {"MutatingWebhookConfiguration", "WebhookConfiguration"},
    {"Node", "Node"},
    {"PersistentVolumeClaim", "PersistentVolumeClaim"},
    {"Pod", "Pod"},
    {"PodDisruptionBudget", "PodDisruptionBudget"},
    {"ReplicaSet", "Workload"},
    {"ReplicationController", "Workload"},
    {"Secret", "Secret"},
    {"Service", "Service"},
    {"ServiceAccount", "ServiceAccount"},
    {"StatefulSet", "Workload"},
    {"ValidatingWebhookConfiguration", "WebhookConfiguration"},
};

std::shared_ptr<Shape> shape_of_type(std::string_view type);

void read_rule(const Rule& rule, Shape& shape) {
  for (const std::string_view word : split(rule.how, ',')) {
    if (word == "@") {
      shape.atomic = true;
    } else if (word == "=") {
      shape.always = true;
    } else if (word == "set") {
      shape.list = Shape::List::kSet;
    } else if (!word.empty()) {
      shape.list = Shape::List::kMap;
      const std::size_t colon = word.find(':');
      shape.keys.emplace_back(word.substr(0, colon));
      if (colon != std::string_view::npos) {
        shape.key_defaults[shape.keys.back()] = Value(word.substr(colon + 1));
      }
    }
  }
}

std::shared_ptr<Shape> shape_of_rule(const Rule& rule) {
  auto shape = std::make_shared<Shape>();
  if (!rule.type.empty()) shape = shape_of_type(rule.type);
  read_rule(rule, *shape);
  if (shape->list != Shape::List::kMap || rule.type.empty()) return shape;
  // The type is that of the elements.
  auto list = std::make_shared<Shape>();
  read_rule(rule, *list);
  list->element = shape_of_type(rule.type);
  return list;
}

std::shared_ptr<Shape> shape_of_type(std::string_view type) {
  auto shape = std::make_shared<Shape>();
  shape->open = type == "Map";
  shape->atomic = type == "Atomic";
  for (const Rule& rule : kRules) {
    if (rule.owner == type) shape->members.emplace(rule.member, shape_of_rule(rule));
  }
  return shape;
}

bool flag(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found != nullptr && found->as_bool().value_or(false);
}

std::string_view text(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found == nullptr ? std::string_view() : found->as_string().value_or("");
}

std::shared_ptr<Shape> shape_of_schema(const Value& schema);

void read_list(const Value& schema, Shape& shape) {
  if (text(schema, "x-kubernetes-list-type") == "set") shape.list = Shape::List::kSet;
  if (text(schema, "x-kubernetes-list-type") == "map") shape.list = Shape::List::kMap;
  if (const Value* keys = schema.find("x-kubernetes-list-map-keys")) {
    for (const Value& key : *keys) shape.keys.emplace_back(key.as_string().value_or(""));
  }
  const Value* items = schema.find("items");
  if (items == nullptr) return;
  shape.element = shape_of_schema(*items);
  for (const std::string& key : shape.keys) {
    if (const Value* value = items->at_pointer("/properties/" + key + "/default")) {
      shape.key_defaults[key] = *value;
    }
  }
}

std::shared_ptr<Shape> shape_of_schema(const Value& schema) {
  auto shape = std::make_shared<Shape>();
  shape->atomic = text(schema, "x-kubernetes-map-type") == "atomic";
  read_list(schema, *shape);
  const Value* more = schema.find("additionalProperties");
  if (more != nullptr && more->is_object()) shape->element = shape_of_schema(*more);
  shape->open = more != nullptr || flag(schema, "x-kubernetes-preserve-unknown-fields");
  if (shape->open && shape->element == nullptr) {
    auto below = std::make_shared<Shape>();
    below->open = below->unknown = true;
    shape->element = std::move(below);
  }
  const Value* properties = schema.find("properties");
  if (properties == nullptr) return shape;
  for (const auto [name, property] : properties->members()) {
    shape->members.emplace(name, shape_of_schema(property));
  }
  return shape;
}

}  // namespace

std::shared_ptr<const Shape> builtin_shape(std::string_view kind) {
  for (const auto& [name, type] : kTypes) {
    if (name == kind) return shape_of_type(type);
  }
  return shape_of_type("Any");
}

std::shared_ptr<const Shape> schema_shape(const Value& schema) {
  auto shape = shape_of_schema(schema);
  auto meta = shape_of_type("Meta");
  meta->always = true;
  shape->members.insert_or_assign("metadata", meta);
  return shape;
}

}  // namespace mainspring::sim
