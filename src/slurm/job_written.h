// slurm/job_written.h
//
// Whether a job is as an update asked it to be: every member that a request can have, against the
// record that slurmctld gives afterwards. What each is compared with, and which cannot be compared,
// is the one table here; a test holds it against JobRequest and the OpenAPI documents. Pure
// functions, used by Jobs only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "json/value.h"

namespace mainspring::slurm {

enum class Compared : std::uint8_t {
  kText,
  kTextIfAny,  // An empty one asks for whatever the job has without it.
  kPath,       // Text; what Slurm completes (a relative one, one with a "%") is not compared.
  kNames,      // "a,b" in any order.
  kHosts,
  kTres,
  kLicenses,  // "a" is "a:1".
  kNumber,
  kAtLeast,    // Slurm gives more where it must.
  kNodeCount,  // "2", or "2-4": the least of them, where no minimum_nodes beside it decides.
  kFlag,
  kOwner,    // A number; a name is not looked up.
  kCleared,  // Only whether "" took it away: Slurm rewrites it, and drops what is fulfilled.
  kNever,
};

struct JobMember {
  std::string_view sent;   // In the request.
  std::string_view shown;  // In the record; "" where it shows nothing of it.
  Compared how = Compared::kText;
  // Of a job that has left the queue the record says what it got, not what was asked for.
  bool pending_only = false;
};
std::span<const JobMember> job_members();

// The first thing that is not as it was sent: "comment is 'a', not 'b'". "" where all is so. What
// `is` does not show cannot be checked.
std::string job_difference(const json::Value& sent, const json::Value& is);

}  // namespace mainspring::slurm
