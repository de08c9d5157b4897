#include "json/strategic_merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "json/path.h"

namespace mainspring::json {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder/";
constexpr std::string_view kDeleteFromList = "$deleteFromPrimitiveList/";
constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

bool is_scalar(const Value& value) { return !value.is_object() && !value.is_array(); }

std::string_view directive(const Value& object) {
  const Value* found = object.find(kPatch);
  return found == nullptr ? std::string_view() : found->as_string().value_or("?");
}

// What tells one element of a merging list from another: the value of its key, or itself.
const Value* identity(const Value& item, std::string_view key) {
  return key.empty() ? &item : item.find(key);
}

std::size_t index_of(const Value& list, const Value& item, std::string_view key) {
  const Value* wanted = identity(item, key);
  for (std::size_t i = 0; wanted != nullptr && i < list.size(); ++i) {
    const Value* found = identity(list.at(i), key);
    if (found != nullptr && *found == *wanted) return i;
  }
  return kNowhere;
}

struct Placed {
  std::size_t in_order;   // place in the list that asks for an order
  std::size_t in_target;  // place in the list as it was
  const Value* item;
};

// Those named in `order` follow it, the others keep the order they had in `target`, and where both
// kinds come from `target` the two are interleaved as they were there.
Value arranged(const Value& merged, const Value& order, const Value& target, std::string_view key) {
  std::vector<Placed> named;
  std::vector<Placed> others;
  for (const Value& item : merged) {
    const Placed placed{index_of(order, item, key), index_of(target, item, key), &item};
    (placed.in_order == kNowhere ? others : named).push_back(placed);
  }
  std::stable_sort(named.begin(), named.end(),
                   [](const Placed& a, const Placed& b) { return a.in_order < b.in_order; });
  std::stable_sort(others.begin(), others.end(),
                   [](const Placed& a, const Placed& b) { return a.in_target < b.in_target; });
  Value result = Value::array();
  result.reserve(merged.size());
  auto other = others.begin();
  for (const Placed& next : named) {
    while (other != others.end() && next.in_target != kNowhere &&
           other->in_target < next.in_target) {
      result.push_back(*other++->item);
    }
    result.push_back(*next.item);
  }
  for (; other != others.end(); ++other) result.push_back(*other->item);
  return result;
}

class Merger {
 public:
  Result<void> merge_object(Value& target, const Value& patch, MergeType type) {
    const std::string_view asked = directive(patch);
    if (asked == "replace") {
      target = patch;
      target.erase(kPatch);
      return {};
    }
    if (asked == "delete") {
      target = Value::object();
      return {};
    }
    if (!asked.empty()) return refuse("$patch must be \"replace\" or \"delete\" here");
    if (!target.is_object()) target = Value::object();
    MS_CHECK(retain_keys(target, patch));
    for (const auto [key, value] : patch.members()) {
      const std::size_t length = path_.size();
      append_key(path_, key);
      MS_CHECK(merge_member(target, patch, key, value, type));
      path_.resize(length);
    }
    return {};
  }

 private:
  Result<void> merge_member(Value& target, const Value& patch, std::string_view key,
                            const Value& value, MergeType type) {
    if (key == kRetainKeys) return {};
    if (key.starts_with(kDeleteFromList)) {
      return delete_from_list(target, key.substr(kDeleteFromList.size()), value);
    }
    if (key.starts_with(kSetElementOrder)) {
      const std::string_view field = key.substr(kSetElementOrder.size());
      return set_order(target, patch, field, value, merge_rule(type, field));
    }
    // The list is merged where its order is set.
    if (value.is_array() && patch.find(std::string(kSetElementOrder) + std::string(key))) return {};
    if (value.is_null()) {
      target.erase(key);
      return {};
    }
    const MergeRule rule = merge_rule(type, key);
    if (value.is_object() && rule.strategy != MergeStrategy::kReplace) {
      return merge_object(target[key], value, rule.type);
    }
    if (value.is_array() && rule.strategy == MergeStrategy::kMerge) {
      return merge_list(target[key], value, rule);
    }
    target.set(key, value);
    return {};
  }

  Result<void> retain_keys(Value& target, const Value& patch) {
    const Value* kept = patch.find(kRetainKeys);
    if (kept == nullptr) return {};
    if (!kept->is_array()) return refuse("$retainKeys must be a list of keys");
    const auto is_kept = [&](std::string_view key) {
      return std::any_of(kept->begin(), kept->end(),
                         [&](const Value& name) { return name.as_string() == key; });
    };
    for (const auto [key, value] : patch.members()) {
      if (!key.starts_with('$') && !value.is_null() && !is_kept(key)) {
        return refuse(
            fmt::format("\"{}\" is set by the patch and missing in its $retainKeys", key));
      }
    }
    std::vector<std::string> dropped;
    for (const auto member : target.members()) {
      if (!is_kept(member.key)) dropped.emplace_back(member.key);
    }
    for (const std::string& key : dropped) target.erase(key);
    return {};
  }

