// slurm/errors.h
//
// What Slurm said when it refused, in one shape, whatever shape it came in: HTTP 422 or 500 with
// errors[], 200 with errors[], 200 with only a warning or only a code per job, 401 and 511 for
// tokens, 502 while slurmctld is away, 404 for jobs and for paths. Made by the client from every
// answer; found again by slurm_error(error). The one place that knows Slurm's error numbers and
// sentences: nobody else matches on text. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/fields.h"
#include "slurm/versions.h"

namespace mainspring::slurm {

// As slurm_errno.h has them; those that somebody here acts on. error_code.cc has what each means to
// a caller, and many more.
enum class Errno : std::int32_t {
  kNone = 0,
  kAuthentication = 1007,
  kControllerAway = 1800,
  kBackoff = 1804,   // slurmctld's rate limit.
  kHardDrop = 1805,  // The same, with the connection dropped.
  kInvalidPartition = 2000,
  kNoDefaultPartition = 2001,
  kAccessDenied = 2002,
  kPartitionGroup = 2003,
  kTooManyCpus = 2005,
  kInvalidNodeCount = 2006,
  kMaxJobCount = 2007,
  kUserNotAllowed = 2010,  // "Invalid user id": also what a plain user gets for an admin's call.
  kCannotStartNow = 2013,  // Jobs of higher priority come first.
  kImpossible = 2014,      // No node of this cluster could ever do.
  kPartitionImpossible = 2015,
  kNodesBusy = 2016,
  kInvalidJobId = 2017,
  kInvalidNodeName = 2018,
  kTransition = 2020,
  kAlreadyDone = 2021,
  kInvalidNodeState = 2028,
  kInvalidFeature = 2029,
  kNotSupported = 2036,
  kDependency = 2038,  // Not yet: also held, a begin time, a reservation that has not begun.
  kBatchOnly = 2039,
  kJobHeld = 2042,
  kInvalidTaskMemory = 2044,
  kInvalidAccount = 2045,
  kInvalidLicenses = 2048,
  kAccountingPolicy = 2050,
  kInvalidTimeLimit = 2051,
  kReservationAccess = 2052,
  kInvalidReservation = 2053,
  kReservationNotUsable = 2056,
  kInvalidWckey = 2057,
  kInvalidQos = 2066,
  kInvalidCpuCount = 2069,
  kInvalidGres = 2072,
  kQosThreshold = 2074,
  kPartitionInUse = 2075,
  kNotImmediately = 2078,
  kReservationExists = 2082,
  kJobFinished = 2084,
  kInvalidMcsLabel = 2099,
  kSubmissionsDisabled = 2105,
  kGroupMissing = 2113,
  kInvalidGresType = 2119,  // With and without a type.
  kPartitionAssociation = 2130,
  kInsufficientGres = 2134,
  kGroupUnknown = 2164,
  kUserUnknown = 2166,
  kInvalidAssociation = 2167,
  kNodeExists = 2168,
  kNodeTableFull = 2169,
  kInvalidTopology = 2178,
  kInvalidNodeTransition = 2180,
  kInvalidExternalJob = 2189,
  kDbConnection = 7000,
};

struct SlurmError final : ErrorDetail {
  std::int32_t number = 0;
  std::string text;         // Slurm's name for the number: "Requested nodes are busy"
  std::string description;  // What it was doing: "Job allocation request failed"
  std::string source;
  int http_status = 0;
};

// Null where the error does not come from Slurm.
const SlurmError* slurm_error(const Error& error);
// Whether Slurm refused with this number.
bool refused_with(const Error& error, Errno number);
// Whether an allocation was refused for now only: submitted instead, it would wait in the queue.
// slurmctld has the last word on that, with the same numbers.
bool may_start_later(const Error& error);
// Whether the call may have reached slurmrestd: false where no connection was to be had.
bool may_have_been_sent(const Error& error);
// Whether it asked for fewer requests, as opposed to "not now" for this one.
bool asks_for_patience(const Error& error);

struct Complaint {
  std::int32_t number = 0;
  std::string error, description, source;
};
constexpr auto json_fields(json::Tag<Complaint>) {
  return json::fields(json::field("description", &Complaint::description),
                      json::field("error_number", &Complaint::number),
                      json::field("error", &Complaint::error),
                      json::field("source", &Complaint::source));
}

// How it went for one job of a call that names jobs (cancel, requeue, update).
struct JobOutcome {
  std::string job;  // As Slurm names it: "99999", "12_3".
  std::int32_t number = 0;
  std::string error;
};

// What every answer carries beside its contents.
struct Envelope {
  bool understood = false;  // False: the body is no answer of slurmrestd's handlers.
  std::vector<Complaint> errors;
  std::vector<Complaint> warnings;
  std::vector<JobOutcome> outcomes;
  std::string release;  // "26.05.5"
  std::string cluster;
  std::int64_t last_update = 0;  // Of lists that have one; 0 where they do not.
};
bool read(json::Reader& reader, Envelope& out);
// Of a whole body, whatever it is.
Envelope envelope_of(json::Reader& reader, std::string_view body);

// Good, or the one Error for it. 304 is good.
Result<void> judge(Endpoint endpoint, int http_status, const Envelope& envelope,
                   std::string_view body);
// The error for one job of a call that named several.
Error outcome_error(Endpoint endpoint, const JobOutcome& outcome);

// For an answer without the list it should have. That is not an empty list: what is not said must
// not be taken for "all gone".
Error no_list(std::string_view name);

// slurmrestd has no such path, rather than no such job: its answer is text. So a version that it
// does not speak, or speaks no more.
bool is_unknown_path(int http_status, const Envelope& envelope);
// Nothing changed since update_time: 304 or, for jobs and conf, 200 with a warning.
bool is_unchanged(int http_status, const Envelope& envelope);

}  // namespace mainspring::slurm
