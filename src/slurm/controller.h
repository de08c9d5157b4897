// slurm/controller.h
//
// What slurmctld and slurmdbd say of themselves: whether they answer, how busy they are, and the
// few things beside nodes and jobs that a cluster has: licences, fair-share, its configuration.
// Read now and then for health, metrics and start-up checks; not kept in stores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "json/fields.h"
#include "json/string_list.h"
#include "slurm/number.h"

namespace mainspring::slurm {

struct Ping {
  std::string hostname;
  std::string status;  // "No error"; from v0.0.45 on.
  bool responding = false, primary = false;
  std::int64_t latency = 0;  // Microseconds.
  bool operator==(const Ping&) const = default;
};
constexpr auto json_fields(json::Tag<Ping>) {
  using json::field;
  return json::fields(field("hostname", &Ping::hostname), field("responding", &Ping::responding),
                      field("latency", &Ping::latency), field("primary", &Ping::primary),
                      field("status", &Ping::status));
}

// One kind of request that slurmctld served, or what one user asked for. Times in microseconds.
struct RpcCount {
  std::string name;  // "REQUEST_PING", or a user's name.
  std::int64_t id = 0, count = 0, queued = 0, dropped = 0, total_time = 0;
  bool operator==(const RpcCount&) const = default;
};
struct RpcByType : RpcCount {};
struct RpcByUser : RpcCount {};
constexpr auto json_fields(json::Tag<RpcByType>) {
  using json::field;
  using R = RpcByType;
  return json::fields(field("type_id", &R::id), field("message_type", &R::name),
                      field("count", &R::count), field("queued", &R::queued),
                      field("dropped", &R::dropped), field("total_time", &R::total_time));
}
constexpr auto json_fields(json::Tag<RpcByUser>) {
  using json::field;
  using R = RpcByUser;
  return json::fields(field("user_id", &R::id), field("user", &R::name), field("count", &R::count),
                      field("total_time", &R::total_time));
}

// The counters of GET diag, since `since`: slurmctld's start, midnight, or whenever somebody reset
// them. Cycle times in microseconds.
struct Diag {
  Number now, since;
  std::int64_t server_thread_count = 0, agent_queue_size = 0, agent_count = 0,
               agent_thread_count = 0, dbd_agent_queue_size = 0, gettimeofday_latency = 0;
  std::int64_t schedule_cycle_max = 0, schedule_cycle_last = 0, schedule_cycle_sum = 0,
               schedule_cycle_total = 0, schedule_cycle_mean = 0, schedule_cycle_mean_depth = 0,
               schedule_cycle_per_minute = 0, schedule_queue_length = 0;
  std::int64_t jobs_submitted = 0, jobs_started = 0, jobs_completed = 0, jobs_canceled = 0,
               jobs_failed = 0, jobs_pending = 0, jobs_running = 0;
  Number job_states_at;  // When jobs_pending and jobs_running were counted.
  std::int64_t bf_backfilled_jobs = 0, bf_last_backfilled_jobs = 0, bf_backfilled_het_jobs = 0,
               bf_cycle_counter = 0, bf_cycle_mean = 0, bf_cycle_last = 0, bf_cycle_max = 0,
               bf_cycle_sum = 0, bf_depth_mean = 0, bf_depth_mean_try = 0, bf_last_depth = 0,
               bf_last_depth_try = 0, bf_queue_len = 0, bf_queue_len_mean = 0, bf_table_size = 0;
  Number bf_last_cycle_at;
  bool bf_active = false;
  std::vector<RpcByType> rpcs_by_type;
  std::vector<RpcByUser> rpcs_by_user;
  bool operator==(const Diag&) const = default;
};
constexpr auto json_fields(json::Tag<Diag>) {
  using json::field;
  using D = Diag;
  return json::fields(
      field("req_time", &D::now), field("req_time_start", &D::since),
      field("server_thread_count", &D::server_thread_count),
      field("agent_queue_size", &D::agent_queue_size), field("agent_count", &D::agent_count),
      field("agent_thread_count", &D::agent_thread_count),
      field("dbd_agent_queue_size", &D::dbd_agent_queue_size),
      field("gettimeofday_latency", &D::gettimeofday_latency),
      field("schedule_cycle_max", &D::schedule_cycle_max),
      field("schedule_cycle_last", &D::schedule_cycle_last),
      field("schedule_cycle_sum", &D::schedule_cycle_sum),
      field("schedule_cycle_total", &D::schedule_cycle_total),
      field("schedule_cycle_mean", &D::schedule_cycle_mean),
      field("schedule_cycle_mean_depth", &D::schedule_cycle_mean_depth),
      field("schedule_cycle_per_minute", &D::schedule_cycle_per_minute),
      field("schedule_queue_length", &D::schedule_queue_length),
      field("jobs_submitted", &D::jobs_submitted), field("jobs_started", &D::jobs_started),
      field("jobs_completed", &D::jobs_completed), field("jobs_canceled", &D::jobs_canceled),
      field("jobs_failed", &D::jobs_failed), field("jobs_pending", &D::jobs_pending),
      field("jobs_running", &D::jobs_running), field("job_states_ts", &D::job_states_at),
      field("bf_backfilled_jobs", &D::bf_backfilled_jobs),
      field("bf_last_backfilled_jobs", &D::bf_last_backfilled_jobs),
      field("bf_backfilled_het_jobs", &D::bf_backfilled_het_jobs),
      field("bf_cycle_counter", &D::bf_cycle_counter), field("bf_cycle_mean", &D::bf_cycle_mean),
      field("bf_cycle_last", &D::bf_cycle_last), field("bf_cycle_max", &D::bf_cycle_max),
      field("bf_cycle_sum", &D::bf_cycle_sum), field("bf_depth_mean", &D::bf_depth_mean),
      field("bf_depth_mean_try", &D::bf_depth_mean_try), field("bf_last_depth", &D::bf_last_depth),
      field("bf_last_depth_try", &D::bf_last_depth_try), field("bf_queue_len", &D::bf_queue_len),
      field("bf_queue_len_mean", &D::bf_queue_len_mean), field("bf_table_size", &D::bf_table_size),
      field("bf_when_last_cycle", &D::bf_last_cycle_at), field("bf_active", &D::bf_active),
      field("rpcs_by_message_type", &D::rpcs_by_type), field("rpcs_by_user", &D::rpcs_by_user));
}

struct License {
  std::string name;
  std::string nodes;  // From v0.0.44 on.
  std::int64_t total = 0, used = 0, free = 0, reserved = 0;
  bool remote = false;
  bool operator==(const License&) const = default;
};
constexpr auto json_fields(json::Tag<License>) {
  using json::field;
  using L = License;
  return json::fields(field("LicenseName", &L::name), field("Total", &L::total),
                      field("Used", &L::used), field("Free", &L::free), field("Remote", &L::remote),
                      field("Reserved", &L::reserved), field("Nodes", &L::nodes));
}

// A number with a fraction in the shape of Number. Nothing where unset or without limit.
void read_real(json::Reader& reader, std::optional<double>& out);

// A row of the fair-share tree: an account or a user in it.
struct Share {
  std::int64_t id = 0, usage = 0;
  std::string cluster, name, parent, partition;
  json::StringList type;  // "ASSOCIATION" (an account) or "USER"
  Number shares;
  std::optional<double> shares_normalized, effective_usage, usage_normalized, factor, level;
  bool operator==(const Share&) const = default;
};
constexpr auto json_fields(json::Tag<Share>) {
  using json::field;
  using json::Reader;
  using S = Share;
  return json::fields(
      field("id", &S::id), field("cluster", &S::cluster), field("name", &S::name),
      field("parent", &S::parent), field("partition", &S::partition),
      field("shares_normalized", [](Reader& r, S& s) { read_real(r, s.shares_normalized); }),
      field("shares", &S::shares),
      field("effective_usage", [](Reader& r, S& s) { read_real(r, s.effective_usage); }),
      field("usage_normalized", [](Reader& r, S& s) { read_real(r, s.usage_normalized); }),
      field("usage", &S::usage),
      json::group("fairshare", field("factor", [](Reader& r, S& s) { read_real(r, s.factor); }),
                  field("level", [](Reader& r, S& s) { read_real(r, s.level); })),
      field("type", &S::type));
}

// What we want to know of a cluster's configuration (GET conf, v0.0.45 on); the rest is in the raw
// object.
struct ClusterConf {
  std::string cluster_name, scheduler_type, select_type, topology_plugin, accounting_storage_type,
      auth_type, metrics_type, slurm_user, state_save_location;
  json::StringList scheduler_parameters, reconfig_flags, gres_types, prolog_slurmctld,
      epilog_slurmctld, auth_alt_types;
  std::int64_t max_node_count = 0, max_job_count = 0, max_array_size = 0, min_job_age = 0,
               kill_wait = 0, message_timeout = 0, slurmd_timeout = 0, slurmctld_timeout = 0,
               slurmctld_port = 0;
  Number suspend_time;
  bool operator==(const ClusterConf&) const = default;
};
constexpr auto json_fields(json::Tag<ClusterConf>) {
  using json::field;
  using C = ClusterConf;
  return json::fields(
      field("ClusterName", &C::cluster_name), field("SchedulerType", &C::scheduler_type),
      field("SelectType", &C::select_type), field("TopologyPlugin", &C::topology_plugin),
      field("AccountingStorageType", &C::accounting_storage_type), field("AuthType", &C::auth_type),
      field("MetricsType", &C::metrics_type), field("SlurmUser", &C::slurm_user),
      field("StateSaveLocation", &C::state_save_location),
      field("SchedulerParameters", &C::scheduler_parameters),
      field("ReconfigFlags", &C::reconfig_flags), field("GresTypes", &C::gres_types),
      field("PrologSlurmctld", &C::prolog_slurmctld),
      field("EpilogSlurmctld", &C::epilog_slurmctld), field("AuthAltTypes", &C::auth_alt_types),
      field("MaxNodeCount", &C::max_node_count), field("MaxJobCount", &C::max_job_count),
      field("MaxArraySize", &C::max_array_size), field("MinJobAge", &C::min_job_age),
      field("KillWait", &C::kill_wait), field("MessageTimeout", &C::message_timeout),
      field("SlurmdTimeout", &C::slurmd_timeout), field("SlurmctldTimeout", &C::slurmctld_timeout),
      field("SlurmctldPort", &C::slurmctld_port), field("SuspendTime", &C::suspend_time));
}

}  // namespace mainspring::slurm
