// slurm/partition.h
//
// A partition as slurmctld knows it. Lists of users' groups, accounts and QOS stay the text that
// Slurm gives, "" where everybody may.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/object_key.h"
#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/number.h"
#include "slurm/short_string.h"

namespace mainspring::slurm {

enum class PartitionState : std::uint8_t {
  kUnknown,
  kUp,
  kDown,      // queues jobs, starts none
  kDrain,     // takes no new jobs, starts those it has
  kInactive,  // neither
};
// The array of names that Slurm gives.
bool read(json::Reader& reader, PartitionState& out);
std::string_view to_string(PartitionState state);

struct Partition {
  ShortString name;
  PartitionState state = PartitionState::kUnknown;
  ShortString nodes, node_sets, allowed_allocating_nodes, alternate, topology;
  std::int32_t node_count = 0, cpus = 0;
  ShortString allowed_accounts, denied_accounts, allowed_groups, allowed_qos, denied_qos, qos;
  ShortString tres, billing_weights, exclusive, oversubscribe;
  json::StringList flags, preempt_mode;
  Number default_time, max_time, max_nodes, max_cpus_per_node, default_memory_per_node,
      default_memory_per_cpu, max_memory_per_node, max_memory_per_cpu, suspend_time, resume_timeout,
      suspend_timeout;
  std::int32_t priority_job_factor = 0, priority_tier = 0, grace_time = 0;

  // Known from v0.0.45 on.
  bool is_default() const { return flags.contains("DEFAULT"); }
  bool takes_jobs() const { return state == PartitionState::kUp || state == PartitionState::kDown; }
  // Known to take none.
  bool is_closed() const {
    return state == PartitionState::kDrain || state == PartitionState::kInactive;
  }
  bool starts_jobs() const {
    return state == PartitionState::kUp || state == PartitionState::kDrain;
  }

  KeyView key() const { return {{}, name}; }
  bool operator==(const Partition&) const = default;
};

constexpr auto json_fields(json::Tag<Partition>) {
  using json::field;
  using json::group;
  using P = Partition;
  return json::fields(
      group("nodes", field("allowed_allocation", &P::allowed_allocating_nodes),
            field("configured", &P::nodes), field("total", &P::node_count)),
      group("accounts", field("allowed", &P::allowed_accounts), field("deny", &P::denied_accounts)),
      group("groups", field("allowed", &P::allowed_groups)),
      group("qos", field("allowed", &P::allowed_qos), field("deny", &P::denied_qos),
            field("assigned", &P::qos)),
      field("alternate", &P::alternate),
      group("tres", field("billing_weights", &P::billing_weights), field("configured", &P::tres)),
      group("cpus", field("total", &P::cpus)),
      group("defaults", field("partition_memory_per_cpu", &P::default_memory_per_cpu),
            field("partition_memory_per_node", &P::default_memory_per_node),
            field("time", &P::default_time)),
      field("flags", &P::flags),
      group("partition", field("exclusive", &P::exclusive),
            field("oversubscribe", &P::oversubscribe), field("state", &P::state)),
      field("grace_time", &P::grace_time),
      group("maximums", field("cpus_per_node", &P::max_cpus_per_node),
            field("partition_memory_per_cpu", &P::max_memory_per_cpu),
            field("partition_memory_per_node", &P::max_memory_per_node),
            field("nodes", &P::max_nodes), field("time", &P::max_time)),
      field("name", &P::name), field("node_sets", &P::node_sets),
      field("preempt_mode", &P::preempt_mode),
      group("priority", field("job_factor", &P::priority_job_factor),
            field("tier", &P::priority_tier)),
      group("timeouts", field("resume", &P::resume_timeout), field("suspend", &P::suspend_timeout)),
      field("topology", &P::topology), field("suspend_time", &P::suspend_time));
}

}  // namespace mainspring::slurm
