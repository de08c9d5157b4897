// slurm/request_body.h
//
// How requests become JSON: a member for each field that was set, none for the others, because
// Slurm takes a member that is there as an order. Used by the *_request.cc of this room only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "slurm/number.h"

namespace mainspring::slurm {

inline json::Value strings_value(const std::vector<std::string>& items) {
  json::Value list = json::Value::array();
  for (const std::string& item : items) list.push_back(item);
  return list;
}

template <class T>
void add(json::Value& out, std::string_view name, const std::optional<T>& value) {
  if (value) out.set(name, json::Value(*value));
}
inline void add(json::Value& out, std::string_view name,
                const std::optional<std::vector<std::string>>& value) {
  if (value) out.set(name, strings_value(*value));
}
inline void add(json::Value& out, std::string_view name, const std::vector<std::string>& value) {
  if (!value.empty()) out.set(name, strings_value(value));
}
inline void add(json::Value& out, std::string_view name, Number value) {
  if (value.set() || value.is_infinite()) out.set(name, to_json(value));
}
// A part of the object, if anything in it was set.
inline void add_object(json::Value& out, std::string_view name, json::Value value) {
  if (!value.empty()) out.set(name, std::move(value));
}

}  // namespace mainspring::slurm
