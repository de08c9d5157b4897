#include "operator/build/slurm_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "api/names.h"
#include "base/text.h"
#include "operator/build/conf_text.h"
#include "operator/build/kept_partitions.h"
#include "operator/build/worker.h"

namespace mainspring::op::build {
namespace {

constexpr std::string_view kCgroupConf = "cgroup.conf";

// What Slurm needs to run jobs without cgroups: a pod without privilege cannot make any, and slurmd
// would not start.
constexpr std::pair<std::string_view, std::string_view> kUnprivileged[] = {
    {"ProctrackType", "proctrack/linuxproc"},
    {"TaskPlugin", "task/none"},
    {"JobAcctGatherType", "jobacct_gather/linux"},
    {"SlurmdParameters", "config_overrides"},
};

// The files are the same for all workers. Where these differ the caller is told not to write any:
// see mixed_privilege.
bool all_unprivileged(const SlurmConfInputs& inputs) {
  return !inputs.nodesets.empty() &&
         std::all_of(inputs.nodesets.begin(), inputs.nodesets.end(),
                     [](const auto& nodeset) { return is_unprivileged(*nodeset); });
}

bool brings_cgroup_conf(const SlurmConfInputs& inputs) {
  return std::any_of(inputs.config_files.begin(), inputs.config_files.end(), [](const auto& map) {
    return map->data.contains(kCgroupConf) || map->binary_data.contains(kCgroupConf);
  });
}

ConfText::Options our_options(const api::Controller& controller) {
  std::vector<std::string> jwt = {"jwt_key=/etc/slurm/jwt.key"};
  if (controller.spec.jwks_key_ref) jwt.emplace_back("jwks=/etc/slurm/jwks.json");
  return {{"AuthAltParameters", jwt},
          {"AuthInfo", {"use_client_ids"}},
          {"SlurmctldParameters", {"enable_configless", "reconfig_on_restart"}}};
}

void write_hosts(ConfText& conf, const api::Controller& controller) {
  const std::string service = api::controller_name(controller.meta.name);
  const std::string internal = api::controller_internal_name(controller.meta.name);
  for (std::int32_t i = 0; i < controller.replicas(); ++i) {
    conf.set("SlurmctldHost",
             fmt::format("{0}-{1}({0}-{1}.{2}.{3})", service, i, internal, controller.meta.ns));
  }
  conf.set("SlurmctldPort", api::kSlurmctldPort);
  conf.set("SlurmctldAddr", fmt::format("{}.{}", service, controller.meta.ns));
}

void write_plugins(ConfText& conf, const SlurmConfInputs& inputs) {
  const api::ControllerSpec& spec = inputs.controller.spec;
  const ConfText::Options options = our_options(inputs.controller);
  conf.section("PLUGINS & PARAMETERS");
  conf.set("AuthType", "auth/slurm");
  conf.set("CredType", "cred/slurm");
  conf.set("AuthAltTypes", "auth/jwt");
  for (const char* key : {"AuthAltParameters", "AuthInfo", "SlurmctldParameters"}) {
    conf.set(key, join_options(options.at(key)));
  }
  if (spec.metrics_enabled) conf.set("MetricsType", "metrics/openmetrics");
  if (!all_unprivileged(inputs)) return;
  for (const auto& [key, value] : kUnprivileged) {
    if (!sets_key(spec.extra_conf, key)) conf.set(key, value);
  }
}

void write_accounting(ConfText& conf, const api::Accounting* accounting) {
  conf.section("ACCOUNTING");
  if (accounting == nullptr) {
    conf.set("AccountingStorageType", "accounting_storage/none");
    return;
  }
  conf.set("AccountingStorageType", "accounting_storage/slurmdbd");
  if (accounting->spec.external && accounting->spec.external_config) {
    conf.set("AccountingStorageHost", accounting->spec.external_config->host);
    conf.set("AccountingStoragePort", accounting->spec.external_config->port);
    return;
  }
  conf.set("AccountingStorageHost", api::accounting_name(accounting->meta.name));
  // Of its Service, which is what the host is.
  const std::int32_t port = accounting->spec.service.port;
  conf.set("AccountingStoragePort", port != 0 ? port : api::kSlurmdbdPort);
}

std::vector<std::string> script_names(const ConfigMaps& maps) {
  std::vector<std::string> names;
  for (const auto& map : maps) {
    for (const auto& [name, text] : map->data) names.emplace_back(name);
    for (const auto& [name, bytes] : map->binary_data) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// slurmctld runs its scripts from a path; those of slurmd come to the nodes with the configuration
// and go by their bare names.
void write_scripts(ConfText& conf, std::string_view title, std::string_view suffix,
                   std::string_view folder, const ConfigMaps& prologs, const ConfigMaps& epilogs) {
  const std::vector<std::string> before = script_names(prologs);
  const std::vector<std::string> after = script_names(epilogs);
  if (before.empty() && after.empty()) return;
  conf.section(title);
  for (const std::string& name : before) {
    conf.set(fmt::format("Prolog{}", suffix), fmt::format("{}{}", folder, name));
  }
  for (const std::string& name : after) {
    conf.set(fmt::format("Epilog{}", suffix), fmt::format("{}{}", folder, name));
  }
}

void write_nodesets(ConfText& conf, const SlurmConfInputs& inputs) {
  if (inputs.nodesets.empty() && inputs.kept.empty()) return;
  auto nodesets = inputs.nodesets;
  std::sort(nodesets.begin(), nodesets.end(),
            [](const auto& a, const auto& b) { return a->meta.name < b->meta.name; });
  conf.section("NODESET & PARTITION");
  for (const auto& nodeset : nodesets) {
    const std::string name = nodeset->slurm_name();
    conf.line(fmt::format("NodeSet={0} Feature={0}", name));
    if (nodeset->spec.partition_enabled) {
      const std::string line =
          fmt::format("PartitionName={0} Nodes={0} {1}", name, nodeset->spec.partition_config);
      // A job that came now would find no worker, or keep the last one from going.
      conf.line(nodeset->meta.deleting() ? closed_partition(line) : line);
    }
  }
  for (const std::string& line : inputs.kept) conf.line(line);
}

// Dynamic nodes need a bound; a user's own, further down, counts instead of this one. Room for
// twice the workers, since nodes of earlier ones stay on record, and in large steps. Never less
// than before: slurmctld would not take back the nodes beyond it.
std::int64_t max_nodes(const SlurmConfInputs& inputs) {
  constexpr std::int64_t kLeast = 1024;
  constexpr std::int64_t kMost = 65'536;  // Slurm's own bound.
  if (sets_key(inputs.controller.spec.extra_conf, "MaxNodeCount")) return kLeast;
  std::int64_t wanted = 0;
  for (const auto& nodeset : inputs.nodesets) {
    const bool daemons = nodeset->spec.scaling_mode == api::ScalingMode::kDaemonSet;
    wanted += std::max<std::int64_t>(daemons ? nodeset->status.desired : nodeset->spec.replicas, 0);
  }
  std::int64_t most = std::max(kLeast, inputs.max_nodes_before);
  while (most < 2 * wanted && most < kMost) most *= 2;
  return std::min(most, kMost);
}

std::string external_conf(const SlurmConfInputs& inputs) {
  const api::Controller& controller = inputs.controller;
  const api::ExternalAddress at = controller.spec.external_config.value_or(api::ExternalAddress{});
  ConfText conf;
  conf.section("GENERAL");
  conf.set("ClusterName", controller.cluster_name());
  conf.set("SlurmUser", "slurm");
  conf.set("SlurmctldHost", at.host);
  conf.set("SlurmctldPort", at.port);
  conf.section("PLUGINS & PARAMETERS");
  conf.set("AuthType", "auth/slurm");
  conf.set("CredType", "cred/slurm");
  conf.set("AuthAltTypes", "auth/jwt");
  write_accounting(conf, inputs.accounting);
  return conf.text();
}

}  // namespace

std::string slurm_conf(const SlurmConfInputs& inputs) {
  const api::Controller& controller = inputs.controller;
  if (controller.spec.external) return external_conf(inputs);
  ConfText conf;
  conf.section("GENERAL");
  conf.set("ClusterName", controller.cluster_name());
  conf.set("SlurmUser", "slurm");
  write_hosts(conf, controller);
  conf.set("StateSaveLocation", "/var/spool/slurmctld/" + controller.cluster_name());
  conf.set("SlurmdUser", "root");
  conf.set("SlurmdPort", api::kSlurmdPort);
  conf.set("SlurmdSpoolDir", "/var/spool/slurmd");
  conf.set("MaxNodeCount", static_cast<int>(max_nodes(inputs)));
  // A worker that was lost together with its machine did not say so, and slurmctld calls it down
  // for not responding. With 1 it is up again when it registers, and with 0 never. One that was put
  // down by its preStop hook, or by a person, stays down: with 2 it would not, and jobs would be
  // sent to a pod that ends.
  if (inputs.return_to_service) conf.set("ReturnToService", 1);
  conf.section("LOGGING");
  conf.set("SlurmctldLogFile", "/var/log/slurm/slurmctld.log");
  conf.set("SlurmSchedLogFile", "/var/log/slurm/slurmctld.log");
  conf.set("SlurmdLogFile", "/var/log/slurm/slurmd.log");
  write_plugins(conf, inputs);
  write_accounting(conf, inputs.accounting);
  write_scripts(conf, "SLURMCTLD PROLOG & EPILOG", "Slurmctld", "/etc/slurm/",
                inputs.prologs_slurmctld, inputs.epilogs_slurmctld);
  write_scripts(conf, "PROLOG & EPILOG", "", "", inputs.prologs, inputs.epilogs);
  write_nodesets(conf, inputs);
  conf.extra(controller.spec.extra_conf, our_options(controller));
  return conf.text();
}

std::int64_t max_nodes_in(std::string_view slurm_conf) {
  constexpr std::string_view kKey = "MaxNodeCount=";
  for (const std::string_view line : split(slurm_conf, '\n')) {
    // Ours is the first.
    if (line.starts_with(kKey)) {
      return parse_integer<std::int64_t>(line.substr(kKey.size())).value_or(0);
    }
  }
  return 0;
}

std::string cgroup_conf(const SlurmConfInputs& inputs) {
  if (inputs.controller.spec.external || brings_cgroup_conf(inputs)) return {};
  if (all_unprivileged(inputs)) return "CgroupPlugin=disabled\n";
  return "CgroupPlugin=cgroup/v2\nIgnoreSystemd=yes\n";
}

std::optional<slurm::Finding> mixed_privilege(const SlurmConfInputs& inputs) {
  const api::ControllerSpec& spec = inputs.controller.spec;
  const bool settled =
      brings_cgroup_conf(inputs) &&
      std::all_of(std::begin(kUnprivileged), std::end(kUnprivileged),
                  [&](const auto& one) { return sets_key(spec.extra_conf, one.first); });
  if (spec.external || settled) return std::nullopt;
  // The first by name of either kind, so that the same NodeSets are told of in the same words.
  std::string with;
  std::string without;
  for (const auto& nodeset : inputs.nodesets) {
    const std::string& name = nodeset->meta.name;
    std::string& first = is_unprivileged(*nodeset) ? without : with;
    if (first.empty() || name < first) first = name;
  }
  if (with.empty() || without.empty()) return std::nullopt;
  return slurm::Finding{
      .file = std::string(kCgroupConf),
      .key = "CgroupPlugin",
      .message =
          "NodeSets with and without privilege cannot share it: slurmd without privilege "
          "does not start with cgroups",
      .advice = fmt::format(
          "NodeSet {} has slurmd.securityContext.privileged: false and NodeSet {} has not; make "
          "them alike, give one of them another Controller, or decide for both in this one: "
          "cgroup.conf in spec.configFileRefs, and ProctrackType, TaskPlugin, JobAcctGatherType "
          "and SlurmdParameters in spec.extraConf",
          quoted(without), quoted(with))};
}

}  // namespace mainspring::op::build
