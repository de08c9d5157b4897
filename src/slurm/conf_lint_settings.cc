// Keys of slurm.conf, slurmdbd.conf and cgroup.conf that must be there, or that exclude or need one
// another.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "slurm/conf_lint_internal.h"
#include "slurm/conf_value.h"
#include "slurm/lua_syntax.h"

namespace mainspring::slurm::linting {
namespace {

// Slurm looks for many options anywhere in the text of a list.
bool mentions(std::string_view text, std::string_view word) {
  return std::ranges::search(text, word, [](char a, char b) {
           return ascii_lower(a) == ascii_lower(b);
         }).begin() != text.end();
}

std::string_view or_default(std::string_view value, std::string_view fallback) {
  return value.empty() ? fallback : value;
}

class SettingsCheck {
 public:
  SettingsCheck(std::span<const ConfLine> lines, const ConfSet& files, Cluster& cluster,
                Findings& findings)
      : lines_(lines),
        files_(files),
        cluster_(cluster),
        settings_(cluster.settings),
        findings_(findings) {}

  void run() {
    check_identity();
    check_controllers();
    check_gone();
    check_preemption();
    check_select();
    check_prolog();
    check_numbers();
    check_options();
    check_gres_types();
    check_task_parameters();
    check_topology_file();
    check_scripts();
  }

 private:
  std::string_view value(std::string_view key) const { return settings_.value(key); }

  // About a key that is there.
  void error(std::string_view key, std::string message, std::string advice) {
    findings_.error(*settings_.line(key), key, std::move(message), std::move(advice));
  }

  void missing(std::string_view key, std::string advice) {
    findings_.add({.severity = Severity::kError,
                   .file = "slurm.conf",
                   .line = 0,
                   .key = std::string(key),
                   .message = "slurmctld does not start without it",
                   .advice = std::move(advice)});
  }

  void check_identity() {
    if (value("ClusterName").empty()) {
      missing("ClusterName", "name the cluster, in lower case and with at most 40 letters");
    }
  }

  void check_controllers() {
    std::set<std::string, std::less<>> names;
    for (const ConfLine& line : lines_) {
      if (!equals_ignore_case(line.key(), "SlurmctldHost")) continue;
      const std::string_view host = line.value();
      const std::size_t open = host.find('(');
      const std::size_t close = host.find(')');
      if ((open == std::string_view::npos) != (close == std::string_view::npos) ||
          (close != std::string_view::npos && close + 1 != host.size())) {
        findings_.error(line, "SlurmctldHost", fmt::format("{} is no host", quoted(host)),
                        "use name or name(address)");
      } else if (!names.insert(std::string(host.substr(0, open))).second) {
        findings_.error(line, "SlurmctldHost", fmt::format("{} stands twice", quoted(host)),
                        "remove one of them");
      }
    }
    if (names.empty() && !settings_.has("SlurmctldHost") && !settings_.has("ControlMachine")) {
      missing("SlurmctldHost", "name the host that slurmctld runs on");
    }
    if (names.empty() && settings_.has("BackupAddr") && !settings_.has("BackupController")) {
      error("BackupAddr", "there is no BackupController", "use a second SlurmctldHost");
    }
  }

  void check_gone() {
    for (const std::string_view key : {"SallocDefaultCommand", "AccountingStoreJobComment"}) {
      if (!settings_.has(key)) continue;
      error(key, "Slurm has removed it", fmt::format("use {}", instead_of(key)));
    }
    if (settings_.has("FastSchedule")) {
      if (value("FastSchedule") == "1") {
        findings_.warn(*settings_.line("FastSchedule"), "FastSchedule",
                       "this key has no effect any more", "remove it");
      } else {
        error("FastSchedule", "Slurm has removed it", "use SlurmdParameters=config_overrides");
      }
    }
    if (mentions(value("AccountingStorageType"), "mysql")) {
      error("AccountingStorageType", "only slurmdbd may use the database itself",
            "use accounting_storage/slurmdbd");
    }
  }

  static std::string_view instead_of(std::string_view name) {
    const ConfKey* key = find_conf_key(conf_keys("slurm.conf"), name);
    return key == nullptr ? std::string_view() : key->instead;
  }

