#include "json/merge_patch.h"

namespace mainspring::json {
namespace {

void merge_into(Value& target, const Value& patch) {
  if (!patch.is_object()) {
    target = patch;
    return;
  }
  if (!target.is_object()) target = Value::object();
  for (const auto [key, value] : patch.members()) {
    if (value.is_null()) {
      target.erase(key);
    } else {
      merge_into(target[key], value);
    }
  }
}

}  // namespace

Value apply_merge_patch(Value target, const Value& patch) {
  merge_into(target, patch);
  return target;
}

Value make_merge_patch(const Value& from, const Value& to) {
  if (!from.is_object() || !to.is_object()) return to;
  Value patch = Value::object();
  for (const auto [key, before] : from.members()) {
    if (to.find(key) == nullptr) patch.set(key, nullptr);
  }
  for (const auto [key, after] : to.members()) {
    const Value* before = from.find(key);
    if (before == nullptr) {
      patch.set(key, after);
    } else if (!(*before == after)) {
      patch.set(key, make_merge_patch(*before, after));
    }
  }
  return patch;
}

}  // namespace mainspring::json
