// What GangSync does where Slurm gave it a node that somebody's containers have not left yet: it
// waits for their end, which the kubelet bounds, and says so.
#include <fmt/format.h>

#include <utility>

#include "bridge/sync/gang_sync.h"

namespace mainspring::bridge {

// "" where all nodes are free for the pods that are about to be bound there.
Task<Result<std::string>> GangSync::why_not_free(JobPtr job, Pods unbound,
                                                 std::map<std::string, std::string> node_of) {
  std::set<std::string> names;
  for (const PodPtr& pod : unbound) {
    const std::string& node = node_of.at(pod->meta.uid);
    names.insert(node);
    // First of all, so that of several who come at once each sees the others.
    recent_.give(pod, job->id, node);
  }
  for (const std::string& name : names) {
    auto node = world_.nodes.get({}, name);
    if (!node) co_return fmt::format("node {} is gone", name);
    auto unseen = recent_.unseen_on(name, world_.manager.executor().now());
    MS_CO_TRY(const slurm::JobId other,
              co_await tenants_.in_the_way({job, std::move(node), std::move(unseen)}));
    if (!other) continue;
    co_return fmt::format(
        "Slurm gave job {} the node {}, where containers of job {} are still at work; waiting for "
        "their end",
        job->id.text(), name, other.text());
  }
  co_return std::string();
}

}  // namespace mainspring::bridge
