// bridge/translate/annotations.h
//
// What a workload asks of Slurm by annotations ("slurmjob.slinky.slurm.net/timelimit"), as values.
// Pure. Annotations that nobody knows are left alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bridge/gang/gang.h"

namespace mainspring::bridge {

struct JobAnnotations {
  std::optional<std::string> account, constraints, gres, group_id, user_id, job_name, licenses,
      partition, qos, reservation, wckey;
  std::optional<std::int32_t> cpus_per_task, max_nodes, min_nodes, priority;
  std::optional<std::int32_t> timelimit_minutes;  // 0: none, as in sbatch.
  // Rounded up: never below what was asked for. 0: all that the node has, as in sbatch.
  std::optional<std::int64_t> memory_per_node_mb;
  std::optional<bool> exclusive;
  // Ours.
  std::optional<std::int32_t> tasks_per_node;
  std::optional<bool> heterogeneous;

  // As written: those that came by the prefix of releases before 1.0.
  std::vector<std::string> early;
  bool operator==(const JobAnnotations&) const = default;
};

// kInvalid names every annotation that cannot be read, its value and what is expected.
Result<JobAnnotations> parse_annotations(const Annotations& annotations);

}  // namespace mainspring::bridge
