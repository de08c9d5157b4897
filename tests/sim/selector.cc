#include "sim/selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "sim/refusals.h"

namespace mainspring::sim {
namespace {

using json::Value;

// Commas inside parentheses belong to a set of values.
std::vector<std::string_view> split_requirements(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && depth > 0) --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  if (!trim(text.substr(begin)).empty()) parts.push_back(trim(text.substr(begin)));
  return parts;
}

std::optional<std::vector<std::string>> value_set(std::string_view text) {
  text = trim(text);
  if (text.size() < 2 || text.front() != '(' || text.back() != ')') return std::nullopt;
  std::vector<std::string> values;
  for (const auto part : split(text.substr(1, text.size() - 2), ','))
    values.emplace_back(trim(part));
  return values;
}

std::string text_of(const Value* value) {
  if (value == nullptr || value->is_null()) return "";
  if (const auto text = value->as_string()) return std::string(*text);
  return to_text(*value);
}

}  // namespace

Result<Selector::Requirement> Selector::parse_requirement(std::string_view text) {
  if (text.front() == '!') return Requirement{std::string(trim(text.substr(1))), Op::kAbsent, {}};
  const std::size_t sign = text.find_first_of("=!<>");
  if (sign != std::string_view::npos) {
    Requirement made{std::string(trim(text.substr(0, sign))), Op::kIn, {}};
    std::size_t end = sign + 1;
    if (text[sign] == '!') made.op = Op::kNotIn;
    if (text[sign] == '>') made.op = Op::kAbove;
    if (text[sign] == '<') made.op = Op::kBelow;
    if (end < text.size() && text[end] == '=') ++end;
    made.values.emplace_back(trim(text.substr(end)));
    return made;
  }
  const std::size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return Requirement{std::string(text), Op::kExists, {}};
  const std::string_view rest = trim(text.substr(blank));
  const bool in = rest.starts_with("in");
  auto values = value_set(rest.substr(in ? 2 : std::min<std::size_t>(5, rest.size())));
  if ((!in && !rest.starts_with("notin")) || !values) {
    return fail(bad_request(fmt::format(
        "unable to parse requirement: found '{}', expected: in, notin, =, ==, !=, gt, lt",
        rest.substr(0, rest.find(' ')))));
  }
  return Requirement{std::string(text.substr(0, blank)), in ? Op::kIn : Op::kNotIn,
                     *std::move(values)};
}

Result<Selector> Selector::parse(const Kind& kind, std::string_view labels,
                                 std::string_view fields) {
  Selector selector;
  for (const std::string_view part : split_requirements(labels)) {
    MS_TRY(Requirement requirement, parse_requirement(part));
    selector.labels_.push_back(std::move(requirement));
  }
  for (const std::string_view part : split_requirements(fields)) {
    const std::size_t sign = part.find_first_of("=!");
    if (sign == std::string_view::npos) {
      return fail(
          bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", fields, part)));
    }
    const std::string name(part.substr(0, sign));
    const auto& known = kind.selectable_fields;
    if (name != "metadata.name" && name != "metadata.namespace" &&
        std::find(known.begin(), known.end(), name) == known.end()) {
      return fail(bad_request(fmt::format(
          "\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
          name)));
    }
    std::string pointer = "/" + name;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    const std::string_view value = part.substr(part.find('=') + 1);
    selector.fields_.push_back({std::move(pointer),
                                std::string(value.starts_with('=') ? value.substr(1) : value),
                                part[sign] != '!'});
  }
  return selector;
}

Selector Selector::from_object(const Value& object) {
  Selector selector;
  if (const Value* labels = object.find("matchLabels")) {
    for (const auto [key, value] : labels->members()) {
      selector.labels_.push_back({std::string(key), Op::kIn, {text_of(&value)}});
    }
  }
  const Value* expressions = object.find("matchExpressions");
  if (expressions == nullptr) return selector;
  for (const Value& expression : *expressions) {
    const std::string op = text_of(expression.find("operator"));
    Requirement made{text_of(expression.find("key")), Op::kIn, {}};
    if (op == "NotIn") made.op = Op::kNotIn;
    if (op == "Exists") made.op = Op::kExists;
    if (op == "DoesNotExist") made.op = Op::kAbsent;
    if (const Value* values = expression.find("values")) {
      for (const Value& value : *values) made.values.push_back(text_of(&value));
    }
    selector.labels_.push_back(std::move(made));
  }
  return selector;
}

bool Selector::holds(const Requirement& requirement, const Value* labels) {
  const Value* label = labels == nullptr ? nullptr : labels->find(requirement.key);
  const std::string value = text_of(label);
  const auto& set = requirement.values;
  const bool listed = std::find(set.begin(), set.end(), value) != set.end();
  switch (requirement.op) {
    case Op::kIn:
      return label != nullptr && listed;
    case Op::kNotIn:
      return label == nullptr || !listed;
    case Op::kExists:
      return label != nullptr;
    case Op::kAbsent:
      return label == nullptr;
    case Op::kAbove:
    case Op::kBelow:
      break;
  }
  const auto have = parse_integer<std::int64_t>(value);
  const auto bound = parse_integer<std::int64_t>(set.front());
  if (label == nullptr || !have || !bound) return false;
  return requirement.op == Op::kAbove ? *have > *bound : *have < *bound;
}

bool Selector::matches(const Value& object) const {
  const Value* labels = object.at_pointer("/metadata/labels");
  const auto field_holds = [&](const FieldRequirement& field) {
    return (text_of(object.at_pointer(field.pointer)) == field.value) == field.equal;
  };
  return std::all_of(labels_.begin(), labels_.end(),
                     [&](const Requirement& r) { return holds(r, labels); }) &&
         std::all_of(fields_.begin(), fields_.end(), field_holds);
}

}  // namespace mainspring::sim
