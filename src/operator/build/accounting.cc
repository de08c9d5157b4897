// slurmdbd: a Service, a Secret with its configuration, a StatefulSet of one.
#include "api/names.h"
#include "base/base64.h"
#include "operator/build/daemons.h"
#include "operator/build/jwks.h"
#include "operator/build/merge.h"
#include "operator/build/pod_parts.h"
#include "operator/build/takeover.h"

namespace mainspring::op::build {
namespace {

using api::Accounting;
using json::Value;

constexpr std::string_view kComponent = "accounting";
constexpr std::string_view kConfFile = "slurmdbd.conf";
// Ours: the keys of a JWKS are read at slurmdbd's start only.
constexpr std::string_view kJwksHash = "mainspring.slurm.net/jwks-hash";

Labels labels_of(const Accounting& accounting) {
  return daemon_labels(api::app::kAccounting, kComponent, accounting.meta.name);
}

Value meta_of(const Accounting& accounting, const Metadata& metadata) {
  return object_meta(api::accounting_name(accounting.meta.name), accounting.meta.ns, metadata,
                     Accounting::kResource, accounting.meta);
}

// `copy`: with our copy of the JWKS instead of the user's ConfigMap.
Value volumes_of(const Accounting& accounting, bool copy) {
  const auto& jwks = accounting.spec.jwks_key_ref;
  std::vector<FileItem> ours = {{kConfFile, kConfFile}};
  if (jwks && copy) ours.push_back({kJwksFile, kJwksFile});
  Value sources = Value::array();
  sources.push_back(secret_source(api::accounting_name(accounting.meta.name), ours));
  if (const auto& key = accounting.spec.slurm_key_ref) {
    sources.push_back(secret_source(key->name, {{key->key, "slurm.key"}}));
  }
  if (const api::KeyRef* key = api::jwt_key_of(accounting.spec)) {
    sources.push_back(secret_source(key->name, {{key->key, "jwt.key"}}));
  }
  if (jwks && !copy) {
    sources.push_back(config_map_source(jwks->name, {{jwks->key, kJwksFile}}));
  }
  return Value::array(
      {projected_volume("slurm-etc", 0600, std::move(sources)), memory_volume("run")});
}

Result<Value> pod_spec_of(const Accounting& accounting, Value volumes) {
  Value container = Value::object(
      {{"name", api::app::kAccounting},
       {"ports", Value::array({tcp_port(api::app::kAccounting, api::kSlurmdbdPort)})},
       {"readinessProbe", tcp_probe(api::kSlurmdbdPort)},
       {"securityContext", run_as(kSlurmUid)},
       {"volumeMounts",
        Value::array({read_only_mount("slurm-etc", "/etc/slurm"), mount("run", "/run")})}});
  MS_TRY(container, merge_container(std::move(container), accounting.spec.slurmdbd));
  Value security = run_as(kSlurmUid);
  security.set("fsGroup", kSlurmUid);
  Value spec = Value::object({{"automountServiceAccountToken", false},
                              {"securityContext", std::move(security)},
                              {"containers", Value::array({std::move(container)})},
                              {"volumes", std::move(volumes)}});
  return merge_pod_spec(std::move(spec), accounting.spec.pod_template.spec);
}

void add_hashes(Labels& annotations, const AccountingInputs& inputs) {
  using namespace api::annotation;
  const auto put = [&](std::string_view key, std::string value) {
    annotations.insert_or_assign(std::string(key), std::move(value));
  };
  put(kSlurmdbdConfHash, hash_of_text(inputs.slurmdbd_conf));
  put(kSlurmKeyHash, inputs.slurm_key == nullptr ? "" : hash_of(*inputs.slurm_key));
  put(kJwtKeyHash, inputs.jwt_key == nullptr ? "" : hash_of(*inputs.jwt_key));
  put(kDefaultContainer, std::string(api::app::kAccounting));
}

}  // namespace

Result<Value> accounting_service(const AccountingInputs& inputs) {
  const Accounting& accounting = inputs.accounting;
  const api::ServiceTemplate& service = accounting.spec.service;
  MS_TRY(
      Value object,
      build_service({.selector = api::selector_labels(api::app::kAccounting, accounting.meta.name),
                     .ports = {{.name = std::string(api::app::kAccounting),
                                .port = service.port != 0 ? service.port : api::kSlurmdbdPort,
                                .target = std::string(api::app::kAccounting),
                                .node_port = service.node_port}}},
                    service.spec));
  object["metadata"] =
      meta_of(accounting, workload_metadata(accounting.meta, service.meta, labels_of(accounting)));
  return object;
}

Value accounting_secret(const AccountingInputs& inputs) {
  const Accounting& accounting = inputs.accounting;
  Value secret = owned_object(
      "v1", "Secret",
      meta_of(accounting, workload_metadata(accounting.meta, {}, labels_of(accounting))));
  secret["data"].set(kConfFile, base64_encode(inputs.slurmdbd_conf));
  if (inputs.jwks) secret["data"].set(kJwksFile, base64_encode(*inputs.jwks));
  return secret;
}

Result<Value> accounting_stateful_set(const AccountingInputs& inputs) {
  const Accounting& accounting = inputs.accounting;
  const Labels labels = labels_of(accounting);
  Metadata metadata = workload_metadata(accounting.meta, accounting.spec.pod_template.meta, labels);
  MS_TRY(const Value spec, pod_spec_of(accounting, volumes_of(accounting, true)));
  MS_TRY(const Value spec_found, pod_spec_of(accounting, volumes_of(accounting, false)));

  Metadata complete = metadata;
  add_hashes(complete.annotations, inputs);
  if (inputs.jwks) {
    complete.annotations.insert_or_assign(std::string(kJwksHash), hash_of_text(*inputs.jwks));
  }
  // The operator before us dropped the template's metadata, and mounted the user's ConfigMap.
  Metadata as_found = workload_metadata(accounting.meta, {}, labels);
  add_hashes(as_found.annotations, inputs);
  TemplateChoice choice = choose_template(
      pod_template(complete, spec), pod_template(as_found, spec_found), inputs.live_annotations);

  metadata.annotations.insert_or_assign(std::string(kTemplateAnnotation), choice.mark);
  Value object = owned_object("apps/v1", "StatefulSet", meta_of(accounting, metadata));
  object["spec"] = Value::object(
      {{"podManagementPolicy", "Parallel"},
       {"replicas", 1},
       {"revisionHistoryLimit", 0},
       {"selector", Value::object({{"matchLabels", api::selector_labels(api::app::kAccounting,
                                                                        accounting.meta.name)}})},
       {"serviceName", api::accounting_name(accounting.meta.name)},
       {"template", std::move(choice.pod_template)}});
  return object;
}

}  // namespace mainspring::op::build
