// api/schema.h
//
// OpenAPI schemas as CustomResourceDefinitions carry them, written so that a kind reads like a
// table:
//
//   object("How many workers.", {
//       {"enabled", boolean("Whether to.").required().by_default(false)},
//       {"replicas", int32("How many.").by_default(1).at_least(0)},
//   }).rule("self.enabled || self.replicas == 0", "replicas needs enabled")
//
// Every schema has a description of one sentence, which `kubectl explain` shows. A value; pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "json/value.h"

namespace mainspring::api::schema {

class Schema {
 public:
  struct Property;

  Schema(std::string_view type, std::string_view description);

  Schema& required();  // In the object that it is a property of.
  Schema& by_default(json::Value value);
  Schema& one_of(std::initializer_list<std::string_view> words);
  Schema& matching(std::string_view pattern);
  Schema& formatted(std::string_view format);
  Schema& at_least(std::int64_t minimum);
  Schema& length(std::int64_t least, std::int64_t most);  // 0: no least.
  Schema& nullable();
  // The list or the map belongs as a whole to whoever applied it last.
  Schema& atomic();
  // A list whose elements are told apart by one member.
  Schema& keyed_by(std::string_view member);
  // A rule in CEL, and what to do if it is broken.
  Schema& rule(std::string_view cel, std::string_view message);

  bool is_required() const { return required_; }
  const json::Value& value() const { return value_; }

 private:
  friend Schema int_or_string(std::string_view description);
  friend Schema kept(std::string_view description);
  friend Schema anything(std::string_view description);
  friend Schema list(std::string_view description, const Schema& item);
  friend Schema map(std::string_view description, const Schema& item);
  friend Schema object(std::string_view description, std::initializer_list<Property> properties);

  json::Value value_;
  bool required_ = false;
};

struct Schema::Property {
  std::string_view name;
  Schema schema;
};

Schema string(std::string_view description);
Schema boolean(std::string_view description);
Schema integer(std::string_view description);
Schema int32(std::string_view description);
Schema int64(std::string_view description);
Schema date_time(std::string_view description);
Schema int_or_string(std::string_view description);
Schema quantity(std::string_view description);
Schema list(std::string_view description, const Schema& item);
Schema map(std::string_view description, const Schema& item);
Schema object(std::string_view description, std::initializer_list<Schema::Property> properties);
// An object of which the server keeps every field and checks none.
Schema kept(std::string_view description);
// The same for any JSON value.
Schema anything(std::string_view description);

}  // namespace mainspring::api::schema
