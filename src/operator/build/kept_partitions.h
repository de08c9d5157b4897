// operator/build/kept_partitions.h
//
// slurmctld does not survive a configuration without a partition that a job on its record names. So
// a partition outlives whoever brought it into slurm.conf, a NodeSet or the user's extraConf: first
// it is closed, and it goes when it is known that no such job is left. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf_file.h"

namespace mainspring::op::build {

// The lines of partitions, and of the node sets that they need, that the slurm.conf `before` has
// and `after` lacks, each with what it includes, closed; but for those that are closed in `before`
// already and of which `may_go` says so. What they inherit from lines of defaults stands in them,
// and nodes that are defined nowhere any more are left out: slurmctld would stop at these.
std::vector<std::string> kept_lines(const slurm::ConfFile& before, const slurm::ConfFile& after,
                                    const std::function<bool(std::string_view partition)>& may_go);

// The line of a partition, for one that takes no new jobs and is nobody's default. What waits in it
// starts only where it would have before.
std::string closed_partition(std::string_view line);

}  // namespace mainspring::op::build
