// slurm/job_request.cc
#include "slurm/job_request.h"

#include "slurm/request_body.h"

namespace mainspring::slurm {
namespace {

void add_size(json::Value& out, const JobRequest& job) {
  add(out, "nodes", job.nodes);
  add(out, "minimum_nodes", job.minimum_nodes);
  add(out, "maximum_nodes", job.maximum_nodes);
  add(out, "tasks", job.tasks);
  add(out, "tasks_per_node", job.tasks_per_node);
  add(out, "cpus_per_task", job.cpus_per_task);
  add(out, "minimum_cpus", job.minimum_cpus);
  add(out, "threads_per_core", job.threads_per_core);
  add(out, "memory_per_node", job.memory_per_node);
  add(out, "memory_per_cpu", job.memory_per_cpu);
  add(out, "tres_per_job", job.tres_per_job);
  add(out, "tres_per_node", job.tres_per_node);
  add(out, "tres_per_socket", job.tres_per_socket);
  add(out, "tres_per_task", job.tres_per_task);
}

void add_placement(json::Value& out, const JobRequest& job) {
  add(out, "constraints", job.constraints);
  add(out, "prefer", job.prefer);
  add(out, "required_nodes", job.required_nodes);
  add(out, "excluded_nodes", job.excluded_nodes);
  add(out, "licenses", job.licenses);
  add(out, "reservation", job.reservation);
  add(out, "required_switches", job.required_switches);
  add(out, "contiguous", job.contiguous);
  add(out, "shared", job.shared);
}

void add_queueing(json::Value& out, const JobRequest& job) {
  add(out, "time_limit", job.time_limit);
  add(out, "time_minimum", job.time_minimum);
  add(out, "begin_time", job.begin_time);
  add(out, "deadline", job.deadline);
  add(out, "priority", job.priority);
  add(out, "nice", job.nice);
  add(out, "site_factor", job.priority_site_factor);
  add(out, "hold", job.hold);
  add(out, "immediate", job.immediate);
  add(out, "requeue", job.requeue);
  add(out, "kill_on_node_fail", job.kill_on_node_fail);
  add(out, "dependency", job.dependency);
  add(out, "array", job.array);
}

}  // namespace

json::Value to_json(const JobRequest& job) {
  json::Value out = json::Value::object();
  add(out, "name", job.name);
  add(out, "account", job.account);
  add(out, "partition", job.partition);
  add(out, "qos", job.qos);
  add(out, "wckey", job.wckey);
  add(out, "mcs_label", job.mcs_label);
  add(out, "flags", job.flags);
  add_size(out, job);
  add_placement(out, job);
  add_queueing(out, job);
  add(out, "comment", job.comment);
  add(out, "admin_comment", job.admin_comment);
  add(out, "extra", job.extra);
  add(out, "user_id", job.user_id);
  add(out, "group_id", job.group_id);
  add(out, "environment", job.environment);
  add(out, "current_working_directory", job.current_working_directory);
  add(out, "standard_input", job.standard_input);
  add(out, "standard_output", job.standard_output);
  add(out, "standard_error", job.standard_error);
  add(out, "mail_user", job.mail_user);
  return out;
}

json::Value to_submission(const JobRequest& job) {
  json::Value out = json::Value::object();
  add(out, "script", job.script);
  out.set("job", to_json(job));
  return out;
}

json::Value to_submission(std::span<const JobRequest> parts) {
  json::Value out = json::Value::object();
  if (!parts.empty()) add(out, "script", parts.front().script);
  json::Value list = json::Value::array();
  for (const JobRequest& part : parts) list.push_back(to_json(part));
  out.set("jobs", std::move(list));
  return out;
}

bool JobSelection::selects() const {
  return !jobs.empty() || !nodes.empty() || account || job_name || partition || qos ||
         reservation || user_name || wckey || job_state;
}

json::Value to_json(const JobSelection& selection) {
  json::Value out = json::Value::object();
  add(out, "jobs", selection.jobs);
  add(out, "nodes", selection.nodes);
  add(out, "account", selection.account);
  add(out, "job_name", selection.job_name);
  add(out, "partition", selection.partition);
  add(out, "qos", selection.qos);
  add(out, "reservation", selection.reservation);
  add(out, "user_name", selection.user_name);
  add(out, "wckey", selection.wckey);
  if (selection.job_state) {
    json::Value names = json::Value::array();
    for (const std::string_view name : selection.job_state->names()) names.push_back(name);
    out.set("job_state", std::move(names));
  }
  add(out, "signal", selection.signal);
  add(out, "flags", selection.flags);
  return out;
}

}  // namespace mainspring::slurm
