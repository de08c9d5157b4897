#include "sim/ownership.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/field_set.h"
#include "sim/refusals.h"

namespace mainspring::sim {
namespace {

using json::Value;

struct Entry {
  std::string manager;
  std::string operation;
  std::string api_version;
  std::string subresource;
  std::string time;
  FieldSet fields;

  bool is(const Entry& other) const {
    return manager == other.manager && operation == other.operation &&
           api_version == other.api_version && subresource == other.subresource;
  }
};

std::string text(const Value& value, std::string_view name) {
  const Value* found = value.find(name);
  return std::string(found == nullptr ? "" : found->as_string().value_or(""));
}

std::vector<Entry> read_entries(const Value* object) {
  std::vector<Entry> entries;
  const Value* list = object == nullptr ? nullptr : object->at_pointer("/metadata/managedFields");
  if (list == nullptr) return entries;
  for (const Value& item : *list) {
    const Value* fields = item.find("fieldsV1");
    if (fields == nullptr) continue;
    Entry entry{text(item, "manager"),     text(item, "operation"), text(item, "apiVersion"),
                text(item, "subresource"), text(item, "time"),      read_field_set(*fields)};
    entry.fields.member = false;
    entries.push_back(std::move(entry));
  }
  return entries;
}

// The way to say that nobody owns anything.
bool resets_managers(const Value& object) {
  const Value* list = object.at_pointer("/metadata/managedFields");
  return list != nullptr && list->size() == 1 && list->at(0).empty();
}

void write_entries(std::vector<Entry> entries, Value& object) {
  std::erase_if(entries, [](const Entry& entry) { return entry.fields.empty(); });
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.operation, a.time, a.manager, a.api_version, a.subresource) <
           std::tie(b.operation, b.time, b.manager, b.api_version, b.subresource);
  });
  Value list = Value::array();
  for (const Entry& entry : entries) {
    Value& item = list.push_back(Value::object({{"manager", entry.manager},
                                                {"operation", entry.operation},
                                                {"apiVersion", entry.api_version},
                                                {"time", entry.time},
                                                {"fieldsType", "FieldsV1"},
                                                {"fieldsV1", write_field_set(entry.fields)}}));
    if (!entry.subresource.empty()) item["subresource"] = entry.subresource;
  }
  object["metadata"].erase("managedFields");
  if (!list.empty()) object["metadata"]["managedFields"] = std::move(list);
}

// What nobody owns: the server sets it, or it names the object.
const FieldSet& unowned() {
  static const FieldSet kSet = [] {
    FieldSet set;
    set.children["f:apiVersion"].member = true;
    set.children["f:kind"].member = true;
    FieldSet& meta = set.children["f:metadata"];
    meta.member = true;
    for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid",
                             "clusterName", "generation", "managedFields", "resourceVersion"}) {
      meta.children[std::string("f:") + name].member = true;
    }
    return set;
  }();
  return kSet;
}

// A write to one side of an object does not reach the other: the main resource ignores status, and
// the status subresource everything else (of built-in kinds, not the metadata).
void strip(FieldSet& set, const Kind& kind, const std::string& subresource) {
  set.subtract(unowned());
  if (subresource.empty() && kind.has_status) set.children.erase("f:status");
  if (subresource != "status") return;
  std::erase_if(set.children, [&](const auto& child) {
    return child.first != "f:status" && (kind.custom || child.first != "f:metadata");
  });
}

struct Conflict {
  const Entry* with;
  std::vector<std::string> paths;
};

std::string name_of(const Entry& entry) {
  std::string name = "\"" + entry.manager + "\"";
  if (!entry.subresource.empty()) name += " with subresource \"" + entry.subresource + "\"";
  // The version says something only of those who did not apply.
  if (entry.operation == "Update") name += " using " + entry.api_version;
  return name;
}

Error conflicts_error(const std::vector<Conflict>& conflicts) {
  std::vector<kube::StatusCause> causes;
  std::string list;
  for (const Conflict& conflict : conflicts) {
    const std::string who = name_of(*conflict.with);
    list += fmt::format("{}conflicts with {}:", list.empty() ? "" : "\n", who);
    for (const std::string& path : conflict.paths) {
      causes.push_back({"FieldManagerConflict", "conflict with " + who, path});
      list += "\n- " + path;
    }
  }
  const std::string what =
      causes.size() == 1 ? causes.front().message + ": " + causes.front().field : list;
  return refuse(409, "Conflict",
                fmt::format("Apply failed with {} conflict{}: {}", causes.size(),
                            causes.size() == 1 ? "" : "s", what),
                {}, causes);
}

