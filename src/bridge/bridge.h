// bridge/bridge.h
//
// The whole bridge: the scheduler and what keeps pods, jobs and nodes in step, on a Manager that
// runs it. Made by the app, and by simulations on virtual time. Must outlive the manager's run().
#pragma once

#include <memory>

#include "bridge/sync/world.h"

namespace mainspring::bridge {

// Of what the connection may ask of Slurm: a pod is two calls until it is bound, and thousands may
// come at once. What a busy slurmctld feels is how many calls are under way, and those are as few
// as ever; where its answers get slow, both become less.
slurm::GovernorOptions slurm_budget();
// How the connection's cache is to follow Slurm. Without log and metrics, which are the process's.
slurm::CacheOptions slurm_following();

class Bridge {
 public:
  // Both must outlive it. Runs the connection's cache.
  Bridge(control::Manager& manager, slurm::Connection& slurm, BridgeOptions options);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mainspring::bridge
