// Nodes, node sets, partitions and down nodes of slurm.conf.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "slurm/conf_lint_internal.h"
#include "slurm/conf_value.h"

namespace mainspring::slurm::linting {
namespace {

using Names = std::set<std::string, std::less<>>;

// What the lines of defaults so far say, by the key's name in the table.
struct Default {
  const ConfLine* line;
  const ConfPair* pair;
};
using Defaults = std::map<std::string_view, Default>;

// A line and, for what it leaves out, the defaults.
class Effective {
 public:
  Effective(const ConfLine& line, const Defaults& defaults) : line_(line), defaults_(defaults) {}

  // The value, and in `from` the line that it stands on. Null where there is none.
  const ConfPair* find(std::string_view key, const ConfLine** from) const {
    *from = &line_;
    if (const ConfPair* own = line_.find(key)) return own;
    const auto inherited = defaults_.find(key);
    if (inherited == defaults_.end()) return nullptr;
    *from = inherited->second.line;
    return inherited->second.pair;
  }

  std::string_view value(std::string_view key) const {
    const ConfLine* from = nullptr;
    const ConfPair* pair = find(key, &from);
    return pair == nullptr ? std::string_view() : std::string_view(pair->value);
  }

 private:
  const ConfLine& line_;
  const Defaults& defaults_;
};

// Values that Slurm looks at only on lines that use them.
void check_used_values(const Effective& line, std::string_view first,
                       std::initializer_list<std::string_view> own_only, Findings& findings,
                       const ConfLine& itself) {
  for (const ConfKey& key : conf_line_keys("slurm.conf", first)) {
    const ConfLine* from = nullptr;
    const ConfPair* pair = line.find(key.name, &from);
    if (pair == nullptr) continue;
    if (from != &itself && std::ranges::count(own_only, key.name) > 0) continue;
    if (const auto problem = findings.check(key, pair->value)) {
      if (problem->fatal) {
        findings.error(*from, key.name, problem->message, problem->advice);
      } else {
        findings.warn(*from, key.name, problem->message, problem->advice);
      }
    }
  }
}

bool is_node_state(std::string_view state) {
  if (list_has("UNKNOWN,DOWN,IDLE,ALLOCATED,ERROR,MIXED,FUTURE", state)) return true;
  return std::ranges::any_of(
      std::initializer_list<std::string_view>{"CLOUD", "EXTERNAL", "DRAIN", "FAIL"},
      [&](std::string_view name) { return starts_with_ignore_case(state, name); });
}

class NodesCheck {
 public:
  NodesCheck(std::span<const ConfLine> lines, const Topologies& topologies, Cluster& cluster,
             Findings& findings)
      : lines_(lines), topologies_(topologies), cluster_(cluster), findings_(findings) {}

  void run() {
    each("NodeName", &NodesCheck::check_node);
    each("NodeSet", &NodesCheck::check_node_set);
    each("PartitionName", &NodesCheck::check_partition);
    each("DownNodes", &NodesCheck::check_down_nodes);
    each("PowerAction", &NodesCheck::check_power_action);
    check_default_partition();
  }

 private:
  void each(std::string_view first, void (NodesCheck::*check)(const ConfLine&, const Defaults&)) {
    Defaults defaults;
    for (const ConfLine& line : lines_) {
      if (!equals_ignore_case(line.key(), first)) continue;
      if (equals_ignore_case(line.value(), "DEFAULT") &&
          (first == "NodeName" || first == "PartitionName")) {
        check_default(line, first);
        add_defaults(line, first, defaults);
      } else {
        (this->*check)(line, defaults);
      }
    }
  }

  static void add_defaults(const ConfLine& line, std::string_view first, Defaults& defaults) {
    for (std::size_t i = 1; i < line.pairs.size(); ++i) {
      const ConfKey* key = find_conf_key(conf_line_keys("slurm.conf", first), line.pairs[i].key);
      if (key != nullptr) defaults[key->name] = {&line, &line.pairs[i]};
    }
  }

  void check_default(const ConfLine& line, std::string_view first) {
    if (first != "NodeName") return;
    for (const std::string_view key : {"NodeAddr", "NodeHostname", "BcastAddr"}) {
      if (line.find(key) == nullptr) continue;
      findings_.error(line, key, "nodes cannot share it by default", "set it for each node");
    }
  }

