// bridge/devices/claim_plan.h
//
// Which devices a pod gets, by what Slurm allocated on its node, and the ResourceClaim that says so
// to the kubelet. Pure: values in, values out.
//
// Pods ask by resources of their containers, deviceclass.resource.kubernetes.io/CLASS (Kubernetes'
// DRAExtendedResource). One claim holds all devices of a pod.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bridge/devices/inventory.h"
#include "json/value.h"
#include "kube/pod.h"
#include "slurm/resources.h"

namespace mainspring::bridge {

// Kubernetes lets a claim have no more.
inline constexpr std::int64_t kMostDevices = 32;

struct DeviceNeeds {
  struct User {
    std::string container, device_class;
    bool operator==(const User&) const = default;
  };
  std::map<std::string, std::int64_t, std::less<>> counts;  // By class, of all containers.
  std::vector<User> users;

  bool none() const { return counts.empty(); }
  bool operator==(const DeviceNeeds&) const = default;
};
// kUnsupported says what cannot be given out and what to ask for instead.
Result<DeviceNeeds> device_needs_of(const kube::PodSpec& spec, const DeviceClasses& classes);

struct ClaimPlan {
  struct Request {
    std::string name, device_class;
    std::string selector;  // CEL; "": none.
    std::vector<DeviceId> devices;
    bool operator==(const Request&) const = default;
  };
  std::string name;  // The claim's: another job or other devices, another name.
  std::string node;
  std::vector<Request> requests;
  std::vector<DeviceNeeds::User> users;

  std::vector<DeviceId> devices() const;
  bool operator==(const ClaimPlan&) const = default;
};

// What is known where a pod is to be.
struct DeviceView {
  std::string job;
  std::string node;  // Kubernetes' name.
  Inventory inventory;
  slurm::NodeAllocation allocation;  // Of the pod's job there.
  std::string gres;                  // All that Slurm thinks the node has.
  std::int64_t pods_per_node = 1;    // Of the job.
  // Who has a device: "" where nobody but the pod itself does.
  std::function<std::string(const DeviceId&)> holder;
  // Whether it is the pod's already; it keeps what it has.
  std::function<bool(const DeviceId&)> is_own;
};
// kNotFound where Slurm gave what the node does not have, kConflict where others have it.
Result<ClaimPlan> plan_claim(const kube::Pod& pod, const DeviceNeeds& needs, const DeviceView& view,
                             const DeviceClasses& classes);

// The claim, without status; its status; and what the pod's status says of it.
json::Value claim_of(const ClaimPlan& plan, const kube::Pod& pod);
json::Value claim_status_of(const ClaimPlan& plan, const kube::Pod& pod);
json::Value pod_status_of(const ClaimPlan& plan);

}  // namespace mainspring::bridge
