// bridge/translate/job.h
//
// From a gang to the external job that holds its place in Slurm. Pure: no clock, no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "bridge/config.h"
#include "bridge/gang/gang.h"
#include "slurm/job_request.h"

namespace mainspring::bridge {

struct Translation {
  // Without excluded nodes (translate/placement) and admin comment (translate/ownership).
  slurm::JobRequest request;
  // So many pods fit on each node of the allocation, and no more.
  std::int32_t pods_per_node = 1;
  // For the workload's owner: what was understood but should be written otherwise.
  std::vector<std::string> warnings;
};

// All pods of a job get the same: what the one that needs most needs. What the configuration says
// of the namespace comes before annotations, annotations before what the pods say.
//
// kInvalid says what is wrong with the workload and what to do.
Result<Translation> translate(const Gang& gang, const BridgeConfig& config);

}  // namespace mainspring::bridge
