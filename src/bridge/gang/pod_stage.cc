#include "bridge/gang/pod_stage.h"

#include <algorithm>

namespace mainspring::bridge {
namespace {

// When somebody asked for it; the timestamp is when the pod has to be gone.
WallTime deletion_began(const kube::Meta& meta) {
  return *meta.deletion - seconds(meta.deletion_grace_seconds.value_or(0));
}

// A container that ended may be started again, until its kubelet has heard of the deletion. One
// that has not been made may be about to start: its image is still on the way. A kubelet that is
// done with a pod says of those, too, that they have ended.
bool has_ended_for_good(const kube::ContainerStatus& container, const kube::Pod& pod) {
  if (container.state != kube::ContainerState::kTerminated) return false;
  if (!container.has_id) return true;
  const kube::RestartPolicy policy = pod.spec->restart_policy;
  if (policy == kube::RestartPolicy::kNever) return true;
  if (policy == kube::RestartPolicy::kOnFailure && container.exit_code == 0) return true;
  return container.finished && *container.finished >= deletion_began(pod.meta);
}

// A pod that was deleted keeps its phase where its kubelet is an old one; its containers tell.
bool containers_have_ended(const kube::Pod& pod) {
  const auto& main = pod.status.containers;
  const auto& init = pod.status.init_containers;
  // Without a word of the kubelet's nothing is known, not even that it did not start.
  if (main.empty()) return false;
  const auto ended = [&](const kube::ContainerStatus& one) { return has_ended_for_good(one, pod); };
  return std::all_of(main.begin(), main.end(), ended) &&
         std::all_of(init.begin(), init.end(), ended) &&
         std::any_of(main.begin(), main.end(), [](const kube::ContainerStatus& one) {
           return one.state == kube::ContainerState::kTerminated;
         });
}

}  // namespace

bool is_out_of_service(const kube::Node& node) {
  return std::any_of(node.taints.begin(), node.taints.end(), [](const kube::Taint& taint) {
    return taint.key == "node.kubernetes.io/out-of-service";
  });
}

PodStage stage_of(const kube::Pod& pod, bool node_lost) {
  if (pod.node_name.empty()) {
    return pod.meta.deleting() || pod.terminal() ? PodStage::kGone : PodStage::kWaiting;
  }
  if (pod.terminal() || node_lost) return PodStage::kOver;
  if (!pod.meta.deleting()) return PodStage::kRunning;
  return containers_have_ended(pod) ? PodStage::kOver : PodStage::kEnding;
}

int exit_code_of(const kube::Pod& pod) {
  for (const auto* containers : {&pod.status.init_containers, &pod.status.containers}) {
    for (const kube::ContainerStatus& one : *containers) {
      if (one.state == kube::ContainerState::kTerminated && one.exit_code != 0) {
        return one.exit_code;
      }
    }
  }
  return pod.status.phase == kube::PodPhase::kFailed ? 1 : 0;
}

}  // namespace mainspring::bridge
