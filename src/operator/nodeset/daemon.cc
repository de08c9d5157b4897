// operator/nodeset/daemon.cc
//
// DaemonSet mode: one worker on each Kubernetes node that fits.
#include <algorithm>
#include <unordered_map>

#include "api/names.h"
#include "operator/build/worker.h"
#include "operator/nodeset/draft.h"

namespace mainspring::op {

namespace {

using Life = Draft::Life;

// Where the pod is, or where it alone may go.
std::string_view target_node(const kube::Pod& pod) {
  if (!pod.node_name.empty()) return pod.node_name;
  const auto& affinity = pod.spec->affinity;
  if (!affinity || !affinity->node.required) return {};
  for (const kube::NodeSelectorTerm& term : affinity->node.required->terms) {
    for (const kube::NodeFieldRequirement& field : term.fields) {
      if (field.field == "metadata.name" && field.equal) return field.value;
    }
  }
  return {};
}

// A node renamed for Slurm gets a new worker; a pod that never said its name is left alone.
bool has_other_hostname(const kube::Pod& pod, std::string_view wanted) {
  const auto label = pod.meta.labels.find(api::label::kPodHostname);
  const std::string_view name = label && !label->empty() ? *label : pod.hostname.view();
  return !name.empty() && name != wanted;
}

struct Site {
  const Place* place = nullptr;  // Null where the node is gone.
  std::vector<Draft::Entry*> pods;
};

// The one of several that stays: jobs run on the oldest that works.
Draft::Entry* keeper(const Site& site) {
  Draft::Entry* best = nullptr;
  const auto rank = [](const Draft::Entry& entry) {
    const kube::Pod& pod = *entry.worker->pod;
    const bool healthy = pod.status.phase == kube::PodPhase::kRunning && pod.ready();
    return std::tuple(!healthy, pod.meta.created, std::string_view(pod.meta.name));
  };
  for (Draft::Entry* entry : site.pods) {
    if (entry->kept() && (best == nullptr || rank(*entry) < rank(*best))) best = entry;
  }
  return best;
}

void judge(const Draft& draft, const Site& site) {
  const auto condemn = [&](Cause cause, auto&& applies) {
    for (Draft::Entry* entry : site.pods) {
      if (entry->cause == Cause::kNone && applies(*entry)) entry->cause = cause;
    }
  };
  if (site.place == nullptr || !site.place->should_continue) {
    condemn(Cause::kMisplaced, [](const Draft::Entry&) { return true; });
    return;
  }
  const std::string hostname = build::worker_hostname(
      draft.view.nodeset, {.ordinal = std::nullopt, .node = site.place->node.get()});
  // An override that is none renames nobody: a slip must not cost a worker that has its name.
  const bool renamed = build::refused_hostname(*site.place->node).empty();
  condemn(Cause::kHostname, [&](const Draft::Entry& entry) {
    return renamed && has_other_hostname(*entry.worker->pod, hostname);
  });
  const Draft::Entry* const kept = keeper(site);
  condemn(Cause::kDuplicate,
          [&](const Draft::Entry& entry) { return entry.life == Life::kAlive && &entry != kept; });
}

}  // namespace

void plan_daemons(Draft& draft) {
  std::unordered_map<std::string_view, Site> sites;
  sites.reserve(draft.view.places.size());
  for (const Place& place : draft.view.places) sites[place.node->meta.name].place = &place;
  for (Draft::Entry& entry : draft.entries) {
    if (entry.fits_mode) sites[target_node(*entry.worker->pod)].pods.push_back(&entry);
  }
  for (const auto& [name, site] : sites) judge(draft, site);
  hold_back(draft);
  for (const auto& [name, site] : sites) {
    const bool wanted = site.place != nullptr && site.place->should_run;
    const bool used = std::any_of(site.pods.begin(), site.pods.end(),
                                  [](const Draft::Entry* entry) { return entry->kept(); });
    draft.desired += wanted ? 1 : 0;
    draft.slots += wanted || used ? 1 : 0;
    // Two workers of one name would fight over it, so the last one must be gone, not just going.
    if (wanted && site.pods.empty()) draft.create.push_back({std::nullopt, site.place->node});
  }
  std::sort(draft.create.begin(), draft.create.end(), [](const Creation& a, const Creation& b) {
    return a.node->meta.name < b.node->meta.name;
  });
}

}  // namespace mainspring::op
