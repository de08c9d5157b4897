// The pod template of a NodeSet: what all of its pods have in common.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/names.h"
#include "base/quantity.h"
#include "base/text.h"
#include "operator/build/daemons.h"
#include "operator/build/merge.h"
#include "operator/build/metadata.h"
#include "operator/build/sidecars.h"
#include "operator/build/worker.h"
#include "operator/nodeset/placement.h"

namespace mainspring::op::build {
namespace {

using json::Value;

constexpr std::string_view kContainer = "slurmd";
constexpr int kOwnerReads = 0600;

// Jobs are not to be sent to a pod that ends. A reason that is not ours stays: whoever drained the
// node lifts that, and a new pod of this name is no leave to.
constexpr std::string_view kPreStop =
    "n=$(hostname); "
    "r=$(scontrol show node \"$n\" | sed -n 's/^ *Reason=\\(.*\\) \\[[^[]*\\]$/\\1/p'); "
    "case \"$r\" in ''|'slurm-operator: '*) r='slurm-operator: Pod is terminating' ;; esac; "
    "scontrol update nodename=\"$n\" state=down reason=\"$r\"";

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if_not(at, text.end(), is_blank);
    const auto end = std::find_if(at, text.end(), is_blank);
    if (at != end) out.emplace_back(at, end);
    at = end;
  }
  return out;
}

// slurmd's --conf passes through up to three readers of quotes: the kubelet, which fills in
// $(NAME), an init system's, and a shell's. In single quotes these characters alone mean something
// to any of them.
bool is_harmless(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) {
    return c < ' ' || c == 0x7f || c == '\'' || c == '"' || c == '\\' || c == '$' || c == '`';
  });
}

