// kube/gangs.h
//
// The kinds that say which pods belong together: PodGroup and Workload of Kubernetes itself,
// PodGroup of the coscheduling plugin, JobSet, LeaderWorkerSet. Values. None of them need be
// installed; those of scheduling.k8s.io still change, so the version is found by discovery and
// kResource names the one that is new today.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/conditions.h"
#include "kube/pod.h"
#include "kube/resource.h"

namespace mainspring::kube {

// How the pods of a group are scheduled, in a PodGroup and in a Workload's template of one.
struct GroupPolicy {
  bool gang = false;           // Else "basic": one by one.
  std::int32_t min_count = 0;  // Of a gang.
  Text priority_class;
  std::optional<std::int32_t> priority;
  Seq<Text> topology_keys;  // All pods within one domain of each.
  bool disrupted_together = false;
  bool preempts = true;

  bool operator==(const GroupPolicy&) const = default;
};

// scheduling.k8s.io, v1alpha2 and later.
struct PodGroup {
  inline static const Resource kResource{"scheduling.k8s.io", "v1alpha3", "podgroups", "PodGroup",
                                         true};

  Meta meta;
  GroupPolicy policy;
  Text workload;  // Where it was made from one.
  Text workload_template;
  Text parent;  // A CompositePodGroup.
  Seq<PodResourceClaim> resource_claims;
  Conditions conditions;

  bool operator==(const PodGroup&) const = default;
};
bool read(json::Reader& reader, PodGroup& out);

struct WorkloadGroup {
  Text name;
  GroupPolicy policy;

  bool operator==(const WorkloadGroup&) const = default;
};
bool read(json::Reader& reader, WorkloadGroup& out);

// scheduling.k8s.io, v1alpha1 (podGroups) and later (podGroupTemplates).
struct Workload {
  inline static const Resource kResource{"scheduling.k8s.io", "v1alpha3", "workloads", "Workload",
                                         true};

  Meta meta;
  Text controller_group;
  Text controller_kind;
  Text controller_name;
  Seq<WorkloadGroup> groups;
  bool has_composites = false;  // Groups of groups, which are not read.

  bool operator==(const Workload&) const = default;
};
bool read(json::Reader& reader, Workload& out);

struct CoschedulingPodGroup {
  inline static const Resource kResource{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup",
                                         true};
  enum class Phase : std::uint8_t { kPending, kScheduling, kRunning, kUnknown, kFinished, kFailed };

  Meta meta;
  std::int32_t min_member = 0;
  Quantities min_resources;
  std::int32_t schedule_timeout_seconds = 0;
  Text occupied_by;
  Phase phase = Phase::kPending;  // Also where nobody has written one.

  bool operator==(const CoschedulingPodGroup&) const = default;
};
bool read(json::Reader& reader, CoschedulingPodGroup::Phase& out);

constexpr auto json_fields(json::Tag<CoschedulingPodGroup>) {
  using T = CoschedulingPodGroup;
  return json::fields(
      json::field("metadata", &T::meta),
      json::group("spec", json::field("minMember", &T::min_member),
                  json::field("minResources", &T::min_resources),
                  json::field("scheduleTimeoutSeconds", &T::schedule_timeout_seconds)),
      json::group("status", json::field("phase", &T::phase),
                  json::field("occupiedBy", &T::occupied_by)));
}

struct ReplicatedJob {
  Text name;
  std::int32_t replicas = 1;
  std::optional<std::int32_t> parallelism;
  std::optional<std::int32_t> completions;
  std::optional<std::int64_t> active_deadline_seconds;
  PodTemplate pod;
  bool depends = false;  // On other jobs of the set, and is made after them.

  bool operator==(const ReplicatedJob&) const = default;
};

constexpr auto json_fields(json::Tag<ReplicatedJob>) {
  using T = ReplicatedJob;
  return json::fields(
      json::field("name", &T::name), json::field("replicas", &T::replicas),
      non_empty_field<&T::depends>("dependsOn"),
      json::group("template",
                  json::group("spec", json::field("parallelism", &T::parallelism),
                              json::field("completions", &T::completions),
                              json::field("activeDeadlineSeconds", &T::active_deadline_seconds),
                              json::field("template", &T::pod))));
}

struct JobSet {
  inline static const Resource kResource{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};

  Meta meta;
  Seq<ReplicatedJob> jobs;
  Text startup_order;  // "AnyOrder", also where it is empty, or "InOrder".
  Text managed_by;
  Text terminal_state;  // "Completed", "Failed"; empty while it runs.
  Conditions conditions;
  std::int32_t restarts = 0;
  bool suspended = false;

  bool operator==(const JobSet&) const = default;
};

constexpr auto json_fields(json::Tag<JobSet>) {
  return json::fields(json::field("metadata", &JobSet::meta),
                      json::group("spec", json::field("replicatedJobs", &JobSet::jobs),
                                  json::group("startupPolicy", json::field("startupPolicyOrder",
                                                                           &JobSet::startup_order)),
                                  json::field("managedBy", &JobSet::managed_by),
                                  json::field("suspend", &JobSet::suspended)),
                      json::group("status", json::field("terminalState", &JobSet::terminal_state),
                                  json::field("conditions", &JobSet::conditions),
                                  json::field("restarts", &JobSet::restarts)));
}

struct LeaderWorkerSet {
  inline static const Resource kResource{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets",
                                         "LeaderWorkerSet", true};

  Meta meta;
  std::int32_t replicas = 1;
  std::int32_t size = 1;     // Pods a group, its leader included.
  Rare<PodTemplate> leader;  // Absent: as the workers.
  PodTemplate worker;
  Text startup_policy;
  Text restart_policy;
  Conditions conditions;
  std::int32_t ready_groups = 0;
  std::int32_t updated_groups = 0;

  bool operator==(const LeaderWorkerSet&) const = default;
};

constexpr auto json_fields(json::Tag<LeaderWorkerSet>) {
  using T = LeaderWorkerSet;
  return json::fields(json::field("metadata", &T::meta),
                      json::group("spec", json::field("replicas", &T::replicas),
                                  json::field("startupPolicy", &T::startup_policy),
                                  json::group("leaderWorkerTemplate", json::field("size", &T::size),
                                              json::field("leaderTemplate", &T::leader),
                                              json::field("workerTemplate", &T::worker),
                                              json::field("restartPolicy", &T::restart_policy))),
                      json::group("status", json::field("conditions", &T::conditions),
                                  json::field("readyReplicas", &T::ready_groups),
                                  json::field("updatedReplicas", &T::updated_groups)));
}

}  // namespace mainspring::kube
