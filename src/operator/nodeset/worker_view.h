// operator/nodeset/worker_view.h
//
// One worker as every decision about it sees it: its pod, the Kubernetes node under it, and what
// Slurm says of it, with how much that is worth. Values, put together by sync from the caches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "base/clock.h"
#include "base/time.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "slurm/node.h"

namespace mainspring::op {

// What we know of a worker's Slurm node. Unknown is never absent, and absent is never drained.
struct SlurmFacts {
  enum class Knowledge : std::uint8_t {
    kUnknown,  // No client, never synced, stale: nothing may be concluded.
    kAbsent,   // A fresh list that is not empty, of a slurmctld that is well, does not have it.
    kPresent,
  };
  Knowledge knowledge = Knowledge::kUnknown;
  std::shared_ptr<const slurm::Node> node;  // Set where kPresent.
  // Set where kUnknown because a fresh list has not a single node, with for how long that has been
  // so: slurmctld lost its state, or nobody has ever registered with it.
  std::optional<Duration> empty_for = {};
  // How many jobs run or are suspended there, by a fresh list of jobs; unset where there is none.
  // The node does not tell: slurmctld calls it IDLE when its last running job is suspended.
  std::optional<std::size_t> jobs = {};

  // Set where kAbsent though Slurm has a node with the pod's address or host name: its name.
  std::string elsewhere = {};

  // As far as is known.
  bool has_jobs() const { return jobs.value_or(0) > 0 || (present() && node->state.is_busy()); }
  bool present() const { return knowledge == Knowledge::kPresent; }
};

struct WorkerView {
  std::shared_ptr<const kube::Pod> pod;
  std::shared_ptr<const kube::Node> node;  // Null where not scheduled, or the node is gone.
  SlurmFacts slurm;
};

// Its slurmd has just started: it is about to be added to Slurm's nodes, or to be called up again.
bool is_about_to_register(const WorkerView& worker, WallTime now);

// What the pod's conditions say of its node, which it keeps while Slurm says nothing of it: this
// Slurm had the node, and no job was on it,
bool was_idle(const kube::Pod& pod);
// or some were, or nobody had looked yet.
bool was_at_work(const kube::Pod& pod);

// A fresh list of Slurm's lacks the node, though jobs were on it when it was seen last. A node with
// jobs cannot be deleted, so Slurm has lost it, and what it ran may be running on. Only a slurmd
// that registers again, or a person, knows better: nobody may delete the pod for it.
bool works_unseen(const WorkerView& worker);

// Whether Slurm has ever had the worker under its name, or the conditions that say so have been
// replaced by the one of a node that is gone.
bool was_known(const kube::Pod& pod);
inline constexpr std::string_view kStatePrefix = "SlurmNodeState";

// A fresh list lacks the node, and that says nothing of the worker: Slurm has its address under
// another name, or it is Ready and Slurm never had it under this one. Its slurmd may have another
// name (hostNetwork on a node whose host name is another, setHostnameAsFQDN, -N), and jobs.
bool may_have_another_name(const WorkerView& worker);

// The name by which Slurm knows the worker: the pod-hostname label where it is set, else
// spec.hostname, else the pod's name; with hostNetwork in StatefulSet mode the Kubernetes node's
// name, which is empty until the pod is scheduled.
std::string slurm_node_name(const kube::Pod& pod);
// By the pod's name, whatever its padding. Not judged by mode: a pod of DaemonSet mode may happen
// to have a name of digits.
std::optional<std::uint32_t> ordinal_of(const api::NodeSet& nodeset, const kube::Pod& pod);
// By the pod's label; a pod without it is of the mode that its name fits.
api::ScalingMode scaling_mode_of(const api::NodeSet& nodeset, const kube::Pod& pod);

// Why the operator cordons or condemns a pod; the texts are those of annotation::kCordonedFor.
enum class Cause : std::uint8_t {
  kNone,
  kScaleIn,     // "scale-in"
  kUpdate,      // "update"
  kModeSwitch,  // "mode-switch"
  kMisplaced,   // "misplaced": DaemonSet mode, its node should not run it
  kDuplicate,   // "duplicate": DaemonSet mode, another one is on the same node
  kHostname,    // "hostname": DaemonSet mode, its node got another hostname-override
  kDeletion,    // "deletion": the NodeSet goes
  kNode,        // "node": its Kubernetes node is cordoned. Never condemns.
  kPerson,      // Somebody set pod-cordon. Never condemns, never lifted by us.
};
std::string_view to_string(Cause cause);
// A word that we do not know is kPerson: not ours to lift.
Cause cause_of(std::string_view text);

// Whether the operator set the pod's cordon, and why; kPerson where somebody else did, kNone where
// it is not cordoned. A pod taken over from upstream has no note of the cause; then the reason that
// Slurm shows tells a scale-in from a person's wish.
Cause cordon_cause(const WorkerView& worker);

}  // namespace mainspring::op
