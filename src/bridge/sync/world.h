// bridge/sync/world.h
//
// World: what every part of the bridge shares: the caches of what exists, the way to write, and the
// Slurm cluster. Made once by the app on the control loop; outlives the controllers.
//
// What needs Slurm's answer and what needs only Kubernetes are controllers of their own, so that
// neither waits for the other. Nothing is written where the caches show that it is so already.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/store.h"
#include "bridge/config.h"
#include "bridge/nodes/daemons.h"
#include "bridge/nodes/lodgers.h"
#include "control/manager.h"
#include "kube/core_objects.h"
#include "kube/devices.h"
#include "kube/node.h"
#include "kube/pod.h"
#include "slurm/connection.h"

namespace mainspring::bridge {

struct BridgeOptions {
  BridgeConfig config;
  std::size_t workers = 64;  // Gangs that are worked on at once.
  // Pods deleted a minute because Slurm ended their jobs.
  int deletions_per_minute = 2000;
  // Of all jobs with pods at work those that are ended in a minute because Slurm ended them or
  // their nodes are lost; a few always.
  int ended_percent = 10;
  Metrics* metrics = nullptr;
  Logger log;
};

class World {
 public:
  // All must outlive it. Asks the manager for all stores.
  World(control::Manager& manager, slurm::Connection& slurm, BridgeOptions options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  control::Manager& manager;
  kube::Client& kube;
  slurm::Client& slurm;
  slurm::Cache& cache;
  const BridgeOptions options;
  const BridgeConfig& config;
  Logger log;

  Store<kube::Pod>& pods;  // Those with our scheduler's name.
  Store<kube::Node>& nodes;
  Store<kube::Namespace>& system;  // kube-system alone.
  // Both empty where Kubernetes is too old for them.
  Store<kube::ResourceSlice>& slices;
  Store<kube::ResourceClaim>& claims;
  Store<Daemon>& daemons;  // All DaemonSets.
  Store<Lodger>& lodgers;  // Of others' pods on nodes those that can be in our way.

  // Which Kubernetes this is, among several that share one Slurm: the UID of kube-system. Empty
  // where we may not read it; then nothing can be asked of Slurm, for nobody could say whose it is.
  std::string cluster_id() const;

  // What Slurm calls a node: its label, else its own name.
  static std::string slurm_name(const kube::Node& node);
  // The other way round; null where there is none.
  std::shared_ptr<const kube::Node> kube_node(std::string_view slurm_name) const;
  // Our pods that have this node and are not over, and others'. Valid until the next change of the
  // store.
  const std::vector<std::shared_ptr<const kube::Pod>>& pods_on(std::string_view node) const;
  const std::vector<std::shared_ptr<const Lodger>>& lodgers_on(std::string_view node) const;
  // What is published of a node's own devices. Valid until the next change of the store.
  const std::vector<std::shared_ptr<const kube::ResourceSlice>>& slices_of(
      std::string_view node) const;

 private:
  Store<kube::Pod>::IndexId pods_by_node_;
  Store<Lodger>::IndexId lodgers_by_node_;
  Store<kube::Node>::IndexId by_slurm_name_;
  Store<kube::ResourceSlice>::IndexId slices_by_node_;
};

}  // namespace mainspring::bridge
