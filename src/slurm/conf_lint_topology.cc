// topology.yaml: a list of topologies, each a tree, blocks, rings, a torus or flat.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/text.h"
#include "slurm/conf_lint_internal.h"
#include "slurm/conf_value.h"
#include "slurm/topology_file.h"

namespace mainspring::slurm::linting {
namespace {

using json::Value;

constexpr std::string_view kFile = "topology.yaml";
constexpr std::string_view kKinds[] = {"block", "flat", "ring", "torus3d", "tree"};
constexpr int kMaxDepth = 20;  // of switches, in Slurm
constexpr std::size_t kBlockLevels = 16;

// Slurm takes a number or a word where it wants text, and nothing for null.
std::optional<std::string> scalar(const Value& value) {
  if (const auto text = value.as_string()) return std::string(*text);
  if (value.is_array() || value.is_object() || value.is_null()) return std::nullopt;
  return json::to_text(value);
}

class TopologyCheck {
 public:
  TopologyCheck(const std::string& text, Findings& findings) : text_(text), findings_(findings) {}

  Topologies run() {
    const auto document = parse_topology_yaml(text_);
    if (!document) {
      error("", "", document.error().message(), "correct the YAML");
      return {};
    }
    // A single one may stand without a list.
    const std::size_t count = document->is_object() ? 1 : document->size();
    if (count == 0) {
      error("", "", "there is no topology in it; slurmctld crashes on an empty list",
            "add one, or remove the file");
      return {};
    }
    found_.known = true;
    for (std::size_t i = 0; i < count; ++i) {
      const Value& topology = document->is_object() ? *document : document->at(i);
      if (topology.is_object()) {
        check(topology);
      } else {
        error("", "", "a topology must be a map", "begin it with \"- topology: name\"");
      }
    }
    return std::move(found_);
  }

 private:
  // Lines are not kept by the YAML reader: the first that has the word is the best guess.
  std::size_t line_of(std::string_view word) const {
    const bool look = !word.empty() && !findings_.full();
    const std::size_t at = look ? text_.find(word) : std::string::npos;
    if (at == std::string::npos) return 0;
    return static_cast<std::size_t>(
               std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
  }

  void error(std::string_view word, std::string_view key, std::string message, std::string advice) {
    findings_.add({Severity::kError, std::string(kFile), line_of(word), std::string(key),
                   std::move(message), std::move(advice)});
  }

  void warn(std::string_view word, std::string_view key, std::string message, std::string advice) {
    findings_.add({Severity::kWarning, std::string(kFile), line_of(word), std::string(key),
                   std::move(message), std::move(advice)});
  }

  void check_members(const Value& object, std::initializer_list<std::string_view> known) {
    for (const auto [key, value] : object.members()) {
      if (std::ranges::count(known, key) > 0) continue;
      warn(key, "", fmt::format("Slurm does not know the key {}", quoted(key)),
           "remove it, or correct its spelling");
    }
  }

  // Text of a member; an error where it is a list or a map.
  std::optional<std::string> text(const Value& object, std::string_view key) {
    const Value* value = object.find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_array() || value->is_object()) {
      error(key, key, "it must be one text, not a list or a map", "use a hostlist such as n[1-4]");
    }
    return scalar(*value);
  }

  void check(const Value& topology) {
    check_members(topology,
                  {"topology", "cluster_default", "block", "flat", "ring", "torus3d", "tree"});
    const std::string name = text(topology, "topology").value_or("");
    if (name.empty()) {
      warn("", "topology", "a topology has no name, so no partition can use it", "add one");
    }
    check_unit_name(name, "topology");
    check_control(topology, "topology", 0);
    const Value* const is_default = topology.find("cluster_default");
    if (is_default != nullptr && (is_default->is_array() || is_default->is_object())) {
      error("cluster_default", "cluster_default", "it must be true or false, not a list or a map",
            "use true for one topology and leave it out of the others");
    }
    std::vector<std::string_view> kinds;
    for (const std::string_view kind : kKinds) {
      if (is_used(topology.find(kind), kind)) kinds.push_back(kind);
    }
    if (kinds.size() != 1) {
      error(name, "topology",
            kinds.empty() ? std::string("no kind of topology is given")
                          : fmt::format("{} exclude each other", fmt::join(kinds, " and ")),
            "give one of tree, block, ring, torus3d and flat");
      return;
    }
    if ((kinds[0] == "ring" || kinds[0] == "torus3d") && findings_.release() < 2605) {
      error(kinds[0], kinds[0], "it came with Slurm 26.05", "use a tree or blocks");
    }
    check_kind(*topology.find(kinds[0]), kinds[0], name);
  }

