// operator/nodeset/worker_testing.h
//
// NodeSets and workers for tests, told in a few words: a Sketch says only what matters to the case.
// By default a worker runs, is Ready since an hour, and Slurm shows it idle.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/names.h"
#include "operator/nodeset/worker_view.h"

namespace mainspring::op {

inline constexpr WallTime kNow{hours(24 * 365 * 50)};

struct Sketch {
  using Base = slurm::NodeState::Base;

  std::string name;
  api::ScalingMode mode = api::ScalingMode::kStatefulSet;
  kube::PodPhase phase = kube::PodPhase::kRunning;
  bool ready = true;
  bool terminating = false;
  std::string node = "kn-1";  // Empty: not scheduled.
  std::string target;         // Of a daemon: the node that it alone may go to.
  bool container_made = true;
  bool kubelet_spoke = true;
  std::string revision = "v1";
  std::string hostname;  // The label; empty: the pod's name.
  std::string cordon;    // "true"
  std::string cordoned_for;
  std::string cost;
  std::string deadline;
  std::string drained_under;
  std::string key;   // Hash of the slurm key that it was made with.
  std::string sssd;  // And of the sssd.conf.
  WallTime ready_since = kNow - hours(1);
  WallTime created = kNow - hours(2);
  bool node_unschedulable = false;
  bool node_gone = false;
  std::string uid;  // Empty: the pod's name.
  SlurmFacts::Knowledge knowledge = SlurmFacts::Knowledge::kPresent;
  slurm::NodeState state = Base::kIdle;
  std::string reason;
  WallTime reason_since;
  std::string reservation;
  std::optional<Duration> empty_for = {};  // With kUnknown: a list without any node.
  std::optional<std::size_t> jobs = 0;     // Of which Slurm's list of jobs tells.
  std::string elsewhere;
  std::vector<std::string> shown;  // Conditions of the pod that are true.
};

inline json::StringMap string_map(
    const std::vector<std::pair<std::string_view, std::string_view>>& members) {
  std::vector<json::StringMap::Member> kept;
  for (const auto& member : members) {
    if (!member.second.empty()) kept.push_back(member);
  }
  return json::StringMap(kept);
}

inline std::shared_ptr<const kube::Node> kube_node(std::string name, bool unschedulable = false,
                                                   std::string hostname_override = {}) {
  auto node = std::make_shared<kube::Node>();
  node->meta.name = std::move(name);
  node->meta.annotations = string_map({{api::annotation::kHostnameOverride, hostname_override}});
  node->unschedulable = unschedulable;
  return node;
}

inline kube::Pod pod_of(const Sketch& sketch) {
  kube::Pod pod;
  pod.meta.ns = "slurm";
  pod.meta.name = sketch.name;
  pod.meta.uid = sketch.uid.empty() ? sketch.name : sketch.uid;
  pod.meta.created = sketch.created;
  if (sketch.terminating) pod.meta.deletion = kNow;
  pod.meta.labels = string_map({{api::label::kRevision, sketch.revision},
                                {api::label::kScalingMode, api::to_string(sketch.mode)},
                                {api::label::kPodHostname, sketch.hostname}});
  pod.meta.annotations = string_map({{api::annotation::kPodCordon, sketch.cordon},
                                     {api::annotation::kCordonedFor, sketch.cordoned_for},
                                     {api::annotation::kDrainedUnder, sketch.drained_under},
                                     {api::annotation::kPodDeletionCost, sketch.cost},
                                     {api::annotation::kPodDeadline, sketch.deadline},
                                     {api::annotation::kSlurmKeyHash, sketch.key},
                                     {api::annotation::kSssdConfHash, sketch.sssd}});
  pod.node_name = sketch.node;
  if (!sketch.target.empty()) {
    kube::NodeSelectorTerm term;
    term.fields.push_back({.field = "metadata.name", .value = sketch.target});
    kube::Affinity affinity;
    affinity.node.required = kube::NodeSelector{{term}};
    kube::PodSpec spec;
    spec.affinity = affinity;
    pod.spec = spec;
  }
  pod.status.phase = sketch.phase;
  kube::Condition ready{.type = "Ready"};
  ready.transition = sketch.ready_since;
  ready.status = sketch.ready ? kube::ConditionStatus::kTrue : kube::ConditionStatus::kFalse;
  std::vector<kube::Condition> conditions = {ready};
  for (const std::string& type : sketch.shown) {
    kube::Condition condition{.type = kube::Text(type)};
    condition.status = kube::ConditionStatus::kTrue;
    conditions.push_back(condition);
  }
  pod.status.conditions = std::move(conditions);
  if (!sketch.node.empty() && sketch.kubelet_spoke) {
    kube::ContainerStatus slurmd{.name = "slurmd"};
    slurmd.has_id = sketch.container_made;
    const bool runs = sketch.container_made && sketch.phase != kube::PodPhase::kPending;
    slurmd.state = runs ? kube::ContainerState::kRunning : kube::ContainerState::kWaiting;
    pod.status.containers = {slurmd};
  }
  return pod;
}

inline WorkerView view_of(const Sketch& sketch) {
  WorkerView worker{.pod = std::make_shared<kube::Pod>(pod_of(sketch)), .node = nullptr};
  if (!sketch.node.empty() && !sketch.node_gone) {
    worker.node = kube_node(sketch.node, sketch.node_unschedulable);
  }
  worker.slurm.knowledge = sketch.knowledge;
  worker.slurm.empty_for = sketch.empty_for;
  worker.slurm.jobs = sketch.jobs;
  worker.slurm.elsewhere = sketch.elsewhere;
  if (worker.slurm.present()) {
    auto node = std::make_shared<slurm::Node>();
    node->name = sketch.name;
    node->state = sketch.state;
    node->reason = sketch.reason;
    node->reservation = sketch.reservation;
    if (sketch.reason_since != WallTime()) {
      const auto since =
          std::chrono::duration_cast<seconds>(sketch.reason_since.time_since_epoch());
      node->reason_changed_at = since.count();
    }
    worker.slurm.node = node;
  }
  return worker;
}

inline api::NodeSet nodeset_of(std::int32_t replicas) {
  api::NodeSet nodeset;
  nodeset.meta.ns = "slurm";
  nodeset.meta.name = "gpu";
  nodeset.spec.replicas = replicas;
  return nodeset;
}

}  // namespace mainspring::op
