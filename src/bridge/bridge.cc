#include "bridge/bridge.h"

#include <utility>

#include "bridge/nodes/node_sync.h"
#include "bridge/nodes/tenants.h"
#include "bridge/sync/gang_sync.h"

namespace mainspring::bridge {

slurm::GovernorOptions slurm_budget() {
  slurm::GovernorOptions budget;
  budget.most_per_second = 600;
  return budget;
}

struct Bridge::Parts {
  Parts(control::Manager& manager, slurm::Connection& slurm, BridgeOptions options)
      : world(manager, slurm, std::move(options)),
        tenants(world),
        nodes(world, tenants),
        gangs(world, tenants) {}

  World world;
  Tenants tenants;
  NodeSync nodes;
  GangSync gangs;
};

Bridge::Bridge(control::Manager& manager, slurm::Connection& slurm, BridgeOptions options)
    : parts_(std::make_unique<Parts>(manager, slurm, std::move(options))) {
  manager.add_work("slurm", control::Manager::When::kAlways,
                   [&cache = slurm.cache()] { return cache.run(); });
  manager.on_takeover([&cache = slurm.cache()] { cache.renew(); });
}

Bridge::~Bridge() = default;

}  // namespace mainspring::bridge
