#include "bridge/nodes/node_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "bridge/names.h"
#include "json/value.h"
#include "slurm/tres.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kMember = "kubernetes";

// Whole ones: what is left over cannot be given out.
Result<std::int64_t> whole(const Quantity& amount) {
  MS_TRY(const std::int64_t rounded, amount.value());
  return Quantity::of_units(rounded) > amount ? rounded - 1 : rounded;
}
Result<std::int64_t> whole(const kube::Quantities& amounts, std::string_view resource) {
  MS_TRY(const Quantity amount, amounts.amount(resource));
  return whole(amount);
}

Result<std::int64_t> positive(std::int64_t amount, std::string_view what) {
  if (amount > 0) return amount;
  return fail(Code::kInvalid, fmt::format("the node has no {} allocatable to pods yet", what));
}

// CPUs and memory of the node that are neither set aside nor the DaemonSets'.
Result<void> count_room(const kube::Node& node, const Reserve& daemons, NodeShape& shape) {
  MS_TRY(const SetAside aside, set_aside_on(node));
  const auto left = [&](std::string_view resource, const Quantity& others,
                        const Quantity& of_daemons) -> Result<std::int64_t> {
    MS_TRY(const Quantity amount, node.allocatable.amount(resource));
    MS_TRY(const Quantity ours, amount.minus(others));
    MS_TRY(const Quantity rest, ours.minus(of_daemons));
    return whole(rest);
  };
  MS_TRY(const std::int64_t cpus, left("cpu", aside.cpu, Quantity::of_milli(daemons.cpu_milli)));
  MS_TRY(shape.cpus, positive(cpus, "whole CPU"));
  MS_TRY(const std::int64_t bytes,
         left("memory", aside.memory, Quantity::of_units(daemons.memory_mb << 20)));
  MS_TRY(shape.memory_mb, positive(bytes >> 20, "memory"));
  return {};
}

// The first is that of the cluster's own address family.
Result<std::string> internal_address(const kube::Node& node) {
  for (const kube::NodeAddress& one : node.addresses) {
    if (one.type == "InternalIP") return one.address.str();
  }
  return fail(Code::kInvalid,
              "the node has no InternalIP; slurmctld would stop for ten seconds at every job start "
              "to look for its name");
}

std::vector<std::string> partitions_of(const kube::Node& node, std::string_view otherwise) {
  std::vector<std::string> names;
  const auto listed = node.meta.annotations.find(kPartitionsAnnotation).value_or(otherwise);
  for (const std::string_view part : split(listed, ',')) {
    if (!trim(part).empty()) names.emplace_back(trim(part));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

// "2x16x2"
Result<std::array<std::int64_t, 3>> parse_cpu_topology(std::string_view text) {
  const auto parts = split(text, 'x');
  std::array<std::int64_t, 3> numbers{};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = parts.size() == numbers.size() ? parse_integer<std::int32_t>(parts[i])
                                                       : Result<std::int32_t>(0);
    if (!number || *number < 1) {
      return fail(
          Code::kInvalid,
          fmt::format("annotation {}: {} is not sockets x cores x threads, as in \"2x16x2\"",
                      kCpuTopologyAnnotation, quoted(text)));
    }
    numbers[i] = *number;
  }
  return numbers;
}

// As many sockets and threads as are known to be there and what is allocatable can be divided by.
// A core that a DaemonSet has some of is not given out at all.
Result<void> divide_cpus(const kube::Node& node, bool has_daemons, NodeShape& shape) {
  shape.cores = shape.cpus;
  const auto text = node.meta.annotations.find(kCpuTopologyAnnotation);
  if (!text) return {};
  MS_TRY(const auto known, parse_cpu_topology(*text));
  const auto [sockets, cores, threads] = known;
  if (has_daemons && shape.cpus > threads) shape.cpus -= shape.cpus % threads;
  shape.cores = shape.cpus;
  if (shape.cpus % threads != 0) return {};
  shape.threads = threads;
  shape.sockets = shape.cpus % (sockets * threads) == 0 ? sockets : 1;
  shape.cores = shape.cpus / (shape.sockets * shape.threads);
  return {};
}

// As the driver counts them. Slurm wants every socket and every core to be like the others.
void divide_cores(const Inventory& devices, NodeShape& shape) {
  const auto cores = std::int64_t(std::ssize(devices.cores));
  std::map<std::int64_t, std::int64_t> sockets;
  for (const CpuCore& core : devices.cores) ++sockets[core.socket];
  const bool alike = std::all_of(sockets.begin(), sockets.end(), [&](const auto& socket) {
    return socket.second == sockets.begin()->second;
  });
  shape.published_cpus = true;
  shape.threads = devices.threads();
  shape.sockets = alike ? std::int64_t(std::ssize(sockets)) : 1;
  shape.cores = cores / shape.sockets;
  shape.cpus = cores * shape.threads;
}

// Slurm takes devices of one type for a node that has no slurmd: those of which there are most.
bool count_devices(const Inventory& devices, NodeShape& shape) {
  for (const auto& [name, of_class] : devices.classes) {
    if (std::ssize(of_class) <= shape.gpus) continue;
    shape.gpus = std::ssize(of_class);
    shape.gpu_class = name;
  }
  if (shape.gpus == 0) return false;
  // For their number alone, as below.
  shape.gpu_files =
      shape.gpus == 1 ? "/dev/device0" : fmt::format("/dev/device[0-{}]", shape.gpus - 1);
  return true;
}

Result<void> count_gpus(const kube::Node& node, NodeShape& shape) {
  struct Plugin {
    std::string_view resource, files;
    std::int64_t first;
  };
  // Of what is in the files' names only the number of them matters to a node without a slurmd.
  constexpr Plugin kPlugins[] = {{"nvidia.com/gpu", "/dev/nvidia", 0},
                                 {"amd.com/gpu", "/dev/dri/renderD", 128}};
  for (const Plugin& plugin : kPlugins) {
    MS_TRY(shape.gpus, whole(node.allocatable, plugin.resource));
    if (shape.gpus <= 0) continue;
    const std::int64_t last = plugin.first + shape.gpus - 1;
    shape.gpu_files = shape.gpus == 1 ? fmt::format("{}{}", plugin.files, plugin.first)
                                      : fmt::format("{}[{}-{}]", plugin.files, plugin.first, last);
    break;
  }
  return {};
}

}  // namespace

