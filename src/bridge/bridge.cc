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

// A pod waits for what Slurm decides, so our own jobs are looked at closely. Of all others only
// their states matter, an array is never ours, and nobody asks how one ended that we ended.
slurm::CacheOptions slurm_following() {
  slurm::CacheOptions options;
  options.waiting_pace = milliseconds(100);
  options.owned_pace = milliseconds(200);
  options.pulse_pace = seconds(2);
  options.nodes_pace = seconds(2);
  // A node for each pod that starts and each that ends would be most of what we ask.
  options.nodes_follow_jobs = false;
  options.rest_pace = seconds(30);
  options.share = 0.25;
  // Ten thousand jobs in the queue must not slow down ours: their states are no news for long.
  options.pulse_share = 0.05;
  options.savings = minutes(5);
  options.stale_after = seconds(30);
  // The bridge has an index of its own, which knows whom to believe.
  options.admin_comment_keys = [](std::string_view, std::vector<std::string>&) {};
  options.cares_about = [](const slurm::JobPulse& job) {
    return !job.is_array && !job.state.has_ended();
  };
  return options;
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
