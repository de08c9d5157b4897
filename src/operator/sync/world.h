// operator/sync/world.h
//
// World: what every reconciler of the operator shares: the caches of what exists, the way to write,
// and the Slurm clusters. Made once by the app on the control loop; outlives the controllers.
//
// How reconcilers are written: a class per kind with a constructor (World&) that adds its
// controllers to the manager and wires their watches, and coroutines that read the stores, build
// what should exist (operator/build), and make it so (ensure.h). Two rules:
//  - what needs Slurm's answer runs in a controller of its own ("nodeset-slurm",
//  "controller-slurm"),
//    so that a dead slurmrestd never holds up Kubernetes work, and the other way round;
//  - nothing is written where the caches show that it is so already.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/accounting.h"
#include "api/cluster.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/store.h"
#include "control/applier.h"
#include "control/manager.h"
#include "kube/apps.h"
#include "kube/controller_revision.h"
#include "kube/core_objects.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "kube/policy.h"
#include "kube/storage.h"
#include "operator/sync/slurm_clusters.h"

namespace mainspring::op {

struct OperatorOptions {
  std::string cluster_domain = "cluster.local";
  // Types of node conditions that explain a cordon.
  std::vector<std::string> propagated_node_conditions;
  // Where slurmrestd of a Controller ("ns/name") is, for an operator that runs outside the cluster
  // and cannot reach Services.
  std::map<std::string, std::string, std::less<>> rest_urls;
  // Pods deleted a minute, by all NodeSets together, on whatever evidence.
  int deletions_per_minute = 600;
  std::size_t workers = 4;  // Of each controller.
  Metrics* metrics = nullptr;
  Logger log;
};

class World {
 public:
  // Both must outlive it. Asks the manager for all stores.
  World(control::Manager& manager, http::Transport& slurm_transport, OperatorOptions options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  control::Manager& manager;
  kube::Client& client;
  control::EventRecorder& events;
  const Clock& clock;
  const OperatorOptions options;
  control::Applier applier;

  Store<api::Controller>& controllers;
  Store<api::NodeSet>& nodesets;
  Store<api::LoginSet>& loginsets;
  Store<api::RestApi>& restapis;
  Store<api::Accounting>& accountings;
  Store<api::Token>& tokens;
  Store<api::Cluster>& clusters;

  // Those that carry our app.kubernetes.io/name labels.
  Store<kube::StatefulSet>& stateful_sets;
  Store<kube::Deployment>& deployments;
  Store<kube::Service>& services;
  Store<kube::PodDisruptionBudget>& budgets;
  Store<kube::Pod>& pods;  // slurmd and slurmctld
  // All of the namespaces that we see; Secrets without Helm's.
  Store<kube::ConfigMap>& config_maps;
  Store<kube::SecretObject>& secrets;
  Store<kube::PersistentVolumeClaim>& claims;
  Store<kube::ControllerRevision>& revisions;
  // With a namespaced Role it never syncs: then there is no DaemonSet mode and no cordon by node.
  Store<kube::Node>& nodes;

  // Of Controllers, and of Cluster objects.
  SlurmClusters slurm;
  SlurmClusters outside;

  // By namespace/name of the Controller that they refer to.
  const std::vector<std::shared_ptr<const api::NodeSet>>& nodesets_of(KeyView controller) const;
  const std::vector<std::shared_ptr<const api::LoginSet>>& loginsets_of(KeyView controller) const;
  const std::vector<std::shared_ptr<const api::RestApi>>& restapis_of(KeyView controller) const;
  const std::vector<std::shared_ptr<const api::Controller>>& controllers_of_accounting(
      KeyView accounting) const;
  // Controllers, and so on, for which this Secret or ConfigMap matters: those whose spec names it.
  const std::vector<std::shared_ptr<const api::Controller>>& controllers_using(
      std::string_view kind, KeyView object) const;  // kind: "Secret" or "ConfigMap"

  // Pods that nobody controls, by app.kubernetes.io/instance.
  const std::vector<std::shared_ptr<const kube::Pod>>& orphan_pods(std::string_view ns,
                                                                   std::string_view instance) const;
  // By the UID of the controlling owner.
  const std::vector<std::shared_ptr<const kube::Pod>>& pods_of(std::string_view owner_uid) const;
  const std::vector<std::shared_ptr<const kube::ControllerRevision>>& revisions_of(
      std::string_view owner_uid) const;
  const std::vector<std::shared_ptr<const kube::ConfigMap>>& config_maps_of(
      std::string_view owner_uid) const;
  // Worker pods that have not been started and ask for this PersistentVolumeClaim.
  const std::vector<std::shared_ptr<const kube::Pod>>& pods_waiting_for(KeyView claim) const;
  // By spec.nodeName.
  const std::vector<std::shared_ptr<const kube::Pod>>& pods_on(std::string_view node) const;
  // Worker pods of a Controller by the name of their Slurm node.
  const std::vector<std::shared_ptr<const kube::Pod>>& pods_of_slurm_node(
      KeyView controller, std::string_view slurm_node) const;

 private:
  Store<api::NodeSet>::IndexId nodesets_by_controller_;
  Store<api::LoginSet>::IndexId loginsets_by_controller_;
  Store<api::RestApi>::IndexId restapis_by_controller_;
  Store<api::Controller>::IndexId controllers_by_accounting_;
  Store<api::Controller>::IndexId controllers_by_use_;
  Store<kube::Pod>::IndexId pods_by_owner_;
  Store<kube::Pod>::IndexId pods_by_node_;
  Store<kube::Pod>::IndexId pods_by_claim_;
  Store<kube::Pod>::IndexId pods_by_slurm_node_;
  Store<kube::ControllerRevision>::IndexId revisions_by_owner_;
  Store<kube::ConfigMap>::IndexId config_maps_by_owner_;
};

}  // namespace mainspring::op
