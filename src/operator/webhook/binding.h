// operator/webhook/binding.h
//
// When a worker pod is bound to a node, the pod gets the node's topology annotation before the
// kubelet hears of it, so that slurmd starts with the right SLINKY_TOPOLOGY. A help, not a
// condition: whatever fails, the binding is allowed, and the operator puts the topology right in
// Slurm later.
#pragma once

#include "base/log.h"
#include "control/admission.h"
#include "kube/client.h"

namespace mainspring::op {

using net::Task;

// The client must outlive the task. Writes nothing on a dry run.
Task<Result<control::AdmissionResponse>> review_binding(kube::Client* client, Duration limit,
                                                        Logger log,
                                                        control::AdmissionRequest request);

}  // namespace mainspring::op
