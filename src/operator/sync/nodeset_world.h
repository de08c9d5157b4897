// operator/sync/nodeset_world.h
//
// What the three queues of NodeSets share: how a NodeSet looks right now (its view), the pod
// template that its pods are made of, what has been done and not been seen yet, and how much may be
// deleted. Owned by the app beside the World; lives on the control loop.
//
// The three: "nodeset" makes and cordons pods and never waits for Slurm; "nodeset-slurm" drains and
// undrains, and deletes what Slurm has shown to be drained; "worker" shows Slurm's state on pods.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/controller.h"
#include "control/expectations.h"
#include "operator/nodeset/placement.h"
#include "operator/nodeset/plan.h"
#include "operator/sync/deletion_limit.h"
#include "operator/sync/worker_metrics.h"
#include "operator/sync/world.h"

namespace mainspring::op {

class NodeSetWorld {
 public:
  explicit NodeSetWorld(World& world);

  World& world;
  control::Expectations expectations;
  WorkerMetrics metrics;

  // The Controller that it refers to; null where there is none.
  std::shared_ptr<const api::Controller> controller_of(const api::NodeSet& nodeset) const;
  std::shared_ptr<SlurmCluster> slurm_of(const api::NodeSet& nodeset) const;

  // How long to wait after an event of this NodeSet before looking at it. Events of pods come in
  // swarms, and a look costs what the set is large: one look at all of them is as good as one for
  // each.
  Duration settle_time(KeyView nodeset) const;

  // All that is known of its pods, judged by the revision that was set last. Until one is, no pod
  // is old: what the status says may be of a spec that is no more.
  NodeSetView view(const api::NodeSet& nodeset);
  void set_revision(const api::NodeSet& nodeset, std::string hash);

  // Of the Secret with the slurm key that a pod of it would get now; empty where there is none.
  std::string slurm_key_hash(const api::NodeSet& nodeset) const;
  // The same of the sssd.conf; empty without ssh, too.
  std::string sssd_conf_hash(const api::NodeSet& nodeset) const;

  // {metadata, spec} of its pods; made anew only where the NodeSet's or the Controller's spec
  // changed.
  Result<const json::Value*> pod_template(const api::NodeSet& nodeset,
                                          const api::Controller& controller);

  // Whether a pod of the set may be on that node, by the template that was made last.
  bool fits(const api::NodeSet& nodeset, const std::shared_ptr<const kube::Node>& node) const;

  // The NodeSet that controls this pod; null where none does.
  std::shared_ptr<const api::NodeSet> owner_of(const kube::Pod& pod) const;
  WorkerView worker(const kube::Pod& pod, SlurmCluster* slurm) const;

  // Wakes the NodeSet of each claim that changes.
  void watch_claims(control::Controller& queue);
  // Wakes the NodeSets whose sssd.conf is in a Secret that changes.
  void watch_sssd(control::Controller& queue);
  // Whether those who are to have the pod's claims when it goes for `cause` have them: what a pod
  // takes along must be known before it is deleted.
  bool claims_settled(const api::NodeSet& nodeset, const kube::Pod& pod, Cause cause) const;

  // Pods that ended: the next one in the same place waits, longer each time. To be called before
  // the view is made. Says so to the NodeSet in an Event.
  void note_failures(const api::NodeSet& nodeset);
  std::optional<Duration> next_try(std::string_view nodeset_uid) const;

  // Whether it is being deleted and has had all the time that it was given for that.
  bool overdue(const api::NodeSet& nodeset) const;

  // Takes one deletion of a pod from what the limit leaves, of a NodeSet of `size` pods where the
  // ground is one of a share. Where nothing is left, says so to the NodeSet in an Event.
  using Ground = DeletionLimit::Ground;
  bool may_delete(const api::NodeSet& nodeset, Ground ground = Ground::kWanted,
                  std::size_t size = 0);
  // Whether it would be allowed now. Also says where not.
  bool has_room(const api::NodeSet& nodeset, Ground ground, std::size_t size);
  // Why deletions of this NodeSet have just been held back; empty where they have not.
  std::string_view held_back(const api::NodeSet& nodeset) const;
  // Called when that begins.
  std::function<void(KeyView nodeset)> on_held_back = [](KeyView) {};

 private:
  void forget(std::string_view nodeset_uid);
  void say_ended(const api::NodeSet& nodeset, const kube::Pod& pod);
  bool say_limited(const api::NodeSet& nodeset, Ground ground, bool allowed);

  struct Template {
    api::NodeSetSpec nodeset;
    kube::Meta meta;  // Labels and annotations are handed on to pods.
    api::ControllerSpec controller;
    json::Value pod;
    PlacementRules rules;
  };
  struct Failure {
    std::string pod_uid;
    int count = 0;
    TimePoint until;
  };

  std::vector<Place> places(const api::NodeSet& nodeset);
  // The Slurm node that has the pod's address or host name and is nobody else's.
  std::string elsewhere(const kube::Pod& pod, SlurmCluster& slurm) const;

  struct HeldBack {
    TimePoint at;
    std::string why;
  };

  Store<api::NodeSet>::IndexId by_sssd_;
  DeletionLimit deletions_;
  Counter held_back_total_;
  std::map<std::string, HeldBack, std::less<>> held_back_;     // By UID of the NodeSet.
  std::map<std::string, std::string, std::less<>> revisions_;  // By UID of the NodeSet.
  std::map<std::string, Template, std::less<>> templates_;     // By UID of the NodeSet.
  // By UID of the NodeSet, then by node in DaemonSet mode and by name in StatefulSet mode.
  std::map<std::string, std::map<std::string, Failure, std::less<>>, std::less<>> failures_;
};

}  // namespace mainspring::op
