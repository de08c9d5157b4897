// Login pods: sshd's configuration and host keys, a Service, a Deployment.
#include <fmt/format.h>

#include <array>

#include "api/names.h"
#include "base/base64.h"
#include "operator/build/conf_text.h"
#include "operator/build/daemons.h"
#include "operator/build/merge.h"
#include "operator/build/pod_parts.h"
#include "operator/build/takeover.h"

namespace mainspring::op::build {
namespace {

using api::LoginSet;
using json::Value;

constexpr std::string_view kApp = api::app::kLogin;
constexpr std::string_view kSshdConfig = "sshd_config";
constexpr std::string_view kAuthorizedKeys = "authorized_keys";
constexpr std::string_view kSssdConf = "sssd.conf";
constexpr std::string_view kSackdOptions = "SACKD_OPTIONS";
constexpr int kSshPort = 22;
// Ours: a file that is mounted by subPath never changes in a running pod.
constexpr std::string_view kAuthorizedKeysHash = "mainspring.slurm.net/authorized-keys-hash";
constexpr std::array<std::string_view, 3> kHostKeys = {"ssh_host_rsa_key", "ssh_host_ed25519_key",
                                                       "ssh_host_ecdsa_key"};

// A volume of a Secret belongs to root, and sackd runs as slurm and wants keys that nobody else can
// read: so they are copied into memory, with their mode from the first byte on.
constexpr std::string_view kCopyConfig = R"(set -eu
for file in /mnt/slurm/*.conf /mnt/slurm/*.key; do
  [ -e "$file" ] || continue
  case "$file" in
    *.key) mode=600 ;;
    *) mode=644 ;;
  esac
  install -o 401 -g 401 -m "$mode" "$file" /mnt/etc/slurm/
done
)";

Labels labels_of(const LoginSet& loginset) { return daemon_labels(kApp, kApp, loginset.meta.name); }

Value meta_of(const LoginSet& loginset, std::string_view name, const api::TemplateMeta& more = {}) {
  return object_meta(name, loginset.meta.ns,
                     workload_metadata(loginset.meta, more, labels_of(loginset)),
                     LoginSet::kResource, loginset.meta);
}

std::string sshd_config(const LoginSet& loginset) {
  ConfText text;
  text.section("GENERAL");
  text.line("Include /etc/ssh/sshd_config.d/*.conf");
  text.line("UsePAM yes");
  text.line("X11Forwarding yes");
  text.line("Subsystem sftp internal-sftp");
  text.section("EXTRA CONFIG");
  text.line(loginset.spec.extra_sshd_config);
  return text.text();
}

std::string authorized_keys(const LoginSet& loginset) {
  ConfText text;
  text.section("SLINKY");
  text.line(loginset.spec.root_ssh_authorized_keys);
  return text.text();
}

Value volumes_of(const LoginSetInputs& inputs) {
  const LoginSet& loginset = inputs.loginset;
  Value slurm_key = Value::array();
  if (const auto& key = inputs.controller.spec.slurm_key_ref) {
    slurm_key.push_back(secret_source(key->name, {{key->key, "slurm.key"}}));
  }
  std::vector<std::string> names;
  for (const std::string_view key : kHostKeys) {
    names.emplace_back(key);
    names.push_back(fmt::format("{}.pub", key));
  }
  std::vector<FileItem> host_keys;
  host_keys.reserve(names.size());
  for (const std::string& name : names) {
    host_keys.push_back({name, name, name.ends_with(".pub") ? 0644 : 0600});
  }
  const api::KeyRef& sssd = loginset.spec.sssd_conf_ref;
  return Value::array(
      {memory_volume("slurm-etc"), memory_volume("sackd-dir"),
       projected_volume("slurm-config", 0600, std::move(slurm_key)),
       projected_volume(
           "ssh-host-keys", 0600,
           Value::array({secret_source(api::ssh_host_keys_name(loginset.meta.name), host_keys)})),
       projected_volume(
           "ssh-config", 0600,
           Value::array({config_map_source(
               api::ssh_config_name(loginset.meta.name),
               {{kSshdConfig, kSshdConfig, 0600}, {kAuthorizedKeys, kAuthorizedKeys, 0600}})})),
       projected_volume("sssd-conf", 0600,
                        Value::array({secret_source(sssd.name, {{sssd.key, kSssdConf, 0600}})}))});
}

Value file_mount(std::string_view volume, std::string_view path, std::string_view file) {
  Value out = read_only_mount(volume, path);
  out.set("subPath", file);
  return out;
}

Value mounts() {
  Value list =
      Value::array({read_only_mount("slurm-etc", "/etc/slurm"), mount("sackd-dir", "/run/slurm")});
  for (const std::string_view key : kHostKeys) {
    for (const std::string_view suffix : {"", ".pub"}) {
      const std::string file = fmt::format("{}{}", key, suffix);
      list.push_back(file_mount("ssh-host-keys", "/etc/ssh/" + file, file));
    }
  }
  list.push_back(file_mount("ssh-config", "/etc/ssh/sshd_config", kSshdConfig));
  list.push_back(file_mount("ssh-config", "/root/.ssh/authorized_keys", kAuthorizedKeys));
  list.push_back(file_mount("sssd-conf", "/etc/sssd/sssd.conf", kSssdConf));
  return list;
}

// The entry of `list` whose "name" it is; null where there is none.
Value* named(Value* list, std::string_view name) {
  if (list == nullptr) return nullptr;
  for (Value& item : *list) {
    const Value* const found = item.find("name");
    if (found != nullptr && found->as_string() == name) return &item;
  }
  return nullptr;
}

// With host networking 22 is the node's own sshd, so the user may name another.
int ssh_port(Value& users) {
  const Value* const port = named(users.find("ports"), kApp);
  const Value* const number = port == nullptr ? nullptr : port->find("containerPort");
  const auto wanted = number == nullptr ? std::nullopt : number->as_int();
  return wanted && *wanted > 0 && *wanted <= 65535 ? static_cast<int>(*wanted) : kSshPort;
}

// A merge by name would put the user's options in the place of ours, and sackd without its
// --conf-server finds no configuration.
void join_options(Value& users, const std::string& ours) {
  const Value* const entry = named(users.find("env"), kSackdOptions);
  const Value* const value = entry == nullptr ? nullptr : entry->find("value");
  const auto text = value == nullptr ? std::nullopt : value->as_string();
  if (!text || text->find("--conf-server") != std::string_view::npos) return;
  (*named(users.find("env"), kSackdOptions))["value"] =
      text->empty() ? ours : fmt::format("{} {}", ours, *text);
}

Result<Value> container_of(const LoginSetInputs& inputs, bool as_found) {
  Value users = inputs.loginset.spec.login;
  const std::string options = "--conf-server " + conf_server(inputs.controller);
  Value env = Value::array();
  const Value* const theirs = named(users.find("env"), kSackdOptions);
  // The API takes either a value or a source of it. The operator before us had other names of the
  // same slurmctld in it in each release: what it wrote there stays as it is found.
  if (!as_found && (theirs == nullptr || theirs->find("valueFrom") == nullptr)) {
    env.push_back(Value::object({{"name", kSackdOptions}, {"value", options}}));
  }
  if (!as_found) join_options(users, options);
  Value container = Value::object(
      {{"name", kApp},
       {"ports", Value::array({tcp_port(kApp, ssh_port(users))})},
       {"readinessProbe",
        Value::object(
            {{"exec", Value::object({{"command",
                                      Value::array({"test", "-S", "/run/slurm/sack.socket"})}})}})},
       {"volumeMounts", mounts()}});
  if (!env.empty()) container.set("env", std::move(env));
  return merge_container(std::move(container), users);
}

Result<Value> init_container_of(const LoginSetInputs& inputs, bool as_found) {
  Value container = Value::object(
      {{"name", "initconf"},
       {"env", Value::array({Value::object({{"name", "SLURM_USER"}, {"value", "slurm"}})})},
       {"volumeMounts", Value::array({mount("slurm-etc", "/mnt/etc/slurm"),
                                      read_only_mount("slurm-config", "/mnt/slurm")})}});
  // What is not named stays as it is found: the same work, by other words.
  if (!as_found) container.set("command", Value::array({"sh", "-c", kCopyConfig}));
  return merge_container(std::move(container), inputs.loginset.spec.initconf);
}

Result<Value> pod_spec_of(const LoginSetInputs& inputs, bool as_found) {
  const LoginSet& loginset = inputs.loginset;
  MS_TRY(Value container, container_of(inputs, as_found));
  MS_TRY(Value init, init_container_of(inputs, as_found));
  const std::string workers =
      fmt::format("{}.{}.svc.{}", api::workers_service_name(loginset.spec.controller_ref.name),
                  loginset.meta.ns, inputs.cluster_domain);
  Value spec = Value::object({{"automountServiceAccountToken", false},
                              {"enableServiceLinks", false},
                              {"dnsConfig", Value::object({{"searches", Value::array({workers})}})},
                              {"initContainers", Value::array({std::move(init)})},
                              {"containers", Value::array({std::move(container)})},
                              {"volumes", volumes_of(inputs)}});
  return merge_pod_spec(std::move(spec), loginset.spec.pod_template.spec);
}

std::string hash_of_key(const kube::SecretObject* secret, const std::string& key) {
  const Secret* const value = secret == nullptr ? nullptr : secret->find(key);
  return value == nullptr ? std::string() : hash_of_text(value->reveal());
}

Result<Value> template_of(const LoginSetInputs& inputs, Metadata metadata, bool as_found) {
  using namespace api::annotation;
  const LoginSet& loginset = inputs.loginset;
  const auto put = [&](std::string_view key, std::string value) {
    metadata.annotations.insert_or_assign(std::string(key), std::move(value));
  };
  put(kSshHostKeysHash, inputs.ssh_host_keys == nullptr ? "" : hash_of(*inputs.ssh_host_keys));
  put(kSshdConfHash, hash_of_text(sshd_config(loginset)));
  put(kSssdConfHash, hash_of_key(inputs.sssd_conf, loginset.spec.sssd_conf_ref.key));
  put(kDefaultContainer, std::string(kApp));
  if (!as_found) {
    put(kSlurmKeyHash, inputs.slurm_key == nullptr ? "" : hash_of(*inputs.slurm_key));
    put(kAuthorizedKeysHash, hash_of_text(authorized_keys(loginset)));
  }
  MS_TRY(Value spec, pod_spec_of(inputs, as_found));
  return pod_template(metadata, std::move(spec));
}

}  // namespace

std::string conf_server(const api::Controller& controller) {
  const api::ControllerSpec& spec = controller.spec;
  if (spec.external && spec.external_config) {
    return fmt::format("{}:{}", spec.external_config->host, spec.external_config->port);
  }
  return fmt::format("{}.{}:{}", api::controller_name(controller.meta.name), controller.meta.ns,
                     spec.service.port != 0 ? spec.service.port : api::kSlurmctldPort);
}

Result<Value> loginset_service(const LoginSetInputs& inputs) {
  const LoginSet& loginset = inputs.loginset;
  const api::ServiceTemplate& service = loginset.spec.service;
  MS_TRY(Value object,
         build_service({.selector = api::selector_labels(kApp, loginset.meta.name),
                        .ports = {{.name = std::string(kApp),
                                   .port = service.port != 0 ? service.port : kSshPort,
                                   .target = std::string(kApp),
                                   .node_port = service.node_port}}},
                       service.spec));
  object["metadata"] = meta_of(loginset, loginset.meta.name, service.meta);
  return object;
}

Value loginset_ssh_config(const LoginSetInputs& inputs) {
  const LoginSet& loginset = inputs.loginset;
  Value object =
      owned_object("v1", "ConfigMap", meta_of(loginset, api::ssh_config_name(loginset.meta.name)));
  object["data"] = Value::object(
      {{kAuthorizedKeys, authorized_keys(loginset)}, {kSshdConfig, sshd_config(loginset)}});
  return object;
}

Value loginset_host_keys(const LoginSetInputs& inputs, const std::map<std::string, Secret>& keys) {
  const LoginSet& loginset = inputs.loginset;
  Value object =
      owned_object("v1", "Secret", meta_of(loginset, api::ssh_host_keys_name(loginset.meta.name)));
  for (const auto& [file, key] : keys) object["data"].set(file, base64_encode(key.reveal()));
  object["immutable"] = true;
  return object;
}

Result<Value> loginset_deployment(const LoginSetInputs& inputs) {
  const LoginSet& loginset = inputs.loginset;
  Metadata metadata =
      workload_metadata(loginset.meta, loginset.spec.pod_template.meta, labels_of(loginset));
  MS_TRY(Value complete, template_of(inputs, metadata, false));
  MS_TRY(Value as_found, template_of(inputs, metadata, true));
  TemplateChoice choice =
      choose_template(std::move(complete), std::move(as_found), inputs.live_annotations);

  metadata.annotations.insert_or_assign(std::string(kTemplateAnnotation), choice.mark);
  Value object = owned_object("apps/v1", "Deployment",
                              object_meta(loginset.meta.name, loginset.meta.ns, metadata,
                                          LoginSet::kResource, loginset.meta));
  object["spec"] = Value::object(
      {{"replicas", loginset.spec.replicas},
       {"revisionHistoryLimit", 0},
       {"selector",
        Value::object({{"matchLabels", api::selector_labels(kApp, loginset.meta.name)}})},
       {"template", std::move(choice.pod_template)}});
  if (loginset.spec.strategy.is_object() && !loginset.spec.strategy.empty()) {
    object["spec"].set("strategy", loginset.spec.strategy);
  }
  return object;
}

}  // namespace mainspring::op::build
