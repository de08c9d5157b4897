// slurmrestd: a Service and a Deployment.
#include <algorithm>

#include "api/names.h"
#include "operator/build/config_change.h"
#include "operator/build/daemons.h"
#include "operator/build/etc_files.h"
#include "operator/build/merge.h"
#include "operator/build/pod_parts.h"
#include "operator/build/takeover.h"

namespace mainspring::op::build {
namespace {

using api::RestApi;
using json::Value;

constexpr std::string_view kComponent = "restapi";
constexpr std::string_view kConfFile = "slurm.conf";
constexpr int kNobody = 65534;  // slurmrestd refuses to run as root or SlurmUser.

Labels labels_of(const RestApi& restapi) {
  return daemon_labels(api::app::kRestApi, kComponent, restapi.meta.name);
}

Value meta_of(const RestApi& restapi, const Metadata& metadata) {
  return object_meta(api::restapi_name(restapi.meta.name), restapi.meta.ns, metadata,
                     RestApi::kResource, restapi.meta);
}

Result<Value> container_of(const RestApiInputs& inputs) {
  Value container = Value::object(
      {{"name", api::app::kRestApi},
       {"env",
        Value::array({Value::object({{"name", "SLURM_JWT"}, {"value", "daemon"}}),
                      Value::object({{"name", "SLURMRESTD_SECURITY"},
                                     {"value", "disable_unshare_files,disable_unshare_sysv"}})})},
       {"ports", Value::array({tcp_port(api::app::kRestApi, api::kSlurmrestdPort)})},
       {"startupProbe", patient_tcp_probe(api::kSlurmrestdPort)},
       {"livenessProbe", patient_tcp_probe(api::kSlurmrestdPort)},
       {"readinessProbe", tcp_probe(api::kSlurmrestdPort)},
       {"securityContext", run_as(kNobody)},
       {"volumeMounts", Value::array({read_only_mount("slurm-etc", "/etc/slurm")})}});
  // Its slurmdbd plugin does not start where no slurmdbd is configured.
  if (inputs.controller.spec.accounting_ref.name.empty()) {
    container.set("args", Value::array({"-s", "openapi/slurmctld"}));
  }
  MS_TRY(container, merge_container(std::move(container), inputs.restapi.spec.slurmrestd));
  // Addresses come behind all options.
  container["args"].push_back("0.0.0.0:" + std::to_string(api::kSlurmrestdPort));
  return container;
}

Files files_in_force(const RestApiInputs& inputs) {
  return inputs.config == nullptr ? Files() : written_files(*inputs.config, inputs.approved);
}

// slurmrestd reads slurm.conf, and does not start where a file that it includes is not there.
Value included_sources(const RestApiInputs& inputs) {
  Value sources = Value::array();
  for (const std::string& file : included_files(files_in_force(inputs))) {
    const auto brings = [&](const auto& map) {
      return map->data.contains(file) || map->binary_data.contains(file);
    };
    const auto last = std::find_if(inputs.approved.rbegin(), inputs.approved.rend(), brings);
    if (last == inputs.approved.rend()) continue;
    sources.push_back(config_map_source((*last)->meta.name, {{file, file}}));
  }
  return sources;
}

Result<Value> pod_spec_of(const RestApiInputs& inputs, const Value& included) {
  MS_TRY(Value container, container_of(inputs));
  Value security = run_as(kNobody);
  security.set("fsGroup", kNobody);
  Value sources = Value::array({config_map_source(
      api::controller_config_name(inputs.controller.meta.name), {{kConfFile, kConfFile}})});
  if (const auto& key = inputs.controller.spec.slurm_key_ref) {
    sources.push_back(secret_source(key->name, {{key->key, "slurm.key"}}));
  }
  for (const Value& source : included) sources.push_back(source);
  Value spec = Value::object(
      {{"automountServiceAccountToken", false},
       {"securityContext", std::move(security)},
       {"containers", Value::array({std::move(container)})},
       {"volumes", Value::array({projected_volume("slurm-etc", 0600, std::move(sources))})}});
  return merge_pod_spec(std::move(spec), inputs.restapi.spec.pod_template.spec);
}

std::string config_hash(const RestApiInputs& inputs) {
  return inputs.config == nullptr ? std::string() : rest_hash(files_in_force(inputs));
}

}  // namespace

Result<Value> restapi_service(const RestApiInputs& inputs) {
  const RestApi& restapi = inputs.restapi;
  const api::ServiceTemplate& service = restapi.spec.service;
  MS_TRY(Value object,
         build_service({.selector = api::selector_labels(api::app::kRestApi, restapi.meta.name),
                        .ports = {{.name = std::string(api::app::kRestApi),
                                   .port = service.port != 0 ? service.port : api::kSlurmrestdPort,
                                   .target = std::string(api::app::kRestApi),
                                   .node_port = service.node_port}}},
                       service.spec));
  // Of all Services this one alone has none of its kind's metadata: part of the public contract.
  object["metadata"] = meta_of(restapi, workload_metadata({}, service.meta, labels_of(restapi)));
  return object;
}

Result<Value> restapi_deployment(const RestApiInputs& inputs) {
  using namespace api::annotation;
  const RestApi& restapi = inputs.restapi;
  Metadata metadata =
      workload_metadata(restapi.meta, restapi.spec.pod_template.meta, labels_of(restapi));
  MS_TRY(const Value spec, pod_spec_of(inputs, included_sources(inputs)));
  // The operator before us gave it none of them.
  MS_TRY(const Value found_spec, pod_spec_of(inputs, Value::array()));

  Metadata as_found = metadata;
  as_found.annotations.insert_or_assign(std::string(kDefaultContainer),
                                        std::string(api::app::kRestApi));
  // The operator before us had no hashes: slurmrestd never saw a new key or configuration.
  Metadata complete = as_found;
  complete.annotations.insert_or_assign(std::string(kSlurmConfigHash), config_hash(inputs));
  complete.annotations.insert_or_assign(
      std::string(kSlurmKeyHash), inputs.slurm_key == nullptr ? "" : hash_of(*inputs.slurm_key));
  TemplateChoice choice = choose_template(
      pod_template(complete, spec), pod_template(as_found, found_spec), inputs.live_annotations);

  metadata.annotations.insert_or_assign(std::string(kTemplateAnnotation), choice.mark);
  Value object = owned_object("apps/v1", "Deployment", meta_of(restapi, metadata));
  object["spec"] = Value::object(
      {{"replicas", restapi.spec.replicas},
       {"revisionHistoryLimit", 0},
       {"selector", Value::object({{"matchLabels",
                                    api::selector_labels(api::app::kRestApi, restapi.meta.name)}})},
       {"template", std::move(choice.pod_template)}});
  return object;
}

}  // namespace mainspring::op::build
