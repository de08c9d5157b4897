// json/merge_keys.h
//
// How Kubernetes merges the lists of its own kinds: which lists merge at all, and by which key. The
// facts are the patchStrategy and patchMergeKey tags of k8s.io/api. Everything that is not in
// the table is what those tags' absence means: objects merge, lists are replaced whole
// (tolerations, command, args, envFrom, affinity terms, ...). Pure data.
#pragma once

#include <string_view>

namespace mainspring::json {

// The types whose fields have rules, named as in the Kubernetes API. kAny has none.
enum class MergeType {
  kAny,
  kMetadataOnly,
  kObjectMeta,
  kPod,
  kPodTemplate,  // anything of the shape {metadata, spec: PodSpec}
  kPodSpec,
  kPodStatus,
  kContainer,
  kWorkload,  // whatever has a pod template: Deployment, StatefulSet, Job, ...
  kWorkloadSpec,
  kCronJob,
  kCronJobSpec,
  kConditions,  // a status of which only `conditions` has a rule
  kKindWithConditions,
  kService,
  kServiceSpec,
  kServiceAccount,
  kNode,
  kNodeSpec,
  kNodeStatus,
  kPodDisruptionBudget,
  kPodDisruptionBudgetSpec,
  kWebhookConfiguration,
  kWebhook,
};

enum class MergeStrategy {
  kDefault,  // objects merge, lists are replaced
  kMerge,    // the list merges, by key, or as a set of scalars where there is no key
  kReplace,  // even an object is replaced
};

struct MergeRule {
  MergeType type = MergeType::kAny;  // of the object in this field, or of the list's elements
  MergeStrategy strategy = MergeStrategy::kDefault;
  std::string_view key = {};
};

MergeRule merge_rule(MergeType owner, std::string_view field);

// The type for a `kind`, e.g. "Deployment". A kind that is not built in has rules for its metadata.
MergeType merge_type_of_kind(std::string_view kind);

}  // namespace mainspring::json
