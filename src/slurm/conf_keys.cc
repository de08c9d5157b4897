#include "slurm/conf_keys.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "slurm/conf_keys_tables.h"

namespace mainspring::slurm {
namespace {

struct Plugin {
  std::string_view kind;
  std::string_view name;
  Release since = kOldestRelease;
  Release until = kNewestRelease;
};

// What Slurm's own sources have; a package may leave some of them out. "none" stands for no plugin
// where Slurm takes it so.
constexpr Plugin kPlugins[] = {
    {"accounting_storage", "ctld_relay"},
    {"accounting_storage", "mysql"},
    {"accounting_storage", "none"},
    {"accounting_storage", "slurmdbd"},
    {"acct_gather_energy", "gpu"},
    {"acct_gather_energy", "ibmaem"},
    {"acct_gather_energy", "ipmi"},
    {"acct_gather_energy", "none"},
    {"acct_gather_energy", "pm_counters"},
    {"acct_gather_energy", "rapl"},
    {"acct_gather_energy", "rsmi"},
    {"acct_gather_energy", "xcc"},
    {"acct_gather_filesystem", "lustre"},
    {"acct_gather_filesystem", "none"},
    {"acct_gather_interconnect", "none"},
    {"acct_gather_interconnect", "ofed"},
    {"acct_gather_interconnect", "sysfs"},
    {"acct_gather_profile", "hdf5"},
    {"acct_gather_profile", "influxdb"},
    {"acct_gather_profile", "none"},
    {"auth", "jwt"},
    {"auth", "munge"},
    {"auth", "none"},
    {"auth", "slurm"},
    {"burst_buffer", "datawarp"},
    {"burst_buffer", "lua"},
    {"certgen", "script", 2505},
    {"certmgr", "script"},
    {"cli_filter", "lua"},
    {"cli_filter", "none"},
    {"cli_filter", "syslog"},
    {"cli_filter", "user_defaults"},
    {"cred", "munge"},
    {"cred", "none"},
    {"cred", "slurm"},
    {"hash", "k12"},
    {"hash", "sha3"},
    {"http_parser", "libhttp_parser", 2511},
    {"http_parser", "llhttp_parser", 2605},
    {"job_submit", "all_partitions"},
    {"job_submit", "defaults"},
    {"job_submit", "logging"},
    {"job_submit", "lua"},
    {"job_submit", "partition"},
    {"job_submit", "pbs"},
    {"job_submit", "require_timelimit"},
    {"job_submit", "throttle"},
    {"jobacct_gather", "cgroup"},
    {"jobacct_gather", "linux"},
    {"jobacct_gather", "none"},
    {"jobcomp", "elasticsearch"},
    {"jobcomp", "filetxt"},
    {"jobcomp", "kafka"},
    {"jobcomp", "lua"},
    {"jobcomp", "mysql"},
    {"jobcomp", "none"},
    {"jobcomp", "script"},
    {"mcs", "account"},
    {"mcs", "group"},
    {"mcs", "label"},
    {"mcs", "none"},
    {"mcs", "user"},
    {"metrics", "openmetrics", 2511},
    {"mpi", "cray_shasta"},
    {"mpi", "none"},
    {"mpi", "openmpi"},
    {"mpi", "pmi2"},
    {"mpi", "pmix"},
    {"namespace", "linux", 2511},
    {"namespace", "none", 2511},
    {"namespace", "tmpfs", 2511},
    {"node_features", "helpers"},
    {"node_features", "knl_generic", kOldestRelease, 2505},
    {"preempt", "none"},
    {"preempt", "partition_prio"},
    {"preempt", "qos"},
    {"prep", "script"},
    {"priority", "basic"},
    {"priority", "multifactor"},
    {"proctrack", "cgroup"},
    {"proctrack", "linuxproc"},
    {"proctrack", "pgid"},
    {"sched", "backfill"},
    {"sched", "builtin"},
    {"select", "cons_tres"},
    {"select", "linear"},
    {"site_factor", "example"},
    {"site_factor", "none"},
    {"switch", "hpe_slingshot"},
    {"switch", "none"},
    {"switch", "nvidia_imex"},
    {"task", "affinity"},
    {"task", "cgroup"},
    {"task", "none"},
    {"tls", "none"},
    {"tls", "s2n"},
    {"topology", "3d_torus", kOldestRelease, 2411},
    {"topology", "block"},
    {"topology", "default"},
    {"topology", "flat", 2505},
    {"topology", "none"},
    {"topology", "ring", 2605},
    {"topology", "torus3d", 2605},
    {"topology", "tree"},
    {"url_parser", "internal", 2605},
};

struct LineTable {
  std::string_view first;
  std::span<const ConfKey> keys;
};

int compare_names(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const int difference = ascii_lower(a[i]) - ascii_lower(b[i]);
    if (difference != 0) return difference;
  }
  return a.size() < b.size() ? -1 : static_cast<int>(a.size() > b.size());
}

// How many letters to add, drop, change or swap to come from one name to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = ascii_lower(a[i - 1]) == ascii_lower(b[j - 1]);
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && ascii_lower(a[i - 1]) == ascii_lower(b[j - 2]) &&
          ascii_lower(a[i - 2]) == ascii_lower(b[j - 1])) {
        now[j] = std::min(now[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::span<const ConfKey> conf_keys(std::string_view file) {
  if (file == "slurm.conf") return tables::kSlurm;
  if (file == "cgroup.conf") return tables::kCgroup;
  if (file == "gres.conf") return tables::kGres;
  if (file == "slurmdbd.conf") return tables::kDbd;
  return {};
}

std::span<const ConfKey> conf_line_keys(std::string_view file, std::string_view first) {
  if (file == "gres.conf") return tables::kGresLine;
  if (file != "slurm.conf") return {};
  const LineTable lines[] = {
      {"NodeName", tables::kNode},           {"PartitionName", tables::kPartition},
      {"NodeSet", tables::kNodeSet},         {"DownNodes", tables::kDownNodes},
      {"PowerAction", tables::kPowerAction}, {"FrontendName", tables::kFrontend},
  };
  for (const LineTable& line : lines) {
    if (equals_ignore_case(line.first, first)) return line.keys;
  }
  return {};
}

const ConfKey* find_conf_key(std::span<const ConfKey> keys, std::string_view name) {
  const auto found = std::ranges::lower_bound(
      keys, name, [](std::string_view a, std::string_view b) { return compare_names(a, b) < 0; },
      &ConfKey::name);
  return found != keys.end() && equals_ignore_case(found->name, name) ? &*found : nullptr;
}

std::string_view nearest_conf_key(std::span<const ConfKey> keys, std::string_view name) {
  std::string_view best;
  // More than a third of it wrong is another word.
  std::size_t least = std::min<std::size_t>(name.size() / 3, 4) + 1;
  for (const ConfKey& key : keys) {
    if (key.name.size() > name.size() + least || name.size() > key.name.size() + least) continue;
    const std::size_t now = distance(name, key.name);
    if (now < least) {
      least = now;
      best = key.name;
    }
  }
  return best;
}

std::string plugins_of(std::string_view kind, Release release) {
  std::string names;
  for (const Plugin& plugin : kPlugins) {
    if (plugin.kind != kind || release < plugin.since || release > plugin.until) continue;
    if (!names.empty()) names.push_back(',');
    names += plugin.name;
  }
  return names;
}

}  // namespace mainspring::slurm
