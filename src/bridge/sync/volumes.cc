#include "bridge/sync/volumes.h"

#include <fmt/format.h>

#include <utility>

namespace mainspring::bridge {
namespace {

constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";
// So that Kubernetes frees the volume again where the claim goes before it is bound.
constexpr std::string_view kBoundByController = "pv.kubernetes.io/bound-by-controller";
constexpr std::size_t kPage = 500;

json::Value annotated(const kube::Meta& meta, std::string_view key, std::string_view value) {
  json::Value out = json::Value::object();
  out.set("uid", meta.uid);
  json::Value annotations = json::Value::object();
  annotations.set(key, value);
  out.set("annotations", std::move(annotations));
  return out;
}

}  // namespace

Task<Result<kube::StorageClass>> Volumes::class_of(kube::PersistentVolumeClaim claim,
                                                   Storage* storage) {
  const std::string name = claim.storage_class.value_or("");
  if (name.empty()) {
    co_return fail(Code::kConflict,
                   "not bound, and without a StorageClass only a volume that "
                   "somebody makes for it can be: see its events");
  }
  auto known = storage->classes.find(name);
  if (known == storage->classes.end()) {
    auto found = co_await kube::Api<kube::StorageClass>(world_.kube).get(name);
    if (!found) co_return fail(std::move(found).error().with_context("StorageClass " + name));
    known = storage->classes.emplace(name, *std::move(found)).first;
  }
  if (!waits_for_pod(known->second)) {
    co_return fail(Code::kConflict,
                   fmt::format("not bound yet, and StorageClass {} does that before the pod has a "
                               "node (volumeBindingMode Immediate): see the claim's events",
                               name));
  }
  co_return known->second;
}

Task<Result<std::vector<VolumePtr>>> Volumes::volumes_in(Storage* storage) {
  if (!storage->volumes) {
    MS_CO_TRY(auto list,
              co_await kube::Api<kube::PersistentVolume>(world_.kube).list_all({.limit = kPage}));
    storage->volumes = std::move(list.items);
  }
  co_return *storage->volumes;
}

Task<Result<std::optional<kube::NodeSelector>>> Volumes::of_claim(kube::PersistentVolumeClaim claim,
                                                                  Storage* storage) {
  if (claim.volume.empty()) {
    MS_CO_TRY(const kube::StorageClass found, co_await class_of(claim, storage));
    // Only where it matters: there may be very many.
    const bool anywhere = makes_volumes(found) && found.allowed_topologies.empty();
    std::vector<VolumePtr> volumes;
    if (!anywhere) {
      MS_CO_TRY(volumes, co_await volumes_in(storage));
    }
    co_return reach_of(claim, found, volumes);
  }
  MS_CO_TRY(const kube::PersistentVolume found,
            co_await kube::Api<kube::PersistentVolume>(world_.kube).get(claim.volume.str()));
  if (!found.required_nodes) co_return std::optional<kube::NodeSelector>();
  co_return std::optional(*found.required_nodes);
}

Task<Result<VolumeNodes>> Volumes::of_pod(PodPtr pod, Storage* storage) {
  VolumeNodes out;
  const kube::Api<kube::PersistentVolumeClaim> claims(world_.kube, pod->meta.ns);
  for (const kube::Volume& volume : pod->spec->volumes) {
    const std::string name = volume.claim_name(pod->meta.name);
    if (name.empty()) continue;
    auto claim = co_await claims.get(name);
    Result<std::optional<kube::NodeSelector>> nodes = std::optional<kube::NodeSelector>();
    if (claim) {
      nodes = co_await of_claim(*std::move(claim), storage);
    } else {
      nodes = fail(std::move(claim).error());
    }
    if (!nodes) {
      co_return fail(std::move(nodes).error().with_context(
          fmt::format("volume {}: PersistentVolumeClaim {}", volume.name.view(), name)));
    }
    if (*nodes) out.push_back(**std::move(nodes));
  }
  co_return out;
}

Task<Result<std::vector<VolumeNodes>>> Volumes::nodes_of(std::vector<PodPtr> pods) {
  std::vector<VolumeNodes> out;
  out.reserve(pods.size());
  Storage storage;
  for (const PodPtr& pod : pods) {
    MS_CO_TRY(VolumeNodes nodes, co_await of_pod(pod, &storage));
    out.push_back(std::move(nodes));
  }
  co_return out;
}

// Kubernetes' own controller does the rest; where somebody else was faster, the next look tells.
Task<Result<void>> Volumes::give(VolumePtr volume, kube::PersistentVolumeClaim claim) {
  json::Value meta = annotated(volume->meta, kBoundByController, "yes");
  meta.set("resourceVersion", volume->meta.resource_version);
  json::Value ref = json::Value::object({{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}});
  ref.set("namespace", claim.meta.ns);
  ref.set("name", claim.meta.name);
  ref.set("uid", claim.meta.uid);
  json::Value body = json::Value::object();
  body.set("metadata", std::move(meta));
  body["spec"].set("claimRef", std::move(ref));
  auto given = co_await kube::Api<kube::PersistentVolume>(world_.kube)
                   .patch(volume->meta.name, {kube::PatchKind::kMerge, std::move(body)});
  if (!given && given.error().code() != Code::kConflict) co_return fail(std::move(given).error());
  co_return Result<void>();
}

Task<Result<void>> Volumes::choose(kube::PersistentVolumeClaim claim, std::string node,
                                   Storage* storage) {
  if (claim.meta.annotations.find(kSelectedNode).value_or("") == node) co_return Result<void>();
  MS_CO_TRY(const kube::StorageClass found, co_await class_of(claim, storage));
  MS_CO_TRY(const auto volumes, co_await volumes_in(storage));
  const auto where = world_.nodes.get({}, node);
  const VolumePtr there = where ? volume_on(claim, volumes, where->meta) : nullptr;
  if (there) {
    // The next claim of the same pod must not be given it, too.
    std::erase(*storage->volumes, there);
    if (there->claim_uid == claim.meta.uid) co_return Result<void>();
    co_return co_await give(there, std::move(claim));
  }
  if (!makes_volumes(found)) {
    co_return fail(Code::kConflict, fmt::format("no volume of StorageClass {} is free on node {}",
                                                found.meta.name, node));
  }
  json::Value body = json::Value::object();
  body.set("metadata", annotated(claim.meta, kSelectedNode, node));
  MS_CO_CHECK(co_await kube::Api<kube::PersistentVolumeClaim>(world_.kube, claim.meta.ns)
                  .patch(claim.meta.name, {kube::PatchKind::kMerge, std::move(body)}));
  co_return Result<void>();
}

Task<Result<std::string>> Volumes::missing_on(PodPtr pod, std::string node) {
  const kube::Api<kube::PersistentVolumeClaim> claims(world_.kube, pod->meta.ns);
  std::string missing;
  Storage storage;
  for (const kube::Volume& volume : pod->spec->volumes) {
    const std::string name = volume.claim_name(pod->meta.name);
    if (name.empty()) continue;
    auto claim = co_await claims.get(name);
    if (claim && claim->bound()) continue;
    missing = fmt::format(
        "waiting for PersistentVolumeClaim {} to get a volume that node {} can "
        "reach: see its events",
        name, node);
    Result<void> chosen;
    if (!claim) {
      chosen = fail(std::move(claim).error());
    } else if (claim->volume.empty()) {
      chosen = co_await choose(*std::move(claim), node, &storage);
    }
    if (!chosen) {
      co_return fail(std::move(chosen).error().with_context(
          fmt::format("volume {}: PersistentVolumeClaim {}", volume.name.view(), name)));
    }
  }
  co_return missing;
}

}  // namespace mainspring::bridge