  static bool is_used(const Value* value, std::string_view kind) {
    if (value == nullptr || value->is_null()) return false;
    if (kind == "flat") return value->as_bool().value_or(true);
    return !value->is_object() || !value->empty();
  }

  void check_kind(const Value& value, std::string_view kind, const std::string& name) {
    if (kind == "tree") {
      check_tree(value, name);
      return;
    }
    found_.others.insert(name);
    if (kind == "block") check_blocks(value);
    if (kind == "ring") check_units(value, "rings", "ring");
  }

  // The named units of a topology, each with its nodes; names only once.
  std::vector<const Value*> check_units(const Value& value, std::string_view list,
                                        std::string_view unit) {
    std::vector<const Value*> found;
    std::set<std::string> names;
    const Value* units = value.find(list);
    if (units == nullptr || !units->is_array() || units->empty()) {
      error(list, list, "there must be at least one", fmt::format("add \"- {}: name\"", unit));
      return found;
    }
    for (const Value& item : *units) {
      const Value* name = item.find(unit);
      const auto label = name == nullptr ? std::nullopt : scalar(*name);
      if (!label || label->empty()) {
        error(list, unit, "each needs a name", fmt::format("add \"- {}: name\"", unit));
        continue;
      }
      if (!names.insert(*label).second) {
        error(*label, unit, fmt::format("{} is defined twice", quoted(*label)),
              "give it another name");
      }
      check_unit_name(*label, unit);
      if (const auto nodes = text(item, "nodes")) check_hosts(*nodes, "nodes");
      found.push_back(&item);
    }
    return found;
  }

  void check_unit_name(const std::string& name, std::string_view key) {
    auto problem = check_name(name);
    if (!problem) return;
    // What stands in the file is another text where it was written with escapes.
    std::string written = json::to_text(Value(name));
    written = written.substr(1, written.size() - 2);
    if (text_.find(name) != std::string::npos) written = name;
    if (text_.find(written) == std::string::npos) written = fmt::format("{}:", key);
    error(written, key, std::move(problem->message), std::move(problem->advice));
  }

  // Nobody sees them, in a log or in a list of nodes.
  void check_control(const Value& value, std::string_view key, int depth) {
    const auto text = value.as_string();
    const bool control = text && std::ranges::any_of(*text, [](char c) {
                           const auto byte = static_cast<unsigned char>(c);
                           return (byte < 0x20 && !is_conf_space(c)) || byte == 0x7f;
                         });
    if (control) {
      error(fmt::format("{}:", key), key,
            fmt::format("there is a control character in {}", quoted(*text)), "remove it");
    }
    if (depth > kMaxDepth) return;
    for (const auto [name, member] : value.members()) check_control(member, name, depth + 1);
    for (const Value& item : value) check_control(item, key, depth + 1);
  }

  bool check_hosts(const std::string& list, std::string_view key) {
    const auto hosts = findings_.hosts(list);
    if (hosts) return true;
    error(list, key, fmt::format("{} is no hostlist: {}", quoted(list), hosts.error().message()),
          "use for example node[1-3,7]");
    return false;
  }

