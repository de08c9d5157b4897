#include "operator/build/controller_pod.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "operator/build/jwks.h"
#include "operator/build/merge.h"
#include "operator/build/pod_parts.h"
#include "operator/build/sidecars.h"

namespace mainspring::op::build {
namespace {

using json::Value;

constexpr int kEtcMode = 0610;  // Scripts among the files must be executable, keys not for others.

Value http_get(std::string_view path) {
  return Value::object({{"path", path}, {"port", api::app::kController}});
}

Value patient_probe(std::string_view path) {
  return Value::object(
      {{"httpGet", http_get(path)}, {"failureThreshold", 6}, {"periodSeconds", 10}});
}

Result<Value> slurmctld_container(const api::Controller& controller) {
  // A standby never says that it is ready, and a rollout would wait for it for ever.
  const bool alone = controller.replicas() <= 1;
  Value container = Value::object(
      {{"name", api::app::kController},
       {"ports", Value::array({tcp_port(api::app::kController, api::kSlurmctldPort)})},
       {"startupProbe", patient_probe("/livez")},
       {"readinessProbe", Value::object({{"httpGet", http_get(alone ? "/readyz" : "/livez")}})},
       {"livenessProbe", patient_probe("/livez")},
       {"securityContext", run_as(kSlurmUid)},
       {"volumeMounts",
        Value::array({read_only_mount("slurm-etc", "/etc/slurm"), mount("run", "/run"),
                      mount("statesave", "/var/spool/slurmctld/" + controller.cluster_name()),
                      mount("slurm-authsocket", "/run/slurmctld"),
                      mount("slurm-logfile", "/var/log/slurm")})}});
  return with_context(merge_container(std::move(container), controller.spec.slurmctld),
                      "spec.slurmctld");
}

// All files of it.
Value whole_map(std::string_view name) {
  return Value::object({{"configMap", Value::object({{"name", name}})}});
}

// Sorted; one that is named twice comes twice, as templates of others have it.
std::vector<std::string> referenced_maps(const api::ControllerSpec& spec) {
  std::vector<std::string> names;
  for (const auto* refs :
       {&spec.config_file_refs, &spec.prolog_script_refs, &spec.epilog_script_refs,
        &spec.prolog_slurmctld_script_refs, &spec.epilog_slurmctld_script_refs}) {
    for (const api::NameRef& ref : *refs) names.push_back(ref.name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// slurmctld reads its files when it starts, whoever has it start. So it finds the copies that were
// looked at (controller_approved_maps), never the user's own, which may be bad or gone by then.
Result<Value> etc_volume(const api::Controller& controller, Extent extent) {
  const api::ControllerSpec& spec = controller.spec;
  const std::string& name = controller.meta.name;
  const api::KeyRef* jwt = api::jwt_key_of(spec);
  if (!spec.slurm_key_ref) return fail(Code::kInvalid, "spec.slurmKeyRef must name a Secret");
  if (jwt == nullptr) return fail(Code::kInvalid, "spec.jwtKeyRef must name a Secret");
  Value sources = Value::array(
      {whole_map(api::controller_config_name(name)),
       secret_source(spec.slurm_key_ref->name, {{spec.slurm_key_ref->key, "slurm.key"}}),
       secret_source(jwt->name, {{jwt->key, "jwt.key"}})});
  const bool copies = extent == Extent::kFull;
  for (const std::string& map : referenced_maps(spec)) {
    sources.push_back(whole_map(copies ? api::approved_map_name(name, map) : map));
  }
  if (const auto& jwks = spec.jwks_key_ref) {
    sources.push_back(copies ? whole_map(api::approved_jwks_name(name))
                             : config_map_source(jwks->name, {{jwks->key, kJwksFile}}));
  }
  return projected_volume("slurm-etc", kEtcMode, std::move(sources));
}

Value apart_from_its_like(const api::Controller& controller) {
  return Value::object(
      {{"labelSelector",
        Value::object(
            {{"matchLabels", api::selector_labels(api::app::kController, controller.meta.name)}})},
       {"topologyKey", "kubernetes.io/hostname"}});
}

bool contains(const Value& list, const Value& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Lists like these are replaced by the user's as a whole. What we cannot do without goes behind it.
void keep_our_terms(Value& spec, const ControllerInputs& inputs, Extent extent) {
  Value& terms =
      spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
  Value term = apart_from_its_like(inputs.conf.controller);
  if ((terms.empty() || extent == Extent::kFull) && !contains(terms, term)) {
    terms.push_back(std::move(term));
  }
  if (extent != Extent::kFull) return;
  for (const std::string& service : inputs.search_services) {
    Value domain =
        fmt::format("{}.{}.svc.{}", service, inputs.conf.controller.meta.ns, inputs.cluster_domain);
    Value& searches = spec["dnsConfig"]["searches"];
    if (!contains(searches, domain)) searches.push_back(std::move(domain));
  }
}

Result<Value> sidecars_of(const api::ControllerSpec& spec, Script script) {
  Value sidecars = Value::array();
  if (spec.inplace_reconfigure) {
    MS_TRY(Value reconfigure, reconfigure_container(spec.reconfigure, script));
    sidecars.push_back(std::move(reconfigure));
  }
  MS_TRY(Value logfile, logfile_container("/var/log/slurm/slurmctld.log", spec.logfile, script));
  sidecars.push_back(std::move(logfile));
  return sidecars;
}

Result<Value> pod_spec(const ControllerInputs& inputs, Extent extent) {
  const api::Controller& controller = inputs.conf.controller;
  MS_TRY(Value sidecars,
         sidecars_of(controller.spec, extent == Extent::kFull ? Script::kOurs : Script::kTheirs));
  MS_TRY(Value slurmctld, slurmctld_container(controller));
  MS_TRY(Value etc, etc_volume(controller, extent));
  Value security = run_as(kSlurmUid);
  security.set("fsGroup", kSlurmUid);
  Value socket = Value::object({{"name", "slurm-authsocket"}, {"emptyDir", Value::object()}});
  Value volumes = Value::array(
      {std::move(etc), memory_volume("slurm-logfile"), memory_volume("run"), std::move(socket)});
  if (controller.spec.inplace_reconfigure && extent == Extent::kFull) {
    for (Value& volume : reconfigure_volumes()) volumes.push_back(std::move(volume));
  }
  Value spec = Value::object({{"automountServiceAccountToken", false},
                              {"initContainers", std::move(sidecars)},
                              {"containers", Value::array({std::move(slurmctld)})},
                              {"securityContext", std::move(security)},
                              {"volumes", std::move(volumes)}});
  MS_TRY(spec, merge_pod_spec(std::move(spec), controller.spec.pod_template.spec));
  keep_our_terms(spec, inputs, extent);
  return spec;
}

}  // namespace

Labels controller_labels(const api::Controller& controller) {
  return daemon_labels(api::app::kController, "controller", controller.meta.name);
}

Metadata controller_metadata(const api::Controller& controller, const api::TemplateMeta& more) {
  return workload_metadata(controller.meta, more, controller_labels(controller));
}

Result<Value> controller_pod_template(const ControllerInputs& inputs,
                                      const std::string& config_hash, Extent extent) {
  const api::Controller& controller = inputs.conf.controller;
  Metadata metadata = controller_metadata(controller, controller.spec.pod_template.meta);
  const auto annotate = [&](std::string_view key, std::string value) {
    metadata.annotations.insert_or_assign(std::string(key), std::move(value));
  };
  annotate(api::annotation::kSlurmKeyHash, inputs.slurm_key ? hash_of(*inputs.slurm_key) : "");
  annotate(api::annotation::kJwtKeyHash, inputs.jwt_key ? hash_of(*inputs.jwt_key) : "");
  if (!config_hash.empty()) annotate(api::annotation::kSlurmConfigHash, config_hash);
  annotate(api::annotation::kDefaultContainer, std::string(api::app::kController));
  if (extent == Extent::kFull && controller.replicas() == 1) {
    metadata.labels.insert_or_assign(std::string(api::label::kActive), "true");
  }
  MS_TRY(Value spec, pod_spec(inputs, extent));
  Value made = pod_template(metadata, std::move(spec));
  // Without meaning, but there in every template that the contract describes.
  made["metadata"].set("name", api::controller_name(controller.meta.name));
  made["metadata"].set("namespace", controller.meta.ns);
  return made;
}

}  // namespace mainspring::op::build
