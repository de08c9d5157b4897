// operator/build/worker.h
//
// The objects of a NodeSet: worker pods, their claims, and what all NodeSets of a Controller share.
// Pure. The template is built once for each NodeSet and Controller generation; a pod is the
// template with its identity stamped on, which merges nothing and costs a copy.
//
// worker_template.cc, worker_pod.cc, worker_shared.cc and worker_revision.cc have the parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/controller.h"
#include "api/nodeset.h"
#include "base/result.h"
#include "kube/core_objects.h"
#include "kube/node.h"

namespace mainspring::op::build {

struct WorkerInputs {
  const api::NodeSet& nodeset;
  const api::Controller& controller;
  std::string cluster_domain = "cluster.local";
};

// {metadata: {labels, annotations}, spec} of every pod of this set, without identity or revision.
// An extraConf that cannot be read whole, or that has quotes, backslashes or dollars in it, is left
// out whole: the image's entrypoint hands it to a shell. Validation says so to the user.
Result<json::Value> worker_template(const WorkerInputs& inputs);

// The Topology of extraConf, with which slurmd registers whatever its Kubernetes node says; or
// none.
std::string topology_of_extra_conf(const api::NodeSet& nodeset);

// Which pod of the set.
struct WorkerIdentity {
  std::optional<std::uint32_t> ordinal;  // StatefulSet mode.
  const kube::Node* node = nullptr;      // DaemonSet mode; or the node it is pinned to.
};

std::string worker_pod_name(const api::NodeSet& nodeset,
                            std::uint32_t ordinal);  // StatefulSet mode
// DaemonSet mode: the node's hostname-override where that can be a host's name (a DNS label), else
// the node's name up to the first dot.
std::string worker_hostname(const api::NodeSet& nodeset, const WorkerIdentity& identity);
// What the node's hostname-override says instead of a name that a host can have, shortened for
// people; empty where nothing is wrong.
std::string refused_hostname(const kube::Node& node);
// A Pod to create. `revision_hash`: the value of controller.kubernetes.io/hash. Where the node is
// known its topology is on the pod from the start, so that slurmd's first start has it.
json::Value worker_pod(const api::NodeSet& nodeset, const json::Value& pod_template,
                       const WorkerIdentity& identity, std::string_view revision_hash);

// The claims of one pod, from volumeClaimTemplates, with the owner that the claim of a pod in use
// has; nodeset/claims.h says how owners go on.
std::vector<json::Value> worker_claims(const api::NodeSet& nodeset, const WorkerIdentity& identity);
// One of them, under the name that its pod asks for.
json::Value worker_claim(const api::NodeSet& nodeset, const json::Value& claim_template,
                         std::string_view name);

// Shared by all NodeSets of a Controller; owned, without a controller, by each of them.
using NodeSets = std::vector<std::shared_ptr<const api::NodeSet>>;
json::Value workers_service(const api::Controller& controller, const NodeSets& nodesets);
// minAvailable is the largest int32: with maxUnavailable the disruption controller would take the
// number of pods from /scale, which says nothing in DaemonSet mode or during a scale-in.
//
// A live one that has spec.maxUnavailable, as upstream's do, must lose it first, by a merge patch
// that sets both (null and minAvailable): the API refuses a budget with both, server-side apply
// takes no field away that another manager owns, and pods stay protected in between.
json::Value workers_pdb(const api::Controller& controller, const NodeSets& nodesets);
// Unset without ssh.
std::optional<json::Value> worker_ssh_config(const api::NodeSet& nodeset);

// What a ControllerRevision of the NodeSet holds: {"spec": {...}} of the fields that make a pod.
json::Value revision_data(const api::NodeSet& nodeset);
// Whether a ControllerRevision's data, as JSON text, makes the same pods as `ours`. Data that we
// wrote must be equal. Data that upstream wrote, known by its `$patch` markers, went through typed
// structs which drop and add empty values and rewrite quantities; what they cannot tell apart is
// equal here too, so that a take-over restarts no pod. worker_revision.cc lists it.
bool same_revision(const json::Value& ours, std::string_view theirs);

// Whether slurmd runs without privilege, by the user's explicit wish.
bool is_unprivileged(const api::NodeSet& nodeset);

}  // namespace mainspring::op::build
