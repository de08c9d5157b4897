// operator/nodeset/plan_rules_testing.h
//
// What must be true of every plan, whatever it was made of. For property tests.
#pragma once

#include <rapidcheck.h>

#include <set>
#include <string>
#include <vector>

#include "operator/nodeset/cordon.h"
#include "operator/nodeset/plan.h"
#include "operator/nodeset/worker_testing.h"

namespace mainspring::op {

inline bool is_alive(const WorkerView& worker) {
  return !worker.pod->meta.deleting() && !worker.pod->terminal();
}

// The rules that keep other people's jobs alive.
inline void expect_harmless(const NodeSetView& view, const Plan& plan) {
  std::set<std::size_t> condemned;
  for (const auto& [index, cause] : plan.condemned) {
    RC_ASSERT(condemns(cause));
    RC_ASSERT(condemned.insert(index).second);
    RC_ASSERT(is_alive(view.workers[index]));
  }
  for (const auto& [index, cause, evidence] : plan.remove) {
    const WorkerView& worker = view.workers[index];
    RC_ASSERT(!worker.pod->meta.deleting());
    if (worker.pod->terminal()) continue;
    RC_ASSERT(condemned.contains(index));
    const bool ran = worker.pod->status.phase == kube::PodPhase::kRunning;
    RC_ASSERT(!(ran && worker.slurm.knowledge == SlurmFacts::Knowledge::kUnknown));
    RC_ASSERT(!(ran && works_unseen(worker)));
    RC_ASSERT(!ran || worker.slurm.jobs == 0);
    RC_ASSERT(!(ran && may_have_another_name(worker)));
    // What runs under the name of a pod without a node is another's.
    if (!worker.slurm.present() || worker.pod->node_name.empty()) continue;
    RC_ASSERT(!worker.slurm.node->state.is_busy());
    RC_ASSERT(!ran || worker.slurm.node->state.is_drained());
  }
  for (const std::size_t index : plan.unregistered)
    RC_ASSERT(!was_at_work(*view.workers[index].pod));
  std::set<std::uint32_t> ordinals;
  for (const WorkerView& worker : view.workers) {
    if (const auto ordinal = ordinal_of(view.nodeset, *worker.pod)) ordinals.insert(*ordinal);
  }
  for (const Creation& one : plan.create) {
    RC_ASSERT(one.ordinal.has_value() != (one.node != nullptr));
    if (one.ordinal) RC_ASSERT(ordinals.insert(*one.ordinal).second);
  }
}

// A rolling update takes no pod that works once as many are missing as may be.
inline void expect_within_budget(const NodeSetView& view, const Plan& plan) {
  const api::NodeSetSpec& spec = view.nodeset.spec;
  if (spec.update_type != api::UpdateType::kRollingUpdate || view.nodeset.meta.deleting()) return;
  std::vector<bool> going(view.workers.size());
  bool takes_working = false;
  for (const auto& [index, cause] : plan.condemned) {
    going[index] = true;
    const kube::Pod& pod = *view.workers[index].pod;
    takes_working |=
        cause == Cause::kUpdate && pod.status.phase == kube::PodPhase::kRunning && pod.ready();
  }
  if (!takes_working) return;
  std::int32_t staying = 0;
  for (std::size_t i = 0; i < view.workers.size(); ++i) {
    const kube::Pod& pod = *view.workers[i].pod;
    const bool counts = is_alive(view.workers[i]) && !going[i] &&
                        scaling_mode_of(view.nodeset, pod) == spec.scaling_mode;
    staying += counts && is_available(view.nodeset, pod, view.now);
  }
  const std::int32_t wanted = plan.desired;
  RC_ASSERT(wanted - staying <= spec.max_unavailable.of(wanted));
}

// By name, since indexes change with the order.
inline std::multiset<std::string> told(const NodeSetView& view, const Plan& plan) {
  std::multiset<std::string> out;
  const auto name = [&](std::size_t index) { return view.workers[index].pod->meta.name; };
  for (const Creation& one : plan.create) {
    out.insert("create " + (one.node ? one.node->meta.name : std::to_string(*one.ordinal)));
  }
  for (const auto& one : plan.condemned) {
    out.insert(std::string(to_string(one.cause)) + " " + name(one.worker));
  }
  for (const auto& one : plan.remove) out.insert("remove " + name(one.worker));
  for (const std::size_t index : plan.unregistered) out.insert("register " + name(index));
  return out;
}

}  // namespace mainspring::op
