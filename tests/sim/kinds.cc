#include "sim/kinds.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "sim/schema.h"

namespace mainspring::sim {
namespace {

using json::Value;

// s: status, c: scale, g: generation, d: DELETE returns the object, o: needs a version to update,
// u: update creates, v: not stored, n: no namespace.
struct Row {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  std::string_view traits;
  std::string_view short_names = {};
  std::string_view fields = {};
};

constexpr std::string_view kEventFields =
    "involvedObject.kind,involvedObject.namespace,involvedObject.name,involvedObject.uid,"
    "involvedObject.apiVersion,involvedObject.resourceVersion,involvedObject.fieldPath,reason,"
    "reportingComponent,source,type";
constexpr std::string_view kPodFields =
    "spec.nodeName,spec.restartPolicy,spec.schedulerName,spec.serviceAccountName,spec.hostNetwork,"
    "status.phase,status.podIP,status.podIPs,status.nominatedNodeName";

constexpr Row kRows[] = {
    {"", "v1", "configmaps", "ConfigMap", "", "cm"},
    {"", "v1", "endpoints", "Endpoints", "u", "ep"},
    {"", "v1", "events", "Event", "u", "ev", kEventFields},
    {"", "v1", "limitranges", "LimitRange", "u", "limits"},
    {"", "v1", "namespaces", "Namespace", "ns", "ns", "status.phase"},
    {"", "v1", "nodes", "Node", "ns", "no", "spec.unschedulable"},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", "sd", "pvc"},
    {"", "v1", "persistentvolumes", "PersistentVolume", "nsd", "pv"},
    {"", "v1", "pods", "Pod", "sgd", "po", kPodFields},
    {"", "v1", "podtemplates", "PodTemplate", "gd"},
    {"", "v1", "replicationcontrollers", "ReplicationController", "scg", "rc", "status.replicas"},
    {"", "v1", "resourcequotas", "ResourceQuota", "sd", "quota"},
    {"", "v1", "secrets", "Secret", "", "", "type"},
    {"", "v1", "serviceaccounts", "ServiceAccount", "d", "sa"},
    {"", "v1", "services", "Service", "sdu", "svc", "spec.clusterIP,spec.type"},
    {"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
     "MutatingWebhookConfiguration", "ng"},
    {"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
     "ValidatingWebhookConfiguration", "ng"},
    {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", "nsgo",
     "crd,crds"},
    {"apiregistration.k8s.io", "v1", "apiservices", "APIService", "nso"},
    {"apps", "v1", "controllerrevisions", "ControllerRevision", ""},
    {"apps", "v1", "daemonsets", "DaemonSet", "sg", "ds"},
    {"apps", "v1", "deployments", "Deployment", "scg", "deploy"},
    {"apps", "v1", "replicasets", "ReplicaSet", "scg", "rs", "status.replicas"},
    {"apps", "v1", "statefulsets", "StatefulSet", "scg", "sts"},
    {"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", "nv"},
    {"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", "nv"},
    {"authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", "v"},
    {"authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", "nv"},
    {"authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", "nv"},
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", "s", "hpa"},
    {"batch", "v1", "cronjobs", "CronJob", "sg", "cj"},
    {"batch", "v1", "jobs", "Job", "sg", "", "status.successful"},
    {"coordination.k8s.io", "v1", "leases", "Lease", "ou"},
    {"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", "g"},
    {"events.k8s.io", "v1", "events", "Event", "u", "ev",
     "reason,regarding.kind,regarding.name,regarding.namespace,regarding.uid,reportingController,"
     "type"},
    {"networking.k8s.io", "v1", "ingressclasses", "IngressClass", "ng"},
    {"networking.k8s.io", "v1", "ingresses", "Ingress", "sg", "ing"},
    {"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", "g", "netpol"},
    {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", "n"},
    {"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", "sgo", "pdb"},
    {"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", "n"},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", "n"},
    {"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", ""},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", ""},
    {"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", "ng"},
    {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", "s"},
    {"resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate", ""},
    {"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", "ng", "",
     "spec.nodeName,spec.driver"},
    {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", "ng", "pc"},
    {"storage.k8s.io", "v1", "csidrivers", "CSIDriver", "n"},
    {"storage.k8s.io", "v1", "csinodes", "CSINode", "n"},
    {"storage.k8s.io", "v1", "storageclasses", "StorageClass", "n", "sc"},
    {"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", "ns"},
};

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), ascii_lower);
  return out;
}

std::vector<std::string> words(std::string_view list) {
  if (list.empty()) return {};
  const auto parts = split(list, ',');
  return {parts.begin(), parts.end()};
}

Kind builtin(const Row& row) {
  const auto has = [&](char trait) { return row.traits.find(trait) != std::string_view::npos; };
  Kind kind;
  kind.resource = {std::string(row.group), std::string(row.version), std::string(row.plural),
                   std::string(row.kind), !has('n')};
  kind.singular = lower(row.kind);
  kind.short_names = words(row.short_names);
  kind.has_status = has('s');
  kind.has_scale = has('c');
  kind.counts_generations = has('g');
  kind.unconditional_update = !has('o');
  kind.creates_on_update = has('u');
  kind.returns_deleted = has('d');
  kind.virtual_kind = has('v');
  kind.selectable_fields = words(row.fields);
  kind.shape = builtin_shape(row.kind);
  if (kind.has_scale) {
    kind.replicas_path = "/spec/replicas";
    kind.status_replicas_path = "/status/replicas";
  }
  return kind;
}

std::string text_at(const Value& value, std::string_view pointer) {
  const Value* found = value.at_pointer(pointer);
  return std::string(found == nullptr ? "" : found->as_string().value_or(""));
}

// ".spec.replicas" as a JSON pointer.
std::string pointer_of(std::string path) {
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

Kind custom(const Value& definition, const Value& version) {
  Kind kind;
  kind.custom = true;
  kind.resource = {text_at(definition, "/spec/group"), text_at(version, "/name"),
                   text_at(definition, "/spec/names/plural"),
                   text_at(definition, "/spec/names/kind"),
                   text_at(definition, "/spec/scope") == "Namespaced"};
  kind.singular = text_at(definition, "/spec/names/singular");
  if (kind.singular.empty()) kind.singular = lower(kind.resource.kind);
  if (const Value* names = definition.at_pointer("/spec/names/shortNames")) {
    for (const Value& name : *names) kind.short_names.emplace_back(name.as_string().value_or(""));
  }
  kind.counts_generations = true;
  kind.unconditional_update = false;
  kind.has_status = version.at_pointer("/subresources/status") != nullptr;
  kind.has_scale = version.at_pointer("/subresources/scale") != nullptr;
  kind.replicas_path = pointer_of(text_at(version, "/subresources/scale/specReplicasPath"));
  kind.status_replicas_path =
      pointer_of(text_at(version, "/subresources/scale/statusReplicasPath"));
  kind.selector_path = pointer_of(text_at(version, "/subresources/scale/labelSelectorPath"));
  if (const Value* fields = version.find("selectableFields")) {
    for (const Value& field : *fields) {
      kind.selectable_fields.push_back(text_at(field, "/jsonPath").substr(1));
    }
  }
  const Value* schema = version.at_pointer("/schema/openAPIV3Schema");
  kind.schema = std::make_shared<Schema>(schema == nullptr ? Value::object() : *schema);
  kind.shape = schema_shape(schema == nullptr ? Value::object() : *schema);
  return kind;
}

}  // namespace

Kinds::Kinds() {
  for (const Row& row : kRows) kinds_.push_back(std::make_shared<const Kind>(builtin(row)));
}

std::shared_ptr<const Kind> Kinds::find(std::string_view group, std::string_view version,
                                        std::string_view plural) const {
  const auto it = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
    return kind->resource.plural == plural && kind->resource.group == group &&
           kind->resource.version == version;
  });
  return it == kinds_.end() ? nullptr : *it;
}

