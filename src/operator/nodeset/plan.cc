#include "operator/nodeset/plan.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "operator/nodeset/cordon.h"
#include "operator/nodeset/draft.h"

namespace mainspring::op {

namespace {

using Life = Draft::Life;

Draft::Entry entry_of(const NodeSetView& view, const WorkerView& worker) {
  const kube::Pod& pod = *worker.pod;
  Draft::Entry entry{.worker = &worker, .order = deletability(view.nodeset, worker)};
  if (pod.meta.deleting()) {
    entry.life = Life::kTerminating;
  } else if (pod.terminal()) {
    entry.life = Life::kEnded;
  }
  entry.fits_mode = scaling_mode_of(view.nodeset, pod) == view.nodeset.spec.scaling_mode;
  entry.available = is_available(view.nodeset, pod, view.now);
  return entry;
}

Draft draft_of(const NodeSetView& view) {
  Draft draft{.view = view};
  draft.entries.reserve(view.workers.size());
  for (const WorkerView& worker : view.workers) draft.entries.push_back(entry_of(view, worker));
  std::sort(draft.entries.begin(), draft.entries.end(),
            [](const auto& a, const auto& b) { return a.order < b.order; });
  return draft;
}

bool is_pending(const kube::Pod& pod) {
  const kube::PodPhase phase = pod.status.phase;
  return phase == kube::PodPhase::kPending || phase == kube::PodPhase::kNone;
}

// A kubelet names the containers of a pod before it makes the first. Until it has spoken, a pod
// that was given to a node may run there unseen.
bool never_ran(const kube::Pod& pod) {
  const kube::PodStatus& status = pod.status;
  if (!is_pending(pod)) return false;
  if (pod.node_name.empty()) return true;
  const auto was_made = [](const kube::ContainerStatus& container) {
    return container.has_id || container.restarts > 0 ||
           container.state == kube::ContainerState::kRunning ||
           container.state == kube::ContainerState::kTerminated;
  };
  return !status.containers.empty() &&
         std::none_of(status.containers.begin(), status.containers.end(), was_made) &&
         std::none_of(status.init_containers.begin(), status.init_containers.end(), was_made);
}

// While nothing is known of Slurm, nobody new is condemned: what drains goes on draining.
bool may_condemn(const WorkerView& worker, std::optional<Removal::Evidence> evidence) {
  return evidence.has_value() || worker.slurm.knowledge != SlurmFacts::Knowledge::kUnknown ||
         condemns(cordon_cause(worker));
}

// slurmd registers when it starts. One that was Ready all this time and is not on the list has been
// forgotten by slurmctld and does not know it. A list without any node is believed later, so that
// somebody can bring the state back, and only of workers that were registered and idle: the jobs of
// the others go on when it is back, and with a Slurm that never knew them they may be none of ours.
bool is_unregistered(const WorkerView& worker, bool available, WallTime now) {
  constexpr Duration kPatience = seconds(60);
  constexpr Duration kEmptyPatience = minutes(2);
  if (!available) return false;
  const auto* const ready = kube::find_condition(worker.pod->status.conditions, "Ready");
  if (ready->transition == WallTime()) return false;
  const Duration ready_for = now - ready->transition;
  if (worker.slurm.knowledge == SlurmFacts::Knowledge::kAbsent) {
    return ready_for >= kPatience && worker.slurm.jobs == 0 && !works_unseen(worker) &&
           !may_have_another_name(worker);
  }
  return worker.slurm.empty_for && was_idle(*worker.pod) &&
         std::min(*worker.slurm.empty_for, ready_for) >= kEmptyPatience;
}

// A slurmd that has just started is about to be on the list.
bool is_stranger(const WorkerView& worker, WallTime now) {
  constexpr Duration kPatience = minutes(2);
  if (!may_have_another_name(worker) || works_unseen(worker)) return false;
  const auto* const ready = kube::find_condition(worker.pod->status.conditions, "Ready");
  return ready != nullptr && ready->transition != WallTime() &&
         now - ready->transition >= kPatience;
}

// The list has been without any node for longer than that of a new cluster is for a moment.
bool is_lost(const SlurmFacts& slurm) {
  constexpr Duration kPassing = seconds(30);
  return slurm.empty_for.value_or(Duration()) >= kPassing;
}

bool is_uprooted(const Draft::Entry& entry) {
  return entry.life == Life::kAlive && entry.available &&
         (entry.cause == Cause::kMisplaced || entry.cause == Cause::kHostname ||
          entry.cause == Cause::kModeSwitch);
}

Plan plan_of(Draft draft) {
  const NodeSetView& view = draft.view;
  const std::unordered_set<std::string_view> backing_off(view.backing_off.begin(),
                                                         view.backing_off.end());
  Plan plan{.create = std::move(draft.create), .held = draft.held, .desired = draft.desired};
  for (const Draft::Entry& entry : draft.entries) {
    if (entry.life == Life::kTerminating) continue;
    const WorkerView& worker = *entry.worker;
    const auto index = static_cast<std::size_t>(&worker - view.workers.data());
    const bool lost = entry.available && is_lost(worker.slurm);
    plan.lost += lost ? 1 : 0;
    if (entry.life == Life::kAlive &&
        (works_unseen(worker) || (lost && was_at_work(*worker.pod)))) {
      plan.unseen.push_back(index);
    }
    if (entry.life == Life::kAlive && is_stranger(worker, view.now)) {
      plan.strangers.push_back(index);
    }
    if (entry.life == Life::kEnded) {
      // The wait is for the one that takes its place; where none does, there is nothing to wait
      // for.
      if (entry.cause == Cause::kNone && backing_off.contains(worker.pod->meta.uid)) continue;
      plan.remove.push_back({index, entry.cause, Removal::Evidence::kEnded});
    } else if (entry.cause != Cause::kNone) {
      const auto evidence = removal_evidence(worker);
      if (!may_condemn(worker, evidence)) {
        ++plan.waiting;
        continue;
      }
      plan.condemned.push_back({index, entry.cause});
      if (evidence) plan.remove.push_back({index, entry.cause, *evidence});
    } else if (is_unregistered(worker, entry.available, view.now)) {
      plan.unregistered.push_back(index);
    }
  }
  return plan;
}

}  // namespace

void hold_back(Draft& draft) {
  constexpr std::int64_t kShare = 4;
  const std::int64_t available = std::count_if(
      draft.entries.begin(), draft.entries.end(),
      [](const Draft::Entry& entry) { return entry.life == Life::kAlive && entry.available; });
  std::int64_t left = std::max<std::int64_t>(1, available / kShare);
  for (Draft::Entry& entry : draft.entries) {
    if (!is_uprooted(entry) || left-- > 0) continue;
    entry.cause = Cause::kNone;
    entry.held = true;
    ++draft.held;
  }
}

Plan make_plan(const NodeSetView& view) {
  Draft draft = draft_of(view);
  if (view.nodeset.meta.deleting()) {
    for (Draft::Entry& entry : draft.entries) entry.cause = Cause::kDeletion;
    return plan_of(std::move(draft));
  }
  const bool daemons = view.nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet;
  // A cluster without nodes is a list that we do not have yet: nobody can say where workers belong,
  // and nothing would take the place of one that goes.
  if (daemons && view.places.empty()) {
    draft.desired = view.nodeset.status.desired;
    for (Draft::Entry& entry : draft.entries) {
      // What drains goes on draining: to let jobs in for a moment would only make it last longer.
      const Cause cordon = cordon_cause(*entry.worker);
      if (entry.life == Life::kAlive && condemns(cordon)) entry.cause = cordon;
    }
    return plan_of(std::move(draft));
  }
  for (Draft::Entry& entry : draft.entries) {
    if (!entry.fits_mode) entry.cause = Cause::kModeSwitch;
  }
  if (daemons) {
    plan_daemons(draft);
  } else {
    plan_replicas(draft);
  }
  plan_update(draft);
  return plan_of(std::move(draft));
}

std::optional<Removal::Evidence> removal_evidence(const WorkerView& worker) {
  using Evidence = Removal::Evidence;
  const SlurmFacts& slurm = worker.slurm;
  if (worker.pod->terminal()) return Evidence::kEnded;
  // What runs under its name is another's: it has no node to run anything on, and its deletion is
  // refused if it has been given one since.
  if (is_pending(*worker.pod) && worker.pod->node_name.empty()) return Evidence::kNeverRan;
  // Also of a pod that seems not to have started: then one of the two is mistaken.
  if (slurm.has_jobs()) return std::nullopt;
  if (never_ran(*worker.pod)) return Evidence::kNeverRan;
  // What the node says leaves out suspended jobs.
  if (!slurm.jobs) return std::nullopt;
  switch (slurm.knowledge) {
    case SlurmFacts::Knowledge::kUnknown:
      return std::nullopt;
    case SlurmFacts::Knowledge::kAbsent:
      if (works_unseen(worker) || may_have_another_name(worker)) return std::nullopt;
      return Evidence::kAbsent;
    case SlurmFacts::Knowledge::kPresent:
      break;
  }
  const slurm::NodeState state = slurm.node->state;
  const bool stays_drained = !state.has(slurm::NodeState::Flag::kUndrain);
  return state.is_drained() && stays_drained ? std::optional(Evidence::kDrained) : std::nullopt;
}

bool is_available(const api::NodeSet& nodeset, const kube::Pod& pod, WallTime now) {
  if (pod.status.phase != kube::PodPhase::kRunning || !pod.ready()) return false;
  const Duration wait = seconds(nodeset.spec.min_ready_seconds);
  if (wait <= Duration::zero()) return true;
  const WallTime since = kube::find_condition(pod.status.conditions, "Ready")->transition;
  return since != WallTime() && now - since >= wait;
}

}  // namespace mainspring::op