// "realMEMORY" as "Realmemory": Slurm's keys have no case, and so one written two ways is one key.
std::optional<std::string> conf_key(std::string_view key) {
  std::string out;
  for (char c : key) {
    c = ascii_lower(c);
    if ((c < 'a' || c > 'z') && !is_ascii_digit(c) && c != '_') return std::nullopt;
    out += c;
  }
  if (out.empty()) return std::nullopt;
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

using Definition = std::map<std::string, std::string>;

std::optional<Definition> parse_extra_conf(std::string_view text) {
  Definition out;
  for (const std::string_view word : words(text)) {
    const auto equal = word.find('=');
    if (equal == std::string_view::npos || !is_harmless(word)) return std::nullopt;
    const auto key = conf_key(word.substr(0, equal));
    if (!key) return std::nullopt;
    const auto value = word.substr(equal + 1);
    // Slurm would take the next word for the value.
    if (!value.empty()) out[*key] = value;
  }
  return out;
}

// The node's definition for --conf, in the quotes that images of this API expect: their entrypoints
// are given shell text and fill in the topology, which is known only on the node. An empty one
// leaves no "Topology=" behind, which would swallow what an entrypoint adds after it. There is no
// blank in the double quotes since an init system between may take them off.
std::string node_conf(const api::NodeSet& nodeset) {
  Definition items = parse_extra_conf(nodeset.spec.extra_conf).value_or(Definition());
  std::set<std::string, std::less<>> features{nodeset.slurm_name()};
  for (const char* key : {"Feature", "Features"}) {
    const auto node = items.extract(key);
    if (node.empty()) continue;
    for (const std::string_view feature : split(node.mapped(), ',')) {
      if (!feature.empty()) features.emplace(feature);
    }
  }
  items["Features"] = fmt::format("{}", fmt::join(features, ","));

  std::string text = "'";
  for (const auto& [key, value] : items) {
    if (text.size() > 1) text += ' ';
    text += fmt::format("{}={}", key, value);
  }
  if (!items.contains("Topology")) text += " '\"${SLINKY_TOPOLOGY:+Topology=$SLINKY_TOPOLOGY}\"'";
  return text + "'";
}

// Of the container, or else of the whole pod.
Quantity limit_of(const api::NodeSet& nodeset, std::string_view resource) {
  const std::string pointer = fmt::format("/resources/limits/{}", resource);
  for (const Value* from : {&nodeset.spec.slurmd, &nodeset.spec.pod_template.spec}) {
    const Value* limit = from->at_pointer(pointer);
    if (limit == nullptr || limit->is_null()) continue;
    const auto text = limit->as_string();
    return Quantity::parse(text ? std::string(*text) : json::to_text(*limit)).value_or(Quantity());
  }
  return {};
}

Value env(const api::NodeSet& nodeset) {
  constexpr std::int64_t kMebibyte = 1 << 20;
  const auto cpus = limit_of(nodeset, "cpu").value().value_or(0);
  const auto memory = limit_of(nodeset, "memory").value().value_or(0) / kMebibyte;
  const std::string path = fmt::format("metadata.annotations['{}']", api::annotation::kTopology);
  const Value source =
      Value::object({{"fieldRef", Value::object({{"apiVersion", "v1"}, {"fieldPath", path}})}});
  return Value::array({Value::object({{"name", "SLINKY_TOPOLOGY"}, {"valueFrom", source}}),
                       Value::object({{"name", "POD_CPUS"}, {"value", std::to_string(cpus)}}),
                       Value::object({{"name", "POD_MEMORY"}, {"value", std::to_string(memory)}})});
}

Value probe(std::string_view path) {
  return Value::object({{"httpGet", Value::object({{"path", path}, {"port", api::app::kWorker}})}});
}

Value patient_probe(std::string_view path) {
  Value value = probe(path);
  value["periodSeconds"] = 10;
  value["failureThreshold"] = 6;
  return value;
}

// Without privilege: what slurmd needs to become the job's user (SETUID, SETGID), to hand that user
// the batch script (CHOWN), and to cancel (KILL). sshd locks the part of it that speaks to
// strangers up in an empty folder (SYS_CHROOT). No cgroups: see is_unprivileged and cgroup_conf.
Value security_context(const api::NodeSet& nodeset) {
  if (is_unprivileged(nodeset)) {
    Value capabilities = Value::array({"CHOWN", "KILL", "SETGID", "SETUID"});
    if (nodeset.spec.ssh_enabled) capabilities.push_back("SYS_CHROOT");
    return Value::object({{"privileged", false},
                          {"capabilities", Value::object({{"drop", Value::array({"ALL"})},
                                                          {"add", std::move(capabilities)}})}});
  }
  return Value::object(
      {{"privileged", true},
       {"capabilities",
        Value::object({{"add", Value::array({"BPF", "NET_ADMIN", "SYS_ADMIN", "SYS_NICE"})}})}});
}

Value port(std::string_view name, int number) {
  return Value::object({{"name", name}, {"containerPort", number}, {"protocol", "TCP"}});
}

Value mount(std::string_view volume, std::string_view path, std::string_view file = {}) {
  Value value = Value::object({{"name", volume}, {"mountPath", path}});
  if (!file.empty()) value["subPath"] = file;
  return value;
}

Value read_only(Value mount) {
  mount["readOnly"] = true;
  return mount;
}

Value slurmd_container(const WorkerInputs& inputs) {
  const api::NodeSet& nodeset = inputs.nodeset;
  Value ports = Value::array({port(api::app::kWorker, api::kSlurmdPort)});
  Value mounts = Value::array(
      {read_only(mount("slurm-etc", "/etc/slurm")), mount("slurm-logfile", "/var/log/slurm")});
  if (nodeset.spec.ssh_enabled) {
    constexpr int kSshPort = 22;
    ports.push_back(port("ssh", kSshPort));
    mounts.push_back(read_only(mount("ssh-config", "/etc/ssh/sshd_config", "sshd_config")));
    mounts.push_back(read_only(mount("sssd-conf", "/etc/sssd/sssd.conf", "sssd.conf")));
  }
  const Value pre_stop =
      Value::object({{"exec", Value::object({{"command", Value::array({"sh", "-c", kPreStop})}})}});
  return Value::object(
      {{"name", kContainer},
       {"args", Value::array({"-Z", "--conf-server", conf_server(inputs.controller), "--conf",
                              node_conf(nodeset)})},
       {"env", env(nodeset)},
       {"ports", std::move(ports)},
       {"startupProbe", patient_probe("/livez")},
       {"livenessProbe", patient_probe("/livez")},
       {"readinessProbe", probe("/readyz")},
       {"lifecycle", Value::object({{"preStop", pre_stop}})},
       {"securityContext", security_context(nodeset)},
       {"volumeMounts", std::move(mounts)}});
}

Value projected_key(const api::KeyRef& ref, std::string_view path) {
  Value secret =
      Value::object({{"name", ref.name},
                     {"items", Value::array({Value::object({{"key", ref.key}, {"path", path}})})}});
  if (ref.optional) secret["optional"] = true;
  return Value::object({{"secret", std::move(secret)}});
}

Value projected_volume(std::string_view name, const Value& source) {
  return Value::object({{"name", name},
                        {"projected", Value::object({{"defaultMode", kOwnerReads},
                                                     {"sources", Value::array({source})}})}});
}

Value volumes(const WorkerInputs& inputs) {
  const api::NodeSet& nodeset = inputs.nodeset;
  Value list = Value::array(
      {projected_volume("slurm-etc",
                        projected_key(*inputs.controller.spec.slurm_key_ref, "slurm.key")),
       Value::object(
           {{"name", "slurm-logfile"}, {"emptyDir", Value::object({{"medium", "Memory"}})}})});
  if (!nodeset.spec.ssh_enabled) return list;
  const Value config = Value::object(
      {{"name", api::ssh_config_name(nodeset.meta.name)},
       {"items",
        Value::array({Value::object({{"key", "sshd_config"}, {"path", "sshd_config"}})})}});
  list.push_back(projected_volume("ssh-config", Value::object({{"configMap", config}})));
  list.push_back(
      projected_volume("sssd-conf", projected_key(nodeset.spec.sssd_conf_ref, "sssd.conf")));
  return list;
}

// One slurmd a machine: two of them would both offer all of it to Slurm.
Value spread() {
  const Value workers = Value::object({{"key", api::label::kName},
                                       {"operator", "In"},
                                       {"values", Value::array({api::app::kWorker})}});
  const Value term = Value::object(
      {{"labelSelector", Value::object({{"matchExpressions", Value::array({workers})}})},
       {"topologyKey", "kubernetes.io/hostname"}});
  return Value::object(
      {{"podAntiAffinity", Value::object({{"requiredDuringSchedulingIgnoredDuringExecution",
                                           Value::array({term})}})}});
}

Result<Value> pod_spec(const WorkerInputs& inputs) {
  const api::NodeSet& nodeset = inputs.nodeset;
  MS_TRY(Value slurmd, with_context(merge_container(slurmd_container(inputs), nodeset.spec.slurmd),
                                    "spec.slurmd"));
  MS_TRY(Value logfile, logfile_container("/var/log/slurm/slurmd.log", nodeset.spec.logfile));
  const std::string service = api::workers_service_name(inputs.controller.meta.name);
  Value ours = Value::object({{"automountServiceAccountToken", false},
                              {"enableServiceLinks", false},
                              {"subdomain", service}});
  ours["dnsConfig"]["searches"].push_back(
      fmt::format("{}.{}.svc.{}", service, nodeset.meta.ns, inputs.cluster_domain));
  ours["tolerations"].push_back(
      Value::object({{"key", api::kWorkerTaint}, {"operator", "Equal"}, {"effect", "NoExecute"}}));
  if (!nodeset.spec.oversubscribe_node) ours["affinity"] = spread();
  ours["initContainers"].push_back(std::move(logfile));
  ours["containers"].push_back(std::move(slurmd));
  ours["volumes"] = volumes(inputs);

  MS_TRY(Value spec, merge_pod_spec(std::move(ours), nodeset.spec.pod_template.spec));
  // The first is a prefix, for worker_hostname; the second is the scheduler's to say.
  spec.erase("hostname");
  spec.erase("nodeName");
  if (nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet) {
    // After the merge: tolerations of the user's take the place of ours, and a daemon has these
    // always.
    const Value* host_network = spec.find("hostNetwork");
    const bool on_host = host_network != nullptr && host_network->as_bool().value_or(false);
    Value& tolerations = spec["tolerations"];
    for (const Value& toleration : daemon_tolerations(on_host)) {
      if (std::find(tolerations.begin(), tolerations.end(), toleration) == tolerations.end()) {
        tolerations.push_back(toleration);
      }
    }
  }
  return spec;
}

Metadata metadata_of(const api::NodeSet& nodeset) {
  Metadata out;
  add(out.labels, nodeset.meta.labels);
  add(out.annotations, nodeset.meta.annotations);
  add(out.labels, nodeset.spec.pod_template.meta.labels);
  add(out.annotations, nodeset.spec.pod_template.meta.annotations);
  const Value ours = api::object_labels(api::app::kWorker, "worker", nodeset.meta.name);
  for (const auto [key, value] : ours.members()) {
    out.labels.insert_or_assign(std::string(key), std::string(value.as_string().value_or("")));
  }
  out.labels.insert_or_assign(std::string(api::label::kCluster), nodeset.spec.controller_ref.name);
  out.annotations.insert_or_assign(std::string(api::annotation::kDefaultContainer), kContainer);
  return out;
}

Result<void> check(const WorkerInputs& inputs) {
  const api::Controller& controller = inputs.controller;
  if (!controller.spec.slurm_key_ref) {
    return fail(Code::kInvalid, fmt::format("Controller {}/{} has no spec.slurmKeyRef, which its "
                                            "workers need: name the Secret with the slurm key",
                                            controller.meta.ns, controller.meta.name));
  }
  // It becomes a Slurm feature in shell text; a host name cannot have such characters anyway.
  const std::string name = inputs.nodeset.slurm_name();
  if (!is_harmless(name)) {
    return fail(Code::kInvalid, fmt::format("template.spec.hostname {} is not a prefix of host "
                                            "names: use letters, digits and dashes",
                                            quoted(name)));
  }
  return {};
}

}  // namespace

std::string topology_of_extra_conf(const api::NodeSet& nodeset) {
  const auto items = parse_extra_conf(nodeset.spec.extra_conf);
  if (!items) return {};
  const auto found = items->find("Topology");
  return found == items->end() ? std::string() : found->second;
}

bool is_unprivileged(const api::NodeSet& nodeset) {
  const Value* wish = nodeset.spec.slurmd.at_pointer("/securityContext/privileged");
  return wish != nullptr && wish->as_bool() == false;
}

Result<Value> worker_template(const WorkerInputs& inputs) {
  const std::string what =
      fmt::format("NodeSet {}/{}", inputs.nodeset.meta.ns, inputs.nodeset.meta.name);
  if (auto checked = check(inputs); !checked) {
    return fail(std::move(checked).error().with_context(what));
  }
  MS_TRY(Value spec, with_context(pod_spec(inputs), what));
  const Metadata metadata = metadata_of(inputs.nodeset);
  Value out = Value::object();
  out["metadata"]["labels"] = to_json(metadata.labels);
  out["metadata"]["annotations"] = to_json(metadata.annotations);
  out["spec"] = std::move(spec);
  return out;
}

}  // namespace mainspring::op::build
