// bridge/translate/change.h
//
// How a job that waits becomes what is wanted now: by an update of what differs or, where Slurm
// cannot change that of a job, by asking for another in its place. Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/job.h"
#include "slurm/job_request.h"

namespace mainspring::bridge {

struct JobChange {
  // What differs. What is wanted no more is sent empty, which to Slurm means none.
  slurm::JobRequest update;
  // Why another job has to be asked for; "": the update does it.
  std::string anew;

  bool none() const { return anew.empty() && update == slurm::JobRequest(); }
};

// Whether Slurm has a node of this name.
using HasNode = std::function<bool(std::string_view)>;

// `had`: what `job` was asked for with; without it, what its record shows of that.
JobChange change_of(const slurm::Job& job, const std::optional<slurm::JobRequest>& had,
                    const slurm::JobRequest& wanted, const HasNode& has_node);

// Stands for what the owners of a job want of it, all parts of it: not for which pods it is, nor
// which nodes it leaves out, for those change by themselves.
std::string asked_text(std::span<const slurm::JobRequest> parts);
// What `job` was asked for with where its owners have wanted nothing else since: what its record
// shows otherwise is an administrator's doing, and stays.
slurm::JobRequest as_asked(const slurm::Job& job, const slurm::JobRequest& wanted);

// Slurm says "gres/gpu:2" of what it was asked for as "gres/gpu=2", "gres:gpu:2" or "gpu:2". In
// order, and in one way.
std::vector<std::string> gres_in(std::string_view text);

}  // namespace mainspring::bridge
