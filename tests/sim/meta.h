// tests/sim/meta.h
//
// Short ways to the parts of an object that every kind has. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "sim/storage.h"

namespace mainspring::sim {

// "" where there is nothing, or no string.
inline std::string_view text_at(const json::Value& value, std::string_view pointer) {
  const json::Value* found = value.at_pointer(pointer);
  return found == nullptr ? std::string_view() : found->as_string().value_or("");
}
inline std::string_view name_of(const json::Value& object) {
  return text_at(object, "/metadata/name");
}
inline std::string_view namespace_of(const json::Value& object) {
  return text_at(object, "/metadata/namespace");
}
inline std::string_view uid_of(const json::Value& object) {
  return text_at(object, "/metadata/uid");
}
inline std::string_view version_of(const json::Value& object) {
  return text_at(object, "/metadata/resourceVersion");
}
inline std::string key_of(const json::Value& object) {
  return storage_key(namespace_of(object), name_of(object));
}
inline bool is_being_deleted(const json::Value& object) {
  return !text_at(object, "/metadata/deletionTimestamp").empty();
}
inline bool has_finalizers(const json::Value& object) {
  const json::Value* list = object.at_pointer("/metadata/finalizers");
  return list != nullptr && !list->empty();
}
bool has_finalizer(const json::Value& object, std::string_view name);
void add_finalizer(json::Value& object, std::string_view name);
void remove_finalizer(json::Value& object, std::string_view name);

}  // namespace mainspring::sim
