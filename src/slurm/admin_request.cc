// slurm/admin_request.cc
#include "slurm/admin_request.h"

#include "slurm/request_body.h"

namespace mainspring::slurm {
namespace {

json::Value limits_of(const PartitionSpec& spec) {
  json::Value out = json::Value::object();
  add(out, "time", spec.max_time);
  add(out, "nodes", spec.max_nodes);
  add(out, "partition_memory_per_node", spec.max_memory_per_node);
  return out;
}

}  // namespace

json::Value to_json(const PartitionSpec& spec) {
  using json::Value;
  Value out = Value::object({{"name", spec.name}});
  Value nodes = Value::object(), accounts = Value::object(), groups = Value::object();
  add(nodes, "configured", spec.nodes);
  add(accounts, "allowed", spec.allowed_accounts);
  add(accounts, "deny", spec.denied_accounts);
  add(groups, "allowed", spec.allowed_groups);
  add_object(out, "nodes", std::move(nodes));
  add_object(out, "accounts", std::move(accounts));
  add_object(out, "groups", std::move(groups));

  Value qos = Value::object(), tres = Value::object(), state = Value::object();
  add(qos, "allowed", spec.allowed_qos);
  add(qos, "deny", spec.denied_qos);
  add(qos, "assigned", spec.qos);
  add(tres, "billing_weights", spec.billing_weights);
  if (spec.state) state.set("state", Value::array({to_string(*spec.state)}));
  add_object(out, "qos", std::move(qos));
  add_object(out, "tres", std::move(tres));
  add_object(out, "partition", std::move(state));

  Value defaults = Value::object(), minimums = Value::object(), priority = Value::object();
  add(defaults, "time", spec.default_time);
  add(defaults, "partition_memory_per_node", spec.default_memory_per_node);
  add(minimums, "nodes", spec.min_nodes);
  add(priority, "tier", spec.priority_tier);
  add(priority, "job_factor", spec.priority_job_factor);
  add_object(out, "defaults", std::move(defaults));
  add_object(out, "maximums", limits_of(spec));
  add_object(out, "minimums", std::move(minimums));
  add_object(out, "priority", std::move(priority));
  add(out, "alternate", spec.alternate);
  add(out, "topology", spec.topology);
  add(out, "flags", spec.flags);
  return out;
}

json::Value to_json(std::span<const PartitionSpec> specs) {
  json::Value list = json::Value::array();
  for (const PartitionSpec& spec : specs) list.push_back(to_json(spec));
  return json::Value::object({{"partitions", std::move(list)}});
}

json::Value to_json(const ReservationSpec& spec) {
  json::Value out = json::Value::object({{"name", spec.name}});
  add(out, "node_list", spec.nodes);
  add(out, "users", spec.users);
  add(out, "accounts", spec.accounts);
  add(out, "groups", spec.groups);
  add(out, "licenses", spec.licenses);
  add(out, "partition", spec.partition);
  add(out, "features", spec.features);
  add(out, "comment", spec.comment);
  add(out, "burst_buffer", spec.burst_buffer);
  add(out, "start_time", spec.start_time);
  add(out, "end_time", spec.end_time);
  add(out, "duration", spec.duration);
  add(out, "node_count", spec.node_count);
  add(out, "core_count", spec.core_count);
  add(out, "max_start_delay", spec.max_start_delay);
  json::Value purge = json::Value::object();
  add(purge, "time", spec.purge_after);
  add_object(out, "purge_completed", std::move(purge));
  add(out, "flags", spec.flags);
  return out;
}

json::Value to_json(std::span<const ReservationSpec> specs) {
  json::Value list = json::Value::array();
  for (const ReservationSpec& spec : specs) list.push_back(to_json(spec));
  return json::Value::object({{"reservations", std::move(list)}});
}

}  // namespace mainspring::slurm
