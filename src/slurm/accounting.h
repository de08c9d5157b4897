// slurm/accounting.h
//
// What slurmdbd keeps: accounts, users, who belongs to which (associations), QOS, TRES, clusters,
// workload keys, past jobs, cloud instances. Read on demand by the operator and kubectl-slurm; not
// kept in stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/controller.h"
#include "slurm/job_id.h"
#include "slurm/number.h"
#include "slurm/states.h"

namespace mainspring::slurm {

struct TresRecord {
  std::string type, name;  // "gres", "gpu"
  std::int64_t id = 0, count = 0;
  // "cpu", "gres/gpu": as TRES strings have it.
  std::string full_name() const { return name.empty() ? type : type + "/" + name; }
  bool operator==(const TresRecord&) const = default;
};
constexpr auto json_fields(json::Tag<TresRecord>) {
  using T = TresRecord;
  return json::fields(json::field("type", &T::type), json::field("name", &T::name),
                      json::field("id", &T::id), json::field("count", &T::count));
}

// What an association is about, as other records name it.
struct AssociationRef {
  std::string account, cluster, partition, user;
  std::int64_t id = 0;
  bool operator==(const AssociationRef&) const = default;
};
constexpr auto json_fields(json::Tag<AssociationRef>) {
  using A = AssociationRef;
  return json::fields(json::field("account", &A::account), json::field("cluster", &A::cluster),
                      json::field("partition", &A::partition), json::field("user", &A::user),
                      json::field("id", &A::id));
}

struct Coordinator {
  std::string name;
  bool direct = false;
  bool operator==(const Coordinator&) const = default;
};
constexpr auto json_fields(json::Tag<Coordinator>) {
  return json::fields(json::field("name", &Coordinator::name),
                      json::field("direct", &Coordinator::direct));
}

struct Account {
  std::string name, description, organization;
  json::StringList flags;
  std::vector<AssociationRef> associations;
  std::vector<Coordinator> coordinators;
  bool operator==(const Account&) const = default;
};
constexpr auto json_fields(json::Tag<Account>) {
  using json::field;
  using A = Account;
  return json::fields(field("associations", &A::associations),
                      field("coordinators", &A::coordinators),
                      field("description", &A::description), field("name", &A::name),
                      field("organization", &A::organization), field("flags", &A::flags));
}

struct User {
  std::string name, old_name, default_account, default_wckey;
  std::int64_t default_qos = 0;          // The id of a Qos; from v0.0.44 on.
  json::StringList administrator_level;  // "None", "Operator" or "Administrator"
  json::StringList flags;
  std::vector<AssociationRef> associations;
  std::vector<Coordinator> coordinators;
  bool operator==(const User&) const = default;
};
constexpr auto json_fields(json::Tag<User>) {
  using json::field;
  using U = User;
  return json::fields(
      field("administrator_level", &U::administrator_level),
      field("associations", &U::associations), field("coordinators", &U::coordinators),
      json::group("default", field("qos", &U::default_qos), field("account", &U::default_account),
                  field("wckey", &U::default_wckey)),
      field("flags", &U::flags), field("name", &U::name), field("old_name", &U::old_name));
}

struct Association {
  AssociationRef about;
  std::string parent_account, lineage, comment, default_qos;
  json::StringList qos, flags;
  std::int64_t shares_raw = 0;
  bool is_default = false;
  Number priority, max_jobs, max_submitted, max_wall_clock, group_jobs, group_submitted;
  std::vector<TresRecord> group_tres, max_tres_per_job, max_tres_per_node;
  bool operator==(const Association&) const = default;
};
constexpr auto json_fields(json::Tag<Association>) {
  using json::field;
  using json::group;
  using json::Reader;
  using A = Association;
  return json::fields(
      field("account", [](Reader& r, A& a) { r.read(a.about.account); }),
      field("cluster", [](Reader& r, A& a) { r.read(a.about.cluster); }),
      field("partition", [](Reader& r, A& a) { r.read(a.about.partition); }),
      field("user", [](Reader& r, A& a) { r.read(a.about.user); }),
      field("id", [](Reader& r, A& a) { r.read(a.about.id); }), field("comment", &A::comment),
      group("default", field("qos", &A::default_qos)), field("flags", &A::flags),
      group("max",
            group("jobs",
                  group("per", field("count", &A::max_jobs), field("submitted", &A::max_submitted),
                        field("wall_clock", &A::max_wall_clock)),
                  field("active", &A::group_jobs), field("total", &A::group_submitted)),
            group("tres", field("total", &A::group_tres),
                  group("per", field("job", &A::max_tres_per_job),
                        field("node", &A::max_tres_per_node)))),
      field("is_default", &A::is_default), field("lineage", &A::lineage),
      field("parent_account", &A::parent_account), field("priority", &A::priority),
      field("qos", &A::qos), field("shares_raw", &A::shares_raw));
}

struct Qos {
  std::int64_t id = 0, grace_time = 0;
  std::string name, description;
  json::StringList flags, preempts, preempt_mode;
  Number priority, max_jobs, max_jobs_per_user, max_jobs_per_account, max_wall_clock_per_job;
  std::optional<double> usage_factor;
  std::vector<TresRecord> group_tres, max_tres_per_user, max_tres_per_job, max_tres_per_account;
  bool operator==(const Qos&) const = default;
};
constexpr auto json_fields(json::Tag<Qos>) {
  using json::field;
  using json::group;
  using Q = Qos;
  return json::fields(
      field("description", &Q::description), field("flags", &Q::flags), field("id", &Q::id),
      group("limits", field("grace_time", &Q::grace_time),
            group("max", group("active_jobs", field("count", &Q::max_jobs)),
                  group("jobs", group("active_jobs",
                                      group("per", field("account", &Q::max_jobs_per_account),
                                            field("user", &Q::max_jobs_per_user)))),
                  group("tres", field("total", &Q::group_tres),
                        group("per", field("account", &Q::max_tres_per_account),
                              field("job", &Q::max_tres_per_job),
                              field("user", &Q::max_tres_per_user))),
                  group("wall_clock", group("per", field("job", &Q::max_wall_clock_per_job))))),
      field("name", &Q::name),
      group("preempt", field("list", &Q::preempts), field("mode", &Q::preempt_mode)),
      field("priority", &Q::priority),
      field("usage_factor", [](json::Reader& r, Q& q) { read_real(r, q.usage_factor); }));
}

struct Cluster {
  std::string name, nodes, controller_host;
  std::int32_t controller_port = 0, rpc_version = 0;
  json::StringList flags;
  std::vector<TresRecord> tres;
  bool operator==(const Cluster&) const = default;
};
constexpr auto json_fields(json::Tag<Cluster>) {
  using json::field;
  using C = Cluster;
  return json::fields(json::group("controller", field("host", &C::controller_host),
                                  field("port", &C::controller_port)),
                      field("flags", &C::flags), field("name", &C::name), field("nodes", &C::nodes),
                      field("rpc_version", &C::rpc_version), field("tres", &C::tres));
}

struct Wckey {
  std::int64_t id = 0;
  std::string name, cluster, user;
  json::StringList flags;
  bool operator==(const Wckey&) const = default;
};
constexpr auto json_fields(json::Tag<Wckey>) {
  using json::field;
  using W = Wckey;
  return json::fields(field("cluster", &W::cluster), field("id", &W::id), field("name", &W::name),
                      field("user", &W::user), field("flags", &W::flags));
}

// What slurmdbd says of its own work since it was started. Times in microseconds.
struct DbRpcs {
  std::int64_t count = 0, average_time = 0, total_time = 0;
  bool operator==(const DbRpcs&) const = default;
};
struct DbRpcsByType : DbRpcs {
  std::string type;  // "DBD_GET_JOBS_COND"
};
struct DbRpcsByUser : DbRpcs {
  std::string user;
};
struct DbDiag {
  std::int64_t since = 0;  // seconds since 1970
  std::vector<DbRpcsByType> by_type;
  std::vector<DbRpcsByUser> by_user;
};
constexpr auto json_fields(json::Tag<DbRpcsByType>) {
  using json::field;
  using R = DbRpcsByType;
  return json::fields(
      field("rpc", &R::type), field("count", &R::count),
      json::group("time", field("average", &R::average_time), field("total", &R::total_time)));
}
constexpr auto json_fields(json::Tag<DbRpcsByUser>) {
  using json::field;
  using R = DbRpcsByUser;
  return json::fields(
      field("user", &R::user), field("count", &R::count),
      json::group("time", field("average", &R::average_time), field("total", &R::total_time)));
}
constexpr auto json_fields(json::Tag<DbDiag>) {
  using json::field;
  using D = DbDiag;
  return json::fields(field("time_start", &D::since), field("RPCs", &D::by_type),
                      field("users", &D::by_user));
}

struct Instance {
  std::string cluster, node_name, instance_id, instance_type, extra;
  std::int64_t time_start = 0, time_end = 0;
  bool operator==(const Instance&) const = default;
};
constexpr auto json_fields(json::Tag<Instance>) {
  using json::field;
  using I = Instance;
  return json::fields(
      field("cluster", &I::cluster), field("extra", &I::extra),
      field("instance_id", &I::instance_id), field("instance_type", &I::instance_type),
      field("node_name", &I::node_name),
      json::group("time", field("time_end", &I::time_end), field("time_start", &I::time_start)));
}

// A job as accounting remembers it, long after slurmctld has forgotten.
struct DbJob {
  JobId id;
  JobState state;
  std::string name, account, user, group, partition, cluster, qos, reason, nodes, constraints,
      used_gres, admin_comment, comment, system_comment, extra, working_directory, reservation;
  json::StringList flags;
  std::int64_t allocation_nodes = 0, restart_count = 0;
  // Seconds, since 1970 or in all. 0: has not happened.
  std::int64_t submit_time = 0, eligible_time = 0, start_time = 0, end_time = 0, elapsed = 0,
               suspended = 0;
  Number time_limit, priority, exit_code, exit_signal;  // time_limit in minutes.
  Number derived_exit_code;                             // The highest of what ran in it.
  std::int64_t array_job_id = 0, het_job_id = 0;
  Number array_task_id;
  std::vector<TresRecord> tres_allocated, tres_requested;
  bool operator==(const DbJob&) const = default;
};
constexpr auto json_fields(json::Tag<DbJob>) {
  using json::field;
  using json::group;
  using D = DbJob;
  return json::fields(
      field("account", &D::account),
      group("comment", field("administrator", &D::admin_comment), field("job", &D::comment),
            field("system", &D::system_comment)),
      field("allocation_nodes", &D::allocation_nodes),
      group("array", field("job_id", &D::array_job_id), field("task_id", &D::array_task_id)),
      field("cluster", &D::cluster), field("constraints", &D::constraints),
      group("time", field("elapsed", &D::elapsed), field("eligible", &D::eligible_time),
            field("end", &D::end_time), field("start", &D::start_time),
            field("submission", &D::submit_time), field("suspended", &D::suspended),
            field("limit", &D::time_limit)),
      group("derived_exit_code", field("return_code", &D::derived_exit_code)),
      group("exit_code", field("return_code", &D::exit_code),
            group("signal", field("id", &D::exit_signal))),
      field("extra", &D::extra), field("flags", &D::flags), field("group", &D::group),
      group("het", field("job_id", &D::het_job_id)), field("job_id", &D::id),
      field("name", &D::name), field("nodes", &D::nodes), field("partition", &D::partition),
      field("priority", &D::priority), field("qos", &D::qos),
      field("restart_cnt", &D::restart_count), group("reservation", field("name", &D::reservation)),
      group("state", field("current", &D::state), field("reason", &D::reason)),
      group("tres", field("allocated", &D::tres_allocated), field("requested", &D::tres_requested)),
      field("used_gres", &D::used_gres), field("user", &D::user),
      field("working_directory", &D::working_directory));
}

// Everything but jobs and instances, in one answer (GET slurmdb config).
struct DbConfig {
  std::vector<Account> accounts;
  std::vector<Association> associations;
  std::vector<Cluster> clusters;
  std::vector<Qos> qos;
  std::vector<TresRecord> tres;
  std::vector<User> users;
  std::vector<Wckey> wckeys;
  bool operator==(const DbConfig&) const = default;
};
constexpr auto json_fields(json::Tag<DbConfig>) {
  using json::field;
  using D = DbConfig;
  return json::fields(field("accounts", &D::accounts), field("associations", &D::associations),
                      field("clusters", &D::clusters), field("qos", &D::qos),
                      field("tres", &D::tres), field("users", &D::users),
                      field("wckeys", &D::wckeys));
}

// slurmdbd's own configuration, what we want of it (GET slurmdb conf, v0.0.45 on).
struct DbConf {
  std::string dbd_host, default_qos, storage_loc;
  std::int64_t dbd_port = 0;
  bool track_wckey = false;
  json::StringList flags;
  bool operator==(const DbConf&) const = default;
};
constexpr auto json_fields(json::Tag<DbConf>) {
  using json::field;
  using D = DbConf;
  return json::fields(field("DbdHost", &D::dbd_host), field("DbdPort", &D::dbd_port),
                      field("DefaultQOS", &D::default_qos), field("Flags", &D::flags),
                      field("StorageLoc", &D::storage_loc), field("TrackWCKey", &D::track_wckey));
}

}  // namespace mainspring::slurm
