// slurm/versions.h
//
// What differs between the versions of Slurm's REST API that we speak, in one table: which
// endpoints each has, and which features came later. A new Slurm release is a new line in Version
// and what changed here; a test holds the table against the OpenAPI documents of every version,
// each as the first Slurm that had it as its newest wrote it. Pure data.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace mainspring::slurm {

// The number behind "v0.0.".
enum class Version : std::uint8_t { k42 = 42, k43 = 43, k44 = 44, k45 = 45 };
inline constexpr std::array kVersions = {Version::k45, Version::k44, Version::k43, Version::k42};

std::string to_string(Version version);           // "v0.0.45"
std::string_view slurm_release(Version version);  // The first Slurm that has it: "26.05".
std::optional<Version> parse_version(std::string_view text);

enum class Endpoint : std::uint8_t {
  kPing,
  kDiag,
  kConf,
  kReconfigure,
  kLicenses,
  kShares,
  kListNodes,
  kUpdateNodes,
  kGetNode,
  kUpdateNode,
  kDeleteNode,
  kCreateNode,
  kListJobs,
  kCancelJobs,
  kJobStates,
  kGetJob,
  kUpdateJob,
  kCancelJob,
  kSubmitJob,
  kAllocateJob,
  kRequeueJob,
  kRequeueJobs,
  kGetResources,
  kListPartitions,
  kCreatePartitions,
  kGetPartition,
  kDeletePartition,
  kListReservations,
  kWriteReservations,
  kWriteReservation,
  kGetReservation,
  kDeleteReservation,
  kDbPing,
  kDbDiag,
  kDbConf,
  kGetDbConfig,
  kLoadDbConfig,
  kListAccounts,
  kCreateAccounts,
  kGetAccount,
  kDeleteAccount,
  kCreateAccountAssociations,
  kListUsers,
  kCreateUsers,
  kGetUser,
  kDeleteUser,
  kCreateUserAssociations,
  kListAssociations,
  kCreateAssociations,
  kDeleteAssociations,
  kGetAssociation,
  kDeleteAssociation,
  kListQos,
  kCreateQos,
  kGetQos,
  kDeleteQos,
  kListTres,
  kCreateTres,
  kListClusters,
  kCreateClusters,
  kGetCluster,
  kDeleteCluster,
  kListWckeys,
  kCreateWckeys,
  kGetWckey,
  kDeleteWckey,
  kListDbJobs,
  kGetDbJob,
  kUpdateDbJobs,
  kUpdateDbJob,
  kListInstances,
  kGetInstance,
};

// Whether a call changes something. Not to be had from the method: reconfigure and requeue are
// GETs.
enum class Effect : std::uint8_t { kRead, kWrite };
// kSmall answers in milliseconds whatever the size of the cluster; the others may take their time
// without being a sign of trouble.
enum class Cost : std::uint8_t { kSmall, kLarge };

struct EndpointInfo {
  Endpoint endpoint;
  http::Method method;
  std::string_view path;  // "/slurm/{version}/node/{node_name}"
  Version since;
  Effect effect;
  Cost cost;
  std::string_view what;  // For errors and metrics: "get node".
};
const EndpointInfo& info(Endpoint endpoint);
std::span<const EndpointInfo> all_endpoints();

// The endpoint's path for `version` with `arguments`, percent-encoded, in place of its {names}.
// kInvalid where their number differs, and for an argument that would not stay one segment.
Result<std::string> path_of(Endpoint endpoint, Version version,
                            std::span<const std::string> arguments);

// What a cluster may lack beyond endpoints.
enum class Feature : std::uint8_t { kExternalJobs, kNodeTopology };
// kUnsupported in the words of "cannot create node: that needs REST API v0.0.44 (Slurm 25.11 or
// later), and this slurmrestd speaks v0.0.42".
Result<void> require(Version spoken, Endpoint endpoint);
Result<void> require(Version spoken, Feature feature);

}  // namespace mainspring::slurm
