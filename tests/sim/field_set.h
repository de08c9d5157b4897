// tests/sim/field_set.h
//
// A set of paths in an object, in the form that managedFields writes (fieldsV1), and what
// server-side apply computes with it: which fields an object has, which ones differ between two,
// and taking fields out of one. Plain values; the rules are those of structured-merge-diff.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"
#include "sim/shape.h"

namespace mainspring::sim {

struct FieldSet {
  bool member = false;                                    // The path that leads here.
  std::map<std::string, FieldSet, std::less<>> children;  // By "f:name", "k:{...}" or "v:...".

  bool empty() const { return !member && children.empty(); }
  void add(const FieldSet& other);
  void subtract(const FieldSet& other);
  FieldSet intersection(const FieldSet& other) const;
  const FieldSet* child(std::string_view step) const;
  // ".spec.containers[name=\"c\"].image", in the order of paths.
  std::vector<std::string> paths() const;

  bool operator==(const FieldSet&) const = default;
};

FieldSet read_field_set(const json::Value& fields_v1);
json::Value write_field_set(const FieldSet& set);

// The elements of a list that merges, by their step: "k:{\"name\":\"c\"}" or "v:\"x\"".
std::vector<std::pair<std::string, const json::Value*>> list_steps(const json::Value& list,
                                                                   const Shape& shape);

// What applying `value` owns.
FieldSet fields_of(const json::Value& value, const Shape* shape);

struct FieldDifference {
  FieldSet added;
  FieldSet changed;
  FieldSet removed;
};
// Either may be null: not there.
FieldDifference compare_fields(const json::Value* before, const json::Value* after,
                               const Shape* shape);

// `target` with `applied` laid over it.
json::Value merge_fields(const json::Value& target, const json::Value& applied, const Shape* shape);
// `value` without the members of `set`, keeping those of `kept` and what leads to them.
json::Value remove_fields(const json::Value& value, const FieldSet& set, const FieldSet& kept,
                          const Shape* shape);

}  // namespace mainspring::sim
