// api/controller.h
//
// Controller: slurmctld, and through it a Slurm cluster. A value.
#pragma once

#include "api/common.h"

namespace mainspring::api {

struct Persistence {
  bool enabled = true;
  std::string existing_claim;
  json::Value
      claim;  // The whole object as written: beside the two above, a PersistentVolumeClaimSpec.

  bool operator==(const Persistence&) const = default;
};
bool read(json::Reader& reader, Persistence& out);

struct MonitorEndpoint {
  std::string path;
  std::string interval;
  std::string scrape_timeout;

  bool operator==(const MonitorEndpoint&) const = default;
};

constexpr auto json_fields(json::Tag<MonitorEndpoint>) {
  return json::fields(json::field("path", &MonitorEndpoint::path),
                      json::field("interval", &MonitorEndpoint::interval),
                      json::field("scrapeTimeout", &MonitorEndpoint::scrape_timeout));
}

struct ServiceMonitorTemplate {
  bool enabled = false;
  json::StringMap labels;
  json::StringMap annotations;
  std::string interval;
  std::string scrape_timeout;
  std::vector<MonitorEndpoint> endpoints;

  bool operator==(const ServiceMonitorTemplate&) const = default;
};

constexpr auto json_fields(json::Tag<ServiceMonitorTemplate>) {
  using T = ServiceMonitorTemplate;
  return json::fields(
      json::field("enabled", &T::enabled), json::field("labels", &T::labels),
      json::field("annotations", &T::annotations), json::field("interval", &T::interval),
      json::field("scrapeTimeout", &T::scrape_timeout), json::field("endpoints", &T::endpoints));
}

struct ControllerSpec {
  std::string cluster_name;  // Empty: derived, see cluster_name().
  std::optional<KeyRef> slurm_key_ref;
  std::optional<KeyRef> jwt_key_ref;
  std::optional<KeyRef> jwt_hs256_key_ref;
  std::optional<KeyRef> jwks_key_ref;  // Of a ConfigMap.
  NameRef accounting_ref;
  bool external = false;
  std::optional<ExternalAddress> external_config;
  bool ha_enabled = false;
  std::int32_t ha_backups = 1;
  json::Value slurmctld;
  json::Value reconfigure;
  json::Value logfile;
  bool inplace_reconfigure = false;
  PodTemplate pod_template;
  std::string extra_conf;
  std::vector<NameRef> config_file_refs;
  std::vector<NameRef> prolog_script_refs;
  std::vector<NameRef> epilog_script_refs;
  std::vector<NameRef> prolog_slurmctld_script_refs;
  std::vector<NameRef> epilog_slurmctld_script_refs;
  std::optional<Persistence> persistence;  // Absent is the same as enabled with no wishes.
  ServiceTemplate service;
  bool metrics_enabled = false;
  ServiceMonitorTemplate service_monitor;

  bool operator==(const ControllerSpec&) const = default;
};

constexpr auto json_fields(json::Tag<ControllerSpec>) {
  using T = ControllerSpec;
  return json::fields(
      json::field("clusterName", &T::cluster_name), json::field("slurmKeyRef", &T::slurm_key_ref),
      json::field("jwtKeyRef", &T::jwt_key_ref),
      json::field("jwtHs256KeyRef", &T::jwt_hs256_key_ref),
      json::field("jwksKeyRef", &T::jwks_key_ref), json::field("accountingRef", &T::accounting_ref),
      json::field("external", &T::external), json::field("externalConfig", &T::external_config),
      json::group("ha", json::field("enabled", &T::ha_enabled),
                  json::field("backups", &T::ha_backups)),
      json::field("slurmctld", &T::slurmctld), json::field("reconfigure", &T::reconfigure),
      json::field("logfile", &T::logfile),
      json::field("inplaceReconfigure", &T::inplace_reconfigure),
      json::field("template", &T::pod_template), json::field("extraConf", &T::extra_conf),
      json::field("configFileRefs", &T::config_file_refs),
      json::field("prologScriptRefs", &T::prolog_script_refs),
      json::field("epilogScriptRefs", &T::epilog_script_refs),
      json::field("prologSlurmctldScriptRefs", &T::prolog_slurmctld_script_refs),
      json::field("epilogSlurmctldScriptRefs", &T::epilog_slurmctld_script_refs),
      json::field("persistence", &T::persistence), json::field("service", &T::service),
      json::group("metrics", json::field("enabled", &T::metrics_enabled),
                  json::field("serviceMonitor", &T::service_monitor)));
}

// How the configuration in the ConfigMap got, or gets, into the running slurmctld.
struct ConfigStatus {
  std::string hash;    // Of what should be in force.
  std::string method;  // "Rollout" or "Reconfigure"
  std::string state;   // "Pending", "Applied" or "Rejected"
  std::optional<WallTime> applied_at;
  std::string message;

  bool operator==(const ConfigStatus&) const = default;
};

constexpr auto json_fields(json::Tag<ConfigStatus>) {
  return json::fields(json::field("hash", &ConfigStatus::hash),
                      json::field("method", &ConfigStatus::method),
                      json::field("state", &ConfigStatus::state),
                      kube::time_field<&ConfigStatus::applied_at>("appliedAt"),
                      json::field("message", &ConfigStatus::message));
}

struct ControllerStatus {
  kube::Conditions conditions;
  std::int64_t observed_generation = 0;  // Ours, beyond the public contract, as is the next.
  ConfigStatus config;

  bool operator==(const ControllerStatus&) const = default;
};

constexpr auto json_fields(json::Tag<ControllerStatus>) {
  return json::fields(json::field("conditions", &ControllerStatus::conditions),
                      json::field("observedGeneration", &ControllerStatus::observed_generation),
                      json::field("config", &ControllerStatus::config));
}

struct Controller {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "controllers",
                                               "Controller", true};
  kube::Meta meta;
  ControllerSpec spec;
  ControllerStatus status;

  // Slurm's ClusterName: as given, or NAMESPACE_NAME.
  std::string cluster_name() const;
  // How many slurmctld run here: none where external.
  std::int32_t replicas() const;
  // By name, none twice, sorted: every ConfigMap whose files go to /etc/slurm.
  std::vector<std::string> config_map_names() const;

  bool operator==(const Controller&) const = default;
};

constexpr auto json_fields(json::Tag<Controller>) {
  return json::fields(json::field("metadata", &Controller::meta),
                      json::field("spec", &Controller::spec),
                      json::field("status", &Controller::status));
}

}  // namespace mainspring::api
