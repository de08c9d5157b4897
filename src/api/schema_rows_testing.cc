#include "api/schema_rows_testing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace mainspring::api {
namespace {

using json::Value;

std::string scalar(const Value& value) {
  if (const auto text = value.as_string()) return fmt::format("'{}'", *text);
  if (const auto flag = value.as_bool()) return *flag ? "True" : "False";
  return json::to_text(value);
}

std::string words(const Value& list, std::string_view separator) {
  std::vector<std::string> out;
  for (const Value& word : list) out.emplace_back(word.as_string().value_or("?"));
  return join(out, separator);
}

// Null where the keyword says nothing about what is valid.
std::optional<std::string> rule_of(std::string_view keyword, const Value& value) {
  if (keyword == "enum") return "enum=" + words(value, "|");
  if (keyword == "x-kubernetes-list-map-keys") {
    return fmt::format("{}=['{}']", keyword, words(value, "', '"));
  }
  if (keyword == "default") return "default=" + scalar(value);
  for (const std::string_view known :
       {"pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "format",
        "nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-map-type",
        "x-kubernetes-list-type"}) {
    if (keyword != known) continue;
    const auto text = value.as_string();
    return fmt::format("{}={}", keyword, text ? std::string(*text) : scalar(value));
  }
  return std::nullopt;
}

std::set<std::string> rules_of(const Value& schema) {
  std::set<std::string> rules;
  for (const auto& [keyword, value] : schema.members()) {
    if (auto rule = rule_of(keyword, value)) rules.insert(*rule);
    if (keyword != "x-kubernetes-validations") continue;
    for (const Value& entry : value) {
      rules.insert(fmt::format("cel={}", entry.find("rule")->as_string().value_or("")));
    }
  }
  return rules;
}

std::string type_of(const Value& schema) {
  if (schema.find("x-kubernetes-int-or-string") != nullptr) return "int-or-string";
  const Value* const type = schema.find("type");
  return type == nullptr ? "any" : std::string(type->as_string().value_or(""));
}

void add_rows(const SchemaRow& of, const Value& schema, std::vector<SchemaRow>& out) {
  SchemaRow row = of;
  row.type = type_of(schema);
  row.rules = rules_of(schema);
  out.push_back(row);
  if (const Value* const items = schema.find("items")) {
    add_rows({of.kind, of.version, of.path + "[]", "", false, {}}, *items, out);
  }
  if (const Value* const values = schema.find("additionalProperties")) {
    add_rows({of.kind, of.version, of.path + "{}", "", false, {}}, *values, out);
  }
  const Value* const properties = schema.find("properties");
  if (properties == nullptr) return;
  const Value* const required = schema.find("required");
  for (const auto& [name, property] : properties->members()) {
    const bool must = required != nullptr &&
                      std::find(required->begin(), required->end(), Value(name)) != required->end();
    add_rows({of.kind, of.version, fmt::format("{}.{}", of.path, name), "", must, {}}, property,
             out);
  }
}

}  // namespace

std::vector<SchemaRow> rows_of(const Value& crd) {
  std::vector<SchemaRow> rows;
  const std::string kind(crd.at_pointer("/spec/names/kind")->as_string().value_or(""));
  for (const Value& version : *crd.at_pointer("/spec/versions")) {
    const std::string name(version.find("name")->as_string().value_or(""));
    const Value* const root = version.at_pointer("/schema/openAPIV3Schema");
    for (const std::string_view part : {"spec", "status"}) {
      const Value* const required = root->find("required");
      const bool must = required != nullptr && std::find(required->begin(), required->end(),
                                                         Value(part)) != required->end();
      add_rows({kind, name, fmt::format(".{}", part), "", must, {}},
               *root->find("properties")->find(part), rows);
    }
  }
  return rows;
}

std::vector<SchemaRow> parse_rows(std::string_view table) {
  std::vector<SchemaRow> rows;
  for (const std::string_view line : split(table, '\n')) {
    const auto cells = split(line, '\t');
    if (cells.size() != 6 || cells[0] == "kind") continue;
    SchemaRow row{std::string(cells[0]), std::string(cells[1]),  std::string(cells[2]),
                  std::string(cells[3]), cells[4] == "required", {}};
    std::string_view rest = cells[5];
    while (!rest.empty()) {
      const auto end = rest.find("; ");
      row.rules.emplace(rest.substr(0, end));
      rest = end == std::string_view::npos ? "" : rest.substr(end + 2);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string to_string(const SchemaRow& row) {
  return fmt::format("{} {} {} {} {} {}", row.kind, row.version, row.path, row.type,
                     row.required ? "required" : "optional", fmt::join(row.rules, "; "));
}

}  // namespace mainspring::api
