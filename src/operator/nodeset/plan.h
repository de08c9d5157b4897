// operator/nodeset/plan.h
//
// What a NodeSet wants of its pods right now: which to create, which to condemn, which of those may
// be deleted this minute. The heart of the operator, and pure: all evidence is handed in, nothing
// is remembered. Deleting is decided here and nowhere else.
//
// A condemned pod is cordoned and drained, and deleted only on positive evidence: Slurm shows its
// node drained, and no job there, not even a suspended one; or the pod never ran, or has ended; or
// a fresh, believable list does not have the node, one did have it, and no job was on it then.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "operator/nodeset/worker_view.h"

namespace mainspring::op {

// A Kubernetes node as DaemonSet mode sees it (placement.h).
struct Place {
  std::shared_ptr<const kube::Node> node;
  bool should_run = false;       // A pod may be created there.
  bool should_continue = false;  // One that is there may stay.
};

struct NodeSetView {
  const api::NodeSet& nodeset;
  // Pods with it are current. Empty where no revision is known to be different, as at a take-over:
  // then all are.
  std::string revision_hash;
  std::vector<WorkerView> workers;  // All that the NodeSet controls, terminating ones too.
  std::vector<Place> places;        // DaemonSet mode: every node. None: not known yet.
  WallTime now;
  // Ended pods that must still wait before another takes their place, by UID.
  std::vector<std::string> backing_off;
  // Of the slurm key that pods are made with now. Pods that were made with another are old. Empty:
  // not known.
  std::string slurm_key_hash = {};
  // The same of the sssd.conf, which they have with ssh.
  std::string sssd_conf_hash = {};
};

struct Creation {
  std::optional<std::uint32_t> ordinal;    // StatefulSet mode.
  std::shared_ptr<const kube::Node> node;  // DaemonSet mode.
};

struct Condemned {
  std::size_t worker = 0;  // Index into NodeSetView::workers.
  Cause cause = Cause::kNone;
};

struct Removal {
  enum class Evidence : std::uint8_t {
    kNeverRan,  // No container of it was ever made, and its kubelet says so.
    kEnded,     // Succeeded or Failed.
    kDrained,   // Slurm says so.
    kAbsent,    // Slurm does not know the node, nor of jobs on it. To be limited by the caller.
  };
  std::size_t worker = 0;
  Cause cause = Cause::kNone;
  Evidence evidence = Evidence::kDrained;
};

struct Plan {
  std::vector<Creation> create;
  // Most deletable first. All of them are to be cordoned. Nobody new while Slurm is unknown.
  std::vector<Condemned> condemned;
  std::vector<Removal> remove;  // Of the condemned, and pods that ended: may be deleted now.
  // Running and ready, yet a believable list of Slurm's does not have them: slurmd must register
  // anew. Of a list without any node: those that were idle when it had them.
  std::vector<std::size_t> unregistered;
  // Workers that Slurm has lost with jobs on them: left alone, whatever else is wanted of
  // them, until their slurmd registers or somebody deletes them.
  std::vector<std::size_t> unseen;
  // Workers that Slurm does not know and may know under another name: left alone likewise.
  std::vector<std::size_t> strangers;
  // Ready workers that a fresh list without any node lacks, once it is no passing matter.
  std::int32_t lost = 0;
  // Workers whose node should not have them, or has another name, or that are of the other scaling
  // mode, and that are left alone until others of their kind are gone. A slip in a nodeSelector or
  // in the labels of nodes says that of all workers at once, and whether those who follow come up
  // is not known, so that only a quarter of those that are available goes at a time.
  std::int32_t held = 0;
  // Workers that are to go and are not condemned yet, because nothing is known of Slurm.
  std::int32_t waiting = 0;
  std::int32_t desired = 0;  // status.desired
};

Plan make_plan(const NodeSetView& view);

// Whether `worker` may be deleted now if it is condemned, and by what evidence.
std::optional<Removal::Evidence> removal_evidence(const WorkerView& worker);

// The order of the public contract: most deletable first.
bool more_deletable(const api::NodeSet& nodeset, const WorkerView& a, const WorkerView& b);

// Whether some worker lives that an update would replace.
bool has_old_workers(const NodeSetView& view);

// Running, and Ready for minReadySeconds.
bool is_available(const api::NodeSet& nodeset, const kube::Pod& pod, WallTime now);

}  // namespace mainspring::op
