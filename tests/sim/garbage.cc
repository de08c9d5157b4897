#include "sim/garbage.h"

#include <algorithm>
#include <utility>

#include "sim/meta.h"

namespace mainspring::sim {

using json::Value;

void Garbage::wake() {
  if (std::exchange(awake_, true)) return;
  timer_.emplace(executor_, delay_, [this] {
    awake_ = false;
    collect();
  });
}

void Garbage::collect() {
  while (sweep()) {
  }
}

std::vector<Garbage::Item> Garbage::everything() const {
  std::vector<Item> items;
  for (const auto& kind : kinds_.stored()) {
    for (const auto& [key, object] : storage_.all(kind->collection()))
      items.push_back({kind, object});
  }
  return items;
}

bool Garbage::sweep() {
  bool changed = false;
  for (const Item& item : everything()) {
    // An earlier step of this sweep may have changed or removed it.
    if (storage_.get(item.kind->collection(), key_of(*item.object)) != item.object) continue;
    changed = empty_namespace(item) || orphan_dependents(item) || finish_foreground(item) ||
              sweep_owners(item) || changed;
  }
  return changed;
}

Object Garbage::owner(const Value& reference, std::string_view ns) const {
  const auto kind =
      kinds_.find_kind(text_at(reference, "/apiVersion"), text_at(reference, "/kind"));
  if (kind == nullptr) return nullptr;
  Object found = storage_.get(kind->collection(),
                              storage_key(kind->resource.namespaced ? ns : std::string_view(),
                                          text_at(reference, "/name")));
  return found != nullptr && uid_of(*found) == text_at(reference, "/uid") ? found : nullptr;
}

std::vector<Garbage::Item> Garbage::dependents_of(std::string_view uid) const {
  std::vector<Item> found;
  for (Item& item : everything()) {
    const Value* references = item.object->at_pointer("/metadata/ownerReferences");
    if (references == nullptr) continue;
    const bool owned = std::any_of(references->begin(), references->end(),
                                   [&](const Value& r) { return text_at(r, "/uid") == uid; });
    if (owned) found.push_back(std::move(item));
  }
  return found;
}

void Garbage::write(const Item& item, Value object) {
  const auto made = [&](const Value&) -> Result<Value> { return object; };
  (void)registry_.patch(*item.kind, namespace_of(*item.object), name_of(*item.object), made,
                        {.manager = "kube-controller-manager"});
}

bool Garbage::sweep_owners(const Item& item) {
  const Value* references = item.object->at_pointer("/metadata/ownerReferences");
  if (references == nullptr || references->empty()) return false;
  Value solid = Value::array();
  bool awaited = false;
  for (const Value& reference : *references) {
    const Object found = owner(reference, namespace_of(*item.object));
    if (found == nullptr) continue;
    const bool waits = is_being_deleted(*found) && has_finalizer(*found, "foregroundDeletion");
    if (waits) {
      awaited = true;
    } else {
      solid.push_back(reference);
    }
  }
  if (solid.size() == references->size()) return false;
  if (!solid.empty()) {
    Value object = *item.object;
    object["metadata"]["ownerReferences"] = std::move(solid);
    write(item, std::move(object));
    return true;
  }
  if (is_being_deleted(*item.object)) return false;
  // Dependents of what is deleted in the foreground go the same way, so that they go first.
  const bool deep = awaited && !dependents_of(uid_of(*item.object)).empty();
  const RemoveOptions options{.propagation = deep ? "Foreground" : "Background",
                              .uid = std::string(uid_of(*item.object))};
  return registry_.remove(*item.kind, namespace_of(*item.object), name_of(*item.object), options)
      .has_value();
}

bool Garbage::finish_foreground(const Item& item) {
  if (!is_being_deleted(*item.object) || !has_finalizer(*item.object, "foregroundDeletion")) {
    return false;
  }
  for (const Item& dependent : dependents_of(uid_of(*item.object))) {
    for (const Value& reference : *dependent.object->at_pointer("/metadata/ownerReferences")) {
      const Value* blocks = reference.find("blockOwnerDeletion");
      if (text_at(reference, "/uid") == uid_of(*item.object) && blocks != nullptr &&
          blocks->as_bool().value_or(false)) {
        return false;
      }
    }
  }
  Value object = *item.object;
  remove_finalizer(object, "foregroundDeletion");
  write(item, std::move(object));
  return true;
}

bool Garbage::orphan_dependents(const Item& item) {
  if (!is_being_deleted(*item.object) || !has_finalizer(*item.object, "orphan")) return false;
  for (const Item& dependent : dependents_of(uid_of(*item.object))) {
    Value object = *dependent.object;
    Value kept = Value::array();
    for (const Value& reference : object["metadata"]["ownerReferences"]) {
      if (text_at(reference, "/uid") != uid_of(*item.object)) kept.push_back(reference);
    }
    object["metadata"]["ownerReferences"] = std::move(kept);
    write(dependent, std::move(object));
  }
  Value object = *item.object;
  remove_finalizer(object, "orphan");
  write(item, std::move(object));
  return true;
}

bool Garbage::empty_namespace(const Item& item) {
  if (item.kind->collection() != "namespaces" || !is_being_deleted(*item.object)) return false;
  bool changed = false;
  bool empty = true;
  for (const Item& inside : everything()) {
    if (namespace_of(*inside.object) != name_of(*item.object)) continue;
    empty = false;
    if (is_being_deleted(*inside.object)) continue;
    const auto removed = registry_.remove(*inside.kind, namespace_of(*inside.object),
                                          name_of(*inside.object), {.propagation = "Background"});
    changed = removed.has_value() || changed;
  }
  if (!empty) return changed;
  Value object = *item.object;
  Value* finalizers = object.at_pointer("/spec/finalizers");
  if (finalizers == nullptr) return false;
  for (std::size_t i = finalizers->size(); i-- > 0;) {
    if (finalizers->at(i) == Value("kubernetes")) finalizers->erase_at(i);
  }
  if (!finalizers->empty()) return false;
  const std::string key = key_of(object);
  storage_.erase(item.kind->collection(), key, std::move(object));
  return true;
}

}  // namespace mainspring::sim
