#include "slurm/versions.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "http/url.h"

namespace mainspring::slurm {
namespace {

using enum Version;
using E = Endpoint;
constexpr auto kGet = http::Method::kGet;
constexpr auto kPost = http::Method::kPost;
constexpr auto kDelete = http::Method::kDelete;
constexpr auto kRead = Effect::kRead;
constexpr auto kWrite = Effect::kWrite;
constexpr auto kSmall = Cost::kSmall;
constexpr auto kLarge = Cost::kLarge;

constexpr auto kEndpoints = std::to_array<EndpointInfo>({
    {E::kPing, kGet, "/slurm/{version}/ping/", k42, kRead, kSmall, "ping"},
    {E::kDiag, kGet, "/slurm/{version}/diag/", k42, kRead, kSmall, "get diagnostics"},
    {E::kConf, kGet, "/slurm/{version}/conf", k45, kRead, kSmall, "get configuration"},
    {E::kReconfigure, kGet, "/slurm/{version}/reconfigure/", k42, kWrite, kLarge, "reconfigure"},
    {E::kLicenses, kGet, "/slurm/{version}/licenses/", k42, kRead, kSmall, "list licenses"},
    {E::kShares, kGet, "/slurm/{version}/shares", k42, kRead, kLarge, "get shares"},

    {E::kListNodes, kGet, "/slurm/{version}/nodes/", k42, kRead, kLarge, "list nodes"},
    {E::kUpdateNodes, kPost, "/slurm/{version}/nodes/", k42, kWrite, kLarge, "update nodes"},
    {E::kGetNode, kGet, "/slurm/{version}/node/{node_name}", k42, kRead, kSmall, "get node"},
    {E::kUpdateNode, kPost, "/slurm/{version}/node/{node_name}", k42, kWrite, kSmall,
     "update node"},
    {E::kDeleteNode, kDelete, "/slurm/{version}/node/{node_name}", k42, kWrite, kSmall,
     "delete node"},
    {E::kCreateNode, kPost, "/slurm/{version}/new/node/", k44, kWrite, kSmall, "create node"},

    {E::kListJobs, kGet, "/slurm/{version}/jobs/", k42, kRead, kLarge, "list jobs"},
    {E::kCancelJobs, kDelete, "/slurm/{version}/jobs/", k42, kWrite, kLarge, "cancel jobs"},
    {E::kJobStates, kGet, "/slurm/{version}/jobs/state/", k42, kRead, kLarge, "get job states"},
    {E::kGetJob, kGet, "/slurm/{version}/job/{job_id}", k42, kRead, kSmall, "get job"},
    {E::kUpdateJob, kPost, "/slurm/{version}/job/{job_id}", k42, kWrite, kSmall, "update job"},
    {E::kCancelJob, kDelete, "/slurm/{version}/job/{job_id}", k42, kWrite, kSmall, "cancel job"},
    {E::kSubmitJob, kPost, "/slurm/{version}/job/submit", k42, kWrite, kSmall, "submit job"},
    // Waits for free resources unless the request says immediate.
    {E::kAllocateJob, kPost, "/slurm/{version}/job/allocate", k42, kWrite, kLarge, "allocate job"},
    {E::kRequeueJob, kGet, "/slurm/{version}/job/{job_id}/requeue", k45, kWrite, kSmall,
     "requeue job"},
    {E::kRequeueJobs, kPost, "/slurm/{version}/jobs/requeue", k45, kWrite, kLarge, "requeue jobs"},
    {E::kGetResources, kGet, "/slurm/{version}/resources/{job_id}", k44, kRead, kSmall,
     "get resources of job"},

    {E::kListPartitions, kGet, "/slurm/{version}/partitions/", k42, kRead, kLarge,
     "list partitions"},
    {E::kCreatePartitions, kPost, "/slurm/{version}/partitions/", k45, kWrite, kSmall,
     "create partitions"},
    {E::kGetPartition, kGet, "/slurm/{version}/partition/{partition_name}", k42, kRead, kSmall,
     "get partition"},
    {E::kDeletePartition, kDelete, "/slurm/{version}/partition/{partition_name}", k45, kWrite,
     kSmall, "delete partition"},

    {E::kListReservations, kGet, "/slurm/{version}/reservations/", k42, kRead, kLarge,
     "list reservations"},
    {E::kWriteReservations, kPost, "/slurm/{version}/reservations/", k43, kWrite, kSmall,
     "write reservations"},
    {E::kWriteReservation, kPost, "/slurm/{version}/reservation", k43, kWrite, kSmall,
     "write reservation"},
    {E::kGetReservation, kGet, "/slurm/{version}/reservation/{reservation_name}", k42, kRead,
     kSmall, "get reservation"},
    // Slurm 25.05 and later have it in v0.0.42 too; they are spoken to in a newer version.
    {E::kDeleteReservation, kDelete, "/slurm/{version}/reservation/{reservation_name}", k43, kWrite,
     kSmall, "delete reservation"},

    {E::kDbPing, kGet, "/slurmdb/{version}/ping/", k42, kRead, kSmall, "ping slurmdbd"},
    {E::kDbDiag, kGet, "/slurmdb/{version}/diag/", k42, kRead, kSmall,
     "get diagnostics of slurmdbd"},
    {E::kDbConf, kGet, "/slurmdb/{version}/conf", k45, kRead, kSmall,
     "get configuration of slurmdbd"},
    {E::kGetDbConfig, kGet, "/slurmdb/{version}/config", k42, kRead, kLarge, "dump accounting"},
    {E::kLoadDbConfig, kPost, "/slurmdb/{version}/config", k42, kWrite, kLarge, "load accounting"},

    // A database stands behind all of these, and answers at its own pace.
    {E::kListAccounts, kGet, "/slurmdb/{version}/accounts/", k42, kRead, kLarge, "list accounts"},
    {E::kCreateAccounts, kPost, "/slurmdb/{version}/accounts/", k42, kWrite, kLarge,
     "create accounts"},
    {E::kGetAccount, kGet, "/slurmdb/{version}/account/{account_name}", k42, kRead, kLarge,
     "get account"},
    {E::kDeleteAccount, kDelete, "/slurmdb/{version}/account/{account_name}", k42, kWrite, kLarge,
     "delete account"},
    {E::kCreateAccountAssociations, kPost, "/slurmdb/{version}/accounts_association/", k42, kWrite,
     kLarge, "create account associations"},
    {E::kListUsers, kGet, "/slurmdb/{version}/users/", k42, kRead, kLarge, "list users"},
    {E::kCreateUsers, kPost, "/slurmdb/{version}/users/", k42, kWrite, kLarge, "create users"},
    {E::kGetUser, kGet, "/slurmdb/{version}/user/{name}", k42, kRead, kLarge, "get user"},
    {E::kDeleteUser, kDelete, "/slurmdb/{version}/user/{name}", k42, kWrite, kLarge, "delete user"},
    {E::kCreateUserAssociations, kPost, "/slurmdb/{version}/users_association/", k42, kWrite,
     kLarge, "create user associations"},
    {E::kListAssociations, kGet, "/slurmdb/{version}/associations/", k42, kRead, kLarge,
     "list associations"},
    {E::kCreateAssociations, kPost, "/slurmdb/{version}/associations/", k42, kWrite, kLarge,
     "create associations"},
    {E::kDeleteAssociations, kDelete, "/slurmdb/{version}/associations/", k42, kWrite, kLarge,
     "delete associations"},
    {E::kGetAssociation, kGet, "/slurmdb/{version}/association/", k42, kRead, kLarge,
     "get association"},
    {E::kDeleteAssociation, kDelete, "/slurmdb/{version}/association/", k42, kWrite, kLarge,
     "delete association"},
    {E::kListQos, kGet, "/slurmdb/{version}/qos/", k42, kRead, kLarge, "list QOS"},
    {E::kCreateQos, kPost, "/slurmdb/{version}/qos/", k42, kWrite, kLarge, "create QOS"},
    {E::kGetQos, kGet, "/slurmdb/{version}/qos/{qos}", k42, kRead, kLarge, "get QOS"},
    {E::kDeleteQos, kDelete, "/slurmdb/{version}/qos/{qos}", k42, kWrite, kLarge, "delete QOS"},
    {E::kListTres, kGet, "/slurmdb/{version}/tres/", k42, kRead, kLarge, "list TRES"},
    {E::kCreateTres, kPost, "/slurmdb/{version}/tres/", k42, kWrite, kLarge, "create TRES"},
    {E::kListClusters, kGet, "/slurmdb/{version}/clusters/", k42, kRead, kLarge, "list clusters"},
    {E::kCreateClusters, kPost, "/slurmdb/{version}/clusters/", k42, kWrite, kLarge,
     "create clusters"},
    {E::kGetCluster, kGet, "/slurmdb/{version}/cluster/{cluster_name}", k42, kRead, kLarge,
     "get cluster"},
    {E::kDeleteCluster, kDelete, "/slurmdb/{version}/cluster/{cluster_name}", k42, kWrite, kLarge,
     "delete cluster"},
    {E::kListWckeys, kGet, "/slurmdb/{version}/wckeys/", k42, kRead, kLarge, "list wckeys"},
    {E::kCreateWckeys, kPost, "/slurmdb/{version}/wckeys/", k42, kWrite, kLarge, "create wckeys"},
    {E::kGetWckey, kGet, "/slurmdb/{version}/wckey/{id}", k42, kRead, kLarge, "get wckey"},
    {E::kDeleteWckey, kDelete, "/slurmdb/{version}/wckey/{id}", k42, kWrite, kLarge,
     "delete wckey"},
    {E::kListDbJobs, kGet, "/slurmdb/{version}/jobs/", k42, kRead, kLarge, "list accounted jobs"},
    {E::kGetDbJob, kGet, "/slurmdb/{version}/job/{job_id}", k42, kRead, kLarge,
     "get accounted job"},
    {E::kUpdateDbJobs, kPost, "/slurmdb/{version}/jobs/", k44, kWrite, kLarge,
     "update accounted jobs"},
    {E::kUpdateDbJob, kPost, "/slurmdb/{version}/job/{job_id}", k44, kWrite, kLarge,
     "update accounted job"},
    {E::kListInstances, kGet, "/slurmdb/{version}/instances/", k42, kRead, kLarge,
     "list instances"},
    {E::kGetInstance, kGet, "/slurmdb/{version}/instance/", k42, kRead, kLarge, "get instance"},
});

static_assert(std::is_sorted(kEndpoints.begin(), kEndpoints.end(),
                             [](const auto& a, const auto& b) { return a.endpoint < b.endpoint; }),
              "info() finds an endpoint by its place");
static_assert(kEndpoints.size() == static_cast<std::size_t>(E::kGetInstance) + 1);

struct FeatureInfo {
  Feature feature;
  Version since;
  std::string_view what;
};
constexpr std::array kFeatures = {
    FeatureInfo{Feature::kExternalJobs, k43, "submit external jobs"},
    FeatureInfo{Feature::kNodeTopology, k43, "change the topology of a node"},
};

Result<void> require_since(Version spoken, Version since, std::string_view what) {
  if (spoken >= since) return {};
  return fail(
      Code::kUnsupported,
      fmt::format("cannot {}: that needs REST API {} (Slurm {} or later), and this slurmrestd "
                  "speaks {}",
                  what, to_string(since), slurm_release(since), to_string(spoken)));
}

}  // namespace

std::string to_string(Version version) { return fmt::format("v0.0.{}", static_cast<int>(version)); }

std::string_view slurm_release(Version version) {
  switch (version) {
    case k42:
      return "24.11";
    case k43:
      return "25.05";
    case k44:
      return "25.11";
    case k45:
      return "26.05";
  }
  return "unknown";
}

std::optional<Version> parse_version(std::string_view text) {
  const auto found = std::find_if(kVersions.begin(), kVersions.end(),
                                  [&](Version version) { return to_string(version) == text; });
  if (found == kVersions.end()) return std::nullopt;
  return *found;
}

const EndpointInfo& info(Endpoint endpoint) {
  return kEndpoints[static_cast<std::size_t>(endpoint)];
}

std::span<const EndpointInfo> all_endpoints() { return kEndpoints; }

Result<std::string> path_of(Endpoint endpoint, Version version,
                            std::span<const std::string> arguments) {
  const EndpointInfo& called = info(endpoint);
  std::string path;
  std::size_t used = 0;
  for (const std::string_view part : split(called.path.substr(1), '/')) {
    path += '/';
    if (part == "{version}") {
      path += to_string(version);
    } else if (!part.starts_with('{')) {
      path += part;
    } else {
      if (used == arguments.size()) {
        return fail(Code::kInvalid, fmt::format("cannot {}: {} is not given", called.what, part));
      }
      const std::string& argument = arguments[used++];
      // Dots are not escaped, and servers and proxies walk them.
      if (argument.empty() || argument == "." || argument == "..") {
        return fail(Code::kInvalid, fmt::format("cannot {}: {} must not be {}", called.what, part,
                                                quoted(argument)));
      }
      path += http::percent_encode(argument);
    }
  }
  if (used < arguments.size()) {
    return fail(Code::kInvalid, fmt::format("cannot {}: it takes {} names, not {}", called.what,
                                            used, arguments.size()));
  }
  return path;
}

Result<void> require(Version spoken, Endpoint endpoint) {
  return require_since(spoken, info(endpoint).since, info(endpoint).what);
}

Result<void> require(Version spoken, Feature feature) {
  const FeatureInfo& wanted = kFeatures[static_cast<std::size_t>(feature)];
  return require_since(spoken, wanted.since, wanted.what);
}

}  // namespace mainspring::slurm
