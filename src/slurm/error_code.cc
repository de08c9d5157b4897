#include "slurm/error_code.h"

#include <algorithm>
#include <array>
#include <cerrno>

namespace mainspring::slurm {
namespace {

// What a number says, where the meaning depends on what was asked.
enum class Sense : std::uint8_t {
  kInvalid,
  kForbidden,
  kUnauthorized,
  kTransient,
  kThrottled,
  kConflict,
  kAlreadyExists,
  kUnsupported,
  kTooLarge,
  kInternal,
  // No such thing: kNotFound for a call on that thing, kInvalid for one that only mentions it.
  kNoPartition,
  kNoJob,
  kNoNode,
  kNoReservation,
  kNothing,
  // slurm_kill_jobs() returns 1 where it means "slurmctld was not reached".
  kNotPermitted,
  // Not now: kThrottled for who asks for resources, kConflict for who wants to change what is used.
  kBusy,
};

struct Row {
  std::int32_t first, last;
  Sense sense;
};

// Sorted. Names as in slurm_errno.h, without ESLURM_.
constexpr std::array kRows = {
    // SLURM_ERROR. While slurmctld is away, getting jobs, job states and shares fails with it.
    Row{-1, -1, Sense::kTransient},
    Row{EPERM, EPERM, Sense::kNotPermitted},
    Row{EINTR, EINTR, Sense::kTransient},
    Row{EAGAIN, EAGAIN, Sense::kTransient},
    Row{EACCES, EACCES, Sense::kForbidden},
    Row{EINVAL, EINVAL, Sense::kInvalid},
    Row{EPIPE, EPIPE, Sense::kTransient},
    Row{ENETDOWN, ETIMEDOUT, Sense::kTransient},  // The network's own, 100 to 110.
    Row{ECONNREFUSED, EHOSTUNREACH, Sense::kTransient},
    Row{1000, 1004, Sense::kTransient},     // COMMUNICATIONS_*
    Row{1005, 1006, Sense::kUnsupported},   // PROTOCOL_VERSION_ERROR, ..._IO_STREAM_...
    Row{1007, 1007, Sense::kUnauthorized},  // PROTOCOL_AUTHENTICATION_ERROR
    Row{1008, 1008, Sense::kTransient},     // PROTOCOL_INSANE_MSG_LENGTH
    Row{1012, 1025, Sense::kTransient},     // COMMUNICATIONS_*, SHUTTING_DOWN
    Row{1800, 1803, Sense::kTransient},     // slurmctld is away
    Row{1804, 1805, Sense::kThrottled},     // ..._BACKOFF, ..._HARD_DROP: its rate limit
    Row{2000, 2000, Sense::kNoPartition},   // INVALID_PARTITION_NAME
    Row{2001, 2001, Sense::kInvalid},
    Row{2002, 2003, Sense::kForbidden},      // ACCESS_DENIED, JOB_MISSING_REQUIRED_PARTITION_GROUP
    Row{2007, 2007, Sense::kThrottled},      // MAX_JOB_COUNT
    Row{2010, 2010, Sense::kForbidden},      // USER_ID_MISSING
    Row{2011, 2011, Sense::kAlreadyExists},  // DUPLICATE_JOB_ID
    Row{2013, 2013, Sense::kBusy},           // NOT_TOP_PRIORITY
    Row{2014, 2015, Sense::kInvalid},        // REQUESTED_{NODE,PART}_CONFIG_UNAVAILABLE
    Row{2016, 2016, Sense::kBusy},           // NODES_BUSY
    Row{2017, 2017, Sense::kNoJob},          // INVALID_JOB_ID
    Row{2018, 2018, Sense::kNoNode},         // INVALID_NODE_NAME
    Row{2020, 2021, Sense::kConflict},       // TRANSITION_STATE_NO_UPDATE, ALREADY_DONE
    Row{2022, 2022, Sense::kTransient},      // INTERCONNECT_FAILURE
    Row{2024, 2024, Sense::kConflict},       // JOB_PENDING
    Row{2027, 2027, Sense::kTransient},      // IN_STANDBY_MODE
    Row{2035, 2035, Sense::kBusy},           // FRAGMENTATION
    Row{2036, 2037, Sense::kUnsupported},    // NOT_SUPPORTED, DISABLED
    Row{2040, 2040, Sense::kBusy},           // LICENSES_UNAVAILABLE
    Row{2041, 2041, Sense::kTransient},      // TAKEOVER_NO_HEARTBEAT
    Row{2042, 2042, Sense::kConflict},       // JOB_HELD
    Row{2050, 2050, Sense::kForbidden},      // ACCOUNTING_POLICY
    Row{2052, 2052, Sense::kForbidden},      // RESERVATION_ACCESS
    Row{2053, 2053, Sense::kNoReservation},  // RESERVATION_INVALID
    Row{2055, 2055, Sense::kBusy},           // RESERVATION_BUSY
    Row{2058, 2058, Sense::kConflict},       // RESERVATION_OVERLAP
    Row{2059, 2059, Sense::kBusy},           // PORTS_BUSY
    Row{2061, 2061, Sense::kBusy},           // PROLOG_RUNNING
    Row{2068, 2068, Sense::kBusy},           // NODE_NOT_AVAIL
    Row{2070, 2070, Sense::kBusy},           // PARTITION_NOT_AVAIL
    Row{2073, 2073, Sense::kConflict},       // JOB_NOT_PENDING
    Row{2075, 2075, Sense::kBusy},           // PARTITION_IN_USE
    Row{2077, 2077, Sense::kConflict},       // JOB_SUSPENDED
    Row{2078, 2078, Sense::kBusy},           // CAN_NOT_START_IMMEDIATELY
    Row{2082, 2082, Sense::kAlreadyExists},  // RESERVATION_NAME_DUP
    Row{2083, 2088, Sense::kConflict},       // JOB_STARTED, JOB_FINISHED, JOB_NOT_...
    Row{2090, 2090, Sense::kInternal},       // INTERNAL
    Row{2092, 2092, Sense::kForbidden},      // BURST_BUFFER_PERMISSION
    Row{2100, 2101, Sense::kBusy},           // BURST_BUFFER_WAIT, PARTITION_DOWN
    Row{2104, 2104, Sense::kConflict},       // RSV_ALREADY_STARTED
    Row{2105, 2105, Sense::kTransient},      // SUBMISSIONS_DISABLED
    Row{2118, 2118, Sense::kBusy},           // RESERVATION_MAINT
    Row{2120, 2120, Sense::kBusy},           // REBOOT_IN_PROGRESS
    Row{2125, 2125, Sense::kBusy},           // DEFER
    Row{2126, 2126, Sense::kUnsupported},    // CONFIGLESS_DISABLED
    Row{2130, 2130, Sense::kForbidden},      // PARTITION_ASSOC
    Row{2131, 2131, Sense::kTransient},      // IN_STANDBY_USE_BACKUP
    Row{2168, 2168, Sense::kAlreadyExists},  // NODE_ALREADY_EXISTS
    Row{2169, 2169, Sense::kTooLarge},       // NODE_TABLE_FULL
    Row{2177, 2177, Sense::kBusy},           // MAX_POWERED_NODES
    Row{2179, 2179, Sense::kBusy},           // PREEMPTION_REQUIRED
    Row{2180, 2181, Sense::kConflict},       // INVALID_NODE_STATE_TRANSITION, INVALID_JOB_STATE
    Row{5003, 5005, Sense::kTransient},      // PROTOCOL_*: half a message, a timeout
    Row{6000, 6011, Sense::kUnauthorized},   // AUTH_*
    Row{7000, 7000, Sense::kTransient},      // DB_CONNECTION
    Row{7001, 7001, Sense::kConflict},       // JOBS_RUNNING_ON_ASSOC
    Row{7006, 7007, Sense::kTooLarge},       // RESULT_TOO_LARGE, DB_QUERY_TOO_WIDE
    Row{7008, 7008, Sense::kTransient},      // DB_CONNECTION_INVALID
    Row{7009, 7009, Sense::kConflict},       // NO_REMOVE_DEFAULT_ACCOUNT
    Row{8002, 8010, Sense::kUnsupported},    // PLUGIN_*
    Row{9003, 9003, Sense::kNothing},        // REST_EMPTY_RESULT
    Row{9007, 9007, Sense::kUnsupported},    // REST_UNKNOWN_URL_METHOD
    Row{9008, 9008, Sense::kUnauthorized},   // REST_AUTH_FAIL
    Row{9205, 9205, Sense::kTooLarge},       // DATA_TOO_LARGE
};
static_assert(std::is_sorted(kRows.begin(), kRows.end(),
                             [](const Row& a, const Row& b) { return a.last < b.first; }));

// What a call is about, for "no such".
std::optional<Sense> subject_of(Endpoint endpoint) {
  switch (endpoint) {
    case Endpoint::kGetNode:
    case Endpoint::kUpdateNode:
    case Endpoint::kUpdateNodes:
    case Endpoint::kDeleteNode:
      return Sense::kNoNode;
    case Endpoint::kGetJob:
    case Endpoint::kUpdateJob:
    case Endpoint::kCancelJob:
    case Endpoint::kCancelJobs:
    case Endpoint::kJobStates:
    case Endpoint::kRequeueJob:
    case Endpoint::kRequeueJobs:
    case Endpoint::kGetResources:
    case Endpoint::kGetDbJob:
    case Endpoint::kUpdateDbJob:
      return Sense::kNoJob;
    case Endpoint::kGetPartition:
    case Endpoint::kDeletePartition:
      return Sense::kNoPartition;
    case Endpoint::kGetReservation:
    case Endpoint::kDeleteReservation:
      return Sense::kNoReservation;
    default:
      return std::nullopt;
  }
}

bool asks_for_resources(Endpoint endpoint) {
  return endpoint == Endpoint::kSubmitJob || endpoint == Endpoint::kAllocateJob;
}

bool cancels_jobs(Endpoint endpoint) {
  return endpoint == Endpoint::kCancelJob || endpoint == Endpoint::kCancelJobs;
}

Code code_of(Endpoint endpoint, Sense sense) {
  switch (sense) {
    case Sense::kInvalid:
      return Code::kInvalid;
    case Sense::kForbidden:
      return Code::kForbidden;
    case Sense::kUnauthorized:
      return Code::kUnauthorized;
    case Sense::kTransient:
      return Code::kTransient;
    case Sense::kThrottled:
      return Code::kThrottled;
    case Sense::kConflict:
      return Code::kConflict;
    case Sense::kAlreadyExists:
      return Code::kAlreadyExists;
    case Sense::kUnsupported:
      return Code::kUnsupported;
    case Sense::kTooLarge:
      return Code::kTooLarge;
    case Sense::kInternal:
      return Code::kInternal;
    case Sense::kNoPartition:
    case Sense::kNoJob:
    case Sense::kNoNode:
    case Sense::kNoReservation:
      return subject_of(endpoint) == sense ? Code::kNotFound : Code::kInvalid;
    case Sense::kNothing:
      return names_one_thing(endpoint) ? Code::kNotFound : Code::kInvalid;
    case Sense::kNotPermitted:
      return cancels_jobs(endpoint) ? Code::kTransient : Code::kForbidden;
    case Sense::kBusy:
      return asks_for_resources(endpoint) ? Code::kThrottled : Code::kConflict;
  }
  return Code::kInternal;
}

}  // namespace

std::optional<Code> code_of(Endpoint endpoint, std::int32_t number) {
  const auto row = std::find_if(kRows.begin(), kRows.end(), [&](const Row& each) {
    return each.first <= number && number <= each.last;
  });
  if (row == kRows.end()) return std::nullopt;
  return code_of(endpoint, row->sense);
}

bool names_one_thing(Endpoint endpoint) {
  if (endpoint == Endpoint::kGetAssociation || endpoint == Endpoint::kDeleteAssociation ||
      endpoint == Endpoint::kGetInstance) {
    return true;
  }
  return info(endpoint).path.ends_with('}');
}

}  // namespace mainspring::slurm
