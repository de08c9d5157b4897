// slurm/job_pulse.h
//
// JobPulse: a row of GET jobs/state: which state each job is in, and nothing more, at a hundredth
// of the price of the jobs themselves. Tasks of an array that wait have a row each, all with the id
// of the one record that stands for them.
#pragma once

#include "json/fields.h"
#include "slurm/job_id.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct JobPulse {
  JobId id;  // That of the record: GET job/{id} gives it.
  JobState state;
  Number array_task;
  bool is_array = false;  // It is one of the tasks, or all that wait, of an array.
  bool is_het_part = false;

  bool operator==(const JobPulse&) const = default;
};

// The job_id of a row is text; see parse_job_id_text().
void read_pulse_id(json::Reader& reader, JobPulse& out);

constexpr auto json_fields(json::Tag<JobPulse>) {
  return json::fields(json::field("job_id", read_pulse_id), json::field("state", &JobPulse::state));
}

}  // namespace mainspring::slurm
