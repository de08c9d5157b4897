#include "bridge/translate/taken.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "bridge/names.h"
#include "bridge/translate/host_ports.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kPods = "pods";

// What Slurm has a number for on every node.
bool is_counted(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource == kPods ||
         resource.starts_with(kDeviceClassPrefix);
}

// More than can be added up is no node's.
void add_to(kube::ResourceTotals& sum, const std::string& resource, const Quantity& amount) {
  Quantity& own = sum[resource];
  if (const auto both = own.plus(amount)) own = *both;
}

}  // namespace

kube::ResourceTotals uncounted(const kube::PodSpec& spec) {
  auto totals = kube::pod_requests(spec).value_or(kube::ResourceTotals());
  std::erase_if(totals,
                [](const auto& one) { return is_counted(one.first) || one.second.is_zero(); });
  return totals;
}

bool is_in_slurms_books(std::string_view resource) {
  return is_counted(resource) ? resource != kPods
                              : resource == "nvidia.com/gpu" || resource == "amd.com/gpu";
}

void Taken::add(const kube::Shared<kube::PodSpec>& pod) {
  ++pods;
  for (const auto& [resource, amount] : uncounted(*pod)) add_to(resources, resource, amount);
  if (has_host_ports(*pod)) with_ports.push_back(pod);
}

std::string no_room(const Taken& wanted, const Taken& taken, const kube::Node& node) {
  if (node.allocatable.contains(kPods)) {
    const auto most = node.allocatable.amount(kPods);
    const std::int64_t places = most ? most->value().value_or(0) : 0;
    if (static_cast<std::int64_t>(taken.pods + wanted.pods) > places) {
      return fmt::format("the kubelet takes {} pods and has {}", places, taken.pods);
    }
  }
  for (const auto& [resource, amount] : wanted.resources) {
    if (is_in_slurms_books(resource)) continue;
    const auto others = taken.resources.find(resource);
    const Quantity theirs = others == taken.resources.end() ? Quantity() : others->second;
    const auto there = node.allocatable.amount(resource);
    const auto sum = amount.plus(theirs);
    if (there && sum && *there >= *sum) continue;
    return fmt::format("{} of {} is wanted, and of {} others have {}", amount.to_string(), resource,
                       there ? there->to_string() : "none", theirs.to_string());
  }
  return {};
}

std::int32_t taken_port(const kube::PodSpec& pod, const Taken& taken) {
  for (const auto& other : taken.with_ports) {
    if (const std::int32_t port = shared_host_port(pod, *other); port != 0) return port;
  }
  return 0;
}

Taken most_of(const std::vector<const kube::PodSpec*>& pods, std::size_t count) {
  std::map<std::string, std::vector<Quantity>, std::less<>> amounts;
  for (const kube::PodSpec* const pod : pods) {
    for (const auto& [resource, amount] : uncounted(*pod)) amounts[resource].push_back(amount);
  }
  Taken out;
  out.pods = std::min(count, pods.size());
  for (auto& [resource, each] : amounts) {
    std::sort(each.begin(), each.end(), std::greater<>());
    if (each.size() > count) each.resize(count);
    for (const Quantity& amount : each) add_to(out.resources, resource, amount);
  }
  return out;
}

}  // namespace mainspring::bridge