  void check_preemption() {
    const std::string_view mode = value("PreemptMode");
    const std::string_view type = or_default(value("PreemptType"), "preempt/none");
    const bool gang = list_has(mode, "GANG");
    std::size_t modes = 0;
    bool acts = false;
    for (const std::string_view word : list_words(mode)) {
      if (list_has("GANG,WITHIN,PRIORITY", word)) continue;
      ++modes;
      acts = acts || !list_has("OFF,CLUSTER", word);
    }
    if (modes > 1 || (gang && (list_has(mode, "WITHIN") || list_has(mode, "PRIORITY")))) {
      error("PreemptMode", fmt::format("{} do not go together", quoted(mode)),
            "use one of CANCEL, REQUEUE and SUSPEND, with GANG or WITHIN beside it");
    } else if (!gang && modes == 1 && list_words(mode).size() == 1 &&
               list_has("SUSPEND,ON", mode)) {
      error("PreemptMode", "SUSPEND needs GANG", "use SUSPEND,GANG");
    } else if (type == "preempt/none" &&
               (acts || list_has(mode, "WITHIN") || list_has(mode, "PRIORITY"))) {
      error("PreemptMode", "there is no PreemptType", "set PreemptType, or PreemptMode=OFF");
    } else if ((type == "preempt/qos" || type == "preempt/partition_prio") && !acts) {
      error("PreemptType", "PreemptMode says that nothing is preempted",
            "set PreemptMode, for example to REQUEUE");
    }
  }

  void check_select() {
    const std::string_view select = or_default(value("SelectType"), "select/cons_tres");
    const bool cons_tres = mentions(select, "cons_tres");
    if (settings_.has("MaxNodeCount") && !cons_tres) {
      error("MaxNodeCount", "only select/cons_tres takes it", "use SelectType=select/cons_tres");
    }
    if (select == "select/linear" && equals_ignore_case(value("TopologyPlugin"), "topology/tree")) {
      error("TopologyPlugin", "select/linear knows no trees", "use SelectType=select/cons_tres");
    }
    const std::string_view parameters = value("SelectTypeParameters");
    const auto units = std::ranges::count_if(list_words(parameters), [](std::string_view word) {
      return list_has(
          "CR_CPU,CR_CPU_Memory,CR_Core,CR_Core_Memory,CR_Memory,CR_Socket,"
          "CR_Socket_Memory",
          word);
    });
    if (units > 1) {
      error("SelectTypeParameters", "more than one kind of resource is chosen",
            "keep one of them, for example CR_Core_Memory");
    }
    if ((list_has(parameters, "CR_CPU") || list_has(parameters, "CR_CPU_Memory")) &&
        list_has(parameters, "CR_ONE_TASK_PER_CORE")) {
      error("SelectTypeParameters", "CR_ONE_TASK_PER_CORE does not go with CPUs", "use CR_Core");
    }
  }

  void check_prolog() {
    const std::string_view flags = value("PrologFlags");
    const bool x11 = list_has(flags, "X11");
    const bool contain = x11 || list_has(flags, "Contain") || list_has(flags, "RunInJob");
    if (contain && list_has(flags, "NoHold")) {
      error("PrologFlags", "NoHold does not go with Contain, RunInJob or X11", "remove NoHold");
    }
    if (x11 && value("ProctrackType") == "proctrack/linuxproc") {
      error("PrologFlags", "X11 does not go with proctrack/linuxproc", "remove X11");
    }
    if (contain) return;
    for (const std::string_view key : {"NamespaceType", "JobContainerType"}) {
      if (settings_.has(key) && !mentions(value(key), "none")) {
        error(key, "it needs PrologFlags=Contain", "add PrologFlags=Contain");
      }
    }
    if (mentions(value("SlurmctldParameters"), "enable_stepmgr")) {
      error("SlurmctldParameters", "enable_stepmgr needs PrologFlags=Contain",
            "add PrologFlags=Contain");
    }
  }

