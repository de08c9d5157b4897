#include "api/schema.h"

#include <utility>

namespace mainspring::api::schema {
namespace {

constexpr std::string_view kKeepUnknown = "x-kubernetes-preserve-unknown-fields";

// What Kubernetes writes and reads as resource.Quantity.
constexpr std::string_view kQuantity =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";

}  // namespace

Schema::Schema(std::string_view type, std::string_view description)
    : value_(json::Value::object()) {
  if (!description.empty()) value_.set("description", description);
  if (!type.empty()) value_.set("type", type);
}

Schema& Schema::required() {
  required_ = true;
  return *this;
}

Schema& Schema::by_default(json::Value value) {
  value_.set("default", std::move(value));
  return *this;
}

Schema& Schema::one_of(std::initializer_list<std::string_view> words) {
  json::Value& list = value_.set("enum", json::Value::array());
  for (const std::string_view word : words) list.push_back(word);
  return *this;
}

Schema& Schema::matching(std::string_view pattern) {
  value_.set("pattern", pattern);
  return *this;
}

Schema& Schema::formatted(std::string_view format) {
  value_.set("format", format);
  return *this;
}

Schema& Schema::at_least(std::int64_t minimum) {
  value_.set("minimum", minimum);
  return *this;
}

Schema& Schema::length(std::int64_t least, std::int64_t most) {
  if (least > 0) value_.set("minLength", least);
  value_.set("maxLength", most);
  return *this;
}

Schema& Schema::nullable() {
  value_.set("nullable", true);
  return *this;
}

Schema& Schema::atomic() {
  const bool is_list = value_.find("items") != nullptr;
  value_.set(is_list ? "x-kubernetes-list-type" : "x-kubernetes-map-type", "atomic");
  return *this;
}

Schema& Schema::keyed_by(std::string_view member) {
  value_.set("x-kubernetes-list-type", "map");
  value_.set("x-kubernetes-list-map-keys", json::Value::array({member}));
  return *this;
}

Schema& Schema::rule(std::string_view cel, std::string_view message) {
  value_["x-kubernetes-validations"].push_back(
      json::Value::object({{"rule", cel}, {"message", message}}));
  return *this;
}

Schema string(std::string_view description) { return {"string", description}; }
Schema boolean(std::string_view description) { return {"boolean", description}; }
Schema integer(std::string_view description) { return {"integer", description}; }
Schema int32(std::string_view description) { return integer(description).formatted("int32"); }
Schema int64(std::string_view description) { return integer(description).formatted("int64"); }
Schema date_time(std::string_view description) {
  return string(description).formatted("date-time");
}

Schema int_or_string(std::string_view description) {
  Schema out("", description);
  out.value_.set("anyOf", json::Value::array({json::Value::object({{"type", "integer"}}),
                                              json::Value::object({{"type", "string"}})}));
  out.value_.set("x-kubernetes-int-or-string", true);
  return out;
}

Schema quantity(std::string_view description) {
  return int_or_string(description).matching(kQuantity);
}

Schema list(std::string_view description, const Schema& item) {
  Schema out("array", description);
  out.value_.set("items", item.value());
  return out;
}

Schema map(std::string_view description, const Schema& item) {
  Schema out("object", description);
  out.value_.set("additionalProperties", item.value());
  return out;
}

Schema object(std::string_view description, std::initializer_list<Schema::Property> properties) {
  Schema out("object", description);
  json::Value& members = out.value_.set("properties", json::Value::object());
  json::Value required = json::Value::array();
  for (const auto& [name, schema] : properties) {
    members.set(name, schema.value());
    if (schema.is_required()) required.push_back(name);
  }
  if (!required.empty()) out.value_.set("required", std::move(required));
  return out;
}

Schema kept(std::string_view description) {
  Schema out("object", description);
  out.value_.set(kKeepUnknown, true);
  return out;
}

Schema anything(std::string_view description) {
  Schema out("", description);
  out.value_.set(kKeepUnknown, true);
  return out;
}

}  // namespace mainspring::api::schema
