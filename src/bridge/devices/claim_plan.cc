#include "bridge/devices/claim_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "bridge/names.h"
#include "kube/pod_resources.h"
#include "slurm/tres.h"

namespace mainspring::bridge {
namespace {

using json::Value;

std::string resource_of(std::string_view device_class) {
  return std::string(kDeviceClassPrefix) + std::string(device_class);
}

bool asks_for(const kube::Container& container, std::string_view resource) {
  const auto amount = container.requests.amount(resource);
  return amount && !amount->is_zero();
}

bool asks_for_devices(const kube::PodSpec& spec) {
  for (const auto* containers : {&spec.init_containers, &spec.containers}) {
    for (const kube::Container& container : *containers) {
      for (const auto [name, amount] : container.requests.text()) {
        if (name.starts_with(kDeviceClassPrefix)) return true;
      }
    }
  }
  return false;
}

// slurm-bridge's names: "cpu", and the GRES's for the rest. One that has been used gets a number.
std::string request_name(std::string_view device_class, std::size_t others) {
  if (device_class == kCpuClass) return "cpu";
  return others == 0 ? std::string("gpu") : fmt::format("gpu-{}", others);
}

// Those that the pod has come first, so that a plan made twice is the same.
template <class Item, class Own>
void own_first(std::vector<Item>& items, Own is_own) {
  std::stable_partition(items.begin(), items.end(), is_own);
}

Result<std::vector<DeviceId>> pick_devices(std::string_view device_class, std::int64_t count,
                                           const DeviceView& view) {
  const auto found = view.inventory.classes.find(device_class);
  const std::vector<NumberedDevice> none;
  const auto& devices = found == view.inventory.classes.end() ? none : found->second;
  const auto is_of_class = [&](const auto& gres) {
    return gres.name == "gpu" && gres.type == device_class;
  };
  MS_TRY(const std::vector<slurm::Gres> counted, slurm::parse_gres(view.gres));
  std::int64_t in_slurm = 0;
  for (const slurm::Gres& one : counted) in_slurm += is_of_class(one) ? one.count : 0;
  if (in_slurm != std::ssize(devices)) {
    return fail(Code::kNotFound,
                fmt::format("Slurm counts {} devices gpu:{} on node {}, whose ResourceSlices have "
                            "{}: which of them Slurm means is not known. See that the DRA driver "
                            "runs there",
                            in_slurm, device_class, view.node, devices.size()));
  }
  std::vector<DeviceId> free;
  std::string taken;
  for (const slurm::GresAllocation& gres : view.allocation.gres) {
    if (!is_of_class(gres)) continue;
    MS_TRY(const auto indexes, slurm::parse_index_list(gres.index));
    for (const std::uint32_t index : indexes) {
      if (index >= devices.size()) {
        return fail(Code::kNotFound,
                    fmt::format("Slurm gave device {} of gpu:{} on node {}, whose ResourceSlices "
                                "have only {}",
                                index, device_class, view.node, devices.size()));
      }
      const DeviceId& id = devices[index].id;
      const std::string holder = view.holder(id);
      if (holder.empty()) {
        free.push_back(id);
      } else {
        taken += fmt::format("; {} is {}'s", id.name, holder);
      }
    }
  }
  if (std::ssize(free) < count) {
    return fail(taken.empty() ? Code::kNotFound : Code::kConflict,
                fmt::format("the pod needs {} devices of class {}, and of those that Slurm gave "
                            "its job on node {} only {} can be claimed{}",
                            count, device_class, view.node, free.size(), taken));
  }
  own_first(free, view.is_own);
  free.resize(static_cast<std::size_t>(count));
  std::sort(free.begin(), free.end());
  return free;
}

// Whole cores, as Slurm gives them: as many as the pod asks for, and as many as there are for it.
Result<std::vector<CpuCore>> pick_cores(std::int64_t count, std::int64_t room,
                                        const DeviceView& view) {
  const std::vector<CpuCore>& all = view.inventory.cores;
  const std::int64_t in_slurm = std::int64_t{view.allocation.sockets_per_node} *
                                std::int64_t{view.allocation.cores_per_socket};
  if (in_slurm != std::ssize(all)) {
    return fail(Code::kNotFound,
                fmt::format("Slurm counts {} cores on node {}, whose ResourceSlices of {} have {}: "
                            "which of them Slurm means is not known. See that the DRA driver runs "
                            "there, with a device for each CPU",
                            in_slurm, view.node, kCpuClass, all.size()));
  }
  MS_TRY(const auto given, slurm::parse_core_bitmap(view.allocation.core_bitmap));
  std::vector<CpuCore> free;
  std::string taken;
  for (const std::uint32_t index : given) {
    if (index >= all.size()) {
      return fail(Code::kNotFound, fmt::format("Slurm gave core {} on node {}, which has {}", index,
                                               view.node, all.size()));
    }
    std::string holder;
    for (const NumberedDevice& cpu : all[index].cpus) {
      if (holder.empty()) holder = view.holder(cpu.id);
    }
    if (holder.empty()) {
      free.push_back(all[index]);
    } else {
      taken += fmt::format("; core {} is {}'s", index, holder);
    }
  }
  const std::int64_t threads = view.inventory.threads();
  const std::int64_t least = (count + threads - 1) / threads;
  const std::int64_t share = std::ssize(given) / std::max<std::int64_t>(view.pods_per_node, 1);
  if (std::ssize(free) < least) {
    return fail(taken.empty() ? Code::kNotFound : Code::kConflict,
                fmt::format("the pod needs {} cores, and of those that Slurm gave its job on node "
                            "{} only {} can be claimed{}",
                            least, view.node, free.size(), taken));
  }
  own_first(free, [&](const CpuCore& core) { return view.is_own(core.cpus.front().id); });
  const std::int64_t most = std::max(least, std::min(share, room / threads));
  free.resize(static_cast<std::size_t>(std::min(most, std::int64_t(std::ssize(free)))));
  return free;
}

ClaimPlan::Request cpu_request(const std::vector<CpuCore>& cores) {
  ClaimPlan::Request out{request_name(kCpuClass, 0), std::string(kCpuClass), {}, {}};
  std::vector<NumberedDevice> cpus;
  for (const CpuCore& core : cores) cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  std::vector<std::int64_t> numbers;
  for (NumberedDevice& cpu : cpus) {
    numbers.push_back(cpu.number);
    out.devices.push_back(std::move(cpu.id));
  }
  out.selector =
      fmt::format("device.attributes['{}'].cpuID in [{}]", kCpuClass, fmt::join(numbers, ", "));
  return out;
}

// For people who read the claim: what is allocated stands in its status.
std::string selector_of(const DeviceClassRule& rule, const std::vector<NumberedDevice>& all,
                        const std::vector<DeviceId>& chosen) {
  if (rule.attribute.empty()) return {};
  std::vector<std::int64_t> numbers;
  for (const NumberedDevice& one : all) {
    if (std::find(chosen.begin(), chosen.end(), one.id) != chosen.end()) {
      numbers.push_back(one.number);
    }
  }
  return fmt::format("device.attributes['{}'].{} in [{}]", rule.driver, rule.attribute,
                     fmt::join(numbers, ", "));
}

std::string claim_name(const kube::Pod& pod, std::string_view job, const ClaimPlan& plan) {
  constexpr std::size_t kLongest = 200;
  std::string of = fmt::format("{}\n{}", pod.meta.uid, job);
  for (const DeviceId& id : plan.devices()) of += "\n" + id.text();
  return fmt::format("{}-extended-resources-{:016x}",
                     std::string_view(pod.meta.name).substr(0, kLongest), fnv1a_64(of));
}

}  // namespace

Result<DeviceNeeds> device_needs_of(const kube::PodSpec& spec, const DeviceClasses& classes) {
  DeviceNeeds needs;
  if (!asks_for_devices(spec)) return needs;
  std::int64_t all = 0;
  MS_TRY(const kube::ResourceTotals totals, kube::pod_requests(spec));
  for (const auto& [resource, amount] : totals) {
    if (!resource.starts_with(kDeviceClassPrefix) || amount.is_zero()) continue;
    const std::string name = resource.substr(kDeviceClassPrefix.size());
    if (name != kCpuClass && !classes.contains(name)) {
      std::vector<std::string> known{std::string(kCpuClass)};
      for (const auto& [one, rule] : classes) known.push_back(one);
      return fail(Code::kUnsupported,
                  fmt::format("{}: Slurm does not know devices of class {}; it knows {}, and what "
                              "the administrator adds to deviceClasses",
                              resource, name, join(known, ", ")));
    }
    MS_TRY(const std::int64_t count, amount.value());
    all += std::min(count, kMostDevices + 1);
    std::size_t users = 0;
    for (const auto* containers : {&spec.init_containers, &spec.containers}) {
      for (const kube::Container& container : *containers) {
        if (!asks_for(container, resource)) continue;
        needs.users.push_back({container.name.str(), name});
        ++users;
      }
    }
    if (users > 1 && name != kCpuClass) {
      return fail(Code::kUnsupported,
                  fmt::format("{}: {} containers ask for it; let one of them have the devices of "
                              "this class",
                              resource, users));
    }
    needs.counts.emplace(name, count);
  }
  if (all > kMostDevices) {
    return fail(Code::kUnsupported,
                fmt::format("the pod asks for more than {} devices of {}CLASS, and no claim can "
                            "have more; ask for fewer, or for CPUs as cpu",
                            kMostDevices, kDeviceClassPrefix));
  }
  return needs;
}

std::vector<DeviceId> ClaimPlan::devices() const {
  std::vector<DeviceId> out;
  for (const Request& one : requests) {
    out.insert(out.end(), one.devices.begin(), one.devices.end());
  }
  return out;
}

Result<ClaimPlan> plan_claim(const kube::Pod& pod, const DeviceNeeds& needs, const DeviceView& view,
                             const DeviceClasses& classes) {
  if (!view.inventory.incomplete.empty()) {
    return fail(Code::kNotFound,
                fmt::format("the ResourceSlices of pool {} on node {} are not all there yet",
                            view.inventory.incomplete, view.node));
  }
  ClaimPlan plan;
  plan.node = view.node;
  plan.users = needs.users;
  std::int64_t room = kMostDevices;
  for (const auto& [name, count] : needs.counts) {
    if (name == kCpuClass) continue;
    MS_TRY(std::vector<DeviceId> devices, pick_devices(name, count, view));
    room -= std::ssize(devices);
    std::string selector = selector_of(classes.at(name), view.inventory.classes.at(name), devices);
    plan.requests.push_back(
        {request_name(name, plan.requests.size()), name, std::move(selector), std::move(devices)});
  }
  if (const auto cpus = needs.counts.find(kCpuClass); cpus != needs.counts.end()) {
    MS_TRY(const std::vector<CpuCore> cores, pick_cores(cpus->second, room, view));
    plan.requests.push_back(cpu_request(cores));
  }
  plan.name = claim_name(pod, view.job, plan);
  return plan;
}

Value claim_of(const ClaimPlan& plan, const kube::Pod& pod) {
  Value requests = Value::array();
  for (const ClaimPlan::Request& one : plan.requests) {
    Value exactly = Value::object({{"deviceClassName", one.device_class},
                                   {"allocationMode", "ExactCount"},
                                   {"count", std::int64_t(std::ssize(one.devices))}});
    if (!one.selector.empty()) {
      exactly.set(
          "selectors",
          Value::array({Value::object({{"cel", Value::object({{"expression", one.selector}})}})}));
    }
    requests.push_back(Value::object({{"name", one.name}, {"exactly", std::move(exactly)}}));
  }
  const Value owner = Value::object({{"apiVersion", "v1"},
                                     {"kind", "Pod"},
                                     {"name", pod.meta.name},
                                     {"uid", pod.meta.uid},
                                     {"controller", true}});
  return Value::object(
      {{"apiVersion", "resource.k8s.io/v1"},
       {"kind", "ResourceClaim"},
       {"metadata",
        Value::object({{"name", plan.name},
                       {"namespace", pod.meta.ns},
                       {"annotations", Value::object({{kExtendedClaimAnnotation, "true"}})},
                       {"ownerReferences", Value::array({owner})}})},
       {"spec", Value::object({{"devices", Value::object({{"requests", std::move(requests)}})}})}});
}

Value claim_status_of(const ClaimPlan& plan, const kube::Pod& pod) {
  Value results = Value::array();
  for (const ClaimPlan::Request& one : plan.requests) {
    for (const DeviceId& id : one.devices) {
      results.push_back(Value::object(
          {{"request", one.name}, {"driver", id.driver}, {"pool", id.pool}, {"device", id.name}}));
    }
  }
  const Value field = Value::object(
      {{"key", "metadata.name"}, {"operator", "In"}, {"values", Value::array({Value(plan.node)})}});
  const Value term = Value::object({{"matchFields", Value::array({field})}});
  const Value selector = Value::object({{"nodeSelectorTerms", Value::array({term})}});
  const Value consumer =
      Value::object({{"resource", "pods"}, {"name", pod.meta.name}, {"uid", pod.meta.uid}});
  return Value::object(
      {{"allocation", Value::object({{"devices", Value::object({{"results", std::move(results)}})},
                                     {"nodeSelector", selector}})},
       {"reservedFor", Value::array({consumer})}});
}

Value pod_status_of(const ClaimPlan& plan) {
  Value mappings = Value::array();
  for (const DeviceNeeds::User& user : plan.users) {
    const auto request = std::find_if(
        plan.requests.begin(), plan.requests.end(),
        [&](const ClaimPlan::Request& one) { return one.device_class == user.device_class; });
    mappings.push_back(Value::object({{"containerName", user.container},
                                      {"resourceName", resource_of(user.device_class)},
                                      {"requestName", request->name}}));
  }
  return Value::object(
      {{"extendedResourceClaimStatus", Value::object({{"requestMappings", std::move(mappings)},
                                                      {"resourceClaimName", plan.name}})}});
}

}  // namespace mainspring::bridge
