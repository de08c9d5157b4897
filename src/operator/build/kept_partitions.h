// operator/build/kept_partitions.h
//
// slurmctld does not survive a configuration without a partition that a job on its record names. So
// what a NodeSet brought into slurm.conf outlives the NodeSet, its partition.enabled and its name
// for as long as there is such a job. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::op::build {

// The lines of NodeSets and their partitions that the slurm.conf `before`, which we wrote, has and
// `after` lacks, for the partitions of which `needed` says so. They take no new jobs, so that they
// can go in the end.
std::vector<std::string> kept_lines(std::string_view before, std::string_view after,
                                    const std::function<bool(std::string_view partition)>& needed);

// The line of a partition, for one that takes no new jobs.
std::string closed_partition(std::string_view line);

}  // namespace mainspring::op::build
