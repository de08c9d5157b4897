// bridge/bridge.h
//
// The whole bridge: the scheduler and what keeps pods, jobs and nodes in step, on a Manager that
// runs it. Made by the app, and by simulations on virtual time. Must outlive the manager's run().
#pragma once

#include <memory>

#include "bridge/sync/world.h"

namespace mainspring::bridge {

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
