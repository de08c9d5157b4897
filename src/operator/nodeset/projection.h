// operator/nodeset/projection.h
//
// What is shown of Slurm on the Kubernetes side: conditions, labels and annotations of pods,
// counters of NodeSets. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "operator/nodeset/worker_view.h"
#include "slurm/job.h"
#include "slurm/node_request.h"
#include "slurm/versions.h"

namespace mainspring::op {

// The SlurmNodeState* conditions that the pod should have, and no others of that prefix: one for
// the base state and one for each flag, all True, with Slurm's reason as their message. Other tools
// read them. Their transition is left to conditions_patch().
std::vector<kube::Condition> state_conditions(const slurm::Node& node);

struct PodProjection {
  bool protect = false;                 // label pod-protect
  std::optional<std::string> deadline;  // annotation pod-deadline, RFC 3339
  std::optional<std::string> topology;  // annotation topology spec; unset: leave it
};
// `jobs`: those that hold resources on this node. While Slurm is unknown, or has lost the node with
// jobs on it, so are they: protection and deadline stay as they are. While only the jobs are not
// known, a pod whose node is busy is protected all the same.
PodProjection project(const api::NodeSet& nodeset, const WorkerView& worker,
                      std::span<const std::shared_ptr<const slurm::Job>> jobs);

// Both are null where nothing would change, and name the pod's UID, so that another pod that has
// come to the name meanwhile is not touched (the API server answers 422).
//
// Of its metadata: a merge patch with our own keys alone, null for those that go. `cordon` is what
// wanted_cordon() says; kPerson leaves the cordon alone, as is a pod-cordon that is not "true".
json::Value metadata_patch(const kube::Pod& pod, const PodProjection& projection, Cause cordon);
// Of its status: a STRATEGIC merge patch, to be sent as PatchKind::kStrategic to the subresource
// status. The kubelet writes the same list; a merge patch would replace it whole and undo the
// kubelet's last word, while this names our conditions by type and those that go with "$patch":
// "delete". Where Slurm is unknown, or has lost the node with jobs on it (works_unseen), the pod
// keeps those it has; else SlurmNodeStateGone takes the place of those of a node that is gone.
json::Value conditions_patch(const WorkerView& worker, WallTime now);

// The counters; conditions, hash, selector and observed generation are filled in by sync. While
// Slurm is unknown its four stay as the status has them.
struct Counters {
  std::int32_t replicas = 0;
  std::int32_t updated = 0;
  std::int32_t ready = 0;
  std::int32_t available = 0;
  std::int32_t unavailable = 0;
  std::int32_t slurm_idle = 0;
  std::int32_t slurm_allocated = 0;
  std::int32_t slurm_down = 0;
  std::int32_t slurm_drain = 0;
};
Counters count(const api::NodeSet& nodeset, std::span<const WorkerView> workers,
               std::string_view revision_hash, std::int32_t desired, WallTime now);

// What the operator keeps in a Slurm node's comment, as JSON.
struct PodInfo {
  std::string ns;
  std::string pod;
  std::string node;
  std::string nodeset;
  std::string nodeset_uid;
  // Which topology the operator gave to the Slurm node, so that it takes away its own and no other
  // when the Kubernetes node has none any more. Beyond the public contract.
  std::string topology = {};

  bool operator==(const PodInfo&) const = default;
};
std::string to_comment(const PodInfo& info);
std::optional<PodInfo> parse_comment(std::string_view comment);

// Slurm's features, those available or those active, with ours, those under k8s/, replaced by the
// node annotation's; unset where they are right already, in whatever order. Only what begins with
// k8s/ is ever added or removed. Values that could not be asked for by --constraint (operators,
// blanks, control characters) are left out.
std::optional<std::vector<std::string>> wanted_features(const std::vector<std::string>& features,
                                                        const kube::Node& node);

// What Slurm should be told of a worker that is up and does not have yet: comment, topology and
// features. What the version that is spoken has no word for is left out. A topology goes when the
// Kubernetes node has lost it, in favour of extraConf's where there is one; not with the Kubernetes
// node, and not where that says what is none.
std::optional<slurm::NodeUpdate> wanted_update(const api::NodeSet& nodeset,
                                               const WorkerView& worker, slurm::Version spoken);
// Whether its Kubernetes node has a topology for Slurm.
bool has_topology(const WorkerView& worker);

}  // namespace mainspring::op
