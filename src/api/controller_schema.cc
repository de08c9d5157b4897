#include "api/kind_schemas.h"
#include "api/schema_parts.h"

namespace mainspring::api::schema {
namespace {

// As Prometheus reads durations.
constexpr std::string_view kPrometheusDuration =
    "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$";

Schema scrape_interval() {
  return string("How often to scrape, such as 30s.").matching(kPrometheusDuration);
}
Schema scrape_timeout() {
  return string("How long a scrape may take.").matching(kPrometheusDuration);
}

Schema volume_selector() {
  return object(
             "Which volumes may be bound.",
             {
                 {"matchLabels", map("Labels that a volume must have, all of them.", string(""))},
                 {"matchExpressions",
                  list("Conditions on labels that must hold, all of them.",
                       object("One condition.",
                              {
                                  {"key", string("The label.").required()},
                                  {"operator",
                                   string("One of In, NotIn, Exists and DoesNotExist.").required()},
                                  {"values",
                                   list("What In and NotIn compare with.", string("")).atomic()},
                              }))
                      .atomic()},
             })
      .atomic();
}

Schema persistence() {
  return object(
      "The volume for slurmctld's state: beside enabled and existingClaim, the fields of a "
      "core/v1 PersistentVolumeClaimSpec.",
      {
          {"enabled",
           boolean("Whether slurmctld's state outlives its pod.").required().by_default(true)},
          {"existingClaim", string("A PersistentVolumeClaim to use instead of making one.")},
          {"accessModes",
           list("How the volume is to be mounted, such as ReadWriteOnce.", string("")).atomic()},
          {"resources", object("How large the volume is.",
                               {
                                   {"requests", map("At least so much.", quantity(""))},
                                   {"limits", map("At most so much.", quantity(""))},
                               })},
          {"selector", volume_selector()},
          {"storageClassName", string("The StorageClass; the cluster's default one where absent.")},
          {"volumeAttributesClassName", string("The VolumeAttributesClass.")},
          {"volumeMode", string("Filesystem or Block.")},
          {"volumeName", string("The PersistentVolume to bind.")},
          {"dataSource", object("A snapshot or a claim to fill the volume from.",
                                {
                                    {"apiGroup", string("The group of its kind.")},
                                    {"kind", string("Its kind.").required()},
                                    {"name", string("Its name.").required()},
                                })
                             .atomic()},
          {"dataSourceRef",
           object("An object of any kind to fill the volume from.",
                  {
                      {"apiGroup", string("The group of its kind.")},
                      {"kind", string("Its kind.").required()},
                      {"name", string("Its name.").required()},
                      {"namespace", string("Its namespace, this one where absent.")},
                  })},
      });
}

Schema service_monitor() {
  return object("A ServiceMonitor for the Prometheus operator.",
                {
                    {"enabled", boolean("Whether there is one.").by_default(false)},
                    {"labels", labels()},
                    {"annotations", annotations()},
                    {"interval", scrape_interval()},
                    {"scrapeTimeout", scrape_timeout()},
                    {"endpoints",
                     list("The paths to scrape, all that slurmctld offers where absent.",
                          object("One path.",
                                 {
                                     {"path", string("Such as /metrics/jobs.").required()},
                                     {"interval", scrape_interval()},
                                     {"scrapeTimeout", scrape_timeout()},
                                 }))
                         .nullable()},
                })
      .nullable();
}

Schema spec() {
  return object(
             "The Slurm cluster that is wanted.",
             {
                 {"clusterName",
                  string("Slurm's ClusterName, NAMESPACE_NAME where absent; it cannot change.")},
                 {"slurmKeyRef", slurm_key()},
                 {"jwtKeyRef", jwt_key()},
                 {"jwtHs256KeyRef", jwt_hs256_key()},
                 {"jwksKeyRef", jwks_key()},
                 {"accountingRef", name_ref("The Accounting that keeps this cluster's records.")},
                 {"external", boolean("Whether slurmctld runs outside this Kubernetes cluster.")
                                  .by_default(false)},
                 {"externalConfig", external_address("slurmctld")},
                 {"ha", object("More than one slurmctld, of which one is active.",
                               {
                                   {"enabled",
                                    boolean("Whether backups run.").required().by_default(false)},
                                   {"backups", int32("How many backups run beside the first.")
                                                   .by_default(1)
                                                   .at_least(1)},
                               })},
                 {"slurmctld", container("slurmctld")},
                 {"reconfigure", container("reconfigure")},
                 {"logfile", container("logfile")},
                 {"inplaceReconfigure",
                  boolean("Whether a sidecar reconfigures slurmctld when its files change.")
                      .by_default(false)},
                 {"template", pod_template("slurmctld")},
                 {"extraConf", string("Lines that are added to slurm.conf.")},
                 {"configFileRefs", name_refs("ConfigMaps whose keys become files in /etc/slurm.")},
                 {"prologScriptRefs", name_refs("ConfigMaps of scripts for Prolog.")},
                 {"epilogScriptRefs", name_refs("ConfigMaps of scripts for Epilog.")},
                 {"prologSlurmctldScriptRefs",
                  name_refs("ConfigMaps of scripts for PrologSlurmctld.")},
                 {"epilogSlurmctldScriptRefs",
                  name_refs("ConfigMaps of scripts for EpilogSlurmctld.")},
                 {"persistence", persistence()},
                 {"service", service("slurmctld")},
                 {"metrics",
                  object("Slurm's own metrics.",
                         {
                             {"enabled",
                              boolean("Whether slurmctld serves metrics.").by_default(false)},
                             {"serviceMonitor", service_monitor()},
                         })},
             })
      .rule(kNeedsSlurmKey, kSlurmKeyMissing)
      .rule(kNeedsJwtKey, kJwtKeyMissing)
      .rule(kNeedsAddress, kAddressMissing)
      .rule(
          "has(self.ha) && self.ha.enabled ? has(self.persistence) && self.persistence.enabled && "
          "self.persistence.existingClaim.size() > 0 : true",
          "ha needs state that all slurmctld share: enable persistence and set its existingClaim "
          "to a ReadWriteMany claim");
}

Schema config_status() {
  return object(
      "How the configuration got, or gets, into the running slurmctld.",
      {
          {"hash", string("The hash of the configuration that should be in force.")},
          {"method", string("How it is brought in: Reconfigure, or Rollout for a restart.")},
          {"state", string("How far that is: Pending, Applied or Rejected.")},
          {"appliedAt", date_time("When it took effect.")},
          {"message", string("What stands in the way, if anything does.")},
      });
}

}  // namespace

KindSchema controller_schema() {
  return {.spec = spec(),
          .status = object("The Slurm cluster as it is.",
                           {
                               {"conditions", conditions()},
                               {"observedGeneration", observed_generation()},
                               {"config", config_status()},
                           })};
}

}  // namespace mainspring::api::schema
