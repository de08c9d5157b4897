// slurm/admin_request.h
//
// What we ask of Slurm about partitions (v0.0.45 on; they last until the next reconfigure unless
// ReconfigFlags keeps them) and reservations (v0.0.43 on). Values; a field that is not set is not
// sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "json/value.h"
#include "slurm/number.h"
#include "slurm/partition.h"

namespace mainspring::slurm {

struct PartitionSpec {
  std::string name;
  std::optional<std::string> nodes;  // hostlist
  std::optional<PartitionState> state;
  std::optional<std::string> allowed_accounts, denied_accounts, allowed_groups, allowed_qos,
      denied_qos, qos, alternate, billing_weights, topology;
  std::vector<std::string> flags;  // DEFAULT, HIDDEN, ..., and DEFAULT_CLEAR, ... to take them away
  Number default_time, max_time, max_nodes, default_memory_per_node, max_memory_per_node;
  std::optional<std::int32_t> min_nodes, priority_tier, priority_job_factor;
};
json::Value to_json(const PartitionSpec& spec);
// The body of POST partitions/.
json::Value to_json(std::span<const PartitionSpec> specs);

struct ReservationSpec {
  std::string name;
  std::vector<std::string> nodes, users, accounts, groups, licenses, flags;
  std::optional<std::string> partition, features, comment, burst_buffer;
  Number start_time, end_time;  // seconds since 1970
  Number duration;              // minutes
  Number node_count, core_count, max_start_delay;
  Number purge_after;  // seconds it may stand unused
};
json::Value to_json(const ReservationSpec& spec);
// The body of POST reservations/.
json::Value to_json(std::span<const ReservationSpec> specs);

}  // namespace mainspring::slurm
