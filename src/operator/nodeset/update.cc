// operator/nodeset/update.cc
//
// Bringing pods of an older revision up to date, by the NodeSet's update strategy.
#include <algorithm>

#include "api/names.h"
#include "operator/nodeset/draft.h"
#include "operator/nodeset/reservation.h"

namespace mainspring::op {

namespace {

// A pod without the note was made by others, or before there was one; nothing is known of it.
bool was_made_with_another(const kube::Pod& pod, std::string_view note, const std::string& now) {
  const auto then = pod.meta.annotations.find(note);
  return then && !now.empty() && *then != now;
}

// slurmctld and slurmd with different keys do not believe each other, and slurmd reads its own only
// when it starts. An sssd.conf is mounted by its name alone, and such a file never changes in a
// pod.
bool has_old_files(const NodeSetView& view, const kube::Pod& pod) {
  using namespace api::annotation;
  return was_made_with_another(pod, kSlurmKeyHash, view.slurm_key_hash) ||
         was_made_with_another(pod, kSssdConfHash, view.sssd_conf_hash);
}

bool is_old(const NodeSetView& view, const kube::Pod& pod) {
  return has_old_files(view, pod) ||
         pod.meta.labels.find(api::label::kRevision) != view.revision_hash;
}

bool is_old(const Draft& draft, const Draft::Entry& entry) {
  // One that is held goes in its turn, and what it is of does not make that sooner.
  return entry.kept() && !entry.held && is_old(draft.view, *entry.worker->pod);
}

bool works(const Draft::Entry& entry) {
  const kube::Pod& pod = *entry.worker->pod;
  return pod.status.phase == kube::PodPhase::kRunning && pod.ready();
}

// Nothing is lost with them, and the new revision may be what cures them.
void replace_broken(Draft& draft) {
  for (Draft::Entry& entry : draft.entries) {
    if (is_old(draft, entry) && !works(entry)) entry.cause = Cause::kUpdate;
  }
}

// So many as may be missing at once, less those that are missing already for whatever reason: not
// yet started, not Ready for long enough, or about to be replaced as broken. Pods condemned here
// earlier are counted and chosen anew, so their number never adds up over time.
std::int64_t budget(const Draft& draft) {
  const auto available =
      std::count_if(draft.entries.begin(), draft.entries.end(),
                    [](const Draft::Entry& entry) { return entry.kept() && entry.available; });
  return draft.view.nodeset.spec.max_unavailable.of(draft.slots) - (draft.slots - available);
}

void roll(Draft& draft) {
  std::int64_t left = budget(draft);
  for (Draft::Entry& entry : draft.entries) {
    if (left <= 0) return;
    if (!is_old(draft, entry)) continue;
    entry.cause = Cause::kUpdate;
    --left;
  }
}

void replace_in_maintenance(Draft& draft) {
  const std::string ours = reservation_name(draft.view.nodeset.meta.name);
  for (Draft::Entry& entry : draft.entries) {
    const SlurmFacts& slurm = entry.worker->slurm;
    if (!is_old(draft, entry) || !slurm.present()) continue;
    const bool in_window = slurm.node->state.has(slurm::NodeState::Flag::kMaintenance) &&
                           slurm.node->reservation == ours;
    if (in_window) entry.cause = Cause::kUpdate;
  }
}

}  // namespace

bool has_old_workers(const NodeSetView& view) {
  // Without a revision to compare with, as in plan_update().
  if (view.revision_hash.empty()) return false;
  return std::any_of(view.workers.begin(), view.workers.end(), [&](const WorkerView& worker) {
    const kube::Pod& pod = *worker.pod;
    return !pod.meta.deleting() && !pod.terminal() && is_old(view, pod);
  });
}

void plan_update(Draft& draft) {
  // Without a revision to compare with, as at a take-over, no pod is known to be old.
  if (draft.view.revision_hash.empty()) return;
  switch (draft.view.nodeset.spec.update_type) {
    case api::UpdateType::kRollingUpdate:
      replace_broken(draft);
      roll(draft);
      return;
    case api::UpdateType::kScheduledUpdate:
      replace_broken(draft);
      replace_in_maintenance(draft);
      return;
    case api::UpdateType::kOnDelete:
      return;
  }
}

}  // namespace mainspring::op
