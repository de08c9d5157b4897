#include "sim/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string_view>

#include "sim/refusals.h"

namespace mainspring::sim {
namespace {

using json::Value;
using kube::StatusCause;
using Causes = std::vector<StatusCause>;

bool flag(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found != nullptr && found->as_bool().value_or(false);
}

std::string_view text(const Value& schema, std::string_view name) {
  const Value* found = schema.find(name);
  return found == nullptr ? std::string_view() : found->as_string().value_or("");
}

// The schema of a member: its property, or what all others follow. Null where it has none.
const Value* member_schema(const Value& schema, std::string_view name) {
  const Value* properties = schema.find("properties");
  const Value* found = properties == nullptr ? nullptr : properties->find(name);
  if (found != nullptr) return found;
  const Value* more = schema.find("additionalProperties");
  return more != nullptr && more->is_object() ? more : nullptr;
}

bool takes_any_member(const Value& schema) {
  const Value* more = schema.find("additionalProperties");
  return flag(schema, "x-kubernetes-preserve-unknown-fields") ||
         (more != nullptr && (more->is_object() || more->as_bool().value_or(false)));
}

bool is_server_member(std::string_view name, bool object_root) {
  return object_root && (name == "apiVersion" || name == "kind" || name == "metadata");
}

void prune_value(Value& value, const Value& schema, bool object_root) {
  const bool root = object_root || flag(schema, "x-kubernetes-embedded-resource");
  if (value.is_array()) {
    const Value* items = schema.find("items");
    if (items == nullptr) return;
    for (Value& item : value) prune_value(item, *items, false);
    return;
  }
  if (!value.is_object()) return;
  std::vector<std::string> unknown;
  for (auto [name, member] : value.members()) {
    if (is_server_member(name, root)) continue;
    const Value* inner = member_schema(schema, name);
    if (inner != nullptr) {
      prune_value(member, *inner, false);
    } else if (!takes_any_member(schema)) {
      unknown.emplace_back(name);
    }
  }
  for (const std::string& name : unknown) value.erase(name);
}

void default_value(Value& value, const Value& schema) {
  if (value.is_array()) {
    const Value* items = schema.find("items");
    if (items == nullptr) return;
    for (Value& item : value) default_value(item, *items);
    return;
  }
  if (!value.is_object()) return;
  if (const Value* properties = schema.find("properties")) {
    for (const auto [name, property] : properties->members()) {
      const Value* fallback = property.find("default");
      if (fallback == nullptr) continue;
      const Value* present = value.find(name);
      const bool null = present != nullptr && present->is_null() && !flag(property, "nullable");
      if (present == nullptr || null) value.set(name, *fallback);
    }
  }
  for (auto [name, member] : value.members()) {
    if (const Value* inner = member_schema(schema, name)) default_value(member, *inner);
  }
}

std::string_view type_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "null";
    case Value::Kind::kBool:
      return "boolean";
    case Value::Kind::kInt:
    case Value::Kind::kUint:
      return "integer";
    case Value::Kind::kDouble:
      return "number";
    case Value::Kind::kString:
      return "string";
    case Value::Kind::kArray:
      return "array";
    case Value::Kind::kObject:
      return "object";
  }
  return "";
}

bool is_type(const Value& value, std::string_view type) {
  if (type.empty()) return true;
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number() && value.as_int().has_value();
  return type_name(value) == type;
}

StatusCause type_error(const std::string& path, const Value& value, std::string_view expected) {
  return {"FieldValueTypeInvalid",
          fmt::format("Invalid value: \"{0}\": {1} in body must be of type {2}: \"{0}\"",
                      type_name(value), path, expected),
          path};
}

void check_number(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  const double number = value.as_double().value_or(0);
  if (const Value* bound = schema.find("minimum");
      bound && number < bound->as_double().value_or(0)) {
    out.push_back(wrong(
        path, to_text(value),
        fmt::format("{} in body should be greater than or equal to {}", path, to_text(*bound))));
  }
  if (const Value* bound = schema.find("maximum");
      bound && number > bound->as_double().value_or(0)) {
    out.push_back(
        wrong(path, to_text(value),
              fmt::format("{} in body should be less than or equal to {}", path, to_text(*bound))));
  }
}