  void check_blocks(const Value& value) {
    check_members(value, {"block_sizes", "blocks"});
    check_units(value, "blocks", "block");
    const Value* sizes = value.find("block_sizes");
    if (sizes == nullptr || sizes->is_null()) return;
    std::int64_t base = 0;
    const std::size_t count = sizes->is_array() ? sizes->size() : 1;
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = (sizes->is_array() ? sizes->at(i) : *sizes).as_int();
      if (base == 0 && size) base = *size;
      const bool fits = size && *size > 0 && base > 0 && *size % base == 0 &&
                        std::has_single_bit(static_cast<std::uint64_t>(*size / base)) &&
                        (*size / base) < (std::int64_t{1} << kBlockLevels);
      if (fits) continue;
      error("block_sizes", "block_sizes", "each must be the first one times 1, 2, 4, 8 and so on",
            "use for example [4, 8, 16]");
      return;
    }
  }

  void check_tree(const Value& value, const std::string& name) {
    check_members(value, {"switches"});
    const std::vector<const Value*> switches = check_units(value, "switches", "switch");
    std::map<std::string, std::vector<std::string>> children;
    for (const Value* item : switches) {
      check_members(*item, {"switch", "children", "nodes"});
      const std::string label = *scalar(*item->find("switch"));
      std::vector<std::string>& below = children[label];
      const auto list = text(*item, "children");
      if (!list) continue;
      if (item->find("nodes") != nullptr) {
        warn(label, "children",
             fmt::format("switch {} has nodes; its children are ignored", quoted(label)),
             "remove one of them");
      } else if (check_hosts(*list, "children")) {
        below = findings_.hosts(*list).value_or(std::vector<std::string>());
      }
    }
    std::set<std::string>& known = found_.trees[name];
    for (const auto& [label, below] : children) known.insert(label);
    check_children(children);
  }

  void check_children(const std::map<std::string, std::vector<std::string>>& children) {
    for (const auto& [label, below] : children) {
      for (const std::string& child : below) {
        if (children.contains(child) && child != label) continue;
        error(label, "children",
              fmt::format("switch {} cannot have {} below it", quoted(label), quoted(child)),
              "name other switches of this tree");
        return;
      }
    }
    std::set<std::string> done;
    for (int depth = 0; depth <= kMaxDepth && done.size() < children.size(); ++depth) {
      for (const auto& [label, below] : children) {
        if (std::ranges::all_of(below, [&](const auto& child) { return done.contains(child); })) {
          done.insert(label);
        }
      }
    }
    if (done.size() < children.size()) {
      error("switches", "children", "the switches are no tree", "remove the loop");
    }
  }

  const std::string& text_;
  Findings& findings_;
  Topologies found_;
};

void collect_nodes(const Value& value, std::vector<std::string>& lists, int depth) {
  if (depth > kMaxDepth) return;
  if (const Value* nodes = value.find("nodes")) {
    if (const auto list = scalar(*nodes)) lists.push_back(*list);
  }
  for (const auto [key, member] : value.members()) collect_nodes(member, lists, depth + 1);
  for (const Value& item : value) collect_nodes(item, lists, depth + 1);
}

}  // namespace

Topologies read_topologies(const std::string& text, Findings& findings) {
  return TopologyCheck(text, findings).run();
}

void check_topology_nodes(const std::string& text, const Cluster& cluster, Findings& findings) {
  const auto document = parse_topology_yaml(text);
  if (!document) return;
  std::vector<std::string> lists;
  collect_nodes(*document, lists, 0);
  for (const std::string& list : lists) {
    const auto names = findings.hosts(list);
    if (!names) continue;
    for (const std::string& name : *names) {
      if (cluster.nodes.contains(name)) continue;
      if (findings.full()) return;
      const auto before = static_cast<std::ptrdiff_t>(std::min(text.find(list), text.size()));
      const auto line = 1 + std::count(text.begin(), text.begin() + before, '\n');
      findings.add({Severity::kWarning, std::string(kFile), static_cast<std::size_t>(line), "nodes",
                    fmt::format("slurm.conf has no node {}", quoted(name)),
                    "leave out nodes that do not exist yet"});
      break;
    }
  }
}

}  // namespace mainspring::slurm::linting