Result<NodeShape> shape_of(const kube::Node& node, std::string name, std::string_view partition,
                           const Inventory& devices, const Reserve& daemons) {
  if (!devices.incomplete.empty()) {
    return fail(Code::kInvalid,
                fmt::format("the ResourceSlices of pool {} are not all there yet; their driver "
                            "publishes them",
                            devices.incomplete));
  }
  NodeShape shape;
  shape.name = std::move(name);
  shape.hostname = node.meta.name;
  MS_TRY(shape.address, internal_address(node));
  MS_CHECK(count_room(node, daemons, shape));
  if (devices.cores.empty()) {
    MS_CHECK(divide_cpus(node, daemons.cpu_milli > 0, shape));
  } else {
    divide_cores(devices, shape);
  }
  if (!count_devices(devices, shape)) MS_CHECK(count_gpus(node, shape));
  shape.partitions = partitions_of(node, partition);
  shape.topology = std::string(node.meta.annotations.find(kTopologyAnnotation).value_or(""));
  // What Slurm could misread is found here, and not when it is sent.
  MS_CHECK(slurm::node_conf(spec_of(shape)));
  return shape;
}

slurm::NodeSpec spec_of(const NodeShape& shape) {
  slurm::NodeSpec spec;
  spec.name = shape.name;
  spec.address = shape.address;
  if (shape.hostname != shape.name) spec.hostname = shape.hostname;
  spec.cpus = shape.cpus;
  spec.sockets = shape.sockets;
  spec.cores_per_socket = shape.cores;
  spec.threads_per_core = shape.threads;
  spec.real_memory = shape.memory_mb;
  spec.features = shape.partitions;
  spec.topology = shape.topology;
  if (shape.gpus > 0) {
    const bool typed = !shape.gpu_class.empty();
    spec.gres = typed ? fmt::format("gpu:{}:{}", shape.gpu_class, shape.gpus)
                      : fmt::format("gpu:{}", shape.gpus);
    spec.gres_conf = fmt::format("count={},name=gpu{}{},file={}", shape.gpus, typed ? ",type=" : "",
                                 shape.gpu_class, shape.gpu_files);
  }
  return spec;
}

std::string to_comment(const NodeMark& mark) {
  json::Value inner =
      json::Value::object({{"cluster", mark.cluster}, {"partitions", join(mark.partitions, ",")}});
  if (mark.gpus > 0) inner["gpus"] = mark.gpus;
  if (!mark.gpu_class.empty()) inner["gpuClass"] = mark.gpu_class;
  if (!mark.topology.empty()) inner["topology"] = mark.topology;
  if (mark.published_cpus) inner["publishedCpus"] = true;
  if (mark.daemons != Reserve{}) {
    inner["daemons"] = json::Value::object(
        {{"cpuMilli", mark.daemons.cpu_milli}, {"memoryMb", mark.daemons.memory_mb}});
  }
  json::Value comment = json::Value::object();
  comment.set(kMember, std::move(inner));
  return json::to_text(comment);
}

std::optional<NodeMark> parse_mark(std::string_view comment) {
  if (comment.empty() || comment.front() != '{') return std::nullopt;
  const auto value = json::parse(comment);
  const json::Value* const inner = value ? value->find(kMember) : nullptr;
  if (inner == nullptr) return std::nullopt;
  const auto text = [&](std::string_view key) {
    const json::Value* const found = inner->find(key);
    return std::string(found == nullptr ? "" : found->as_string().value_or(""));
  };
  NodeMark mark;
  mark.cluster = text("cluster");
  if (mark.cluster.empty()) return std::nullopt;
  const std::string partitions = text("partitions");
  for (const std::string_view part : split(partitions, ',')) {
    if (!part.empty()) mark.partitions.emplace_back(part);
  }
  const auto number = [](const json::Value& in, std::string_view key) {
    const json::Value* const found = in.find(key);
    return found == nullptr ? 0 : found->as_int().value_or(0);
  };
  mark.gpus = number(*inner, "gpus");
  if (const json::Value* const daemons = inner->find("daemons"); daemons != nullptr) {
    mark.daemons = {number(*daemons, "cpuMilli"), number(*daemons, "memoryMb")};
  }
  if (const json::Value* const cpus = inner->find("publishedCpus"); cpus != nullptr) {
    mark.published_cpus = cpus->as_bool().value_or(false);
  }
  mark.gpu_class = text("gpuClass");
  mark.topology = text("topology");
  return mark;
}

NodeMark mark_of(const NodeShape& shape, std::string_view cluster, const Reserve& daemons) {
  return {std::string(cluster), shape.partitions, shape.gpus,          shape.gpu_class,
          shape.topology,       daemons,          shape.published_cpus};
}

std::int64_t gpus_of(const slurm::Node& node) {
  std::int64_t count = 0;
  const auto all = slurm::parse_gres(node.gres);
  if (!all) return 0;
  for (const slurm::Gres& one : *all) {
    if (one.name == "gpu") count += one.count;
  }
  return count;
}

}  // namespace mainspring::bridge
