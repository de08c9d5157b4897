// operator/sync/pod_calls.h
//
// The few writes to pods that several queues of NodeSets make. Runs on the control loop.
#pragma once

#include <memory>
#include <string>

#include "kube/api.h"
#include "operator/sync/nodeset_world.h"

namespace mainspring::op {

using net::Task;

// A pod that is gone needs no patch. The patch names the UID, so that a new pod of the same name is
// not taken for the old one: that is kConflict, and no failure. `world` must outlive the task.
Task<Result<void>> patch_pod(World* world, std::string ns, std::string name, kube::Patch patch,
                             std::string subresource);

// Deletes exactly this pod, and expects to see it. The limit is the caller's to ask. kAsSeen: only
// where it has not changed since, for evidence that is the pod's own: one that had not run may have
// been started meanwhile. That is no failure: the change comes as an event.
enum class PodVersion { kAny, kAsSeen };
Task<Result<void>> delete_pod(NodeSetWorld* shared, std::shared_ptr<const kube::Pod> pod,
                              std::shared_ptr<const api::NodeSet> nodeset, PodVersion version);

// Of work for many, of which one that fails must not stop the others: the first failure.
void keep_first(Result<void>& first, const Result<void>& next);

}  // namespace mainspring::op
