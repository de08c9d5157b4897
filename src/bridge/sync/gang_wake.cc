// What nodes mean for gangs: one that is lost ends its pods, one that is new, has changed or has
// more room may suit pods that wait. Part of GangSync.
#include <algorithm>

#include "bridge/sync/gang_sync.h"
#include "net/wait.h"

namespace mainspring::bridge {

using control::Key;

namespace {

// What placement looks at. Heartbeats and conditions are no news for those that wait.
bool suits_others(const kube::Node* before, const kube::Node* after) {
  if (after == nullptr) return false;
  return before == nullptr || before->meta.labels != after->meta.labels ||
         before->taints != after->taints || before->allocatable != after->allocatable;
}

bool is_elsewhere(const slurm::Node* before, const slurm::Node* after) {
  if (after == nullptr) return false;
  return before == nullptr || before->partitions != after->partitions;
}

}  // namespace

void GangSync::watch_nodes(control::Controller& queue) {
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    if (suits_others(before.get(), after.get())) wake_waiting();
    // Pods on a node that is lost are over; of one that is not there it is found out whether it is.
    const auto lasts = [](const auto& node) { return node && !is_out_of_service(*node); };
    if (lasts(before) == lasts(after)) return;
    for (const PodPtr& pod : world_.pods_on((before ? *before : *after).meta.name)) {
      queue.enqueue(Key{pod->meta.ns, gang_of(*pod).id()});
    }
  });
  world_.lodgers.add_handler([this](const auto& before, const auto&) {
    if (before) room_was_made();
  });
  world_.daemons.add_handler([this](const auto& before, const auto&) {
    if (before) room_was_made();
  });
  world_.cache.nodes().add_handler([this](const auto& before, const auto& after) {
    if (is_elsewhere(before.get(), after.get())) wake_waiting();
  });
}

// Of what a kubelet counts and Slurm does not.
void GangSync::room_was_made() {
  if (crowded_) wake_waiting();
}

void GangSync::wake_waiting() {
  if (std::exchange(waking_, true)) return;
  tasks_.spawn(wake_soon());
}

// Nodes come in numbers and change in several steps; the more gangs wait, the less often all of
// them are looked at.
Task<Result<void>> GangSync::wake_soon() {
  constexpr Duration kEach = milliseconds(5);
  const auto waiting = static_cast<Duration::rep>(queue_->queue().delayed());
  MS_CO_CHECK(co_await net::sleep(std::max<Duration>(seconds(1), kEach * waiting)));
  waking_ = crowded_ = false;
  world_.pods.for_each([this](const PodPtr& pod) {
    if (stage(*pod) == PodStage::kWaiting) queue_->enqueue(Key{pod->meta.ns, gang_of(*pod).id()});
  });
  co_return Result<void>();
}

}  // namespace mainspring::bridge
