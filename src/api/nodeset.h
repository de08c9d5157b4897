// api/nodeset.h
//
// NodeSet: Slurm workers, each slurmd in a pod of its own. A value.
#pragma once

#include <array>

#include "api/common.h"

namespace mainspring::api {

enum class ScalingMode : std::uint8_t {
  kStatefulSet,  // so many replicas, by ordinal
  kDaemonSet,    // one for each Kubernetes node that fits
};
std::string_view to_string(ScalingMode mode);
bool read(json::Reader& reader, ScalingMode& out);

enum class UpdateType : std::uint8_t { kRollingUpdate, kOnDelete, kScheduledUpdate };
bool read(json::Reader& reader, UpdateType& out);

// An int, or a percentage.
struct IntOrPercent {
  std::int32_t value = 25;
  bool percent = true;

  // Rounded up; at least 0.
  std::int32_t of(std::int32_t total) const;
  bool operator==(const IntOrPercent&) const = default;
};
// "25%", "3" or 3. Anything else is none at all: 0.
bool read(json::Reader& reader, IntOrPercent& out);

// The flags that make a reservation repeat. One of them at most: two contradict each other, and
// WEEKDAY with WEEKEND leaves no day at all.
inline constexpr auto kRecurrences =
    std::to_array<std::string_view>({"HOURLY", "DAILY", "WEEKLY", "WEEKDAY", "WEEKEND"});
// The first two of them that are among `flags`, however they are written, for people: "A" and "B".
// Empty where there is no second.
std::string two_recurrences(const std::vector<std::string>& flags);

struct ScheduledUpdate {
  std::optional<WallTime> start_time;
  std::string duration = "30m";  // As Go writes durations.
  std::vector<std::string> flags;

  bool operator==(const ScheduledUpdate&) const = default;
};

namespace detail {
// The schema's date-time is looser than RFC 3339; what is none is absent.
void read_start_time(json::Reader& reader, ScheduledUpdate& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<ScheduledUpdate>) {
  return json::fields(json::field("startTime", &detail::read_start_time),
                      json::field("duration", &ScheduledUpdate::duration),
                      json::field("flags", &ScheduledUpdate::flags));
}

// What to do with jobs when a NodeSet is deleted. Ours, beyond the public contract.
enum class DeletionPolicy : std::uint8_t {
  kDrain,      // drain, wait for the jobs, then delete (the default)
  kImmediate,  // delete at once, as upstream does
};
bool read(json::Reader& reader, DeletionPolicy& out);

struct NodeSetSpec {
  NameRef controller_ref;
  std::int32_t replicas = 1;
  ScalingMode scaling_mode = ScalingMode::kStatefulSet;
  json::Value slurmd;
  json::Value logfile;
  bool ssh_enabled = false;
  std::string extra_sshd_config;
  KeyRef sssd_conf_ref;
  PodTemplate pod_template;
  std::string extra_conf;
  bool partition_enabled = false;
  std::string partition_config;
  std::vector<json::Value> volume_claim_templates;
  UpdateType update_type = UpdateType::kRollingUpdate;
  IntOrPercent max_unavailable;
  std::optional<ScheduledUpdate> scheduled_update;
  std::int32_t revision_history_limit = 0;
  bool delete_claims_when_deleted = false;
  bool delete_claims_when_scaled = false;
  std::int32_t min_ready_seconds = 0;
  std::uint32_t ordinal_padding = 0;
  bool pin_to_node = false;
  bool workload_disruption_protection = true;
  bool prune_defunct = false;  // pruneSlurmNodeRecords: NodeNotFound
  bool oversubscribe_node = false;
  DeletionPolicy deletion_policy = DeletionPolicy::kDrain;
  // How long a deletion waits for jobs; 0: for ever. After it pods go with what runs in them.
  Duration deletion_deadline{};

