#include "bridge/translate/demand.h"

#include <algorithm>
#include <iterator>

#include "slurm/tres.h"

namespace mainspring::bridge {
namespace {

// More than any node has, and small enough to be added up.
constexpr std::int64_t kAll = std::int64_t{1} << 40;

// Slurm gives out whole cores.
std::int64_t in_cores(std::int64_t cpus, const slurm::Node& node) {
  const std::int64_t threads = std::max<std::int64_t>(node.threads, 1);
  return (cpus + threads - 1) / threads * threads;
}

}  // namespace

Demand Demand::of(const slurm::JobRequest& request) {
  Demand one;
  one.nodes = std::max(request.maximum_nodes.value_or(1), request.minimum_nodes.value_or(1));
  one.each.any = true;
  const bool alone = !request.shared.empty();
  one.each.cpus =
      alone ? kAll
            : std::int64_t{request.cpus_per_task.value_or(1)} * request.tasks_per_node.value_or(1);
  // Without a word on memory, as with 0, it may be all that there is.
  const std::int64_t memory = request.memory_per_node.value_or(0);
  one.each.memory = memory == 0 ? kAll : memory;
  if (const auto wanted = slurm::Tres::parse(request.tres_per_node.value_or(""))) {
    one.each.gpus = wanted->gres("gpu");
  }
  return one;
}

void Demand::add(const Demand& other) {
  nodes += other.nodes;
  each.any = each.any || other.each.any;
  each.cpus = std::max(each.cpus, other.each.cpus);
  each.memory = std::max(each.memory, other.each.memory);
  each.gpus = std::max(each.gpus, other.each.gpus);
}

std::int64_t Demand::until_full(const NodeRoom& room, const slurm::Node& node,
                                JustTaken besides) const {
  std::int64_t count = 0;
  while (count <= nodes && room.is_now(node, besides)) {
    ++count;
    besides.any = true;
    besides.cpus += in_cores(each.cpus, node);
    besides.memory += each.memory;
    besides.gpus += each.gpus;
  }
  return count;
}

bool Demand::leaves(std::int64_t least, std::vector<std::int64_t> until_full) const {
  // At worst they fill those first that take the fewest of them.
  std::sort(until_full.begin(), until_full.end());
  std::int64_t left = nodes;
  std::int64_t with_room = std::ssize(until_full);
  for (const std::int64_t enough : until_full) {
    left -= enough;
    if (left < 0) break;
    --with_room;
  }
  return with_room >= least;
}

}  // namespace mainspring::bridge
