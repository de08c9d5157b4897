// bridge/gang/grouping.h
//
// Which pods belong together, by what they say themselves. Pure: the objects that own them are
// looked up elsewhere (sync/roots), and only where the gang's shape depends on them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bridge/gang/gang.h"

namespace mainspring::bridge {

// What a gang is known by in its namespace: "pod/web-0", "podgroup/train". One pod is in one gang
// for its whole life.
struct GangRef {
  GangKind kind = GangKind::kPod;
  std::string name;  // Of the pod, the PodGroup, the group of a LeaderWorkerSet, the Job or JobSet.

  std::string id() const;
  static GangRef parse(std::string_view id);
  bool operator==(const GangRef&) const = default;
};

// By the pod's scheduling group, the label of a coscheduling PodGroup, the group of its
// LeaderWorkerSet, the annotation that makes a gang of a whole Job or JobSet; else by itself.
GangRef gang_of(const kube::Pod& pod);

// The order in which pods get nodes: by their index in their Job, JobSet, LeaderWorkerSet or
// StatefulSet, then by name, numbers in it counting as numbers.
void sort_members(std::vector<PodPtr>& pods);

// For a pod that is none of the larger gangs: one of a Job or JobSet has a shape of its own.
bool is_of_job(const kube::Pod& pod);

// Labels of others by which pods are known.
inline constexpr std::string_view kCoschedulingLabel = "scheduling.x-k8s.io/pod-group";
inline constexpr std::string_view kLwsNameLabel = "leaderworkerset.sigs.k8s.io/name";
inline constexpr std::string_view kLwsGroupLabel = "leaderworkerset.sigs.k8s.io/group-key";
inline constexpr std::string_view kLwsGroupIndexLabel = "leaderworkerset.sigs.k8s.io/group-index";
inline constexpr std::string_view kLwsWorkerIndexLabel = "leaderworkerset.sigs.k8s.io/worker-index";
inline constexpr std::string_view kJobNameLabel = "batch.kubernetes.io/job-name";
inline constexpr std::string_view kJobSetNameLabel = "jobset.sigs.k8s.io/jobset-name";
inline constexpr std::string_view kReplicatedJobLabel = "jobset.sigs.k8s.io/replicatedjob-name";

}  // namespace mainspring::bridge
