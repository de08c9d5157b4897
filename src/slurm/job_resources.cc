#include "slurm/job_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "slurm/tres.h"

namespace mainspring::slurm {
namespace {

void add_cores(const JobResources::OnNode& from, NodeAllocation& to) {
  std::size_t per_socket = 0;
  for (const auto& socket : from.sockets) per_socket = std::max(per_socket, socket.cores.size());
  std::vector<std::uint32_t> held;
  for (std::size_t i = 0; i < from.sockets.size(); ++i) {
    for (const auto& core : from.sockets[i].cores) {
      if (!core.status.contains("ALLOCATED")) continue;
      held.push_back(static_cast<std::uint32_t>(i * per_socket) + core.index);
    }
  }
  std::sort(held.begin(), held.end());
  const std::size_t all = from.sockets.size() * per_socket;
  to.sockets_per_node = static_cast<std::int32_t>(from.sockets.size());
  to.cores_per_socket = static_cast<std::int32_t>(per_socket);
  if (all <= kMaxIndexes && (held.empty() || held.back() < all)) {
    to.core_bitmap = format_core_bitmap(held, all);
  }
}

}  // namespace

Result<std::vector<NodeAllocation>> allocations_of(const JobResources& job) {
  if (!job.state.holds_resources()) {
    return fail(Code::kConflict, fmt::format("job {} holds no resources: it is {}", job.id.text(),
                                             job.state.to_string()));
  }
  std::vector<NodeAllocation> all;
  for (std::size_t i = 0; i < job.nodes.size(); ++i) {
    NodeAllocation& here = all.emplace_back();
    here.node = job.nodes[i].name;
    here.mem_alloc = job.nodes[i].memory;
    add_cores(job.nodes[i], here);
    if (i >= job.gres.size()) continue;
    MS_TRY(const std::vector<Gres> devices, parse_gres(job.gres[i]));
    for (const Gres& each : devices) {
      here.gres.push_back({.name = each.name,
                           .type = each.type,
                           .index = format_index_list(each.indexes),
                           .count = each.count});
    }
  }
  return all;
}

}  // namespace mainspring::slurm
