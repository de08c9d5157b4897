#include "operator/nodeset/claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "control/owners.h"
#include "operator/build/worker.h"

namespace mainspring::op {
namespace {

using kube::OwnerReference;

// An earlier object of the same name: the garbage collector is about to remove the claim with it,
// or has to be let find out that it need not.
bool is_stale(const OwnerReference& owner, const OwnerReference& live) {
  return owner.kind == live.kind && owner.group() == live.group() && owner.name == live.name &&
         owner.uid != live.uid;
}

// A pod may also use claims that the user made, such as one for everybody's home. They are never
// ours.
bool is_made_for(const api::NodeSet& nodeset, const kube::Pod& pod, std::string_view claim) {
  const auto& templates = nodeset.spec.volume_claim_templates;
  return std::any_of(templates.begin(), templates.end(), [&](const json::Value& made) {
    const json::Value* name = made.at_pointer("/metadata/name");
    const std::string_view prefix = name == nullptr ? "" : name->as_string().value_or("");
    if (claim == fmt::format("{}-{}", prefix, pod.meta.name)) return true;
    return !pod.hostname.empty() &&
           claim == fmt::format("{}-{}-{}", prefix, nodeset.meta.name, pod.hostname.view());
  });
}

// Who takes the claim along when it goes: the set, the pod, or nobody.
const OwnerReference* taker(const api::NodeSetSpec& spec, bool scaled_in,
                            const OwnerReference& nodeset, const OwnerReference& pod) {
  if (scaled_in && spec.delete_claims_when_scaled) return &pod;
  return spec.delete_claims_when_deleted ? &nodeset : nullptr;
}

}  // namespace

std::optional<kube::Seq<OwnerReference>> wanted_owners(const api::NodeSet& nodeset,
                                                       const kube::Pod& pod, bool scaled_in,
                                                       const kube::PersistentVolumeClaim& claim) {
  if (!is_made_for(nodeset, pod, claim.meta.name)) return std::nullopt;
  const OwnerReference set_ref = control::controller_ref(api::NodeSet::kResource, nodeset.meta);
  const OwnerReference pod_ref = control::controller_ref(kube::Pod::kResource, pod.meta);
  const auto& live = claim.meta.owners;
  const auto is_ours = [&](const OwnerReference& owner) {
    return owner.uid == set_ref.uid || owner.uid == pod_ref.uid;
  };
  const bool stale = std::any_of(live.begin(), live.end(), [&](const OwnerReference& owner) {
    return is_stale(owner, set_ref) || is_stale(owner, pod_ref);
  });
  if (stale || claim.meta.deleting()) return std::nullopt;

  const bool foreign = std::any_of(live.begin(), live.end(), [&](const OwnerReference& owner) {
    return owner.controller && !is_ours(owner);
  });
  const OwnerReference* wanted =
      foreign ? nullptr : taker(nodeset.spec, scaled_in, set_ref, pod_ref);
  std::vector<OwnerReference> owners;
  for (const OwnerReference& owner : live) {
    if (is_ours(owner)) {
      // Where it is right it keeps its place: an order is no difference.
      if (wanted == nullptr || owner != *wanted) continue;
      wanted = nullptr;
    }
    owners.push_back(owner);
  }
  if (wanted != nullptr) owners.push_back(*wanted);
  kube::Seq<OwnerReference> result(std::move(owners));
  if (result == live) return std::nullopt;
  return result;
}

bool is_anothers(const api::NodeSet& nodeset, const kube::Pod& pod,
                 const kube::PersistentVolumeClaim& claim) {
  const OwnerReference* const controller = claim.meta.controller();
  const api::NodeSetSpec& spec = nodeset.spec;
  if (controller == nullptr || !(spec.delete_claims_when_scaled || spec.delete_claims_when_deleted))
    return false;
  return controller->uid != nodeset.meta.uid && controller->uid != pod.meta.uid &&
         is_made_for(nodeset, pod, claim.meta.name);
}

bool waits_to_start(const kube::Pod& pod) {
  const kube::PodPhase phase = pod.status.phase;
  return !pod.meta.deleting() &&
         (phase == kube::PodPhase::kNone || phase == kube::PodPhase::kPending);
}

std::vector<NamedClaim> claims_of(const api::NodeSet& nodeset, const kube::Pod& pod) {
  std::vector<NamedClaim> out;
  for (const json::Value& made : nodeset.spec.volume_claim_templates) {
    const json::Value* const name = made.at_pointer("/metadata/name");
    for (const kube::Volume& volume : pod.spec->volumes) {
      if (name == nullptr || name->as_string() != volume.name.view()) continue;
      std::string claim = volume.claim_name(pod.meta.name);
      if (!is_made_for(nodeset, pod, claim)) continue;
      json::Value object = build::worker_claim(nodeset, made, claim);
      out.push_back({std::move(claim), std::move(object)});
    }
  }
  return out;
}

}  // namespace mainspring::op