  void check_node(const ConfLine& line, const Defaults& defaults) {
    const Effective node(line, defaults);
    check_used_values(node, "NodeName", {"NodeAddr", "NodeHostname", "BcastAddr", "GresConf"},
                      findings_, line);
    const ConfLine* from = nullptr;
    const ConfPair* state = node.find("State", &from);
    if (state != nullptr && !is_node_state(state->value)) {
      findings_.error(*from, "State",
                      fmt::format("{} is no state to begin with", quoted(state->value)),
                      "use UNKNOWN, or one of CLOUD, DOWN, DRAIN, EXTERNAL, FAIL, FUTURE");
    }
    check_cpus(line, node);
    check_node_gres(node);
    check_node_topology(node);
    const std::string& value = line.value();
    if (value.empty() || equals_ignore_case(value, "ALL")) {
      findings_.error(line, "NodeName",
                      fmt::format("{} cannot be the name of a node", quoted(value)),
                      "name the node, for example node1");
      return;
    }
    const auto names = findings_.hosts(value);
    if (!names) {
      findings_.error(line, "NodeName",
                      fmt::format("{} is no hostlist: {}", quoted(value), names.error().message()),
                      "use for example node[1-3,7]");
      return;
    }
    for (const std::string& name : *names) {
      if (cluster_.nodes.insert(name).second) continue;
      findings_.error(line, "NodeName", fmt::format("node {} is defined twice", quoted(name)),
                      "remove it from one of the lines");
      break;
    }
    check_counts(line, names->size());
    check_ports(node, names->size());
  }

  void check_counts(const ConfLine& line, std::size_t nodes) {
    for (const std::string_view key : {"NodeAddr", "NodeHostname", "BcastAddr"}) {
      const ConfPair* pair = line.find(key);
      if (pair == nullptr) continue;
      const auto hosts = findings_.hosts(pair->value);
      if (!hosts || hosts->size() == nodes || hosts->size() == 1) continue;
      if (hosts->empty() && key == "BcastAddr") continue;
      findings_.error(line, key,
                      fmt::format("it has {} entries for {} nodes", hosts->size(), nodes),
                      "give one for all of them, or one for each");
    }
  }

  void check_ports(const Effective& node, std::size_t nodes) {
    const ConfLine* from = nullptr;
    const ConfPair* port = node.find("Port", &from);
    if (port == nullptr || port->value.empty()) return;
    std::string text = port->value;
    if (text.front() != '[' && text.find_first_of("-,") != std::string::npos) {
      text = fmt::format("[{}]", text);
    }
    const auto ports = findings_.hosts(text);
    const bool numbers = ports && std::ranges::all_of(*ports, [](const std::string& number) {
                           return parse_integer<std::uint16_t>(number).value_or(0) > 0;
                         });
    if (!numbers) {
      findings_.error(*from, "Port", fmt::format("{} is no port", quoted(port->value)),
                      "use 1 to 65535, or a range with one for each node");
    } else if (ports->size() > 1 && ports->size() != nodes) {
      findings_.error(*from, "Port",
                      fmt::format("it has {} entries for {} nodes", ports->size(), nodes),
                      "give one for all of them, or one for each");
    }
  }

  static std::uint64_t number(const Effective& node, std::string_view key, std::uint64_t fallback) {
    return parse_integer<std::uint16_t>(node.value(key))
        .value_or(static_cast<std::uint16_t>(fallback));
  }

  void check_cpus(const ConfLine& line, const Effective& node) {
    for (const std::string_view key :
         {"Boards", "CPUs", "CoresPerSocket", "Sockets", "SocketsPerBoard", "ThreadsPerCore"}) {
      if (node.value(key) != "0") continue;
      findings_.warn(line, key, "it cannot be 0; Slurm takes 1",
                     "use the number that the node has");
    }
    if (node.value("CPUs").empty() || node.value("Sockets").empty()) return;
    if (!node.value("SocketsPerBoard").empty()) {
      findings_.warn(line, "Sockets", "SocketsPerBoard counts instead", "remove one of them");
      return;
    }
    const std::uint64_t cpus = number(node, "CPUs", 1);
    const std::uint64_t sockets = number(node, "Sockets", 1);
    const std::uint64_t cores = sockets * number(node, "CoresPerSocket", 1);
    const std::uint64_t threads = cores * number(node, "ThreadsPerCore", 1);
    if (cpus == sockets || cpus == cores || cpus == threads) return;
    findings_.warn(line, "CPUs",
                   fmt::format("{} are neither the sockets, the cores nor the threads; Slurm takes "
                               "{}",
                               cpus, threads),
                   "make them Sockets * CoresPerSocket * ThreadsPerCore");
  }

