#include "bridge/sync/volumes.h"

#include <fmt/format.h>

#include <utility>

#include "kube/storage.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

}  // namespace

Task<Result<VolumeNodes>> Volumes::of_pod(PodPtr pod) {
  VolumeNodes out;
  const kube::Api<kube::PersistentVolumeClaim> claims(world_.kube, pod->meta.ns);
  for (const kube::Volume& volume : pod->spec->volumes) {
    const std::string name = volume.claim_name(pod->meta.name);
    if (name.empty()) continue;
    auto claim = co_await claims.get(name);
    if (!claim) {
      co_return fail(std::move(claim).error().with_context(
          fmt::format("volume {}: PersistentVolumeClaim {}", volume.name.view(), name)));
    }
    if (claim->volume.empty()) continue;  // Made where the pod will be, or bound any moment.
    MS_CO_TRY(const kube::PersistentVolume found,
              co_await kube::Api<kube::PersistentVolume>(world_.kube).get(claim->volume.str()));
    if (found.required_nodes) out.push_back(*found.required_nodes);
  }
  co_return out;
}

Task<Result<std::vector<VolumeNodes>>> Volumes::nodes_of(std::vector<PodPtr> pods) {
  std::vector<VolumeNodes> out;
  out.reserve(pods.size());
  for (const PodPtr& pod : pods) {
    MS_CO_TRY(VolumeNodes nodes, co_await of_pod(pod));
    out.push_back(std::move(nodes));
  }
  co_return out;
}

Task<Result<bool>> Volumes::ready_on(PodPtr pod, std::string node) {
  const kube::Api<kube::PersistentVolumeClaim> claims(world_.kube, pod->meta.ns);
  bool ready = true;
  for (const kube::Volume& volume : pod->spec->volumes) {
    const std::string name = volume.claim_name(pod->meta.name);
    if (name.empty()) continue;
    MS_CO_TRY(const kube::PersistentVolumeClaim claim, co_await claims.get(name));
    if (claim.bound()) continue;
    ready = false;
    if (claim.meta.annotations.find(kSelectedNode).value_or("") == node) continue;
    json::Value annotations = json::Value::object();
    annotations.set(kSelectedNode, node);
    json::Value meta = json::Value::object();
    meta.set("uid", claim.meta.uid);
    meta.set("annotations", std::move(annotations));
    json::Value body = json::Value::object();
    body.set("metadata", std::move(meta));
    MS_CO_CHECK(co_await claims.patch(name, {kube::PatchKind::kMerge, std::move(body)}));
  }
  co_return ready;
}

}  // namespace mainspring::bridge