// Takes what `writer` changed away from the others; those are the conflicts.
std::vector<Conflict> take_over(std::vector<Entry>& entries, const Entry& writer,
                                const FieldDifference& difference) {
  FieldSet touched = difference.added;
  touched.add(difference.changed);
  std::vector<Conflict> conflicts;
  for (Entry& entry : entries) {
    if (entry.is(writer)) continue;
    const FieldSet both = entry.fields.intersection(touched);
    if (!both.empty()) conflicts.push_back({&entry, both.paths()});
    entry.fields.subtract(both);
    entry.fields.subtract(difference.removed);
  }
  return conflicts;
}

}  // namespace

void record_update(const Value* live, Value& object, const Writer& writer, const Kind& kind) {
  std::vector<Entry> entries;
  if (!resets_managers(object)) {
    if (writer.subresource.empty()) entries = read_entries(&object);
    if (entries.empty()) entries = read_entries(live);
  }
  // What nobody is recorded for stays so until somebody applies.
  if (live != nullptr && entries.empty()) {
    object["metadata"].erase("managedFields");
    return;
  }
  const Entry self{writer.manager,     "Update",    kind.resource.api_version(),
                   writer.subresource, writer.time, {}};
  FieldDifference difference = compare_fields(live, &object, kind.shape.get());
  strip(difference.added, kind, writer.subresource);
  strip(difference.changed, kind, writer.subresource);
  strip(difference.removed, kind, writer.subresource);
  take_over(entries, self, difference);

  auto mine = std::find_if(entries.begin(), entries.end(),
                           [&](const Entry& entry) { return entry.is(self); });
  if (mine == entries.end()) mine = entries.insert(entries.end(), self);
  mine->fields.subtract(difference.removed);
  if (!difference.added.empty() || !difference.changed.empty()) mine->time = writer.time;
  mine->fields.add(difference.added);
  mine->fields.add(difference.changed);
  write_entries(std::move(entries), object);
}

Result<Value> apply_config(const Value* live, const Value& config, const Writer& writer, bool force,
                           const Kind& kind) {
  const Shape* shape = kind.shape.get();
  std::vector<Entry> entries = read_entries(live);
  if (live != nullptr && entries.empty()) {
    Value untracked = *live;
    record_update(nullptr, untracked, {"before-first-apply", "", writer.time}, kind);
    entries = read_entries(&untracked);
  }
  Entry self{writer.manager,     "Apply",     kind.resource.api_version(),
             writer.subresource, writer.time, fields_of(config, shape)};
  self.fields.member = false;
  strip(self.fields, kind, writer.subresource);
  const auto mine = std::find_if(entries.begin(), entries.end(),
                                 [&](const Entry& entry) { return entry.is(self); });
  FieldSet last;
  if (mine != entries.end()) {
    last = std::exchange(mine->fields, self.fields);
    self.time = mine->time;
  } else {
    entries.push_back(self);
  }

  static const Value kNothing = Value::object();
  Value merged = merge_fields(live == nullptr ? kNothing : *live, config, shape);
  FieldSet owned;
  for (const Entry& entry : entries) owned.add(entry.fields);
  FieldSet orphaned = last;
  orphaned.subtract(owned);
  merged = remove_fields(merged, orphaned, owned, shape);

  FieldDifference difference = compare_fields(live, &merged, shape);
  strip(difference.added, kind, writer.subresource);
  strip(difference.changed, kind, writer.subresource);
  const std::vector<Conflict> conflicts = take_over(entries, self, difference);
  if (!conflicts.empty() && !force) return fail(conflicts_error(conflicts));

  const bool moved = last != self.fields || !difference.added.empty() ||
                     !difference.changed.empty() || !difference.removed.empty();
  for (Entry& entry : entries) {
    if (entry.is(self) && moved) entry.time = writer.time;
  }
  write_entries(std::move(entries), merged);
  return merged;
}

}  // namespace mainspring::sim
