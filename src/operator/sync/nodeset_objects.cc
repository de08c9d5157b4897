// What a NodeSet has beside its pods: shared objects, revisions, and pods that it takes over.
#include <algorithm>

#include "api/names.h"
#include "control/owners.h"
#include "operator/build/worker.h"
#include "operator/sync/nodeset_sync.h"

namespace mainspring::op {
namespace {

control::ObjectRef ref(const api::NodeSet& nodeset) {
  return control::ref_to(api::NodeSet::kResource, nodeset.meta);
}

// Newest first: the one that the status names, then by number and age.
std::vector<control::Revision> newest_first(std::vector<control::Revision> history,
                                            std::string_view hash) {
  control::sort_revisions(history);
  std::reverse(history.begin(), history.end());
  std::stable_partition(history.begin(), history.end(), [&](const control::Revision& one) {
    return !hash.empty() && one->meta.labels.find(control::kRevisionHashLabel) == hash;
  });
  return history;
}

}  // namespace

Task<Result<void>> NodeSetSync::shared_objects(NodeSetPtr nodeset, ControllerPtr controller) {
  const std::string ns = nodeset->meta.ns;
  build::NodeSets all;
  for (const auto& one : world_.nodesets_of(controller->meta.key())) {
    if (!one->meta.deleting()) all.push_back(one);
  }
  const std::string service = api::workers_service_name(controller->meta.name);
  const auto served =
      co_await ensure(&world_, ref(*nodeset), kube::Service::kResource,
                      build::workers_service(*controller, all), seen(world_.services, ns, service));
  const auto protects = co_await disruption_budget(nodeset, build::workers_pdb(*controller, all),
                                                   api::workers_pdb_name(controller->meta.name));
  if (auto config = build::worker_ssh_config(*nodeset)) {
    MS_CO_CHECK(
        co_await ensure(&world_, ref(*nodeset), kube::ConfigMap::kResource, *std::move(config),
                        seen(world_.config_maps, ns, api::ssh_config_name(nodeset->meta.name))));
  }
  MS_CO_CHECK(served);
  co_return protects;
}

Task<Result<void>> NodeSetSync::disruption_budget(NodeSetPtr nodeset, json::Value desired,
                                                  std::string name) {
  const std::string ns = nodeset->meta.ns;
  MS_CO_CHECK(co_await remove_upstream_budget(ns, name));
  MS_CO_CHECK(co_await ensure(&world_, ref(*nodeset), kube::PodDisruptionBudget::kResource,
                              std::move(desired), seen(world_.budgets, ns, name)));
  co_return Result<void>();
}

// Only one of minAvailable and maxUnavailable may be set, and what another manager has set an apply
// of ours cannot take away.
Task<Result<void>> NodeSetSync::remove_upstream_budget(std::string ns, std::string name) {
  const auto live = world_.budgets.get(ns, name);
  if (!live || live->max_unavailable.empty()) co_return Result<void>();
  json::Value body = json::Value::object();
  body["spec"]["maxUnavailable"] = nullptr;
  body["spec"]["minAvailable"] = 2147483647;
  const kube::RawApi api(world_.client, kube::PodDisruptionBudget::kResource, ns);
  MS_CO_CHECK(co_await api.patch(name, {kube::PatchKind::kMerge, std::move(body)}, {}));
  co_return Result<void>();
}

Task<Result<void>> NodeSetSync::adopt(NodeSetPtr nodeset) {
  const auto& orphans = world_.orphan_pods(nodeset->meta.ns, nodeset->meta.name);
  if (orphans.empty()) co_return Result<void>();
  control::Claimant claimant{
      api::NodeSet::kResource, nodeset->meta,
      [nodeset](const kube::Meta& pod) {
        kube::Pod named;
        named.meta = pod;
        return pod.labels.find(api::label::kName) == api::app::kWorker &&
               (pod.labels.contains(api::label::kScalingMode) || ordinal_of(*nodeset, named));
      },
      "mainspring"};
  MS_CO_CHECK(co_await control::claim<kube::Pod>(&world_.client, std::move(claimant),
                                                 kube::Pod::kResource, orphans));
  co_return Result<void>();
}

Task<Result<control::CurrentRevision>> NodeSetSync::revision(NodeSetPtr nodeset) {
  const std::vector<control::Revision> history =
      newest_first(world_.revisions_of(nodeset->meta.uid), nodeset->status.node_set_hash);
  json::Value data = build::revision_data(*nodeset);
  const std::int32_t collisions = nodeset->status.collision_count;
  const auto same = std::find_if(history.begin(), history.end(), [&](const auto& one) {
    return build::same_revision(data, one->data);
  });
  // The one in use means the same, whoever wrote it and however: no pod is old.
  if (same == history.begin() && same != history.end()) {
    co_return control::CurrentRevision{**same, collisions};
  }
  // An earlier one is in use again: it is found by its own text and gets the highest number.
  if (same != history.end()) {
    MS_CO_TRY(data, json::parse((*same)->data));
  }
  control::RevisionOwner owner{api::NodeSet::kResource, nodeset->meta,
                               api::selector_labels(api::app::kWorker, nodeset->meta.name)};
  co_return co_await control::ensure_revision(&world_.client, std::move(owner), history,
                                              std::move(data), collisions);
}

Task<Result<void>> NodeSetSync::drop_old_revisions(NodeSetPtr nodeset, std::string in_use) {
  const auto& history = world_.revisions_of(nodeset->meta.uid);
  if (history.size() < 2) co_return Result<void>();
  std::set<std::string, std::less<>> names{std::move(in_use)};
  for (const auto& pod : world_.pods_of(nodeset->meta.uid)) {
    const auto hash = pod->meta.labels.find(control::kRevisionHashLabel);
    for (const auto& one : history) {
      if (hash && one->meta.labels.find(control::kRevisionHashLabel) == *hash) {
        names.insert(one->meta.name);
      }
    }
  }
  const auto limit = static_cast<std::size_t>(std::max(nodeset->spec.revision_history_limit, 0));
  auto surplus = control::surplus_revisions(history, names, limit);
  if (surplus.empty()) co_return Result<void>();
  co_return co_await control::delete_revisions(&world_.client, std::move(surplus));
}

}  // namespace mainspring::op
