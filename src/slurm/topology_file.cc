#include "slurm/topology_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "json/yaml.h"

namespace mainspring::slurm {
namespace {

using json::Value;

std::string about(const Value& topology) {
  const Value* name = topology.find("topology");
  return "topology " + quoted(name == nullptr ? "" : name->as_string().value_or(""));
}

// Slurm takes a number or a word where it wants text, and nothing for null.
Result<std::string> read_text(const Value& object, std::string_view key) {
  const Value* value = object.find(key);
  if (value == nullptr || value->is_null()) return std::string();
  if (const auto text = value->as_string()) return std::string(*text);
  if (!value->is_array() && !value->is_object()) return json::to_text(*value);
  return fail(Code::kInvalid,
              fmt::format("{}: it must be one text, not a list or a map; use a hostlist such as "
                          "n[1-4]",
                          key));
}

Result<std::vector<TopologyUnit>> read_units(const Value& shape, std::string_view list,
                                             std::string_view unit) {
  std::vector<TopologyUnit> units;
  const Value* values = shape.find(list);
  if (values == nullptr || values->is_null()) return units;
  if (!values->is_array()) return fail(Code::kInvalid, fmt::format("{}: it must be a list", list));
  for (const Value& value : *values) {
    if (!value.is_object()) {
      return fail(Code::kInvalid,
                  fmt::format("{}: each must be a map; begin it with \"- {}: name\"", list, unit));
    }
    TopologyUnit made;
    MS_TRY(made.name, read_text(value, unit));
    MS_TRY(made.nodes, read_text(value, "nodes"));
    MS_TRY(made.children, read_text(value, "children"));
    units.push_back(std::move(made));
  }
  return units;
}

Result<std::vector<std::int64_t>> read_sizes(const Value& shape) {
  std::vector<std::int64_t> sizes;
  const Value* value = shape.find("block_sizes");
  if (value == nullptr || value->is_null()) return sizes;
  const std::size_t count = value->is_array() ? value->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = (value->is_array() ? value->at(i) : *value).as_int();
    if (!size) return fail(Code::kInvalid, "block_sizes: they must be whole numbers, as [4, 8]");
    sizes.push_back(*size);
  }
  return sizes;
}

using Shape = decltype(Topology::shape);

Result<Shape> read_tree(const Value& value) {
  TreeTopology tree;
  MS_TRY(tree.switches, read_units(value, "switches", "switch"));
  return Shape(std::move(tree));
}
Result<Shape> read_block(const Value& value) {
  BlockTopology block;
  MS_TRY(block.sizes, read_sizes(value));
  MS_TRY(block.blocks, read_units(value, "blocks", "block"));
  return Shape(std::move(block));
}
Result<Shape> read_ring(const Value& value) {
  RingTopology ring;
  MS_TRY(ring.rings, read_units(value, "rings", "ring"));
  return Shape(std::move(ring));
}
Result<Shape> read_torus(const Value& value) { return Shape(TorusTopology{value}); }
Result<Shape> read_flat(const Value&) { return Shape(FlatTopology{}); }

struct Kind {
  std::string_view key;
  Result<Shape> (*read)(const Value& value);
};
constexpr auto kKinds = std::to_array<Kind>({{"tree", read_tree},
                                             {"block", read_block},
                                             {"ring", read_ring},
                                             {"torus3d", read_torus},
                                             {"flat", read_flat}});

// "flat: false" and an empty map are as if the key were not there.
bool is_used(const Value* value) {
  if (value == nullptr || value->is_null()) return false;
  if (value->is_object()) return !value->empty();
  return value->as_bool().value_or(true);
}

Result<Shape> read_shape(const Value& topology) {
  const Kind* found = nullptr;
  for (const Kind& kind : kKinds) {
    if (!is_used(topology.find(kind.key))) continue;
    if (found != nullptr) {
      return fail(Code::kInvalid,
                  fmt::format("{} and {} exclude each other", found->key, kind.key));
    }
    found = &kind;
  }
  if (found == nullptr) {
    return fail(Code::kInvalid,
                "no kind of topology is given; give one of tree, block, ring, torus3d and flat");
  }
  const Value& value = *topology.find(found->key);
  if (found->key != "flat" && !value.is_object()) {
    return fail(Code::kInvalid, fmt::format("{}: it must be a map", found->key));
  }
  return with_context(found->read(value), std::string(found->key));
}

Result<Topology> read_one(const Value& value) {
  Topology topology;
  MS_TRY(topology.name, read_text(value, "topology"));
  if (const Value* flag = value.find("cluster_default"); flag != nullptr && !flag->is_null()) {
    const auto given = flag->as_bool();
    if (!given) return fail(Code::kInvalid, "cluster_default: it must be true or false");
    topology.cluster_default = *given;
  }
  MS_TRY(topology.shape, read_shape(value));
  return topology;
}

// Words that YAML, or Slurm, takes for something else than text.
bool is_word_of_yaml(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "yes",  "no",  "on",       "off",
                                         "y",    "n",     "null", "inf", "infinity", "nan"};
  return std::ranges::any_of(kWords,
                             [&](std::string_view word) { return equals_ignore_case(word, text); });
}

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_plain(std::string_view text) {
  return !text.empty() && is_letter(text.front()) && !is_word_of_yaml(text) &&
         std::ranges::all_of(text, [](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') ||
                  std::string_view("_.,-[]").find(c) != std::string_view::npos;
         });
}

