// slurm/accounting_request.h
//
// What we ask of slurmdbd: accounts, users, associations, QOS, clusters, workload keys, comments on
// past jobs. Values; a field that is not set is not sent. slurmdbd answers 200 to some of these and
// does nothing, so whoever writes reads again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "json/value.h"
#include "slurm/job_id.h"
#include "slurm/number.h"

namespace mainspring::slurm {

struct AccountSpec {
  std::string name;
  std::optional<std::string> description, organization;
};
struct UserSpec {
  std::string name;
  std::optional<std::string> default_account, default_wckey;
  std::vector<std::string> administrator_level;  // "None", "Operator" or "Administrator"
};
// The account must already belong to the cluster; else use AccountAssociation.
struct AssociationSpec {
  std::string account, cluster;
  std::string user;  // "": the account itself.
  std::optional<std::string> partition, parent_account, default_qos, comment;
  std::vector<std::string> qos;
  std::optional<std::int64_t> shares_raw;
  Number priority, max_jobs, max_submitted, max_wall_clock;
};
struct QosSpec {
  std::string name;
  std::optional<std::string> description;
  std::optional<std::vector<std::string>> flags, preempts, preempt_mode;  // Each as a whole.
  Number priority, max_jobs_per_user, max_wall_clock_per_job;
};
struct WckeySpec {
  std::string name, cluster, user;
};
struct ClusterSpec {
  std::string name;
};

// Bodies of POST accounts/, users/, associations/, qos/, wckeys/, clusters/.
json::Value to_json(std::span<const AccountSpec> specs);
json::Value to_json(std::span<const UserSpec> specs);
json::Value to_json(std::span<const AssociationSpec> specs);
json::Value to_json(std::span<const QosSpec> specs);
json::Value to_json(std::span<const WckeySpec> specs);
json::Value to_json(std::span<const ClusterSpec> specs);

// Accounts together with their place in clusters: POST accounts_association/.
struct AccountAssociation {
  std::vector<std::string> accounts, clusters;
  std::optional<std::string> description, organization, parent, default_qos;
  std::vector<std::string> qos;
  std::optional<std::int64_t> fairshare;
};
json::Value to_json(const AccountAssociation& request);

// Users together with their accounts: POST users_association/.
struct UserAssociation {
  std::vector<std::string> users, accounts, clusters, partitions;
  std::vector<std::string> administrator_level, qos;
  std::optional<std::string> default_account, default_qos;
  std::optional<std::int64_t> fairshare;
};
json::Value to_json(const UserAssociation& request);

// POST slurmdb job/{id}: what may be changed of a job that is over.
struct DbJobUpdate {
  std::optional<std::string> admin_comment, comment, system_comment, extra;
  std::optional<std::int32_t> derived_exit_code;
};
json::Value to_json(const DbJobUpdate& update);
// The body of POST slurmdb jobs/: the same for all of them.
json::Value to_json(const DbJobUpdate& update, std::span<const JobId> jobs);

// A kind of resource to be counted: {"gres", "gpu"}, {"license", "matlab"}.
struct TresSpec {
  std::string type, name;
};
json::Value to_json(std::span<const TresSpec> specs);

}  // namespace mainspring::slurm
