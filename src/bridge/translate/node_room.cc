#include "bridge/translate/node_room.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hostlist.h"
#include "slurm/tres.h"

namespace mainspring::bridge {
namespace {

std::int64_t gpus_in(std::string_view gres) {
  std::int64_t gpus = 0;
  for (const slurm::Gres& one : slurm::parse_gres(gres).value_or(std::vector<slurm::Gres>())) {
    if (one.name == "gpu") gpus += one.count;
  }
  return gpus;
}

// One feature, and not some of several.
bool is_plain(std::string_view constraints) {
  return constraints.find_first_of("&|[]()*,") == std::string_view::npos;
}

}  // namespace

NodeRoom::NodeRoom(const slurm::JobRequest& request)
    : cpus_(std::int64_t{request.cpus_per_task.value_or(1)} * request.tasks_per_node.value_or(1)),
      memory_(request.memory_per_node.value_or(0)),
      feature_(request.constraints.value_or("")),
      alone_(!request.shared.empty()) {
  for (const std::string& list : request.excluded_nodes) {
    for (std::string& host : expand_hostlist(list).value_or(std::vector<std::string>())) {
      excluded_.insert(std::move(host));
    }
  }
  if (const auto wanted = slurm::Tres::parse(request.tres_per_node.value_or(""))) {
    gpus_ = wanted->gres("gpu");
  }
  unclear_ = request.licenses || request.reservation || !is_plain(feature_);
}

bool NodeRoom::could_be(const slurm::Node& node) const {
  return !excluded_.contains(node.name.view()) && node.cpus >= cpus_ &&
         node.real_memory >= memory_ && (gpus_ == 0 || gpus_in(node.gres) >= gpus_);
}

void JustTaken::add(const slurm::Job& job) {
  any = true;
  const auto tres = slurm::Tres::parse(job.tres_allocated.view()).value_or(slurm::Tres());
  const std::int64_t nodes = std::max<std::int64_t>(job.node_count.value_or(1), 1);
  const auto of_each = [&](std::int64_t total) { return (total + nodes - 1) / nodes; };
  cpus += of_each(tres.find("cpu").value_or(job.cpus.value_or(1)));
  memory += of_each(tres.count("mem"));
  gpus += of_each(tres.gres("gpu"));
}

bool NodeRoom::is_now(const slurm::Node& node, const JustTaken& besides) const {
  using Base = slurm::NodeState::Base;
  if (unclear_ || !could_be(node) || !node.state.can_take_jobs()) return false;
  if (!feature_.empty() && !node.active_features.contains(feature_)) return false;
  const bool idle = node.state.base() == Base::kIdle;
  if (idle && !besides.any) return true;
  if (alone_ || !(idle || node.state.base() == Base::kMixed)) return false;
  // Without a word on memory it may be all that there is.
  const std::int64_t memory = memory_ == 0 ? node.real_memory : memory_;
  return node.cpus - node.alloc_cpus - besides.cpus >= cpus_ &&
         node.real_memory - node.alloc_memory - besides.memory >= memory &&
         (gpus_ == 0 || gpus_in(node.gres) - gpus_in(node.gres_used) - besides.gpus >= gpus_);
}

}  // namespace mainspring::bridge
