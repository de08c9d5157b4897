// bridge/translate/pod_needs.h
//
// What a pod takes of a node, in Slurm's words. Pure; by the rules of kube-scheduler for init
// containers, sidecars, overhead and pod-level amounts (kube/pod_resources.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "kube/pod.h"

namespace mainspring::bridge {

// How many, by the resource's name in Kubernetes: "nvidia.com/gpu",
// "deviceclass.../gpu.nvidia.com".
using Devices = std::map<std::string, std::int64_t, std::less<>>;

struct PodNeeds {
  // Requests or limits, whichever is more: whole CPUs and MiB, rounded up; 0: none asked for.
  std::int64_t cpus = 0;
  std::int64_t memory_mb = 0;
  // Requests alone: what the kubelet sets aside for the pod whatever anybody says.
  std::int64_t requested_cpus = 0;
  std::int64_t requested_memory_mb = 0;
  Devices devices;  // Without CPUs.

  // Afterwards enough for the other pod too.
  void raise_to(const PodNeeds& other);
  bool operator==(const PodNeeds&) const = default;
};

Result<PodNeeds> needs_of(const kube::PodSpec& spec);

// What `times` as many devices are as tres_per_node: "gres/gpu=2",
// "gres/gpu:gpu.nvidia.com=1,gres/gpu:mig.example.com=2"; "" for none. kInvalid where Slurm cannot
// count them together.
Result<std::string> to_gres(const Devices& devices, std::int64_t times = 1);

}  // namespace mainspring::bridge