  bool operator==(const NodeSetSpec&) const = default;
};

namespace detail {
void read_claim_policy_deleted(json::Reader& reader, NodeSetSpec& out);
void read_claim_policy_scaled(json::Reader& reader, NodeSetSpec& out);
void read_prune(json::Reader& reader, NodeSetSpec& out);
void read_deletion_deadline(json::Reader& reader, NodeSetSpec& out);
// The schema takes anything here; what is no list is kept as the only element of one.
void read_claim_templates(json::Reader& reader, NodeSetSpec& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<NodeSetSpec>) {
  using T = NodeSetSpec;
  return json::fields(
      json::field("controllerRef", &T::controller_ref), json::field("replicas", &T::replicas),
      json::field("scalingMode", &T::scaling_mode), json::field("slurmd", &T::slurmd),
      json::field("logfile", &T::logfile),
      json::group("ssh", json::field("enabled", &T::ssh_enabled),
                  json::field("extraSshdConfig", &T::extra_sshd_config),
                  json::field("sssdConfRef", &T::sssd_conf_ref)),
      json::field("template", &T::pod_template), json::field("extraConf", &T::extra_conf),
      json::group("partition", json::field("enabled", &T::partition_enabled),
                  json::field("config", &T::partition_config)),
      json::field("volumeClaimTemplates", &detail::read_claim_templates),
      json::group("updateStrategy", json::field("type", &T::update_type),
                  json::group("rollingUpdate", json::field("maxUnavailable", &T::max_unavailable)),
                  json::field("scheduledUpdate", &T::scheduled_update)),
      json::field("revisionHistoryLimit", &T::revision_history_limit),
      json::group("persistentVolumeClaimRetentionPolicy",
                  json::field("whenDeleted", &detail::read_claim_policy_deleted),
                  json::field("whenScaled", &detail::read_claim_policy_scaled)),
      json::field("minReadySeconds", &T::min_ready_seconds),
      clamped_field<&T::ordinal_padding>("ordinalPadding"),
      json::field("pinToNode", &T::pin_to_node),
      json::field("workloadDisruptionProtection", &T::workload_disruption_protection),
      json::field("pruneSlurmNodeRecords", &detail::read_prune),
      json::field("oversubscribeNode", &T::oversubscribe_node),
      json::group("deletion", json::field("policy", &T::deletion_policy),
                  json::field("deadline", &detail::read_deletion_deadline)));
}

struct NodeSetStatus {
  std::int32_t replicas = 0;
  std::int32_t updated_replicas = 0;
  std::int32_t ready_replicas = 0;
  std::int32_t available_replicas = 0;
  std::int32_t unavailable_replicas = 0;
  std::int32_t desired = 0;
  std::int32_t slurm_idle = 0;
  std::int32_t slurm_allocated = 0;
  std::int32_t slurm_down = 0;
  std::int32_t slurm_drain = 0;
  std::int64_t observed_generation = 0;
  std::string node_set_hash;
  std::int32_t collision_count = 0;
  kube::Conditions conditions;
  json::StringMap ordinal_to_node;
  std::string selector;

  bool operator==(const NodeSetStatus&) const = default;
};

constexpr auto json_fields(json::Tag<NodeSetStatus>) {
  using T = NodeSetStatus;
  return json::fields(
      json::field("replicas", &T::replicas), json::field("updatedReplicas", &T::updated_replicas),
      json::field("readyReplicas", &T::ready_replicas),
      json::field("availableReplicas", &T::available_replicas),
      json::field("unavailableReplicas", &T::unavailable_replicas),
      json::field("desired", &T::desired), json::field("slurmIdle", &T::slurm_idle),
      json::field("slurmAllocated", &T::slurm_allocated), json::field("slurmDown", &T::slurm_down),
      json::field("slurmDrain", &T::slurm_drain),
      json::field("observedGeneration", &T::observed_generation),
      json::field("nodeSetHash", &T::node_set_hash),
      json::field("collisionCount", &T::collision_count), json::field("conditions", &T::conditions),
      json::field("ordinalToNode", &T::ordinal_to_node), json::field("selector", &T::selector));
}

struct NodeSet {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet",
                                               true};
  kube::Meta meta;
  NodeSetSpec spec;
  NodeSetStatus status;

  // The name of the set in slurm.conf: the template's hostname up to its first dot or blank,
  // without dashes around it, else the object's name.
  std::string slurm_name() const;
  // template.spec.hostname, which is a prefix of host names. Empty: none.
  std::string_view hostname_prefix() const;

  bool operator==(const NodeSet&) const = default;
};

constexpr auto json_fields(json::Tag<NodeSet>) {
  return json::fields(json::field("metadata", &NodeSet::meta), json::field("spec", &NodeSet::spec),
                      json::field("status", &NodeSet::status));
}

}  // namespace mainspring::api
