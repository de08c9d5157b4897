#include "kube/node_affinity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "json/fields.h"

namespace mainspring::kube {

namespace {

struct Expression {
  std::string key;
  std::string op = "In";
  std::vector<std::string> values;
};

constexpr auto json_fields(json::Tag<Expression>) {
  return json::fields(json::field("key", &Expression::key),
                      json::field("operator", &Expression::op),
                      json::field("values", &Expression::values));
}

std::optional<LabelOperator> parse_operator(std::string_view text) {
  constexpr std::pair<std::string_view, LabelOperator> kOperators[] = {
      {"In", LabelOperator::kIn},          {"NotIn", LabelOperator::kNotIn},
      {"Exists", LabelOperator::kExists},  {"DoesNotExist", LabelOperator::kDoesNotExist},
      {"Gt", LabelOperator::kGreaterThan}, {"Lt", LabelOperator::kLessThan},
  };
  for (const auto& [name, op] : kOperators) {
    if (name == text) return op;
  }
  return std::nullopt;
}

void add_label(Expression expression, NodeSelectorTerm& term) {
  const auto op = parse_operator(expression.op);
  if (!op) {
    term.valid = false;
    return;
  }
  auto requirement = LabelRequirement::make(expression.key, *op, std::move(expression.values));
  if (!requirement) {
    term.valid = false;
    return;
  }
  term.labels.push_back(*std::move(requirement));
}

void add_field(Expression expression, NodeSelectorTerm& term) {
  const bool equal = expression.op == "In";
  if ((!equal && expression.op != "NotIn") || expression.values.size() != 1) {
    term.valid = false;
    return;
  }
  term.fields.push_back({std::move(expression.key), std::move(expression.values.front()), equal});
}

}  // namespace

bool read(json::Reader& reader, NodeSelectorTerm& out) {
  out = {};
  return reader.object([&](std::string_view key) {
    const bool labels = key == "matchExpressions" || key == "matchLabelExpressions";
    if (!labels && key != "matchFields") return;
    reader.array([&] {
      Expression expression;
      if (!read(reader, expression)) return;
      labels ? add_label(std::move(expression), out) : add_field(std::move(expression), out);
    });
  });
}

bool NodeSelectorTerm::matches(const Meta& node) const {
  if (!valid || (labels.empty() && fields.empty())) return false;
  return std::all_of(labels.begin(), labels.end(),
                     [&](const auto& label) { return label.matches(node.labels); }) &&
         std::all_of(fields.begin(), fields.end(), [&](const NodeFieldRequirement& f) {
           const std::string_view actual =
               f.field == "metadata.name" ? std::string_view(node.name) : std::string_view();
           return (actual == f.value) == f.equal;
         });
}

bool NodeSelector::matches(const Meta& node) const {
  return std::any_of(terms.begin(), terms.end(),
                     [&](const NodeSelectorTerm& term) { return term.matches(node); });
}

std::int64_t NodeAffinity::score(const Meta& node) const {
  std::int64_t sum = 0;
  for (const PreferredNodes& nodes : preferred) {
    if (nodes.term.matches(node)) sum += nodes.weight;
  }
  return sum;
}

bool matches_node_selector(const json::StringMap& selector, const Meta& node) {
  return std::all_of(selector.begin(), selector.end(), [&](const json::StringMap::Member& label) {
    return node.labels.find(label.first) == label.second;
  });
}

}  // namespace mainspring::kube
