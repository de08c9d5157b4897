#include "bridge/gang/pod_stage.h"

#include <algorithm>

namespace mainspring::bridge {
namespace {

bool has_ended(const kube::ContainerStatus& container) {
  return container.state == kube::ContainerState::kTerminated || !container.has_id;
}

// A pod that was deleted keeps its phase where its kubelet is an old one; its containers tell.
bool containers_have_ended(const kube::Pod& pod) {
  const auto& main = pod.status.containers;
  const auto& init = pod.status.init_containers;
  // Without a word of the kubelet's nothing is known, not even that it did not start.
  if (main.empty()) return false;
  return std::all_of(main.begin(), main.end(), has_ended) &&
         std::all_of(init.begin(), init.end(), has_ended) &&
         std::any_of(main.begin(), main.end(), [](const kube::ContainerStatus& one) {
           return one.state == kube::ContainerState::kTerminated;
         });
}

}  // namespace

bool is_lost(const kube::Node* node) {
  if (node == nullptr) return true;
  return std::any_of(node->taints.begin(), node->taints.end(), [](const kube::Taint& taint) {
    return taint.key == "node.kubernetes.io/out-of-service";
  });
}

PodStage stage_of(const kube::Pod& pod, const kube::Node* node) {
  if (pod.node_name.empty()) {
    return pod.meta.deleting() || pod.terminal() ? PodStage::kGone : PodStage::kWaiting;
  }
  if (pod.terminal() || is_lost(node)) return PodStage::kOver;
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