class Writer {
 public:
  void add(const Topology& topology) {
    out_ += "- topology: ";
    add_text(topology.name);
    if (topology.cluster_default) out_ += "  cluster_default: true\n";
    std::visit([this](const auto& shape) { add_shape(shape); }, topology.shape);
  }

  Result<std::string> finish() && {
    if (refused_) {
      return fail(Code::kInvalid, quoted(*refused_) +
                                      " cannot stand in topology.yaml; use ASCII "
                                      "without line breaks");
    }
    return std::move(out_);
  }

 private:
  void add_shape(const FlatTopology&) { out_ += "  flat: true\n"; }
  void add_shape(const TreeTopology& tree) {
    out_ += "  tree:\n";
    add_units("switches", "switch", tree.switches);
  }
  void add_shape(const BlockTopology& block) {
    out_ += "  block:\n";
    if (!block.sizes.empty()) {
      out_ += fmt::format("    block_sizes: [{}]\n", fmt::join(block.sizes, ", "));
    }
    add_units("blocks", "block", block.blocks);
  }
  void add_shape(const RingTopology& ring) {
    out_ += "  ring:\n";
    add_units("rings", "ring", ring.rings);
  }
  // JSON is YAML.
  void add_shape(const TorusTopology& torus) {
    const std::string text = json::to_text(torus.members);
    refuse_if_odd(text);
    out_ += "  torus3d: " + text + "\n";
  }

  void add_units(std::string_view list, std::string_view unit,
                 const std::vector<TopologyUnit>& units) {
    out_ += fmt::format("    {}:{}\n", list, units.empty() ? " []" : "");
    for (const TopologyUnit& each : units) {
      out_ += fmt::format("      - {}: ", unit);
      add_text(each.name);
      add_member("children", each.children);
      add_member("nodes", each.nodes);
    }
  }

  void add_member(std::string_view key, const std::string& value) {
    if (value.empty()) return;
    out_ += fmt::format("        {}: ", key);
    add_text(value);
  }

  void add_text(const std::string& text) {
    refuse_if_odd(text);
    out_ += is_plain(text) ? text : json::to_text(Value(text));
    out_ += '\n';
  }

  void refuse_if_odd(const std::string& text) {
    const bool printable = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
    if (!printable && !refused_) refused_ = text;
  }

  std::string out_;
  std::optional<std::string> refused_;
};

}  // namespace

Result<Value> parse_topology_yaml(std::string_view text) {
  return json::parse_yaml(
      text,
      {.max_bytes = std::size_t{1} << 20, .max_depth = 32, .max_copied = std::size_t{1} << 20});
}

Result<std::vector<Topology>> read_topology(std::string_view text) {
  MS_TRY(const Value document, parse_topology_yaml(text));
  std::vector<Topology> topologies;
  if (!document.is_object() && !document.is_array() && !document.is_null()) {
    return fail(Code::kInvalid, "it must be a list of topologies");
  }
  // A single one may stand without a list.
  const std::size_t count = document.is_object() ? 1 : document.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = document.is_object() ? document : document.at(i);
    if (!value.is_object()) {
      return fail(Code::kInvalid, "a topology must be a map; begin it with \"- topology: name\"");
    }
    MS_TRY(Topology topology, with_context(read_one(value), about(value)));
    topologies.push_back(std::move(topology));
  }
  return topologies;
}

Result<std::string> render_topology(std::span<const Topology> topologies) {
  if (topologies.empty()) return fail(Code::kInvalid, "slurmctld crashes on a list of none");
  Writer writer;
  for (const Topology& topology : topologies) writer.add(topology);
  return std::move(writer).finish();
}

}  // namespace mainspring::slurm
