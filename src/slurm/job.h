// slurm/job.h
//
// A job as slurmctld knows it, with the fields that operator, bridge and exporter read. An array
// that has not started is one job with array_tasks set; the parts of a het job are jobs of their
// own that share het_job_id. job_resources is left out: it is the largest part of an answer, and
// Jobs::resources() gives the same in less.
#pragma once

#include <cstdint>

#include "base/object_key.h"
#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/job_id.h"
#include "slurm/number.h"
#include "slurm/short_string.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct Job {
  JobId id;
  JobState state;
  ShortString name, partition, account, qos, user_name, reason, reason_text;
  ShortString admin_comment, comment, extra, system_comment;
  ShortString nodes, required_nodes, excluded_nodes, scheduled_nodes, features, reservation;
  ShortString tres_requested, tres_allocated, tres_per_node, dependency, array_tasks, het_job_ids;
  json::StringList flags, gres_detail;
  std::int64_t user_id = 0, group_id = 0;
  std::int32_t restart_count = 0;
  bool hold = false, requeue = false;
  Number priority, time_limit, node_count, cpus, tasks, tasks_per_node, exit_code, exit_signal;
  Number memory_per_node, memory_per_cpu, array_job_id, array_task_id, het_job_id;
  Number submit_time, eligible_time, start_time, end_time, preempt_time, suspend_time;

  bool is_external() const { return flags.contains("EXTERNAL_JOB"); }
  // Which part of its het job it is; slurmctld numbers them in a row. Unset where it is none.
  Number het_job_offset() const {
    const std::int64_t leader = het_job_id.value_or(0);
    return leader == 0 ? Number() : Number(id.number() - leader);
  }

  KeyView key() const { return {{}, id.text()}; }
  bool operator==(const Job&) const = default;
};

// In the order in which slurmrestd writes them, in which they are read fastest.
constexpr auto json_fields(json::Tag<Job>) {
  using json::field;
  using J = Job;
  return json::fields(
      field("account", &J::account), field("admin_comment", &J::admin_comment),
      field("array_job_id", &J::array_job_id), field("array_task_id", &J::array_task_id),
      field("array_task_string", &J::array_tasks), field("flags", &J::flags),
      field("comment", &J::comment), field("dependency", &J::dependency),
      field("eligible_time", &J::eligible_time), field("end_time", &J::end_time),
      field("excluded_nodes", &J::excluded_nodes),
      json::group("exit_code", field("return_code", &J::exit_code),
                  json::group("signal", field("id", &J::exit_signal))),
      field("extra", &J::extra), field("features", &J::features),
      field("gres_detail", &J::gres_detail), field("group_id", &J::group_id),
      field("het_job_id", &J::het_job_id), field("het_job_id_set", &J::het_job_ids),
      field("job_id", &J::id), field("job_state", &J::state), field("name", &J::name),
      field("nodes", &J::nodes), field("cpus", &J::cpus), field("node_count", &J::node_count),
      field("tasks", &J::tasks), field("partition", &J::partition),
      field("memory_per_cpu", &J::memory_per_cpu), field("memory_per_node", &J::memory_per_node),
      field("preempt_time", &J::preempt_time), field("hold", &J::hold),
      field("priority", &J::priority), field("qos", &J::qos),
      field("required_nodes", &J::required_nodes), field("requeue", &J::requeue),
      field("restart_cnt", &J::restart_count), field("resv_name", &J::reservation),
      field("scheduled_nodes", &J::scheduled_nodes), field("start_time", &J::start_time),
      field("state_description", &J::reason_text), field("state_reason", &J::reason),
      field("submit_time", &J::submit_time), field("suspend_time", &J::suspend_time),
      field("system_comment", &J::system_comment), field("tasks_per_node", &J::tasks_per_node),
      field("time_limit", &J::time_limit), field("tres_per_node", &J::tres_per_node),
      field("tres_req_str", &J::tres_requested), field("tres_alloc_str", &J::tres_allocated),
      field("user_id", &J::user_id), field("user_name", &J::user_name));
}

}  // namespace mainspring::slurm
