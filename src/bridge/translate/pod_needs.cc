#include "bridge/translate/pod_needs.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "bridge/names.h"
#include "kube/pod_resources.h"

namespace mainspring::bridge {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
// More is no node's, and this leaves room to multiply.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 53;
constexpr std::int64_t kMostPieces = std::int64_t{1} << 31;

bool is_plugin_gpu(std::string_view resource) {
  return resource == "nvidia.com/gpu" || resource == "amd.com/gpu";
}

// The DeviceClass behind an extended resource; "" where there is none.
std::string_view class_of(std::string_view resource) {
  return resource.starts_with(kDeviceClassPrefix) ? resource.substr(kDeviceClassPrefix.size())
                                                  : std::string_view();
}

// Rounded up; 0 where the resource is not named.
Result<std::int64_t> whole(const kube::ResourceTotals& totals, std::string_view resource) {
  const auto at = totals.find(resource);
  if (at == totals.end()) return 0;
  const std::int64_t most = resource == "memory" ? kMostBytes : kMostPieces;
  const auto amount = at->second.value();
  if (!amount || *amount < 0 || *amount > most) {
    return fail(Code::kInvalid, fmt::format("the pod asks for {} of {}: no node has that",
                                            at->second.to_string(), resource));
  }
  return *amount;
}

Result<std::int64_t> cpus_in(const kube::ResourceTotals& totals) {
  MS_TRY(const std::int64_t native, whole(totals, "cpu"));
  MS_TRY(const std::int64_t devices,
         whole(totals, std::string(kDeviceClassPrefix) + std::string(kCpuClass)));
  return std::max(native, devices);
}

// 1 for a byte: Slurm takes 0 for all the memory of a node.
Result<std::int64_t> memory_in(const kube::ResourceTotals& totals) {
  MS_TRY(const std::int64_t bytes, whole(totals, "memory"));
  return bytes / kMiB + (bytes % kMiB == 0 ? 0 : 1);
}

Result<Devices> devices_in(const kube::ResourceTotals& totals) {
  Devices devices;
  for (const auto& [resource, amount] : totals) {
    const std::string_view device_class = class_of(resource);
    const bool counts =
        is_plugin_gpu(resource) || (!device_class.empty() && device_class != kCpuClass);
    if (!counts) continue;
    MS_TRY(const std::int64_t count, whole(totals, resource));
    if (count > 0) devices.emplace(resource, count);
  }
  return devices;
}

Result<PodNeeds> needs_in(const kube::ResourceTotals& totals) {
  PodNeeds needs;
  MS_TRY(needs.cpus, cpus_in(totals));
  MS_TRY(needs.memory_mb, memory_in(totals));
  MS_TRY(needs.devices, devices_in(totals));
  return needs;
}

// How Slurm knows a kind of device.
std::string tres_name(std::string_view resource) {
  const std::string_view device_class = class_of(resource);
  return device_class.empty() ? "gres/gpu" : "gres/gpu:" + std::string(device_class);
}

}  // namespace

void PodNeeds::raise_to(const PodNeeds& other) {
  cpus = std::max(cpus, other.cpus);
  memory_mb = std::max(memory_mb, other.memory_mb);
  requested_cpus = std::max(requested_cpus, other.requested_cpus);
  requested_memory_mb = std::max(requested_memory_mb, other.requested_memory_mb);
  for (const auto& [resource, count] : other.devices) {
    std::int64_t& own = devices[resource];
    own = std::max(own, count);
  }
}

Result<PodNeeds> needs_of(const kube::PodSpec& spec) {
  MS_TRY(const kube::ResourceTotals requests, kube::pod_requests(spec));
  MS_TRY(const kube::ResourceTotals limits, kube::pod_limits(spec));
  MS_TRY(PodNeeds needs, needs_in(requests));
  MS_TRY(const PodNeeds most, needs_in(limits));
  needs.requested_cpus = needs.cpus;
  needs.requested_memory_mb = needs.memory_mb;
  needs.raise_to(most);
  return needs;
}

Result<std::string> to_gres(const Devices& devices, std::int64_t times) {
  std::vector<std::string> parts;
  std::vector<std::string> untyped;
  for (const auto& [resource, count] : devices) {
    if (class_of(resource).empty()) untyped.push_back(resource);
    parts.push_back(fmt::format("{}={}", tres_name(resource), count * times));
  }
  // Slurm refuses gres/gpu beside gres/gpu:TYPE, and two vendors would be one number to it.
  if (!untyped.empty() && devices.size() > 1) {
    return fail(
        Code::kInvalid,
        fmt::format("{} cannot be counted by Slurm together with other devices: ask for one "
                    "kind of device, or say what to reserve by the gres annotation",
                    untyped.front()));
  }
  return join(parts, ",");
}

}  // namespace mainspring::bridge
