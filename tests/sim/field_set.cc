#include "sim/field_set.h"

#include <algorithm>
#include <set>

namespace mainspring::sim {

using json::Value;

namespace {

bool merges(const Value& value, const Shape* shape) {
  if (value.is_object()) return shape == nullptr || !shape->atomic;
  return value.is_array() && shape != nullptr && !shape->atomic &&
         shape->list != Shape::List::kAtomic;
}

std::string element_step(const Value& element, const Shape& shape) {
  if (shape.list == Shape::List::kSet) return "v:" + to_text(element, {.sort_keys = true});
  Value key = Value::object();
  for (const std::string& name : shape.keys) {
    const Value* part = element.find(name);
    const auto fallback = shape.key_defaults.find(name);
    if (part != nullptr) {
      key[name] = *part;
    } else if (fallback != shape.key_defaults.end()) {
      key[name] = fallback->second;
    }
  }
  return "k:" + to_text(key, {.sort_keys = true});
}

// The members of an object or the elements of a merging list, by step, with their shapes.
struct Part {
  std::string step;
  const Value* value;
  const Shape* shape;
};
std::vector<Part> parts_of(const Value& value, const Shape* shape) {
  std::vector<Part> parts;
  if (value.is_object()) {
    for (const auto [name, member] : value.members()) {
      parts.push_back(
          {"f:" + std::string(name), &member, shape == nullptr ? nullptr : shape->member(name)});
    }
  } else if (value.is_array()) {
    for (auto& [step, element] : list_steps(value, *shape)) {
      parts.push_back({std::move(step), element, shape->element.get()});
    }
  }
  return parts;
}

void walk_paths(const FieldSet& set, const std::string& path, std::vector<std::string>& out) {
  if (set.member) out.push_back(path);
  for (const auto& [step, child] : set.children) {
    std::string next = path;
    const std::string rest = step.substr(2);
    if (step[0] == 'f') {
      next += "." + rest;
    } else if (step[0] == 'v') {
      next += "[=" + rest + "]";
    } else if (const auto key = json::parse(rest)) {
      std::string keys;
      for (const auto [name, value] : key->members()) {
        keys += (keys.empty() ? "" : ",") + std::string(name) + "=" + to_text(value);
      }
      next += "[" + keys + "]";
    }
    walk_paths(child, next, out);
  }
}

bool is_empty_container(const Value* value) {
  return value == nullptr || value->is_null() ||
         ((value->is_object() || value->is_array()) && value->empty());
}

void compare(const Value* before, const Value* after, const Shape* shape, FieldDifference& out,
             std::vector<std::string>& path);

FieldSet& at(FieldSet& set, const std::vector<std::string>& path) {
  FieldSet* here = &set;
  for (const std::string& step : path) here = &here->children[step];
  return *here;
}

void compare_parts(const Value* before, const Value* after, const Shape* shape,
                   FieldDifference& out, std::vector<std::string>& path) {
  std::map<std::string, std::pair<Part, Part>> both;
  if (before != nullptr && merges(*before, shape)) {
    for (Part& part : parts_of(*before, shape)) both[part.step].first = part;
  }
  if (after != nullptr && merges(*after, shape)) {
    for (Part& part : parts_of(*after, shape)) both[part.step].second = part;
  }
  static const Value kNull;
  for (const auto& [step, pair] : both) {
    const Shape* inner = pair.first.value != nullptr ? pair.first.shape : pair.second.shape;
    const Value* was = pair.first.value;
    if (was == nullptr && inner != nullptr && inner->always) was = &kNull;
    path.push_back(step);
    compare(was, pair.second.value, inner, out, path);
    path.pop_back();
  }
}

void compare(const Value* before, const Value* after, const Shape* shape, FieldDifference& out,
             std::vector<std::string>& path) {
  const bool leaf = (is_empty_container(before) && is_empty_container(after)) ||
                    ((before == nullptr || before->is_null() || !merges(*before, shape)) &&
                     (after == nullptr || after->is_null() || !merges(*after, shape)));
  if (leaf) {
    if (before == nullptr) {
      at(out.added, path).member = true;
    } else if (after == nullptr) {
      at(out.removed, path).member = true;
    } else if (*before != *after) {
      at(out.changed, path).member = true;
    }
    return;
  }
  compare_parts(before, after, shape, out, path);
  if (before == nullptr) at(out.added, path).member = true;
  if (after == nullptr) at(out.removed, path).member = true;
}

bool has_step(const std::vector<std::pair<std::string, const Value*>>& list,
              const std::string& step) {
  return std::any_of(list.begin(), list.end(), [&](const auto& e) { return e.first == step; });
}

// Applied elements keep their order; those that only the target has come as early as their place
// among the shared ones allows.
Value merge_lists(const Value& target, const Value& applied, const Shape& shape) {
  const auto left = list_steps(target, shape);
  const auto right = list_steps(applied, shape);
  Value out = Value::array();
  std::size_t i = 0;
  const auto take_left_only = [&] {
    for (; i < left.size() && !has_step(right, left[i].first); ++i) out.push_back(*left[i].second);
  };
  std::set<std::string> merged;
  for (const auto& [step, value] : right) {
    take_left_only();
    const auto same = std::find_if(left.begin(), left.end(),
                                   [&, wanted = step](const auto& e) { return e.first == wanted; });
    if (same == left.end()) {
      out.push_back(*value);
      continue;
    }
    // The way to a shared element passes shared ones that were applied in another order.
    const auto position = static_cast<std::size_t>(same - left.begin());
    while (i < position) {
      take_left_only();
      if (i < position) ++i;
    }
    out.push_back(merge_fields(*same->second, *value, shape.element.get()));
    merged.insert(step);
    while (i < left.size() && merged.contains(left[i].first)) ++i;
  }
  for (; i < left.size(); ++i) {
    if (!has_step(right, left[i].first)) out.push_back(*left[i].second);
  }
  return out;
}

}  // namespace

void FieldSet::add(const FieldSet& other) {
  member = member || other.member;
  for (const auto& [step, child] : other.children) children[step].add(child);
}

void FieldSet::subtract(const FieldSet& other) {
  if (other.member) member = false;
  for (const auto& [step, theirs] : other.children) {
    const auto mine = children.find(step);
    if (mine == children.end()) continue;
    mine->second.subtract(theirs);
    if (mine->second.empty()) children.erase(mine);
  }
}

FieldSet FieldSet::intersection(const FieldSet& other) const {
  FieldSet both;
  both.member = member && other.member;
  for (const auto& [step, mine] : children) {
    const FieldSet* theirs = other.child(step);
    if (theirs == nullptr) continue;
    FieldSet inner = mine.intersection(*theirs);
    if (!inner.empty()) both.children.emplace(step, std::move(inner));
  }
  return both;
}

const FieldSet* FieldSet::child(std::string_view step) const {
  const auto it = children.find(step);
  return it == children.end() ? nullptr : &it->second;
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  walk_paths(*this, "", out);
  return out;
}

FieldSet read_field_set(const Value& fields_v1) {
  FieldSet set;
  if (fields_v1.empty()) set.member = true;
  for (const auto [step, child] : fields_v1.members()) {
    if (step == ".") {
      set.member = true;
    } else {
      set.children.emplace(step, read_field_set(child));
    }
  }
  return set;
}

Value write_field_set(const FieldSet& set) {
  Value out = Value::object();
  if (set.member && !set.children.empty()) out["."] = Value::object();
  for (const auto& [step, child] : set.children) out[step] = write_field_set(child);
  return out;
}

std::vector<std::pair<std::string, const Value*>> list_steps(const Value& list,
                                                             const Shape& shape) {
  std::vector<std::pair<std::string, const Value*>> steps;
  for (const Value& element : list) steps.emplace_back(element_step(element, shape), &element);
  return steps;
}

FieldSet fields_of(const Value& value, const Shape* shape) {
  FieldSet set;
  if (!merges(value, shape)) {
    set.member = true;
    return set;
  }
  for (const Part& part : parts_of(value, shape)) {
    FieldSet inner = fields_of(*part.value, part.shape);
    const bool entry = part.step[0] != 'f' ||
                       (shape != nullptr && !shape->knows(std::string_view(part.step).substr(2)));
    if (entry || (part.value->is_object() && part.value->empty())) inner.member = true;
    if (!inner.empty()) set.children.emplace(part.step, std::move(inner));
  }
  return set;
}

FieldDifference compare_fields(const Value* before, const Value* after, const Shape* shape) {
  FieldDifference out;
  std::vector<std::string> path;
  static const Value kEmpty = Value::object();
  compare_parts(before == nullptr ? &kEmpty : before, after == nullptr ? &kEmpty : after, shape,
                out, path);
  return out;
}

Value merge_fields(const Value& target, const Value& applied, const Shape* shape) {
  if (!merges(applied, shape)) return applied;
  if (applied.is_array()) {
    return target.is_array() ? merge_lists(target, applied, *shape) : applied;
  }
  if (!target.is_object()) return applied;
  Value out = target;
  for (const auto [name, member] : applied.members()) {
    const Shape* inner = shape == nullptr ? nullptr : shape->member(name);
    Value* existing = out.find(name);
    if (existing == nullptr) {
      out.set(name, member);
    } else {
      *existing = merge_fields(*existing, member, inner);
    }
  }
  return out;
}

Value remove_fields(const Value& value, const FieldSet& set, const FieldSet& kept,
                    const Shape* shape) {
  if (!merges(value, shape)) return value;
  Value out = value.is_object() ? Value::object() : Value::array();
  static const FieldSet kNothing;
  for (const Part& part : parts_of(value, shape)) {
    const FieldSet* gone = set.child(part.step);
    const FieldSet* stays = kept.child(part.step);
    if (gone != nullptr && gone->member && stays == nullptr) continue;
    const Value next =
        gone == nullptr
            ? *part.value
            : remove_fields(*part.value, *gone, stays == nullptr ? kNothing : *stays, part.shape);
    // A container that only held what is gone goes with it.
    if (gone != nullptr && stays == nullptr && next.empty() && !part.value->empty()) continue;
    if (value.is_object()) {
      out.set(std::string_view(part.step).substr(2), next);
    } else {
      out.push_back(next);
    }
  }
  return out;
}

}  // namespace mainspring::sim
