// bridge/devices/device_claims.h
//
// DeviceClaims: the ResourceClaims of pods that ask for devices. Before a pod is bound, it is
// decided which of the devices that Slurm gave its job are the pod's, and a claim says so to the
// kubelet. No device is promised twice: neither one that a claim of anybody's has, nor one that was
// promised here and is not seen in a claim yet. Claims are their pod's, and end with it.
//
// What was decided is found again in the claim, so a bridge that dies on the way goes on from
// there. Lives on the control loop; the tasks must not outlive it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/devices/claim_plan.h"
#include "bridge/gang/gang.h"
#include "bridge/sync/world.h"
#include "slurm/job.h"

namespace mainspring::bridge {

using net::Task;

class DeviceClaims {
 public:
  // Must outlive it.
  explicit DeviceClaims(World& world);
  DeviceClaims(const DeviceClaims&) = delete;
  DeviceClaims& operator=(const DeviceClaims&) = delete;

  struct Placed {
    PodPtr pod;
    std::string node;  // Kubernetes' name.
  };
  // Promises each of these pods of the job its devices; nothing where one of them cannot have them.
  // kNotFound and kConflict say why, in words for the pod's owner.
  Task<Result<void>> promise(std::shared_ptr<const slurm::Job> job, std::vector<Placed> pods);

  // Makes the claim with what the pod was promised; no call for one that needs no devices.
  Task<Result<void>> claim(PodPtr pod);

  // The pod's devices are free again. To be called when its containers are gone, or before it had
  // any.
  bool has_any(const kube::Pod& pod) const;
  Task<Result<void>> release(PodPtr pod);

 private:
  using ClaimPtr = std::shared_ptr<const kube::ResourceClaim>;

  bool is_written(const kube::Pod& pod, const ClaimPlan& plan) const;
  std::string holder_of(const DeviceId& device, const kube::Pod& pod) const;
  bool is_own(const DeviceId& device, const kube::Pod& pod) const;
  Result<ClaimPlan> plan_for(const Placed& placed, const DeviceNeeds& needs, const slurm::Job& job,
                             const std::vector<slurm::NodeAllocation>& given) const;
  Task<Result<void>> make(PodPtr pod, ClaimPlan plan);
  Task<Result<void>> remove(std::string ns, std::string name);
  void note(const kube::Pod& pod, ClaimPlan plan);
  void forget(std::string_view uid);

  World& world_;
  Store<kube::ResourceClaim>::IndexId by_device_, by_pod_;
  std::map<std::string, ClaimPlan, std::less<>> promised_;    // By the pod's UID.
  std::map<std::string, std::string, std::less<>> promises_;  // From the device to that.
};

}  // namespace mainspring::bridge