  Result<void> delete_from_list(Value& target, std::string_view field, const Value& values) {
    if (!values.is_array()) return refuse("must be a list of the values to delete");
    Value* list = target.find(field);
    if (list == nullptr || !list->is_array()) return {};
    Value left = Value::array();
    for (const Value& item : *list) {
      if (std::find(values.begin(), values.end(), item) == values.end()) left.push_back(item);
    }
    *list = std::move(left);
    return {};
  }

  Result<void> set_order(Value& target, const Value& patch, std::string_view field,
                         const Value& order, const MergeRule& rule) {
    if (!order.is_array()) return refuse("must be a list");
    const Value* update = patch.find(field);
    if (update != nullptr && !update->is_array()) return refuse("orders something that is no list");
    if (rule.strategy != MergeStrategy::kMerge) {
      if (update != nullptr) target.set(field, *update);
      return {};
    }
    if (update != nullptr) MS_CHECK(check_order(*update, order, rule.key));
    const Value* existing = target.find(field);
    if (existing == nullptr && update == nullptr) return {};
    const Value before = existing != nullptr && existing->is_array() ? *existing : Value::array();
    Value& list = target[field];
    if (update != nullptr) MS_CHECK(merge_list(list, *update, rule));
    if (list.is_array()) list = arranged(list, order, before, rule.key);
    return {};
  }

  // Upstream refuses a patch whose list and order contradict each other.
  Result<void> check_order(const Value& update, const Value& order, std::string_view key) {
    std::size_t last = 0;
    for (const Value& item : update) {
      if (!directive(item).empty()) continue;
      const std::size_t place = index_of(order, item, key);
      if (place == kNowhere || place < last) {
        return refuse("does not name the elements of the patch in the patch's order");
      }
      last = place;
    }
    return {};
  }

  Result<void> merge_list(Value& target, const Value& patch, const MergeRule& rule) {
    if (!target.is_array()) target = Value::array();
    if (rule.key.empty()) return merge_scalars(target, patch);
    Value before = target;
    Value update = Value::array();
    bool replace = false;
    for (std::size_t i = 0; i < patch.size(); ++i) {
      const Value& item = patch.at(i);
      const std::string_view asked = directive(item);
      const bool no_key = !item.is_object() || item.find(rule.key) == nullptr;
      if (asked != "replace" && no_key) return refuse_item(i, rule.key);
      if (asked.empty()) {
        update.push_back(item);
      } else if (asked == "replace") {
        replace = true;
      } else if (asked == "delete") {
        erase_all(before, item, rule.key);
      } else {
        return refuse("$patch must be \"replace\" or \"delete\" here");
      }
    }
    if (replace) before = Value::array();
    Value merged = before;
    for (std::size_t i = 0; i < update.size(); ++i) {
      const std::size_t place = index_of(merged, update.at(i), rule.key);
      Value& item = place == kNowhere ? merged.push_back(Value::object()) : merged.at(place);
      const std::size_t length = path_.size();
      append_index(path_, i);
      MS_CHECK(merge_object(item, update.at(i), rule.type));
      path_.resize(length);
    }
    target = arranged(merged, update, before, rule.key);
    return {};
  }

  Result<void> merge_scalars(Value& target, const Value& patch) {
    Value merged = Value::array();
    for (const Value* list : {&std::as_const(target), &patch}) {
      for (const Value& item : *list) {
        if (!is_scalar(item)) return refuse("must be a list of scalars");
        if (index_of(merged, item, {}) == kNowhere) merged.push_back(item);
      }
    }
    target = arranged(merged, patch, target, {});
    return {};
  }

  static void erase_all(Value& list, const Value& item, std::string_view key) {
    for (std::size_t i = index_of(list, item, key); i != kNowhere; i = index_of(list, item, key)) {
      list.erase_at(i);
    }
  }

  Result<void> refuse_item(std::size_t index, std::string_view key) {
    append_index(path_, index);
    return refuse(fmt::format("has no \"{}\", by which this list is merged", key));
  }

  Result<void> refuse(std::string_view message) const {
    return fail(Code::kInvalid,
                fmt::format("{}: {}", path_.empty() ? "patch" : path_.c_str(), message));
  }

  std::string path_;
};

}  // namespace

Result<Value> apply_strategic_merge(Value target, const Value& patch, MergeType type) {
  if (!patch.is_object()) return fail(Code::kInvalid, "a strategic merge patch must be an object");
  MS_CHECK(Merger().merge_object(target, patch, type));
  return target;
}

}  // namespace mainspring::json
