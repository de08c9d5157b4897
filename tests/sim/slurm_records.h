// tests/sim/slurm_records.h
//
// What slurmrestd writes of a SlurmModel: records with the fields that our own records read and a
// few more, and the envelope around every answer. Pure functions.
#pragma once

#include "http/message.h"
#include "json/value.h"
#include "sim/slurm_model.h"

namespace mainspring::sim {

json::Value slurm_number(std::int64_t number);
json::Value slurm_no_number(bool infinite = false);

json::Value to_json(const SlurmNode& node, const SlurmModel& model);
json::Value to_json(const SlurmJob& job);
json::Value to_json(const SlurmPartition& partition, const SlurmModel& model);
json::Value to_json(const SlurmReservation& reservation);
// [{"job_id":"7","state":["RUNNING"]}]
json::Value pulse_of(const SlurmJob& job);

// `contents` with meta, errors and warnings.
http::Response slurm_answer(int status, json::Value contents, int version);
http::Response slurm_answer(const SlurmRefusal& refusal, json::Value contents, int version);
json::Value slurm_warning(std::string_view description, std::string_view source);

}  // namespace mainspring::sim