std::shared_ptr<const Kind> Kinds::find_kind(std::string_view api_version,
                                             std::string_view kind) const {
  const auto it = std::find_if(kinds_.begin(), kinds_.end(), [&](const auto& known) {
    return known->resource.kind == kind && known->resource.api_version() == api_version;
  });
  return it == kinds_.end() ? nullptr : *it;
}

bool Kinds::serves_group(std::string_view group, std::string_view version) const {
  return std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& kind) {
    return kind->resource.group == group && kind->resource.version == version;
  });
}

void Kinds::install(const Value& definition) {
  uninstall(text_at(definition, "/spec/group"), text_at(definition, "/spec/names/plural"));
  const Value* versions = definition.at_pointer("/spec/versions");
  if (versions == nullptr) return;
  for (const Value& version : *versions) {
    const Value* served = version.find("served");
    if (served == nullptr || !served->as_bool().value_or(false)) continue;
    kinds_.push_back(std::make_shared<const Kind>(custom(definition, version)));
  }
}

void Kinds::uninstall(std::string_view group, std::string_view plural) {
  std::erase_if(kinds_, [&](const auto& kind) {
    return kind->custom && kind->resource.group == group && kind->resource.plural == plural;
  });
}

std::vector<std::shared_ptr<const Kind>> Kinds::stored() const {
  std::vector<std::shared_ptr<const Kind>> found;
  for (const auto& kind : kinds_) {
    const bool seen = std::any_of(found.begin(), found.end(), [&](const auto& other) {
      return other->collection() == kind->collection();
    });
    if (!kind->virtual_kind && !seen) found.push_back(kind);
  }
  return found;
}

}  // namespace mainspring::sim
