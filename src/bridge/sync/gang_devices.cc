// What GangSync does about devices: promises before pods are bound, and claims that end with them.
#include <algorithm>
#include <utility>

#include "bridge/sync/gang_sync.h"

namespace mainspring::bridge {

using control::EventType;
using control::Requeue;

// A driver that restarts publishes its devices anew, and the claims of pods that have just ended
// are on their way out: so it is tried for a while.
Task<Result<std::optional<Requeue>>> GangSync::promise_devices(JobPtr job, Pods unbound, Pods bound,
                                                               NodeOf node_of) {
  const auto parts = submission_.parts_of(*job);
  const auto members = by_part(*job, unbound);
  Result<void> promised;
  for (std::size_t i = 0; promised && i < parts.size(); ++i) {
    std::vector<DeviceClaims::Placed> placed;
    placed.reserve(members[i].size());
    for (const std::size_t pod : members[i]) {
      placed.push_back({unbound[pod], node_of.at(unbound[pod]->meta.uid)});
    }
    promised = co_await devices_.promise(parts[i], std::move(placed));
  }
  if (promised) co_return std::optional<Requeue>();
  const Error error = std::move(promised).error();
  if (is_uncertain(error) || error.code() == Code::kThrottled) co_return fail(error);
  tell(unbound, EventType::kWarning, "DevicesNotClaimed", error.to_string());
  MS_CO_CHECK(co_await show(unbound, error.to_string()));
  MS_CO_TRY(const Requeue next,
            co_await cannot_bind(job->id, std::move(unbound), std::move(bound), error));
  co_return std::optional(next);
}

Task<Result<void>> GangSync::release_devices(Pods pods) {
  std::erase_if(pods, [this](const PodPtr& pod) { return !devices_.has_any(*pod); });
  co_return co_await for_all(std::move(pods),
                             [this](PodPtr pod) { return devices_.release(std::move(pod)); });
}

}  // namespace mainspring::bridge
