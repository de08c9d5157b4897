// bridge/translate/taken.h
//
// What pods take of a node and Slurm knows nothing of: a place among the pods that the kubelet
// takes, ports of the host, ephemeral storage, huge pages, resources of device plugins. A kubelet
// refuses a pod for which too little is left, and the pod is Failed then; so such a node is none
// for it. Values and pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "kube/node.h"
#include "kube/pod.h"
#include "kube/pod_resources.h"

namespace mainspring::bridge {

struct Taken {
  std::size_t pods = 0;
  kube::ResourceTotals resources = {};
  // Of the pods those that take ports of the host.
  std::vector<kube::Shared<kube::PodSpec>> with_ports = {};

  void add(const kube::Shared<kube::PodSpec>& pod);
};

// What a pod asks for that Slurm has no number for. Plugin GPUs are among it: to Slurm a GPU is one
// whoever made it.
kube::ResourceTotals uncounted(const kube::PodSpec& spec);
// Whether Slurm knows how much of it is in use, so that who wants it waits in its queue.
bool is_in_slurms_books(std::string_view resource);

// Why `wanted` is too much for a node of which others have `taken`; "" where it is not. Ports are
// not looked at.
std::string no_room(const Taken& wanted, const Taken& taken, const kube::Node& node);
// The host port that the pod wants and one of the others has; 0: none.
std::int32_t taken_port(const kube::PodSpec& pod, const Taken& taken);

// What any `count` of the pods take together at most, without ports.
Taken most_of(const std::vector<const kube::PodSpec*>& pods, std::size_t count);

}  // namespace mainspring::bridge
