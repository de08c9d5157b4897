// kube/batch.h
//
// Job: a workload whose pods the bridge may run as Slurm jobs. A value.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/conditions.h"
#include "kube/pod.h"
#include "kube/resource.h"

namespace mainspring::kube {

struct Job {
  inline static const Resource kResource{"batch", "v1", "jobs", "Job", true};

  Meta meta;
  std::optional<std::int32_t> parallelism;
  std::optional<std::int32_t> completions;
  std::optional<std::int64_t> active_deadline_seconds;
  PodTemplate pod;
  Text managed_by;
  Conditions conditions;
  std::optional<WallTime> started;
  std::optional<WallTime> completed;
  std::int32_t active = 0;
  std::int32_t succeeded = 0;
  std::int32_t failed = 0;
  bool suspended = false;
  bool indexed = false;

  bool finished() const { return is_true(conditions, "Complete") || is_true(conditions, "Failed"); }

  bool operator==(const Job&) const = default;
};

bool read(json::Reader& reader, Job& out);

}  // namespace mainspring::kube
