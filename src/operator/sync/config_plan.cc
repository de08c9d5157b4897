#include "operator/sync/config_plan.h"

namespace mainspring::op {
namespace {

constexpr std::string_view kUnproven =
    "slurmctld has started anew after the files came into its pod; that it has read them shows "
    "only where slurm.conf itself changed, and from REST API v0.0.45 on";
// It sees to it and does not give up.
constexpr std::string_view kBySidecar =
    "the reconfigure sidecar has slurmctld take it up; without a RestApi nobody can see when";

bool must_restart(const ConfigFacts& facts) {
  return !facts.in_place && !facts.live_restart.empty() && facts.live_restart != facts.restart;
}

// Whether the files should come by a rollout, decided once for each hash.
bool by_rollout(const ConfigFacts& facts) {
  if (!facts.exists || must_restart(facts)) return true;
  const bool new_files = facts.before.hash != facts.hash;
  // Nobody there to be asked: a restart is the only way. Not at the first contact with a slurmctld
  // that another operator started, which must not restart for our sake.
  if (new_files && !facts.before.hash.empty() && !facts.has_rest && !facts.in_place) return true;
  return !new_files && facts.before.method == kByRollout;
}

std::string annotation(const ConfigFacts& facts, bool rollout) {
  if (facts.in_place) return {};
  if (!facts.exists || facts.live_annotation.empty() || must_restart(facts)) return facts.hash;
  // A rollout that is under way, or is over, has its hash in the template already.
  const bool decided = facts.before.hash == facts.hash && facts.before.method == kByRollout;
  return rollout && !decided ? facts.hash : facts.live_annotation;
}

void settle(api::ConfigStatus& status, WallTime at) {
  status.state = kApplied;
  status.applied_at = at;
  status.message.clear();
}

}  // namespace

ConfigPlan plan_config(const ConfigFacts& facts) {
  const bool rollout = by_rollout(facts);
  ConfigPlan plan{annotation(facts, rollout), facts.before};
  api::ConfigStatus& status = plan.status;
  const bool same = facts.before.hash == facts.hash && facts.before.state != kRejected &&
                    !must_restart(facts) && facts.exists;
  if (same && status.state == kApplied) return plan;
  if (!same) {
    status = {.hash = facts.hash,
              .method = std::string(rollout ? kByRollout : kByReconfigure),
              .state = std::string(kPending),
              .applied_at = facts.before.applied_at,
              .message = {}};
    if (facts.as_found && facts.before.hash.empty() && !must_restart(facts)) {
      settle(status, facts.now);
      return plan;
    }
  }
  status.method = rollout ? kByRollout : kByReconfigure;
  if (rollout) {
    status.message = "slurmctld restarts with it";
    if (facts.exists && facts.rolled_out && facts.live_annotation == plan.annotation) {
      settle(status, facts.now);
    }
    return plan;
  }
  status.message = facts.trouble.empty() ? "slurmctld is about to take it up" : facts.trouble;
  if (!facts.has_rest) status.message = "without a RestApi slurmctld takes it up when it restarts";
  if (facts.in_place && !facts.has_rest) {
    settle(status, facts.now);
    status.message = kBySidecar;
  }
  if (facts.reconfigured) {
    settle(status, *facts.reconfigured);
    if (!facts.proven) status.message = kUnproven;
  }
  return plan;
}

}  // namespace mainspring::op