  void check_node_gres(const Effective& node) {
    const ConfLine* from = nullptr;
    const ConfPair* gres = node.find("Gres", &from);
    if (gres == nullptr) return;
    for (const std::string_view word : list_words(gres->value)) {
      const std::string_view name = word.substr(0, word.find(':'));
      if (cluster_.gres_types.contains(name)) continue;
      findings_.warn(*from, "Gres",
                     fmt::format("{} is not in GresTypes and is ignored", quoted(name)),
                     fmt::format("add {} to GresTypes", name));
    }
  }

  void check_node_topology(const Effective& node) {
    const ConfLine* from = nullptr;
    const ConfPair* topology = node.find("Topology", &from);
    if (topology == nullptr || !topologies_.known) return;
    for (const std::string_view word : list_words(topology->value)) {
      const std::size_t colon = word.find(':');
      const std::string_view name = word.substr(0, colon);
      const auto tree = topologies_.trees.find(name);
      const std::string_view unit = colon == std::string_view::npos ? "" : word.substr(colon + 1);
      const bool known =
          tree != topologies_.trees.end()
              ? unit.find(':') != std::string_view::npos || tree->second.contains(std::string(unit))
              : topologies_.others.contains(name);
      if (known) continue;
      findings_.error(*from, "Topology", fmt::format("topology.yaml has no {}", quoted(word)),
                      "use the name of a topology and of a switch or block in it");
    }
  }

  void check_node_set(const ConfLine& line, const Defaults&) {
    const std::string& name = line.value();
    if (cluster_.nodes.contains(name)) {
      findings_.error(line, "NodeSet", fmt::format("{} is also the name of a node", quoted(name)),
                      "give it another name");
    }
    const ConfPair* nodes = line.find("Nodes");
    const ConfPair* feature = line.find("Feature");
    if (nodes == nullptr && feature == nullptr) {
      findings_.warn(line, "NodeSet", "it has neither Feature nor Nodes and stays empty",
                     "add one of them");
    }
    if (!node_sets_.emplace(name, &line).second) {
      findings_.warn(line, "NodeSet", fmt::format("{} is defined twice", quoted(name)),
                     "give it another name");
    }
  }

  // Slurm stops at a name that it does not know. A node set is looked at where it is used, and what
  // it names is not looked up among the node sets again.
  void check_members(const ConfLine& line, std::string_view nodes, bool sets) {
    // Functions such as {switch=s1} name what exists only in the running daemon.
    if (nodes.empty() || equals_ignore_case(nodes, "ALL") ||
        nodes.find('{') != std::string_view::npos) {
      return;
    }
    const auto names = findings_.hosts(nodes);
    if (!names) {
      findings_.error(line, "Nodes",
                      fmt::format("{} is no hostlist: {}", quoted(nodes), names.error().message()),
                      "use for example node[1-3,7]");
      return;
    }
    for (const std::string& name : *names) {
      const auto found = node_sets_.find(name);
      if (found == node_sets_.end()) {
        if (cluster_.nodes.contains(name)) continue;
        findings_.add(
            {.file = line.file,
             .line = line.line,
             .key = "Nodes",
             .message = fmt::format("{} is neither a node nor a node set", quoted(name)),
             .advice = "define it, or for nodes that come later use a NodeSet with a Feature",
             .undefined = name});
        return;
      }
      const ConfPair* members = found->second->find("Nodes");
      if (sets && members != nullptr) check_members(*found->second, members->value, false);
    }
  }

