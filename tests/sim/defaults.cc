#include "sim/defaults.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/base64.h"
#include "sim/refusals.h"

namespace mainspring::sim {
namespace {

using json::Value;

void absent(Value& object, std::string_view name, Value value) {
  if (object.find(name) == nullptr) object.set(name, std::move(value));
}

std::string_view text(const Value& value, std::string_view name) {
  const Value* found = value.find(name);
  return found == nullptr ? std::string_view() : found->as_string().value_or("");
}

// "latest", or no tag, is pulled always.
std::string_view pull_policy(std::string_view image) {
  const std::string_view name = image.substr(image.rfind('/') + 1);
  const std::size_t colon = name.find(':');
  const bool latest = colon == std::string_view::npos || name.substr(colon) == ":latest";
  return latest && name.find('@') == std::string_view::npos ? "Always" : "IfNotPresent";
}

void default_container(Value& container) {
  absent(container, "resources", Value::object());
  absent(container, "terminationMessagePath", "/dev/termination-log");
  absent(container, "terminationMessagePolicy", "File");
  absent(container, "imagePullPolicy", pull_policy(text(container, "image")));
  if (Value* ports = container.find("ports")) {
    for (Value& port : *ports) absent(port, "protocol", "TCP");
  }
}

void default_pod_spec(Value& spec) {
  absent(spec, "restartPolicy", "Always");
  absent(spec, "terminationGracePeriodSeconds", 30);
  absent(spec, "dnsPolicy", "ClusterFirst");
  absent(spec, "securityContext", Value::object());
  absent(spec, "schedulerName", "default-scheduler");
  for (const char* list : {"containers", "initContainers"}) {
    if (Value* containers = spec.find(list)) {
      for (Value& container : *containers) default_container(container);
    }
  }
}

void default_secret(Value& secret) {
  if (const Value* plain = secret.find("stringData")) {
    for (const auto [name, value] : plain->members()) {
      secret["data"].set(name, base64_encode(value.as_string().value_or("")));
    }
    secret.erase("stringData");
  }
  absent(secret, "type", "Opaque");
}

void default_service(Value& service) {
  Value& spec = service["spec"];
  absent(spec, "type", "ClusterIP");
  absent(spec, "sessionAffinity", "None");
  absent(spec, "internalTrafficPolicy", "Cluster");
  Value* ports = spec.find("ports");
  if (ports == nullptr) return;
  for (Value& port : *ports) {
    absent(port, "protocol", "TCP");
    if (const Value* number = port.find("port")) absent(port, "targetPort", Value(*number));
  }
}

// The Go types leave these out where they are empty; so must we, or ownership would differ.
void drop_empty(Value& object, std::string_view name) {
  const Value* found = object.find(name);
  if (found != nullptr &&
      (found->is_null() || ((found->is_object() || found->is_array()) && found->empty()))) {
    object.erase(name);
  }
}

// Times that the Go types write even where there are none.
void default_conditions(const std::string& kind, Value& object) {
  const char* second = nullptr;
  if (kind == "Pod" || kind == "Job") second = "lastProbeTime";
  if (kind == "Node") second = "lastHeartbeatTime";
  if (kind == "Deployment") second = "lastUpdateTime";
  Value* conditions = object.at_pointer("/status/conditions");
  if (second == nullptr || conditions == nullptr) return;
  for (Value& condition : *conditions) {
    absent(condition, second, nullptr);
    absent(condition, "lastTransitionTime", nullptr);
  }
}

bool requests_anything(const Value& container) {
  const Value* resources = container.find("resources");
  return resources != nullptr && !resources->empty();
}

void prepare_pod(Value& pod) {
  Value& spec = pod["spec"];
  if (spec.find("serviceAccountName") == nullptr) spec["serviceAccountName"] = "default";
  spec["serviceAccount"] = Value(*spec.find("serviceAccountName"));
  absent(spec, "enableServiceLinks", true);
  absent(spec, "priority", 0);
  absent(spec, "preemptionPolicy", "PreemptLowerPriority");
  for (const char* taint : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    bool tolerated = false;
    if (const Value* list = spec.find("tolerations")) {
      for (const Value& item : *list) {
        tolerated = tolerated || text(item, "key") == taint || text(item, "key").empty();
      }
    }
    if (tolerated) continue;
    spec["tolerations"].push_back(Value::object({{"key", taint},
                                                 {"operator", "Exists"},
                                                 {"effect", "NoExecute"},
                                                 {"tolerationSeconds", 300}}));
  }
  bool burstable = false;
  if (const Value* containers = spec.find("containers")) {
    for (const Value& container : *containers)
      burstable = burstable || requests_anything(container);
  }
  pod["status"] =
      Value::object({{"phase", "Pending"}, {"qosClass", burstable ? "Burstable" : "BestEffort"}});
}

void prepare_claim(Value& claim) {
  Value& finalizers = claim["metadata"]["finalizers"];
  for (const Value& finalizer : finalizers) {
    if (finalizer == Value("kubernetes.io/pvc-protection")) return;
  }
  finalizers.push_back("kubernetes.io/pvc-protection");
}

// Established at once: a controller does this within milliseconds.
void prepare_definition(Value& definition) {
  const Value* names = definition.at_pointer("/spec/names");
  Value stored = Value::array();
  if (const Value* versions = definition.at_pointer("/spec/versions")) {
    for (const Value& version : *versions) {
      const Value* storage = version.find("storage");
      if (storage != nullptr && storage->as_bool().value_or(false)) {
        stored.push_back(text(version, "name"));
      }
    }
  }
  const Value created = *definition.at_pointer("/metadata/creationTimestamp");
  Value conditions = Value::array();
  for (const auto& [type, reason] : {std::pair("NamesAccepted", "NoConflicts"),
                                     std::pair("Established", "InitialNamesAccepted")}) {
    conditions.push_back(Value::object({{"type", type},
                                        {"status", "True"},
                                        {"reason", reason},
                                        {"message", ""},
                                        {"lastTransitionTime", created}}));
  }
  definition["status"] = Value::object({{"conditions", std::move(conditions)},
                                        {"acceptedNames", names == nullptr ? Value() : *names},
                                        {"storedVersions", std::move(stored)}});
}

// What may change of a pod after it was made, left out.
Value fixed_spec(const Value& pod) {
  const Value* spec = pod.find("spec");
  Value made = spec == nullptr ? Value::object() : *spec;
  for (const char* name : {"activeDeadlineSeconds", "tolerations", "schedulingGates", "priority",
                           "preemptionPolicy", "serviceAccount"}) {
    made.erase(name);
  }
  for (const char* list : {"containers", "initContainers"}) {
    if (Value* containers = made.find(list)) {
      for (Value& container : *containers) container.erase("image");
    }
  }
  return made;
}

}  // namespace

void set_defaults(const Kind& kind, Value& object) {
  const std::string& name = kind.resource.kind;
  Value& meta = object["metadata"];
  for (const char* member : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    drop_empty(meta, member);
  }
  if (kind.custom) return;
  default_conditions(name, object);
  if (name == "ConfigMap" || name == "Secret") {
    drop_empty(object, "binaryData");
    if (name == "Secret") default_secret(object);
    drop_empty(object, "data");
  } else if (name == "Pod") {
    default_pod_spec(object["spec"]);
    absent(object["spec"], "enableServiceLinks", true);
  } else if (kind.has_scale || name == "DaemonSet" || name == "Job") {
    if (Value* spec = object.at_pointer("/spec/template/spec")) default_pod_spec(*spec);
    if (kind.has_scale) absent(object["spec"], "replicas", 1);
  } else if (name == "Service") {
    default_service(object);
  } else if (name == "PersistentVolumeClaim") {
    absent(object["spec"], "volumeMode", "Filesystem");
  } else if (name == "CustomResourceDefinition") {
    absent(object["spec"], "conversion", Value::object({{"strategy", "None"}}));
  } else if (name == "Namespace") {
    object["metadata"]["labels"]["kubernetes.io/metadata.name"] = text(meta, "name");
  }
}

void prepare_new(const Kind& kind, Value& object) {
  const std::string& name = kind.resource.kind;
  if (kind.has_status) object.erase("status");
  if (kind.custom) return;
  if (name == "Pod") prepare_pod(object);
  if (name == "PersistentVolumeClaim") {
    prepare_claim(object);
    object["status"] = Value::object({{"phase", "Pending"}});
  }
  if (name == "Namespace") {
    object["spec"]["finalizers"] = Value::array({"kubernetes"});
    object["status"] = Value::object({{"phase", "Active"}});
  }
  if (name == "Service") object["status"] = Value::object({{"loadBalancer", Value::object()}});
  if (name == "PodDisruptionBudget") {
    object["status"] = Value::object({{"disruptionsAllowed", 0},
                                      {"currentHealthy", 0},
                                      {"desiredHealthy", 0},
                                      {"expectedPods", 0}});
  }
  if (name == "CustomResourceDefinition") prepare_definition(object);
}

void give_addresses(Value& service, std::string address) {
  Value& spec = service["spec"];
  if (text(spec, "type") == "ExternalName") return;
  if (text(spec, "clusterIP").empty()) spec["clusterIP"] = std::move(address);
  absent(spec, "clusterIPs", Value::array({text(spec, "clusterIP")}));
  // One without a selector that needs no address may have endpoints of either family.
  const bool any = text(spec, "clusterIP") == "None" && spec.find("selector") == nullptr;
  absent(spec, "ipFamilyPolicy", any ? "RequireDualStack" : "SingleStack");
  absent(spec, "ipFamilies", any ? Value::array({"IPv4", "IPv6"}) : Value::array({"IPv4"}));
}

void validate_families(const Value& before, const Value& given,
                       std::vector<kube::StatusCause>& causes) {
  const Value& spec = *given.find("spec");
  const Value& from = spec.find("ipFamilyPolicy") == nullptr ? *before.find("spec") : spec;
  if (spec.find("selector") == nullptr || text(from, "ipFamilyPolicy") != "RequireDualStack") {
    return;
  }
  const Value* families = spec.find("ipFamilies");
  if (families != nullptr && families->size() > 1) {
    causes.push_back(
        wrong("spec.ipFamilies[1]", to_text(families->at(1)), "not configured on this cluster"));
  }
  causes.push_back(wrong("spec.ipFamilyPolicy", "\"RequireDualStack\"",
                         "this cluster is not configured for dual-stack services"));
}

std::vector<kube::StatusCause> validate_builtin(const Kind& kind, const Value* before,
                                                const Value& after) {
  std::vector<kube::StatusCause> causes;
  const std::string& name = kind.resource.kind;
  if (kind.custom || before == nullptr) return causes;
  const auto differs = [&](std::string_view member) {
    const Value* was = before->find(member);
    const Value* is = after.find(member);
    return (was == nullptr) != (is == nullptr) || (was != nullptr && *was != *is);
  };
  if (name == "ConfigMap" || name == "Secret") {
    const Value* immutable = before->find("immutable");
    if (immutable != nullptr && immutable->as_bool().value_or(false)) {
      for (const char* member : {"immutable", "data", "binaryData"}) {
        if (!differs(member)) continue;
        causes.push_back(not_permitted(member, "field is immutable when `immutable` is set"));
      }
    }
    if (name == "Secret" && differs("type")) {
      const Value* type = after.find("type");
      causes.push_back(
          wrong("type", type == nullptr ? "\"\"" : to_text(*type), "field is immutable"));
    }
  }
  if (name == "Pod" && fixed_spec(*before) != fixed_spec(after)) {
    causes.push_back(not_permitted(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)"));
  }
  if (name == "StatefulSet") {
    const Value* was = before->at_pointer("/spec/volumeClaimTemplates");
    const Value* is = after.at_pointer("/spec/volumeClaimTemplates");
    if ((was == nullptr) != (is == nullptr) || (was != nullptr && *was != *is)) {
      causes.push_back(not_permitted(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
          "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
          "'minReadySeconds' are forbidden"));
    }
  }
  if (name == "ControllerRevision" && differs("data")) {
    causes.push_back(wrong("data", to_text(*after.find("data")), "field is immutable"));
  }
  return causes;
}

}  // namespace mainspring::sim