void check_string(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  const std::string content(value.as_string().value_or(""));
  const auto bound = [&](std::string_view name) {
    const Value* found = schema.find(name);
    return found == nullptr ? std::nullopt : found->as_uint();
  };
  if (const auto most = bound("maxLength"); most && content.size() > *most) {
    out.push_back(
        {"FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", *most), path});
  } else if (const auto least = bound("minLength"); least && content.size() < *least) {
    out.push_back(wrong(path, to_text(value),
                        fmt::format("{} in body should be at least {} chars long", path, *least)));
  } else if (const auto pattern = text(schema, "pattern"); !pattern.empty()) {
    if (!std::regex_search(content, std::regex(std::string(pattern)))) {
      out.push_back(
          wrong(path, to_text(value), fmt::format("{} in body should match '{}'", path, pattern)));
    }
  }
}

void check_enum(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  const Value* allowed = schema.find("enum");
  if (allowed == nullptr) return;
  std::string names;
  for (const Value& choice : *allowed) {
    if (choice == value) return;
    names += (names.empty() ? "" : ", ") + to_text(choice);
  }
  out.push_back(unsupported(path, to_text(value), names));
}

Value element_key(const Value& element, const Value& schema) {
  const Value* keys = schema.find("x-kubernetes-list-map-keys");
  if (text(schema, "x-kubernetes-list-type") != "map" || keys == nullptr) return element;
  Value made = Value::object();
  for (const Value& key : *keys) {
    const std::string_view name = key.as_string().value_or("");
    if (const Value* part = element.find(name)) made.set(name, *part);
  }
  return made;
}

void check_duplicates(const Value& value, const Value& schema, const std::string& path,
                      Causes& out) {
  const std::string_view type = text(schema, "x-kubernetes-list-type");
  if (type != "set" && type != "map") return;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string key = to_text(element_key(value.at(i), schema), {.sort_keys = true});
    if (seen.insert(key).second) continue;
    out.push_back(
        {"FieldValueDuplicate", "Duplicate value: " + key, fmt::format("{}[{}]", path, i)});
  }
}

void check(const Value& value, const Value& schema, const std::string& path, Causes& out);

void check_array(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  if (const Value* most = schema.find("maxItems");
      most && value.size() > most->as_uint().value_or(0)) {
    out.push_back(
        {"FieldValueTooMany",
         fmt::format("Too many: {}: must have at most {} items", value.size(), to_text(*most)),
         path});
  }
  if (const Value* least = schema.find("minItems");
      least && value.size() < least->as_uint().value_or(0)) {
    out.push_back(
        wrong(path, std::to_string(value.size()),
              fmt::format("{} in body should have at least {} items", path, to_text(*least))));
  }
  check_duplicates(value, schema, path, out);
  const Value* items = schema.find("items");
  if (items == nullptr) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    check(value.at(i), *items, fmt::format("{}[{}]", path, i), out);
  }
}

void check_object(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  const auto at = [&](std::string_view name) {
    return path.empty() ? std::string(name) : path + "." + std::string(name);
  };
  if (const Value* names = schema.find("required")) {
    for (const Value& name : *names) {
      const std::string_view wanted = name.as_string().value_or("");
      if (value.find(wanted) == nullptr) out.push_back(required(at(wanted), ""));
    }
  }
  for (const auto [name, member] : value.members()) {
    if (is_server_member(name, path.empty())) continue;
    if (const Value* inner = member_schema(schema, name)) check(member, *inner, at(name), out);
  }
}

void check(const Value& value, const Value& schema, const std::string& path, Causes& out) {
  if (value.is_null() && flag(schema, "nullable")) return;
  const std::string_view type = text(schema, "type");
  if (flag(schema, "x-kubernetes-int-or-string")) {
    if (!is_type(value, "integer") && !value.is_string()) {
      out.push_back(type_error(path, value, "integer,string"));
    }
    return;
  }
  if (!is_type(value, type)) {
    out.push_back(type_error(path, value, type));
    return;
  }
  check_enum(value, schema, path, out);
  if (value.is_number()) check_number(value, schema, path, out);
  if (value.is_string()) check_string(value, schema, path, out);
  if (value.is_array()) check_array(value, schema, path, out);
  if (value.is_object()) check_object(value, schema, path, out);
}

}  // namespace

void Schema::prune(Value& object) const { prune_value(object, root_, true); }
void Schema::set_defaults(Value& object) const { default_value(object, root_); }

Causes Schema::validate(const Value& object) const {
  Causes causes;
  check(object, root_, "", causes);
  return causes;
}

}  // namespace mainspring::sim
