// bridge/gang/gang.h
//
// Gang: pods that Slurm starts together, as one external job. A single pod is a gang of one. A
// value, put together by gang/grouping from pods and the objects that own them; what becomes of it
// is decided by gang/plan and done by sync/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/pod.h"

namespace mainspring::bridge {

using PodPtr = std::shared_ptr<const kube::Pod>;
using Annotations = std::map<std::string, std::string, std::less<>>;

enum class GangKind : std::uint8_t {
  kPod,              // By itself, or of an owner that is none of these.
  kJob,              // One pod of a Job or JobSet by itself.
  kWholeJob,         // All pods of a Job, or of a JobSet, because it asked for that.
  kLeaderWorkerSet,  // A leader with its workers.
  kPodGroup,         // scheduling.k8s.io
  kCoscheduling,     // scheduling.x-k8s.io
};

struct Gang {
  GangKind kind = GangKind::kPod;
  // Those that are not over, in the order in which they get nodes: by index, else by name.
  std::vector<PodPtr> pods;
  // What Slurm starts at least; fewer pods than this are not submitted.
  std::int32_t min_members = 1;
  // Of whom the workload is: the root object's, never the pod template's.
  Annotations annotations;
  std::string job_name;                                 // "": none.
  std::optional<std::int64_t> active_deadline_seconds;  // Of the Job.
  // A floor for every pod, of the coscheduling PodGroup's minResources or the Job's pod template.
  std::optional<std::int64_t> floor_cpus, floor_memory_mb;
  std::string priority_class;  // Of the pods, or of their PodGroup.
  // Labels of nodes: all pods have to be where these have the same values. Of the PodGroup.
  std::vector<std::string> topology_keys;
  std::vector<std::string> near;  // Nodes where others of the gang are, where there are such keys.
};

}  // namespace mainspring::bridge
