// operator/nodeset/claims.h
//
// Who owns a worker's PersistentVolumeClaims, which decides when they go: the retention policy as
// owner references. And which claims a worker waits for. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/nodeset.h"
#include "base/clock.h"
#include "kube/pod.h"
#include "kube/storage.h"

namespace mainspring::op {

// The owner references that the claim should have; unset where they are right already. `scaled_in`:
// its pod is condemned by a scale-in, which is when whenScaled takes hold: then the pod takes the
// claim along. A claim that no volumeClaimTemplate made for this pod, whatever the pod uses it for,
// is never touched. Other people's references stay. A claim that another controller has is not
// ours, and only loses references of ours (the caller warns: ConflictingController). One that names
// an earlier NodeSet or pod of the same name, or is being deleted, is left to the garbage
// collector.
std::optional<kube::Seq<kube::OwnerReference>> wanted_owners(
    const api::NodeSet& nodeset, const kube::Pod& pod, bool scaled_in,
    const kube::PersistentVolumeClaim& claim);

// Whether the claim is one of the NodeSet's templates for this pod, whose retention the NodeSet
// decides, and another controller has it.
bool is_anothers(const api::NodeSet& nodeset, const kube::Pod& pod,
                 const kube::PersistentVolumeClaim& claim);

// Whether the pod has not been started: only then can a claim of its be gone, since Kubernetes
// keeps those that a pod on a node uses.
bool waits_to_start(const kube::Pod& pod);
// A claim is made before its pod, but may be seen after it: that late at most.
inline constexpr Duration kClaimsSeen = seconds(5);

// The claims that the NodeSet's templates make for this pod, as it asks for them.
struct NamedClaim {
  std::string name;
  json::Value object;
};
std::vector<NamedClaim> claims_of(const api::NodeSet& nodeset, const kube::Pod& pod);

}  // namespace mainspring::op
