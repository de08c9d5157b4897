#include "sim/slurm_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hostlist.h"

namespace mainspring::sim {

using json::Value;

namespace {

Value strings(const std::vector<std::string>& items) {
  Value list = Value::array();
  for (const std::string& item : items) list.push_back(item);
  return list;
}

std::string hostlist(const std::vector<std::string>& names) {
  return compress_hostlist_in_order(names).value_or("");
}

std::string_view state_name(SlurmJob::State state) {
  switch (state) {
    case SlurmJob::State::kPending:
      return "PENDING";
    case SlurmJob::State::kRunning:
      return "RUNNING";
    case SlurmJob::State::kSuspended:
      return "SUSPENDED";
    case SlurmJob::State::kCancelled:
      return "CANCELLED";
    case SlurmJob::State::kTimeout:
      return "TIMEOUT";
    case SlurmJob::State::kNodeFail:
      return "NODE_FAIL";
    case SlurmJob::State::kPreempted:
      return "PREEMPTED";
  }
  return "";
}

Value node_states(const SlurmNode& node) {
  const bool full = node.used_cpus >= node.cpus;
  Value states = Value::array();
  states.push_back(node.down ? "DOWN" : node.running == 0 ? "IDLE" : full ? "ALLOCATED" : "MIXED");
  if (node.drain) states.push_back("DRAIN");
  if (!node.responding) states.push_back("NOT_RESPONDING");
  if (node.external) states.push_back("EXTERNAL");
  states.push_back("DYNAMIC_NORM");
  return states;
}

std::string_view reason_of(const SlurmJob& job) {
  if (job.state != SlurmJob::State::kPending) return "None";
  return job.held ? "JobHeldAdmin" : "Resources";
}

}  // namespace

Value slurm_number(std::int64_t number) {
  return Value::object({{"set", true}, {"infinite", false}, {"number", number}});
}
Value slurm_no_number(bool infinite) {
  return Value::object({{"set", false}, {"infinite", infinite}, {"number", 0}});
}

Value to_json(const SlurmNode& node, const SlurmModel& model) {
  std::vector<std::string> partitions;
  for (const SlurmPartition& one : model.partitions()) {
    const auto names = model.nodes_of(one);
    if (std::find(names.begin(), names.end(), node.name) != names.end()) {
      partitions.push_back(one.name);
    }
  }
  return Value::object(
      {{"name", node.name},
       {"address", node.address},
       {"hostname", node.name},
       {"state", node_states(node)},
       {"reason", node.reason},
       {"reason_set_by_user", node.reason.empty() ? "" : "slurm"},
       {"reason_changed_at", slurm_number(node.reason_time)},
       {"comment", node.comment},
       {"extra", node.extra},
       {"features", strings(node.features)},
       {"active_features", strings(node.features)},
       {"partitions", strings(partitions)},
       {"boards", 1},
       {"cpus", node.cpus},
       {"sockets", node.sockets},
       {"cores", node.cores},
       {"threads", node.threads},
       {"real_memory", node.memory},
       {"weight", node.weight},
       {"alloc_cpus", node.used_cpus},
       {"alloc_memory", node.used_memory},
       {"gres", ""},
       {"gres_used", ""},
       {"tres", fmt::format("cpu={},mem={}M,billing={}", node.cpus, node.memory, node.cpus)},
       {"tres_used",
        node.running == 0 ? "" : fmt::format("cpu={},mem={}M", node.used_cpus, node.used_memory)},
       {"topology", ""},
       {"version", ""},
       {"reservation", ""},
       {"port", 6818},
       {"boot_time", slurm_number(0)},
       {"slurmd_start_time", slurm_number(0)},
       {"resume_after", slurm_number(0)}});
}

Value to_json(const SlurmJob& job) {
  Value made = Value::object(
      {{"job_id", job.id},
       {"name", job.name},
       {"partition", job.partition},
       {"user_name", job.user},
       {"user_id", job.user == "slurm" ? 401 : 2001},
       {"group_id", job.user == "slurm" ? 401 : 2001},
       {"job_state", Value::array({state_name(job.state)})},
       {"state_reason", reason_of(job)},
       {"state_description", ""},
       {"admin_comment", job.admin_comment},
       {"comment", job.comment},
       {"extra", job.extra},
       {"flags", Value::array({"EXTERNAL_JOB"})},
       {"hold", job.held},
       {"nodes", hostlist(job.nodes)},
       {"required_nodes", hostlist(job.required)},
       {"excluded_nodes", hostlist(job.excluded)},
       {"features", job.feature},
       {"account", job.account},
       {"qos", job.qos},
       {"tres_per_node", job.gres},
       {"priority", slurm_number(job.held ? 0 : job.priority)},
       {"tasks", slurm_number(std::max<std::int64_t>(job.tasks_per_node, 1) * job.nodes_wanted)},
       {"tasks_per_node", slurm_number(job.tasks_per_node)},
       {"node_count", slurm_number(job.nodes_wanted)},
       {"cpus", slurm_number(std::int64_t{job.cpus_per_node} * job.nodes_wanted)},
       {"time_limit", job.time_limit ? slurm_number(*job.time_limit) : slurm_no_number(true)},
       {"memory_per_node",
        job.memory_per_node ? slurm_number(*job.memory_per_node) : slurm_no_number()},
       {"submit_time", slurm_number(job.submitted)},
       {"eligible_time", slurm_number(job.submitted)},
       {"start_time", slurm_number(job.started)},
       {"end_time", slurm_number(job.ended)},
       {"het_job_id", slurm_number(job.leader)},
       {"het_job_offset", slurm_number(job.leader == 0 ? 0 : job.id - job.leader)}});
  return made;
}

Value to_json(const SlurmPartition& partition, const SlurmModel& model) {
  const auto names = model.nodes_of(partition);
  return Value::object(
      {{"name", partition.name},
       {"nodes", Value::object({{"configured", hostlist(names)},
                                {"total", names.size()},
                                {"allowed_allocation", ""}})},
       {"node_sets", partition.feature.empty() ? "ALL" : partition.feature},
       {"partition", Value::object({{"state", Value::array({partition.closed ? "DRAIN" : "UP"})}})},
       {"flags", Value::array()},
       {"maximums", Value::object({{"time", slurm_no_number(true)}})}});
}

Value to_json(const SlurmReservation& reservation) {
  Value flags = Value::array({"SPEC_NODES"});
  for (const std::string& flag : reservation.flags) flags.push_back(flag);
  return Value::object({{"name", reservation.name},
                        {"node_list", hostlist(reservation.nodes)},
                        {"node_count", reservation.nodes.size()},
                        {"users", reservation.users},
                        {"start_time", slurm_number(reservation.start)},
                        {"end_time", slurm_number(reservation.end)},
                        {"flags", std::move(flags)}});
}

Value pulse_of(const SlurmJob& job) {
  return Value::object(
      {{"job_id", std::to_string(job.id)}, {"state", Value::array({state_name(job.state)})}});
}

Value slurm_warning(std::string_view description, std::string_view source) {
  return Value::object({{"description", description}, {"source", source}});
}

http::Response slurm_answer(int status, Value contents, int version) {
  contents["meta"] = Value::object(
      {{"plugin", Value::object({{"data_parser", fmt::format("data_parser/v0.0.{}", version)}})},
       {"slurm", Value::object({{"release", "26.05.5"}, {"cluster", "sim"}})}});
  if (contents.find("errors") == nullptr) contents["errors"] = Value::array();
  if (contents.find("warnings") == nullptr) contents["warnings"] = Value::array();
  return http::json_response(status, to_text(contents, {.indent = 2}));
}

http::Response slurm_answer(const SlurmRefusal& refusal, Value contents, int version) {
  contents["errors"] = Value::array({Value::object({{"description", refusal.description},
                                                    {"error_number", refusal.number},
                                                    {"error", refusal.error},
                                                    {"source", refusal.source}})});
  return slurm_answer(refusal.http_status, std::move(contents), version);
}

}  // namespace mainspring::sim