  void check_partition(const ConfLine& line, const Defaults& defaults) {
    const Effective partition(line, defaults);
    const std::string& name = line.value();
    if (!partitions_.insert(name).second) {
      findings_.error(line, "PartitionName", fmt::format("{} is defined twice", quoted(name)),
                      "remove one of them");
    }
    if (name.empty() || name.find_first_of(", /") != std::string::npos) {
      findings_.warn(line, "PartitionName", fmt::format("no job can ask for {}", quoted(name)),
                     "use letters, digits, '-' and '_'");
    }
    check_used_values(partition, "PartitionName", {"SelectTypeParameters", "SuspendTime"},
                      findings_, line);
    const ConfLine* from = nullptr;
    if (const ConfPair* nodes = partition.find("Nodes", &from)) {
      check_members(*from, nodes->value, true);
    }
    check_sharing(partition);
    check_qos(partition);
    if (const ConfPair* topology = partition.find("Topology", &from);
        topology != nullptr && !topologies_.trees.contains(topology->value) &&
        !topologies_.others.contains(topology->value)) {
      findings_.error(*from, "Topology",
                      fmt::format("topology.yaml has no topology {}", quoted(topology->value)),
                      "define it there");
    }
    if (const ConfPair* mode = partition.find("PreemptMode", &from);
        mode != nullptr && list_has(mode->value, "GANG")) {
      findings_.warn(*from, "PreemptMode", "GANG is for the whole cluster and ignored here",
                     "set it outside of partitions");
    }
    has_default_ = has_default_ || conf_bool(partition.value("Default")).value_or(false);
  }

  void check_sharing(const Effective& partition) {
    const ConfLine* from = nullptr;
    const ConfPair* share = partition.find("OverSubscribe", &from);
    if (share == nullptr) share = partition.find("Shared", &from);
    if (share == nullptr || list_has("NO,YES,FORCE,EXCLUSIVE", share->value) ||
        starts_with_ignore_case(share->value, "YES:") ||
        starts_with_ignore_case(share->value, "FORCE:")) {
      return;
    }
    findings_.error(*from, share->key, fmt::format("{} is not known", quoted(share->value)),
                    "use NO, YES, YES:count, FORCE, FORCE:count or EXCLUSIVE");
  }

  void check_qos(const Effective& partition) {
    const std::string_view storage = cluster_.settings.value("AccountingStorageType");
    if (!storage.empty() && storage.find("none") == std::string_view::npos) return;
    for (const std::string_view key : {"AllowQos", "DenyQos", "QOS"}) {
      const ConfLine* from = nullptr;
      const ConfPair* qos = partition.find(key, &from);
      if (qos == nullptr || (key == "AllowQos" && equals_ignore_case(qos->value, "ALL"))) continue;
      if (qos->value.empty() && key != "QOS") continue;
      findings_.error(*from, key, "there is no accounting, and so no QOS",
                      "set AccountingStorageType=accounting_storage/slurmdbd, or remove it");
    }
  }

  void check_down_nodes(const ConfLine& line, const Defaults&) {
    const auto names = findings_.hosts(line.value());
    if (names) {
      for (const std::string& name : *names) {
        if (cluster_.nodes.contains(name)) continue;
        findings_.warn(line, "DownNodes", fmt::format("there is no node {}", quoted(name)),
                       "remove it");
        break;
      }
    }
    const ConfPair* state = line.find("State");
    if (state != nullptr && !is_node_state(state->value)) {
      findings_.warn(line, "State",
                     fmt::format("{} is no state; the line is ignored", quoted(state->value)),
                     "use DOWN, DRAIN or FAIL");
    }
  }

  void check_power_action(const ConfLine& line, const Defaults&) {
    for (const std::string_view key : {"Location", "Program"}) {
      const ConfPair* pair = line.find(key);
      if (pair != nullptr && !pair->value.empty()) continue;
      findings_.error(line, key, "a PowerAction needs it",
                      "use Location=slurmctld or slurmd, and Program=/path");
    }
  }

  void check_default_partition() {
    if (has_default_) return;
    findings_.add({.severity = Severity::kWarning,
                   .file = "slurm.conf",
                   .line = 0,
                   .key = "PartitionName",
                   .message = "no partition is the default; jobs must name one",
                   .advice = "add Default=YES to one of them"});
  }

  std::span<const ConfLine> lines_;
  const Topologies& topologies_;
  Cluster& cluster_;
  Findings& findings_;
  Names partitions_;
  std::map<std::string, const ConfLine*, std::less<>> node_sets_;
  bool has_default_ = false;
};

}  // namespace

void check_nodes(std::span<const ConfLine> lines, const Topologies& topologies, Cluster& cluster,
                 Findings& findings) {
  NodesCheck(lines, topologies, cluster, findings).run();
}

}  // namespace mainspring::slurm::linting
