// control/owned_fields.cc
//
// fieldsV1 is a tree. "f:NAME" is a member of an object, "k:{...}" an element of a list that is
// known by these members, "v:..." an element of a list of scalars, "." the thing itself. A node
// without children is held whole.
#include "control/owned_fields.h"

#include <algorithm>
#include <string>

namespace mainspring::control {

namespace {

using json::Value;

bool same_tree(const Value& held, const Value& desired, const Value& live);

std::string_view text_of(const Value& object, std::string_view member) {
  const Value* value = object.find(member);
  return value != nullptr ? value->as_string().value_or("") : "";
}

// The element that has all the members of `key`. The server adds defaults to keys (a port's
// protocol), so an element of `desired` may lack some, if it has one of them.
const Value* find_element(const Value& list, const Value& key, bool may_lack) {
  for (const Value& element : list) {
    bool all = true;
    bool any = false;
    for (const auto [name, wanted] : key.members()) {
      const Value* found = element.find(name);
      any |= found != nullptr;
      all &= found != nullptr ? *found == wanted : may_lack;
    }
    if (all && any) return &element;
  }
  return nullptr;
}

bool same_element(std::string_view path, const Value& held, const Value& desired,
                  const Value& live) {
  const auto key = json::parse(path.substr(2));
  if (!key) return false;
  if (path[0] == 'v') {
    return std::find(desired.begin(), desired.end(), *key) != desired.end() &&
           std::find(live.begin(), live.end(), *key) != live.end();
  }
  const Value* ours = find_element(desired, *key, true);
  const Value* theirs = find_element(live, *key, false);
  return ours != nullptr && theirs != nullptr && same_tree(held, *ours, *theirs);
}

bool same_member(std::string_view name, const Value& held, const Value& desired,
                 const Value& live) {
  const Value* ours = desired.find(name);
  const Value* theirs = live.find(name);
  return ours != nullptr && theirs != nullptr && same_tree(held, *ours, *theirs);
}

// Everything held is desired and has that value; and as many things are held as are desired, so
// nothing is desired that is not held.
bool same_tree(const Value& held, const Value& desired, const Value& live) {
  std::size_t count = 0;
  for (const auto [path, child] : held.members()) {
    if (path == ".") continue;
    ++count;
    if (path.starts_with("f:")) {
      if (!same_member(path.substr(2), child, desired, live)) return false;
    } else if (path.starts_with("k:") || path.starts_with("v:")) {
      if (!same_element(path, child, desired, live)) return false;
    } else {
      return false;
    }
  }
  return count == 0 ? desired == live : count == desired.size();
}

const Value* held_by(const Value& live, std::string_view manager, std::string_view subresource,
                     std::string_view api_version) {
  const Value* entries = live.at_pointer("/metadata/managedFields");
  if (entries == nullptr) return nullptr;
  for (const Value& entry : *entries) {
    // Another version may name the same fields differently: an apply moves them over.
    if (text_of(entry, "manager") == manager && text_of(entry, "operation") == "Apply" &&
        text_of(entry, "subresource") == subresource &&
        text_of(entry, "apiVersion") == api_version) {
      return entry.find("fieldsV1");
    }
  }
  return nullptr;
}

}  // namespace

bool apply_changes_nothing(const Value& desired, const Value& live, std::string_view field_manager,
                           std::string_view subresource) {
  const Value* held = held_by(live, field_manager, subresource, text_of(desired, "apiVersion"));
  if (held == nullptr) return false;
  // What names the object is held by nobody.
  Value fields = desired;
  fields.erase("apiVersion");
  fields.erase("kind");
  if (Value* metadata = fields.find("metadata")) {
    for (const char* name : {"name", "namespace", "uid", "resourceVersion"}) metadata->erase(name);
    if (metadata->empty()) fields.erase("metadata");
  }
  if (fields.empty() || held->empty()) return fields.empty() && held->empty();
  return same_tree(*held, fields, live);
}

}  // namespace mainspring::control
