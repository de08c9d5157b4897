// tests/sim/shape.h
//
// How the parts of an object are owned in server-side apply: which lists merge by which keys, which
// lists are sets, and what is atomic. For built-in kinds from a table of the topology that
// Kubernetes publishes in its OpenAPI document, for custom ones from their schema. Plain data,
// shared and never changed after it was made.
//
// What has no shape follows the default: objects are owned member by member, lists as a whole.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

namespace mainspring::sim {

struct Shape {
  enum class List { kAtomic, kSet, kMap };

  bool atomic = false;  // An object that is owned as a whole.
  List list = List::kAtomic;
  std::vector<std::string> keys;                    // Of List::kMap.
  std::map<std::string, json::Value> key_defaults;  // For elements that leave a key out.
  // Go writes this member of a struct even where it is empty, so it does not appear by being set.
  bool always = false;
  // Members without a shape of their own are entries of a map, not fields of a struct.
  bool open = false;
  // Nothing is known of what lies below either: maps of maps, however deep.
  bool unknown = false;
  std::map<std::string, std::shared_ptr<const Shape>, std::less<>> members;
  std::shared_ptr<const Shape> element;  // Of a list, or of a map's entries.

  // Null where the default applies.
  const Shape* member(std::string_view name) const {
    const auto it = members.find(name);
    if (it != members.end()) return it->second.get();
    if (unknown) return this;
    return open ? element.get() : nullptr;
  }
  bool knows(std::string_view name) const { return !open || members.contains(name); }
};

// For a kind that is built in.
std::shared_ptr<const Shape> builtin_shape(std::string_view kind);
// For a custom kind, from its openAPIV3Schema, with the metadata that all kinds share.
std::shared_ptr<const Shape> schema_shape(const json::Value& schema);

}  // namespace mainspring::sim
