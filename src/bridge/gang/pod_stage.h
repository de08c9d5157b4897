// bridge/gang/pod_stage.h
//
// How far a pod is, for Slurm's sake: what matters is whether anything of it may still be using a
// node. Pure.
#pragma once

#include <cstdint>

#include "kube/node.h"
#include "kube/pod.h"

namespace mainspring::bridge {

enum class PodStage : std::uint8_t {
  kWaiting,  // Has no node and wants one.
  kGone,     // Has no node and is being deleted: nothing of it ever ran.
  kRunning,  // Has a node and wants to keep it.
  kEnding,   // Has a node and is being deleted: its containers may still be at work.
  kOver,     // The kubelet says that its containers have ended, or its node is lost for good.
};

// An administrator says that the node will not come back with the containers that it had. One that
// merely does not answer may still have them at work.
bool is_out_of_service(const kube::Node& node);

// `node_lost`: nothing of what was on the pod's node is at work any more, see sync/lost_nodes.h.
PodStage stage_of(const kube::Pod& pod, bool node_lost);

// What the kubelet knew of its end, for Slurm's accounting: 0 where all succeeded, else that of the
// first container that failed.
int exit_code_of(const kube::Pod& pod);

}  // namespace mainspring::bridge
