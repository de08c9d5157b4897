// slurm/job_request.h
//
// What we ask of Slurm about jobs: submit, allocate, change, and cancel many. Values; a field that
// is not set is not sent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "json/value.h"
#include "slurm/job_id.h"
#include "slurm/number.h"
#include "slurm/states.h"

namespace mainspring::slurm {

inline constexpr std::string_view kExternalJobFlag = "EXTERNAL_JOB";

struct JobRequest {
  std::optional<std::string> name, account, partition, qos, wckey, reservation, licenses, mcs_label;
  std::optional<std::string> comment, admin_comment, extra, dependency, array;
  // "3" or "2-4".
  std::optional<std::string> nodes;
  std::optional<std::int32_t> minimum_nodes, maximum_nodes, tasks, tasks_per_node, cpus_per_task,
      minimum_cpus, threads_per_core, nice, priority_site_factor;
  Number memory_per_node, memory_per_cpu;  // MB
  Number time_limit, time_minimum;         // minutes
  Number priority, begin_time;             // begin_time in seconds since 1970
  std::optional<std::int64_t> deadline;    // seconds since 1970
  std::optional<std::string> tres_per_job, tres_per_node, tres_per_socket, tres_per_task;
  std::optional<std::string> constraints;  // features, as in --constraint
  std::optional<std::string> prefer;
  std::vector<std::string> required_nodes, excluded_nodes;
  std::vector<std::string> flags, shared, environment;
  std::optional<bool> hold, immediate, requeue, contiguous, kill_on_node_fail;
  std::optional<std::string> user_id, group_id;  // a number or a name
  std::optional<std::string> current_working_directory, standard_input, standard_output,
      standard_error, mail_user;
  Number required_switches;
  // Of the submission, not of the job: stands beside it.
  std::optional<std::string> script;

  bool operator==(const JobRequest&) const = default;
};

// The job alone: the body of an update.
json::Value to_json(const JobRequest& job);
// The body of job/submit and job/allocate.
json::Value to_submission(const JobRequest& job);
// A het job, its leader first; the leader's script is what runs.
json::Value to_submission(std::span<const JobRequest> parts);

// Which jobs DELETE jobs/ is to signal: those that fit all that is set. With nothing set Slurm
// would take every job there is, so selects() must hold before it is sent.
struct JobSelection {
  std::vector<std::string> jobs;  // As parse_job_id_text() has it.
  std::vector<std::string> nodes;
  std::optional<std::string> account, job_name, partition, qos, reservation, user_name, wckey;
  std::optional<JobState> job_state;
  // KILL where unset. Any other leaves the nodes of an EXTERNAL job NOT_RESPONDING for good.
  std::optional<std::string> signal;
  std::vector<std::string> flags;

  bool selects() const;
};
json::Value to_json(const JobSelection& selection);

}  // namespace mainspring::slurm
