// bridge/nodes/node_holds.h
//
// NodeHolds: the nodes that Slurm has already given back while containers of the job still run
// there, as after a preemption or a time limit. As long as a node is held it stays drained, so that
// nothing else is started on cores and devices that are in use. Filled by whoever watches the pods,
// also after a restart, since it is kept nowhere; NodeSync does the draining. Lives on the control
// loop.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "slurm/job_id.h"

namespace mainspring::bridge {

class NodeHolds {
 public:
  NodeHolds() = default;
  NodeHolds(const NodeHolds&) = delete;
  NodeHolds& operator=(const NodeHolds&) = delete;

  // `reason` follows our prefix in Slurm: "pods of job 17 are still ending". Held until every job
  // that holds the node has released it.
  void hold(std::string_view slurm_node, slurm::JobId job, std::string reason);
  void release(std::string_view slurm_node, slurm::JobId job);

  bool held(std::string_view slurm_node) const { return holds_.contains(slurm_node); }
  // That of the oldest job; "" where the node is not held.
  std::string reason(std::string_view slurm_node) const;

  // Called with the node whenever what reason() says of it has changed. To be added while things
  // are wired up.
  using Handler = std::function<void(std::string_view slurm_node)>;
  void on_change(Handler handler) { handlers_.push_back(std::move(handler)); }

 private:
  void tell(std::string_view slurm_node) const;

  std::map<std::string, std::map<slurm::JobId, std::string>, std::less<>> holds_;
  std::vector<Handler> handlers_;
};

}  // namespace mainspring::bridge
