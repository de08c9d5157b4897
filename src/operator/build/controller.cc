#include "operator/build/controller.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "api/names.h"
#include "operator/build/config_change.h"
#include "operator/build/controller_names.h"
#include "operator/build/controller_pod.h"
#include "operator/build/etc_files.h"
#include "operator/build/jwks.h"
#include "operator/build/merge.h"
#include "operator/build/metadata.h"
#include "operator/build/takeover.h"

namespace mainspring::op::build {
namespace {

using json::Value;

Value meta_of(const api::Controller& controller, const std::string& name,
              const Metadata& metadata) {
  return object_meta(name, controller.meta.ns, metadata, api::Controller::kResource,
                     controller.meta);
}

Value selector_of(const api::Controller& controller) {
  return api::selector_labels(api::app::kController, controller.meta.name);
}

ServicePort slurmctld_port(const api::ServiceTemplate& wanted) {
  return {.name = std::string(api::app::kController),
          .port = wanted.port != 0 ? wanted.port : api::kSlurmctldPort,
          .target = std::string(api::app::kController),
          .node_port = wanted.node_port};
}

Value state_claim(const api::Controller& controller) {
  Value spec = controller.spec.persistence ? controller.spec.persistence->claim : Value();
  std::vector<std::string> none_of_it = {"enabled", "existingClaim"};
  for (const auto member : spec.members()) {  // Charts write null for what is not wished for.
    if (member.value.is_null()) none_of_it.emplace_back(member.key);
  }
  for (const std::string& key : none_of_it) spec.erase(key);
  if (spec.is_null()) spec = Value::object();
  // A claim without these is refused.
  if (spec.find("accessModes") == nullptr) spec.set("accessModes", Value::array({"ReadWriteOnce"}));
  if (spec.find("resources") == nullptr) spec["resources"]["requests"].set("storage", "4Gi");
  return Value::object(
      {{"metadata", Value::object({{"name", "statesave"}, {"namespace", controller.meta.ns}})},
       {"spec", std::move(spec)}});
}

// Where slurmctld keeps its state: a claim that is there, one of its own, or nowhere for long.
Result<void> add_state(Value& stateful_set, const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  const bool kept = !spec.persistence || spec.persistence->enabled;
  const std::string claim = spec.persistence ? spec.persistence->existing_claim : std::string();
  if (spec.ha_enabled && !kept) {
    return fail(Code::kInvalid,
                "spec.ha.enabled needs spec.persistence.enabled: several slurmctld "
                "share one state");
  }
  if (spec.ha_enabled && claim.empty()) {
    return fail(Code::kInvalid,
                "spec.ha.enabled needs spec.persistence.existingClaim, the name of "
                "a claim with access mode ReadWriteMany");
  }
  Value volume = Value::object({{"name", "statesave"}});
  if (kept && claim.empty()) {
    stateful_set["spec"].set("volumeClaimTemplates", Value::array({state_claim(controller)}));
    return {};
  }
  if (kept) {
    volume.set("persistentVolumeClaim", Value::object({{"claimName", claim}}));
  } else {
    volume.set("emptyDir", Value::object());
  }
  stateful_set["spec"]["template"]["spec"]["volumes"].push_back(std::move(volume));
  return {};
}

Value approved_map(const api::Controller& controller, const std::string& name, Value data,
                   Value binary_data) {
  Value map =
      Value::object({{"apiVersion", "v1"},
                     {"kind", "ConfigMap"},
                     {"metadata", meta_of(controller, name, controller_metadata(controller, {}))}});
  if (!data.empty()) map.set("data", std::move(data));
  if (!binary_data.empty()) map.set("binaryData", std::move(binary_data));
  return map;
}

Value whole(const json::StringMap& files) {
  Value all = Value::object();
  for (const auto& [name, text] : files) all.set(name, text);
  return all;
}

// The one key, under the name that it has in the pod.
Value as_jwks(const json::StringMap& files, std::string_view key) {
  const auto text = files.find(key);
  return text ? Value::object({{kJwksFile, *text}}) : Value::object();
}

Value monitor_endpoint(const api::MonitorEndpoint& endpoint,
                       const api::ServiceMonitorTemplate& monitor) {
  Value object =
      Value::object({{"path", endpoint.path}, {"port", api::app::kController}, {"scheme", "http"}});
  const std::string& interval = endpoint.interval.empty() ? monitor.interval : endpoint.interval;
  const std::string& timeout =
      endpoint.scrape_timeout.empty() ? monitor.scrape_timeout : endpoint.scrape_timeout;
  if (!interval.empty()) object.set("interval", interval);
  if (!timeout.empty()) object.set("scrapeTimeout", timeout);
  return object;
}

}  // namespace

Value controller_internal_service(const ControllerInputs& inputs) {
  const api::Controller& controller = inputs.conf.controller;
  const std::string name = api::controller_internal_name(controller.meta.name);
  Result<Value> service = build_service({.name = name,
                                         .ns = controller.meta.ns,
                                         .labels = {},
                                         .annotations = {},
                                         .selector = selector_of(controller),
                                         .ports = {slurmctld_port({})},
                                         .headless = true},
                                        Value());
  Metadata metadata = controller_metadata(controller, {});
  metadata.labels.insert_or_assign(std::string(kMonitorLabel), "false");
  // Without wishes of the user's there is nothing that could be refused.
  Value object = service ? *std::move(service) : Value::object();
  object.set("metadata", meta_of(controller, name, metadata));
  return object;
}

Result<Value> controller_service(const ControllerInputs& inputs) {
  const api::Controller& controller = inputs.conf.controller;
  const std::string name = api::controller_name(controller.meta.name);
  Value selector = selector_of(controller);
  // One that is alone is found by readiness; then clients need no operator to follow it. Of several
  // one is named, and not by a label that somebody would have to put on its next pod.
  if (controller.replicas() > 1) {
    selector.set(kMemberLabel, inputs.active_pod.empty() ? controller_member_name(controller, 0)
                                                         : inputs.active_pod);
  }
  std::vector<ServicePort> ports = {slurmctld_port(controller.spec.service)};
  // SlurmctldAddr is this Service, and SlurmctldPort is that of every slurmctld, behind it or not.
  if (ports.front().port != api::kSlurmctldPort) {
    ports.push_back(slurmctld_port({}));
    ports.back().name += fmt::format("-{}", api::kSlurmctldPort);
  }
  MS_TRY(Value service, build_service({.name = name,
                                       .ns = controller.meta.ns,
                                       .labels = {},
                                       .annotations = {},
                                       .selector = std::move(selector),
                                       .ports = std::move(ports)},
                                      controller.spec.service.spec));
  service.set("metadata", meta_of(controller, name,
                                  controller_metadata(controller, controller.spec.service.meta)));
  return service;
}

Value controller_config_map(const ControllerInputs& inputs) {
  const api::Controller& controller = inputs.conf.controller;
  std::map<std::string, std::string> files = {{"slurm.conf", slurm_conf(inputs.conf)}};
  Metadata metadata = controller_metadata(controller, {});
  if (controller.spec.external) {
    metadata = {};
    add(metadata.labels, controller.spec.pod_template.meta.labels);
    add(metadata.annotations, controller.spec.pod_template.meta.annotations);
    for (const auto& [key, value] : controller_labels(controller)) {
      metadata.labels.insert_or_assign(key, value);
    }
  }
  if (std::string cgroup = cgroup_conf(inputs.conf); !cgroup.empty()) {
    files.emplace("cgroup.conf", std::move(cgroup));
  }
  metadata.annotations.insert_or_assign(std::string(api::annotation::kRestartHash),
                                        restart_hash(files));
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata",
        meta_of(controller, api::controller_config_name(controller.meta.name), metadata)},
       {"data", to_json(files)}});
}

