#include "operator/sync/worker_metrics.h"

#include <fmt/format.h>

namespace mainspring::op {
namespace {

using Kind = SlurmAction::Kind;

// Seconds: of an idle node, of short jobs, and of those that take a day or a week.
const std::vector<double> kDrainTimes = {1, 10, 60, 600, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600};

std::string name_of(const kube::Meta& meta) { return fmt::format("{}/{}", meta.ns, meta.name); }

}  // namespace

WorkerMetrics::WorkerMetrics(World& world) : metrics_(world.options.metrics), clock_(world.clock) {
  if (metrics_ == nullptr) return;
  drains_ = metrics_->histogram(
      "mainspring_drain_seconds",
      "From when the operator had Slurm drain a worker to when no job was left on it.",
      kDrainTimes);
  world.pods.add_handler([this](const auto& before, const auto& after) {
    if (before && !after) asked_.erase(before->meta.uid);
  });
  // A series cannot be taken back; nobody is left in any state.
  world.nodesets.add_handler([this](const auto& before, const auto& after) {
    if (!before || after) return;
    const auto found = states_.find(name_of(before->meta));
    if (found == states_.end()) return;
    for (const Gauge& state : found->second) state.set(0);
    states_.erase(found);
  });
}

void WorkerMetrics::count(const api::NodeSet& nodeset, const Counters& counters) {
  if (metrics_ == nullptr) return;
  const auto [entry, is_new] = states_.try_emplace(name_of(nodeset.meta));
  if (is_new) {
    constexpr const char* kStates[] = {"idle", "allocated", "down", "drain"};
    for (std::size_t i = 0; i < entry->second.size(); ++i) {
      entry->second[i] = metrics_->gauge(
          "mainspring_nodeset_slurm_nodes",
          "Slurm nodes of a NodeSet's workers; those that drain are "
          "in another state, too.",
          {{"namespace", nodeset.meta.ns}, {"nodeset", nodeset.meta.name}, {"state", kStates[i]}});
    }
  }
  const States& states = entry->second;
  states[0].set(counters.slurm_idle);
  states[1].set(counters.slurm_allocated);
  states[2].set(counters.slurm_down);
  states[3].set(counters.slurm_drain);
}

void WorkerMetrics::told(const WorkerView& worker, Kind kind) {
  if (metrics_ == nullptr || kind == Kind::kNone) return;
  const std::string& uid = worker.pod->meta.uid;
  if (kind != Kind::kDrain) {
    asked_.erase(uid);
  } else if (!worker.slurm.node->state.has(slurm::NodeState::Flag::kDrain)) {
    asked_.emplace(uid, clock_.now());
  }
}

void WorkerMetrics::look_at(const NodeSetView& view) {
  if (asked_.empty()) return;
  for (const WorkerView& worker : view.workers) {
    if (!worker.slurm.present() || !worker.slurm.node->state.is_drained()) continue;
    const auto asked = asked_.find(worker.pod->meta.uid);
    if (asked == asked_.end()) continue;
    const std::chrono::duration<double> took = clock_.now() - asked->second;
    drains_.observe(took.count());
    asked_.erase(asked);
  }
}

}  // namespace mainspring::op
