#include "bridge/devices/inventory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

using SlicePtr = std::shared_ptr<const kube::ResourceSlice>;

// Of each pool, what its newest generation says. A driver that publishes a new one leaves slices of
// the old behind for a while.
std::vector<SlicePtr> newest(Slices slices, std::string& incomplete) {
  struct Pool {
    std::int64_t generation = -1;
    std::vector<SlicePtr> slices;
  };
  std::map<std::pair<std::string, std::string>, Pool> pools;
  for (const SlicePtr& slice : slices) {
    Pool& pool = pools[{slice->driver.str(), slice->pool.str()}];
    if (slice->pool_generation < pool.generation) continue;
    if (slice->pool_generation > pool.generation) {
      pool = Pool{slice->pool_generation, {}};
    }
    pool.slices.push_back(slice);
  }
  std::vector<SlicePtr> out;
  for (const auto& [name, pool] : pools) {
    if (std::ssize(pool.slices) < pool.slices.front()->pool_slices) {
      incomplete = name.first + "/" + name.second;
    }
    out.insert(out.end(), pool.slices.begin(), pool.slices.end());
  }
  return out;
}

// A driver may write its attributes with its domain or without.
const kube::DeviceAttribute* attribute(const kube::Device& device, std::string_view domain,
                                       std::string_view name) {
  if (const auto* const plain = device.attribute(name)) return plain;
  return device.attribute(std::string(domain) + "/" + std::string(name));
}

std::optional<std::int64_t> number(const kube::Device& device, std::string_view domain,
                                   std::string_view name) {
  const auto* const found = attribute(device, domain, name);
  if (found == nullptr || found->kind != kube::DeviceAttribute::Kind::kInt) return std::nullopt;
  return found->number;
}

bool is_efficiency_core(const kube::Device& device) {
  constexpr std::int64_t kEfficiency = 3;
  const auto* const type = attribute(device, kCpuClass, "coreType");
  return type != nullptr && (type->text == "e-core" || type->number == kEfficiency);
}

std::optional<std::int64_t> number_by(const DeviceClassRule& rule, const kube::Device& device) {
  if (!rule.attribute.empty()) return number(device, rule.driver, rule.attribute);
  const std::string_view name = device.name.view();
  if (!name.starts_with(rule.prefix)) return std::nullopt;
  const auto found = parse_integer<std::int64_t>(name.substr(rule.prefix.size()));
  return found ? std::optional(*found) : std::nullopt;
}

// Where a core is: its socket, NUMA node, last cache and number. Numbers of cores may repeat in
// another node or under another cache.
using CorePlace = std::array<std::int64_t, 4>;

CorePlace place_of(const kube::Device& device, std::int64_t cpu) {
  const auto node = number(device, kCpuClass, "numaNodeID");
  return {number(device, kCpuClass, "socketID").value_or(0),
          node ? *node : number(device, "resource.kubernetes.io", "numaNode").value_or(0),
          number(device, kCpuClass, "cacheL3ID").value_or(0),
          number(device, kCpuClass, "coreID").value_or(cpu)};
}

// The socket, node or cache around it, by how many numbers are left.
CorePlace within(CorePlace place, std::size_t depth) {
  constexpr std::int64_t kAny = -2;  // Linux says -1 where it knows no number.
  std::fill(place.begin() + static_cast<std::ptrdiff_t>(depth), place.end(), kAny);
  return place;
}

// As slurmd counts them where it runs on the node, too: what shares a socket, a NUMA node or a
// cache stands together, and each of those where its lowest CPU stands. Numbers of cores do not
// matter.
std::vector<CpuCore> in_slurms_order(std::map<CorePlace, CpuCore>&& cores) {
  std::map<CorePlace, std::int64_t> lowest;
  for (const auto& [place, core] : cores) {
    for (std::size_t depth = 1; depth <= place.size(); ++depth) {
      const std::int64_t cpu = core.cpus.front().number;
      std::int64_t& known = lowest.try_emplace(within(place, depth), cpu).first->second;
      known = std::min(known, cpu);
    }
  }
  std::map<CorePlace, CpuCore> sorted;
  for (auto& [place, core] : cores) {
    CorePlace rank{};
    for (std::size_t depth = 1; depth <= place.size(); ++depth) {
      rank[depth - 1] = lowest.at(within(place, depth));
    }
    sorted.emplace(rank, std::move(core));
  }
  std::vector<CpuCore> out;
  out.reserve(sorted.size());
  for (auto& [rank, core] : sorted) out.push_back(std::move(core));
  return out;
}

std::vector<CpuCore> cores_in(const std::vector<SlicePtr>& slices) {
  std::map<CorePlace, CpuCore> cores;
  for (const SlicePtr& slice : slices) {
    if (slice->driver != kCpuClass) continue;
    for (const kube::Device& device : slice->devices) {
      // Without a number it is a group of CPUs, of which Slurm knows nothing.
      const auto cpu = number(device, kCpuClass, "cpuID");
      if (!cpu || is_efficiency_core(device)) continue;
      const CorePlace place = place_of(device, *cpu);
      CpuCore& one = cores[place];
      one.socket = place.front();
      one.core = place.back();
      one.cpus.push_back({*cpu, {slice->driver.str(), slice->pool.str(), device.name.str()}});
    }
  }
  std::size_t threads = 0;
  for (const auto& [place, core] : cores) threads = std::max(threads, core.cpus.size());
  std::erase_if(cores, [&](const auto& one) { return one.second.cpus.size() < threads; });
  for (auto& [place, core] : cores) std::sort(core.cpus.begin(), core.cpus.end());
  return in_slurms_order(std::move(cores));
}

}  // namespace

std::int64_t Inventory::threads() const { return cores.empty() ? 1 : std::ssize(cores[0].cpus); }

bool publishes_cpus(Slices slices) {
  return std::any_of(slices.begin(), slices.end(), [](const SlicePtr& slice) {
    // Its devices are all of one kind.
    return slice->driver == kCpuClass && !slice->devices.empty() &&
           number(slice->devices[0], kCpuClass, "cpuID").has_value();
  });
}

Inventory inventory_of(Slices slices, const DeviceClasses& classes) {
  Inventory out;
  if (slices.empty()) return out;
  const std::vector<SlicePtr> all = newest(slices, out.incomplete);
  out.cores = cores_in(all);
  for (const auto& [name, rule] : classes) {
    std::vector<NumberedDevice> devices;
    for (const SlicePtr& slice : all) {
      if (slice->driver != rule.driver) continue;
      for (const kube::Device& device : slice->devices) {
        const auto place = number_by(rule, device);
        if (!place) continue;
        devices.push_back({*place, {slice->driver.str(), slice->pool.str(), device.name.str()}});
      }
    }
    std::sort(devices.begin(), devices.end());
    if (!devices.empty()) out.classes.emplace(name, std::move(devices));
  }
  return out;
}

}  // namespace mainspring::bridge
