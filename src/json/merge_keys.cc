#include "json/merge_keys.h"

#include <algorithm>
#include <iterator>

namespace mainspring::json {
namespace {

using T = MergeType;
using S = MergeStrategy;

struct Entry {
  T owner;
  std::string_view field;
  MergeRule rule;
};

constexpr MergeRule into(T type) { return {.type = type}; }
constexpr MergeRule by(std::string_view key, T type = T::kAny) {
  return {.type = type, .strategy = S::kMerge, .key = key};
}
constexpr MergeRule kSet = {.strategy = S::kMerge};
constexpr MergeRule kReplaced = {.strategy = S::kReplace};

constexpr Entry kEntries[] = {
    {T::kMetadataOnly, "metadata", into(T::kObjectMeta)},
    {T::kObjectMeta, "ownerReferences", by("uid")},
    {T::kObjectMeta, "finalizers", kSet},

    {T::kPod, "metadata", into(T::kObjectMeta)},
    {T::kPod, "spec", into(T::kPodSpec)},
    {T::kPod, "status", into(T::kPodStatus)},
    {T::kPodTemplate, "metadata", into(T::kObjectMeta)},
    {T::kPodTemplate, "spec", into(T::kPodSpec)},

    {T::kPodSpec, "volumes", by("name")},
    {T::kPodSpec, "initContainers", by("name", T::kContainer)},
    {T::kPodSpec, "containers", by("name", T::kContainer)},
    {T::kPodSpec, "ephemeralContainers", by("name", T::kContainer)},
    {T::kPodSpec, "imagePullSecrets", by("name")},
    {T::kPodSpec, "hostAliases", by("ip")},
    {T::kPodSpec, "topologySpreadConstraints", by("topologyKey")},
    {T::kPodSpec, "schedulingGates", by("name")},
    {T::kPodSpec, "resourceClaims", by("name")},

    {T::kContainer, "ports", by("containerPort")},
    {T::kContainer, "env", by("name")},
    {T::kContainer, "volumeMounts", by("mountPath")},
    {T::kContainer, "volumeDevices", by("devicePath")},

    {T::kPodStatus, "conditions", by("type")},
    {T::kPodStatus, "hostIPs", by("ip")},
    {T::kPodStatus, "podIPs", by("ip")},
    {T::kPodStatus, "resourceClaimStatuses", by("name")},

    {T::kWorkload, "metadata", into(T::kObjectMeta)},
    {T::kWorkload, "spec", into(T::kWorkloadSpec)},
    {T::kWorkload, "status", into(T::kConditions)},
    {T::kWorkloadSpec, "template", into(T::kPodTemplate)},
    {T::kCronJob, "metadata", into(T::kObjectMeta)},
    {T::kCronJob, "spec", into(T::kCronJobSpec)},
    {T::kCronJobSpec, "jobTemplate", into(T::kWorkload)},

    {T::kConditions, "conditions", by("type")},
    {T::kKindWithConditions, "metadata", into(T::kObjectMeta)},
    {T::kKindWithConditions, "status", into(T::kConditions)},

    {T::kService, "metadata", into(T::kObjectMeta)},
    {T::kService, "spec", into(T::kServiceSpec)},
    {T::kService, "status", into(T::kConditions)},
    {T::kServiceSpec, "ports", by("port")},
    {T::kServiceAccount, "metadata", into(T::kObjectMeta)},
    {T::kServiceAccount, "secrets", by("name")},

    {T::kNode, "metadata", into(T::kObjectMeta)},
    {T::kNode, "spec", into(T::kNodeSpec)},
    {T::kNode, "status", into(T::kNodeStatus)},
    {T::kNodeSpec, "podCIDRs", kSet},
    {T::kNodeStatus, "conditions", by("type")},
    {T::kNodeStatus, "addresses", by("type")},

    {T::kPodDisruptionBudget, "metadata", into(T::kObjectMeta)},
    {T::kPodDisruptionBudget, "spec", into(T::kPodDisruptionBudgetSpec)},
    {T::kPodDisruptionBudget, "status", into(T::kConditions)},
    {T::kPodDisruptionBudgetSpec, "selector", kReplaced},

    {T::kWebhookConfiguration, "metadata", into(T::kObjectMeta)},
    {T::kWebhookConfiguration, "webhooks", by("name", T::kWebhook)},
    {T::kWebhook, "matchConditions", by("name")},
};

struct Kind {
  std::string_view name;
  T type;
};

constexpr Kind kKinds[] = {
    {"Pod", T::kPod},
    {"ReplicaSet", T::kWorkload},
    {"StatefulSet", T::kWorkload},
    {"DaemonSet", T::kWorkload},
    {"ReplicationController", T::kWorkload},
    {"Job", T::kWorkload},
    {"CronJob", T::kCronJob},
    {"Deployment", T::kWorkload},
    {"Service", T::kService},
    {"ServiceAccount", T::kServiceAccount},
    {"Node", T::kNode},
    {"PodDisruptionBudget", T::kPodDisruptionBudget},
    {"ValidatingWebhookConfiguration", T::kWebhookConfiguration},
    {"MutatingWebhookConfiguration", T::kWebhookConfiguration},
    {"Namespace", T::kKindWithConditions},
    {"PersistentVolumeClaim", T::kKindWithConditions},
    {"HorizontalPodAutoscaler", T::kKindWithConditions},
};

}  // namespace

MergeRule merge_rule(MergeType owner, std::string_view field) {
  const auto* entry = std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& e) {
    return e.owner == owner && e.field == field;
  });
  return entry == std::end(kEntries) ? MergeRule{} : entry->rule;
}

MergeType merge_type_of_kind(std::string_view kind) {
  const auto* known = std::find_if(std::begin(kKinds), std::end(kKinds),
                                   [&](const Kind& k) { return k.name == kind; });
  return known == std::end(kKinds) ? MergeType::kMetadataOnly : known->type;
}

}  // namespace mainspring::json
