#include "bridge/gang/gang_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace mainspring::bridge {
namespace {

// Of numbers that anybody may write.
std::int64_t at_once(std::optional<std::int32_t> parallelism,
                     std::optional<std::int32_t> completions, std::int32_t succeeded) {
  const std::int64_t wide = parallelism.value_or(1);
  if (!completions) return wide;
  return std::min(wide, std::max<std::int64_t>(std::int64_t{*completions} - succeeded, 0));
}

// JobSet "train" calls the Jobs of its "workers" train-workers-0, train-workers-1 and so on.
bool is_of(std::string_view name, const kube::JobSet& set, const kube::ReplicatedJob& job) {
  const std::string prefix = fmt::format("{}-{}-", set.meta.name, job.name.view());
  return name.starts_with(prefix) && name.find('-', prefix.size()) == std::string_view::npos;
}

}  // namespace

std::int32_t pods_to_come(const kube::Job& job) {
  return static_cast<std::int32_t>(at_once(job.parallelism, job.completions, job.succeeded));
}

std::int32_t pods_to_come(const kube::JobSet& set, const JobSetProgress& progress) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  std::int64_t pods = 0;
  bool first = true;
  for (const kube::ReplicatedJob& job : set.jobs) {
    const bool later = job.depends || (set.startup_order == "InOrder" && !first);
    first = false;
    if (later && !progress.begun.contains(job.name.view())) continue;
    const std::int64_t whole = at_once(job.parallelism, job.completions, 0);
    pods += job.replicas * whole;
    for (const auto& [name, succeeded] : progress.succeeded) {
      if (!is_of(name, set, job)) continue;
      pods -= whole - at_once(job.parallelism, job.completions, succeeded);
    }
  }
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(pods, 0, kMost));
}

}  // namespace mainspring::bridge