std::vector<Value> controller_approved_maps(const ControllerInputs& inputs) {
  const api::Controller& controller = inputs.conf.controller;
  std::vector<Value> all;
  for (const auto& [name, map] : maps_by_name(inputs.conf)) {
    all.push_back(approved_map(controller, api::approved_map_name(controller.meta.name, name),
                               whole(map->data), whole(map->binary_data)));
  }
  if (inputs.jwks != nullptr && controller.spec.jwks_key_ref) {
    const std::string& key = controller.spec.jwks_key_ref->key;
    all.push_back(approved_map(controller, api::approved_jwks_name(controller.meta.name),
                               as_jwks(inputs.jwks->data, key),
                               as_jwks(inputs.jwks->binary_data, key)));
  }
  return all;
}

Result<Value> controller_stateful_set(const ControllerInputs& inputs,
                                      const std::string& config_hash) {
  const api::Controller& controller = inputs.conf.controller;
  Metadata metadata = controller_metadata(controller, controller.spec.pod_template.meta);
  MS_TRY(Value full, controller_pod_template(inputs, config_hash, Extent::kFull));
  MS_TRY(Value contract, controller_pod_template(inputs, config_hash, Extent::kContract));
  TemplateChoice chosen =
      choose_template(std::move(full), std::move(contract), inputs.live_annotations);
  metadata.annotations.insert_or_assign(std::string(kTemplateAnnotation), std::move(chosen.mark));
  Value stateful_set = Value::object(
      {{"apiVersion", "apps/v1"},
       {"kind", "StatefulSet"},
       {"metadata", meta_of(controller, api::controller_name(controller.meta.name), metadata)},
       {"spec",
        Value::object({{"replicas", controller.replicas()},
                       {"revisionHistoryLimit", 0},
                       {"selector", Value::object({{"matchLabels", selector_of(controller)}})},
                       {"serviceName", api::controller_internal_name(controller.meta.name)},
                       {"template", std::move(chosen.pod_template)}})}});
  MS_CHECK(add_state(stateful_set, controller));
  return stateful_set;
}