  void check_numbers() {
    const auto first = parse_integer<std::uint32_t>(value("FirstJobId"));
    const auto last = parse_integer<std::uint32_t>(value("MaxJobId"));
    constexpr std::uint32_t kLastJob = 0x03ff0000;
    if (first.value_or(1) > std::min(last.value_or(kLastJob), std::uint32_t{0x03ffffff})) {
      error(first ? "FirstJobId" : "MaxJobId", "FirstJobId is above MaxJobId",
            "make MaxJobId larger");
    }
    const auto half_life = conf_minutes(value("PriorityDecayHalfLife"));
    if (half_life == 0 && !settings_.has("PriorityUsageResetPeriod")) {
      error("PriorityDecayHalfLife", "usage would grow for ever",
            "set PriorityUsageResetPeriod, or another half-life");
    }
    if (settings_.has("SlurmSchedLogLevel") && value("SlurmSchedLogLevel") != "0" &&
        !settings_.has("SlurmSchedLogFile")) {
      error("SlurmSchedLogLevel", "there is no SlurmSchedLogFile", "set SlurmSchedLogFile");
    }
    const auto levels = list_words(value("HealthCheckNodeState"));
    for (const std::string_view only : {"START_ONLY", "REBOOT_ONLY"}) {
      if (levels.size() > 1 && list_has(value("HealthCheckNodeState"), only)) {
        error("HealthCheckNodeState", fmt::format("{} stands alone", only), "remove the others");
      }
    }
  }

  void check_options() {
    const std::string_view communication = value("CommunicationParameters");
    if (mentions(communication, "DisableIPv4") && !mentions(communication, "EnableIPv6")) {
      error("CommunicationParameters", "neither IPv4 nor IPv6 is left", "add EnableIPv6");
    }
    const std::string_view gather = value("JobAcctGatherParams");
    if (mentions(gather, "UsePSS") && mentions(gather, "NoShared")) {
      error("JobAcctGatherParams", "UsePSS and NoShared exclude each other", "keep one of them");
    }
    const std::string_view launch = value("LaunchParameters");
    if (mentions(launch, "enable_nss_slurm") && mentions(launch, "disable_send_gids")) {
      error("LaunchParameters", "enable_nss_slurm and disable_send_gids exclude each other",
            "keep one of them");
    }
    const std::string_view mcs = value("MCSPlugin");
    if (settings_.has("MCSParameters") && !settings_.has("MCSPlugin")) {
      error("MCSParameters", "there is no MCSPlugin", "set MCSPlugin, or remove it");
    }
    if (mcs == "mcs/group" && !settings_.has("MCSParameters")) {
      error("MCSPlugin", "mcs/group needs MCSParameters", "set MCSParameters");
    }
  }

  void check_gres_types() {
    for (const std::string_view name : list_words(value("GresTypes"))) {
      cluster_.gres_types.emplace(name);
    }
    const bool shared =
        cluster_.gres_types.contains("mps") || cluster_.gres_types.contains("shard");
    if (!shared) return;
    if (!cluster_.gres_types.contains("gpu")) {
      error("GresTypes", "mps and shard share GPUs, and there is no gpu", "add gpu");
    } else if (!mentions(or_default(value("SelectType"), "select/cons_tres"), "cons_tres")) {
      error("GresTypes", "mps and shard need select/cons_tres", "use SelectType=select/cons_tres");
    }
  }

  void check_task_parameters() {
    const std::string_view parameters = value("TaskPluginParam");
    std::size_t units = 0;
    std::size_t automatic = 0;
    for (const std::string_view word : list_words(parameters)) {
      units += list_has("none,sockets,cores,threads", word) ? 1 : 0;
      automatic += starts_with_ignore_case(word, "autobind=") ? 1 : 0;
    }
    if (units > 1 || automatic > 1) {
      error("TaskPluginParam", "tasks can be bound to one kind only", "keep one of them");
    }
    const bool cgroup = mentions(value("TaskPlugin"), "cgroup");
    for (const std::string_view word : {"OOMKillStep", "SlurmdSpecOverride"}) {
      if (list_has(parameters, word) && !cgroup) {
        error("TaskPluginParam", fmt::format("{} needs task/cgroup", word),
              "add task/cgroup to TaskPlugin");
      }
    }
    if (list_has(parameters, "SlurmdOffSpec") && list_has(parameters, "SlurmdSpecOverride")) {
      error("TaskPluginParam", "SlurmdOffSpec and SlurmdSpecOverride exclude each other",
            "keep one of them");
    }
  }

  void check_topology_file() {
    const std::string_view plugin = value("TopologyPlugin");
    if (!list_has("topology/tree,topology/block,topology/ring,topology/torus3d", plugin)) return;
    if (files_.contains("topology.yaml") || files_.contains("topology.conf")) return;
    error("TopologyPlugin", "there is neither topology.yaml nor topology.conf",
          "add one of them, or use topology/flat");
  }

