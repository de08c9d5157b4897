#include "bridge/nodes/node_holds.h"

namespace mainspring::bridge {

void NodeHolds::hold(std::string_view slurm_node, slurm::JobId job, std::string reason) {
  const std::string before = this->reason(slurm_node);
  holds_[std::string(slurm_node)].insert_or_assign(job, std::move(reason));
  if (this->reason(slurm_node) != before) tell(slurm_node);
}

void NodeHolds::release(std::string_view slurm_node, slurm::JobId job) {
  const auto it = holds_.find(slurm_node);
  if (it == holds_.end()) return;
  const std::string before = reason(slurm_node);
  it->second.erase(job);
  if (it->second.empty()) holds_.erase(it);
  if (reason(slurm_node) != before) tell(slurm_node);
}

std::string NodeHolds::reason(std::string_view slurm_node) const {
  const auto it = holds_.find(slurm_node);
  return it == holds_.end() ? std::string() : it->second.begin()->second;
}

void NodeHolds::tell(std::string_view slurm_node) const {
  for (const Handler& handler : handlers_) handler(slurm_node);
}

}  // namespace mainspring::bridge