std::optional<Value> controller_service_monitor(const ControllerInputs& inputs) {
  const api::Controller& controller = inputs.conf.controller;
  const api::ServiceMonitorTemplate& monitor = controller.spec.service_monitor;
  if (controller.spec.external || !controller.spec.metrics_enabled || !monitor.enabled) return {};
  std::vector<api::MonitorEndpoint> wanted = monitor.endpoints;
  if (wanted.empty()) {
    for (const char* path :
         {"/metrics/jobs", "/metrics/nodes", "/metrics/partitions", "/metrics/scheduler"}) {
      wanted.push_back({.path = path});
    }
  }
  Value endpoints = Value::array();
  for (const api::MonitorEndpoint& endpoint : wanted) {
    endpoints.push_back(monitor_endpoint(endpoint, monitor));
  }
  const Metadata metadata = controller_metadata(
      controller, {.labels = monitor.labels, .annotations = monitor.annotations});
  Value others = Value::object(
      {{"key", kMonitorLabel}, {"operator", "NotIn"}, {"values", Value::array({"false"})}});
  return Value::object(
      {{"apiVersion", "monitoring.coreos.com/v1"},
       {"kind", "ServiceMonitor"},
       {"metadata", meta_of(controller, api::controller_name(controller.meta.name), metadata)},
       {"spec",
        Value::object({{"endpoints", std::move(endpoints)},
                       {"namespaceSelector",
                        Value::object({{"matchNames", Value::array({controller.meta.ns})}})},
                       {"selector", Value::object({{"matchLabels", selector_of(controller)},
                                                   {"matchExpressions",
                                                    Value::array({std::move(others)})}})}})}});
}

}  // namespace mainspring::op::build
