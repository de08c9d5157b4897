// bridge/translate/node_room.h
//
// Whether a Slurm node has what a job wants of each of its nodes: at all, and right now. The latter
// decides whether Slurm is asked for an allocation at once. A slurmctld that has no room for one
// refuses it, but not before it has preempted whom it may for its sake: they would have ended for a
// job that does not exist. So it is asked only where nobody is in the way. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "slurm/job.h"
#include "slurm/job_request.h"
#include "slurm/node.h"

namespace mainspring::bridge {

// What jobs have of a node that its record does not show yet.
struct JustTaken {
  std::int64_t cpus = 0, memory = 0, gpus = 0;
  bool any = false;

  // That this job has of each of its nodes.
  void add(const slurm::Job& job);
};

class NodeRoom {
 public:
  explicit NodeRoom(const slurm::JobRequest& request);

  // Were the node the job's alone.
  bool could_be(const slurm::Node& node) const;
  // As far as we see: what we do not, such as licenses, is never there.
  bool is_now(const slurm::Node& node, const JustTaken& besides = {}) const;

  bool operator==(const NodeRoom&) const = default;

 private:
  std::set<std::string, std::less<>> excluded_;
  std::int64_t cpus_ = 1, memory_ = 0, gpus_ = 0;
  std::string feature_;
  bool alone_ = false;
  bool unclear_ = false;  // It wants what nodes do not show.
};

}  // namespace mainspring::bridge
