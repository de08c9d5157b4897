// operator/sync/worker_metrics.h
//
// What Prometheus is told of workers: how many Slurm nodes of each NodeSet are in which state, and
// how long drains take. Fed with what is computed anyway; asks nobody. Owned by NodeSetWorld; lives
// on the control loop.
#pragma once

#include <array>
#include <map>
#include <string>
#include <unordered_map>

#include "base/metrics.h"
#include "operator/nodeset/cordon.h"
#include "operator/nodeset/plan.h"
#include "operator/nodeset/projection.h"
#include "operator/sync/world.h"

namespace mainspring::op {

class WorkerMetrics {
 public:
  explicit WorkerMetrics(World& world);

  // As the status has them.
  void count(const api::NodeSet& nodeset, const Counters& counters);

  // Slurm has done so to the worker, which is as it was before. A drain counts from the first time
  // that it is asked for until look_at() finds the node without jobs; one that is lifted counts
  // not at all.
  void told(const WorkerView& worker, SlurmAction::Kind kind);
  void look_at(const NodeSetView& view);

 private:
  using States = std::array<Gauge, 4>;

  Metrics* const metrics_;
  const Clock& clock_;
  Histogram drains_;
  std::map<std::string, States, std::less<>> states_;  // By namespace/name of the NodeSet.
  std::unordered_map<std::string, TimePoint> asked_;   // By UID of the pod.
};

}  // namespace mainspring::op
