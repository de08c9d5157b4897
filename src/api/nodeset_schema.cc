#include "api/kind_schemas.h"
#include "api/schema_parts.h"

namespace mainspring::api::schema {
namespace {

// As Go writes durations, without a sign.
constexpr std::string_view kGoDuration = R"(^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$)";

Schema ssh() {
  return object(
      "Logging into workers, for users who have a job there.",
      {
          {"enabled", boolean("Whether sshd runs in the pods.").required().by_default(false)},
          {"extraSshdConfig", string("Lines that are added to sshd_config.")},
          {"sssdConfRef", secret_key("sssd.conf, by which users are known").required()},
      });
}

Schema partition() {
  return object(
      "A partition of the workers of this set.",
      {
          {"enabled", boolean("Whether there is one.").required().by_default(false)},
          {"config",
           string("Settings of its line in slurm.conf, such as State=UP MaxTime=UNLIMITED.")
               .matching(R"(^[^\n]+$)")},
      });
}

Schema update_strategy() {
  return object(
             "How workers are replaced when their template changes.",
             {
                 {"type", string("Step by step, only when a pod is deleted, or at a set time.")
                              .by_default("RollingUpdate")
                              .one_of({"RollingUpdate", "OnDelete", "ScheduledUpdate"})},
                 {"rollingUpdate",
                  object("For the type RollingUpdate.",
                         {{"maxUnavailable",
                           int_or_string("How many workers may be away at a time, as a number or a "
                                         "percentage, rounded up.")
                               .by_default("25%")}})},
                 {"scheduledUpdate",
                  object(
                      "For the type ScheduledUpdate: a Slurm reservation for maintenance.",
                      {
                          {"startTime", date_time("When it begins.")},
                          {"duration", string("How long it lasts, at least 1m.").by_default("30m")},
                          {"flags", list("Flags of the reservation beside MAINT and IGNORE_JOBS.",
                                         string(""))
                                        .nullable()},
                      })},
             })
      .rule(
          "self.type != 'ScheduledUpdate' || (has(self.scheduledUpdate.startTime) && "
          "has(self.scheduledUpdate.duration))",
          "the type ScheduledUpdate needs scheduledUpdate.startTime and "
          "scheduledUpdate.duration");
}

Schema claim_retention() {
  const auto policy = [](std::string_view description) {
    return string(description).by_default("Retain").one_of({"Retain", "Delete"});
  };
  return object("What becomes of the claims made from volumeClaimTemplates.",
                {
                    {"whenDeleted", policy("What becomes of them when the NodeSet is deleted.")},
                    {"whenScaled", policy("What becomes of a worker's when the set is scaled in.")},
                });
}

Schema deletion() {
  return object(
      "What becomes of jobs when the NodeSet is deleted.",
      {
          {"policy", string("Wait until the workers are drained, or delete them at once.")
                         .by_default("Drain")
                         .one_of({"Drain", "Immediate"})},
          {"deadline", string("How long to wait for jobs, such as 24h; for ever where absent.")
                           .matching(kGoDuration)},
      });
}

Schema spec() {
  return object(
      "The workers that are wanted.",
      {
          {"controllerRef",
           name_ref("The Controller whose cluster the workers join; it cannot change.").required()},
          {"replicas", int32("How many workers there are, in the mode StatefulSet.").by_default(1)},
          {"scalingMode", string("So many workers by number, or one for each node that fits.")
                              .by_default("StatefulSet")
                              .one_of({"DaemonSet", "StatefulSet"})},
          {"slurmd", container("slurmd")},
          {"logfile", container("logfile")},
          {"ssh", ssh()},
          {"template", pod_template("slurmd")},
          {"extraConf", string("Settings of the Slurm nodes, as KEY=VALUE with blanks between.")},
          {"partition", partition()},
          {"volumeClaimTemplates",
           anything("PersistentVolumeClaims that each worker has its own of; they cannot change.")
               .nullable()},
          {"updateStrategy", update_strategy()},
          {"revisionHistoryLimit",
           int32("How many old ControllerRevisions are kept.").by_default(0)},
          {"persistentVolumeClaimRetentionPolicy", claim_retention()},
          {"minReadySeconds",
           int32("How long a worker must be ready before it counts as available.")},
          {"ordinalPadding",
           integer("The least number of digits of a worker's number.").by_default(0)},
          {"pinToNode", boolean("Whether a worker always comes back to the node it ran on first.")
                            .by_default(false)},
          {"workloadDisruptionProtection",
           boolean("Whether pods with running jobs are kept from eviction.").by_default(true)},
          {"pruneSlurmNodeRecords",
           string("When Slurm's record of a worker whose node is gone is removed.")
               .by_default("Never")
               .one_of({"Never", "NodeNotFound"})},
          {"oversubscribeNode",
           boolean("Whether several workers may share a node.").by_default(false)},
          {"deletion", deletion()},
      });
}

Schema status() {
  return object(
      "The workers as they are.",
      {
          {"replicas", int32("How many pods there are.")},
          {"updatedReplicas", int32("How many of them have the latest template.")},
          {"readyReplicas", int32("How many of them are ready.")},
          {"availableReplicas", int32("How many of them have been ready for minReadySeconds.")},
          {"unavailableReplicas", int32("How many are not available.")},
          {"desired", int32("How many there should be.")},
          {"slurmIdle", int32("How many Slurm nodes have no job.")},
          {"slurmAllocated", int32("How many Slurm nodes have jobs.")},
          {"slurmDown", int32("How many Slurm nodes are down.")},
          {"slurmDrain", int32("How many Slurm nodes are drained or draining.")},
          {"observedGeneration", observed_generation()},
          {"nodeSetHash", string("The hash of the latest template.").required()},
          {"collisionCount", int32("How often a hash was taken already by another template.")},
          {"conditions", conditions()},
          {"ordinalToNode",
           map("The node that each worker is pinned to, by its number.", string("")).nullable()},
          {"selector", string("The label selector of the pods, for autoscalers.").required()},
      });
}

}  // namespace

KindSchema nodeset_schema() { return {.spec = spec(), .status = status()}; }

}  // namespace mainspring::api::schema
