// kube/node_affinity.h
//
// Node selectors and node affinity, judged as kube-scheduler judges them: terms are ORed, the
// conditions of a term ANDed, an empty term matches no node, and so does one that the scheduler
// would refuse to parse. Values and pure functions; a node is known by its metadata.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kube/compact.h"
#include "kube/label_selector.h"
#include "kube/meta.h"

namespace mainspring::kube {

// A condition on metadata.name, the only field of nodes that can be selected.
struct NodeFieldRequirement {
  std::string field;
  std::string value;
  bool equal = true;

  bool operator==(const NodeFieldRequirement&) const = default;
};

struct NodeSelectorTerm {
  std::vector<LabelRequirement> labels;
  std::vector<NodeFieldRequirement> fields;
  bool valid = true;

  bool matches(const Meta& node) const;
  bool operator==(const NodeSelectorTerm&) const = default;
};
// Also the terms of a StorageClass's allowedTopologies, whose operator is always In.
bool read(json::Reader& reader, NodeSelectorTerm& out);

struct NodeSelector {
  Seq<NodeSelectorTerm> terms;

  bool matches(const Meta& node) const;
  bool operator==(const NodeSelector&) const = default;
};

constexpr auto json_fields(json::Tag<NodeSelector>) {
  return json::fields(json::field("nodeSelectorTerms", &NodeSelector::terms));
}

struct PreferredNodes {
  NodeSelectorTerm term;
  std::int32_t weight = 0;

  bool operator==(const PreferredNodes&) const = default;
};

constexpr auto json_fields(json::Tag<PreferredNodes>) {
  return json::fields(json::field("preference", &PreferredNodes::term),
                      json::field("weight", &PreferredNodes::weight));
}

struct NodeAffinity {
  Rare<NodeSelector> required;  // Absent: every node.
  Seq<PreferredNodes> preferred;

  bool allows(const Meta& node) const { return !required || required->matches(node); }
  // The weights of all preferred terms that match.
  std::int64_t score(const Meta& node) const;
  bool operator==(const NodeAffinity&) const = default;
};

constexpr auto json_fields(json::Tag<NodeAffinity>) {
  return json::fields(
      json::field("requiredDuringSchedulingIgnoredDuringExecution", &NodeAffinity::required),
      json::field("preferredDuringSchedulingIgnoredDuringExecution", &NodeAffinity::preferred));
}

// spec.nodeSelector: every label with exactly this value.
bool matches_node_selector(const json::StringMap& selector, const Meta& node);

}  // namespace mainspring::kube