  // These plugins run a script that is beside slurm.conf. slurmctld ends without it, and where Lua
  // cannot read it.
  void check_scripts() {
    struct Scripted {
      std::string_view key, plugin, file;
    };
    constexpr auto kScripted = std::to_array<Scripted>({
        {"JobSubmitPlugins", "job_submit/lua", "job_submit.lua"},
        {"JobCompType", "jobcomp/lua", "jobcomp.lua"},
        {"BurstBufferType", "burst_buffer/lua", "burst_buffer.lua"},
    });
    for (const Scripted& one : kScripted) {
      const std::string_view plugins = value(one.key);
      const bool runs = list_has(plugins, one.plugin) || list_has(plugins, "lua");
      if (!runs) continue;
      const auto script = files_.find(one.file);
      if (script == files_.end()) {
        error(one.key, fmt::format("there is no {}, which {} runs", one.file, one.plugin),
              "add the script, or leave the plugin out");
      } else if (auto wrong = check_lua(script->second)) {
        findings_.add({.file = std::string(one.file),
                       .line = wrong->line,
                       .message = std::move(wrong->message),
                       .advice = "mend the script; luac -p shows the same"});
      }
    }
  }

  std::span<const ConfLine> lines_;
  const ConfSet& files_;
  Cluster& cluster_;
  const Settings& settings_;
  Findings& findings_;
};

}  // namespace

void check_settings(std::span<const ConfLine> lines, const ConfSet& files, Cluster& cluster,
                    Findings& findings) {
  SettingsCheck(lines, files, cluster, findings).run();
}

void check_dbd(std::span<const ConfLine> lines, Findings& findings) {
  const Settings settings(lines);
  const std::string_view type = settings.value("StorageType");
  if (!settings.has("StorageType")) {
    findings.add({.severity = Severity::kError,
                  .file = "slurmdbd.conf",
                  .line = 0,
                  .key = "StorageType",
                  .message = "slurmdbd does not start without it",
                  .advice = "use accounting_storage/mysql"});
  } else if (type == "accounting_storage/slurmdbd") {
    findings.error(*settings.line("StorageType"), "StorageType", "slurmdbd cannot use itself",
                   "use accounting_storage/mysql");
  }
  if (!settings.has("DbdHost")) {
    findings.add({.severity = Severity::kWarning,
                  .file = "slurmdbd.conf",
                  .line = 0,
                  .key = "DbdHost",
                  .message = "slurmdbd takes localhost",
                  .advice = "name the host that it runs on"});
  }
  const std::string_view communication = settings.value("CommunicationParameters");
  if (mentions(communication, "DisableIPv4") && !mentions(communication, "EnableIPv6")) {
    findings.error(*settings.line("CommunicationParameters"), "CommunicationParameters",
                   "neither IPv4 nor IPv6 is left", "add EnableIPv6");
  }
}

void check_cgroup(std::span<const ConfLine> lines, const Cluster* cluster, Findings& findings) {
  if (cluster == nullptr) return;
  const Settings cgroup(lines);
  const Settings& slurm = cluster->settings;
  const bool ram = conf_bool(cgroup.value("ConstrainRAMSpace")).value_or(false) ||
                   conf_bool(cgroup.value("ConstrainSwapSpace")).value_or(false);
  const bool task = mentions(slurm.value("TaskPlugin"), "cgroup");
  if (ram && task && mentions(slurm.value("JobAcctGatherParams"), "OverMemoryKill")) {
    findings.error(*slurm.line("JobAcctGatherParams"), "JobAcctGatherParams",
                   "OverMemoryKill and cgroup.conf both limit the memory of jobs",
                   "remove OverMemoryKill");
  }
  if (!equals_ignore_case(cgroup.value("CgroupPlugin"), "disabled")) return;
  const std::string_view track = or_default(slurm.value("ProctrackType"), "proctrack/cgroup");
  for (const std::string_view plugin :
       {track, slurm.value("TaskPlugin"), slurm.value("JobAcctGatherType")}) {
    if (!mentions(plugin, "cgroup")) continue;
    findings.error(*cgroup.line("CgroupPlugin"), "CgroupPlugin",
                   fmt::format("slurmd does not start with {} and no cgroups", quoted(plugin)),
                   "use plugins without cgroups, for example ProctrackType=proctrack/linuxproc");
  }
}

}  // namespace mainspring::slurm::linting
