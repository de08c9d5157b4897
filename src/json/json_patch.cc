#include "json/json_patch.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "json/path.h"

namespace mainspring::json {
namespace {

using Tokens = std::vector<std::string>;

std::size_t count_nodes(const Value& value) {
  std::size_t nodes = 1;
  for (const Value& item : value) nodes += count_nodes(item);
  for (const auto member : value.members()) nodes += count_nodes(member.value);
  return nodes;
}

// One patch on its way through a document.
class Patcher {
 public:
  explicit Patcher(Value& document) : document_(document) {}

  Result<void> run(const Value& operation) {
    MS_TRY(const std::string_view op, text_member(operation, "op"));
    MS_TRY(const std::string_view path, text_member(operation, "path"));
    MS_TRY(const Tokens at, split_pointer(path));
    if (op == "remove") return remove(at);
    if (op == "move") return move(operation, path, at);
    if (op == "copy") return copy(operation, at);
    const Value* value = operation.find("value");
    if (op != "add" && op != "replace" && op != "test") {
      return fail(Code::kInvalid,
                  fmt::format("\"{}\" is none of add, remove, replace, move, copy, test", op));
    }
    if (value == nullptr) return fail(Code::kInvalid, "the member \"value\" is missing");
    if (op == "add") return add(at, *value);
    MS_TRY(Value * found, find(at));
    if (op == "replace") {
      *found = *value;
    } else if (!(*found == *value)) {
      return fail(Code::kConflict,
                  fmt::format("expected {}, found {}", to_text(*value), to_text(*found)));
    }
    return {};
  }

 private:
  static Result<std::string_view> text_member(const Value& operation, std::string_view key) {
    const Value* member = operation.find(key);
    const auto text = member == nullptr ? std::nullopt : member->as_string();
    if (!text) return fail(Code::kInvalid, fmt::format("the member \"{}\" must be a string", key));
    return *text;
  }

  Result<Value*> find(std::span<const std::string> at) {
    Value* value = &document_;
    std::string so_far;
    for (const std::string& token : at) {
      append_pointer(so_far, token);
      if (value->is_array()) {
        const auto index = array_index(token);
        value = index && *index < value->size() ? &value->at(*index) : nullptr;
      } else {
        value = value->find(token);
      }
      if (value == nullptr) {
        return fail(Code::kInvalid, fmt::format("there is nothing at {}", so_far));
      }
    }
    return value;
  }

  // The container that the last step of a path points into.
  Result<Value*> parent(const Tokens& at) { return find(std::span(at).first(at.size() - 1)); }

  Result<void> add(const Tokens& at, Value value) {
    if (at.empty()) {
      document_ = std::move(value);
      return {};
    }
    MS_TRY(Value * container, parent(at));
    const std::string& last = at.back();
    if (container->is_object()) {
      container->set(last, std::move(value));
      return {};
    }
    if (!container->is_array()) return fail(Code::kInvalid, "nothing can be added to a scalar");
    if (last == "-") {
      container->push_back(std::move(value));
      return {};
    }
    const auto index = array_index(last);
    if (!index || *index > container->size()) {
      return fail(Code::kInvalid,
                  fmt::format("\"{}\" is no place in an array of {}", last, container->size()));
    }
    container->insert(*index, std::move(value));
    return {};
  }

  Result<void> remove(const Tokens& at) {
    MS_CHECK(find(at));
    if (at.empty()) {
      document_ = nullptr;
      return {};
    }
    MS_TRY(Value * container, parent(at));
    if (container->is_array()) {
      container->erase_at(*array_index(at.back()));
    } else {
      container->erase(at.back());
    }
    return {};
  }

  Result<void> move(const Value& operation, std::string_view path, const Tokens& at) {
    MS_TRY(const std::string_view from, text_member(operation, "from"));
    MS_TRY(const Tokens source, split_pointer(from));
    MS_TRY(Value * found, find(source));
    if (source == at) return {};
    if (at.size() > source.size() && std::equal(source.begin(), source.end(), at.begin())) {
      return fail(Code::kInvalid, fmt::format("{} cannot be moved into itself at {}", from, path));
    }
    Value value = std::move(*found);
    MS_CHECK(remove(source));
    return add(at, std::move(value));
  }

  Result<void> copy(const Value& operation, const Tokens& at) {
    MS_TRY(const std::string_view from, text_member(operation, "from"));
    MS_TRY(const Tokens source, split_pointer(from));
    MS_TRY(const Value* found, find(source));
    // A dozen copies of a document into itself would fill the memory.
    copied_ += count_nodes(*found);
    if (copied_ > kMaxPatchCopies || at.size() > kMaxPathSteps) {
      return fail(Code::kTooLarge, "the patch copies more than a patch may");
    }
    return add(at, *found);
  }

  static constexpr std::size_t kMaxPathSteps = 512;

  Value& document_;
  std::size_t copied_ = 0;
};

std::string describe(const Value& operation, std::size_t index) {
  const auto text = [&](std::string_view key) {
    const Value* member = operation.find(key);
    return member == nullptr ? std::string_view("?") : member->as_string().value_or("?");
  };
  return fmt::format("operation {} ({} {})", index, text("op"), text("path"));
}

class Differ {
 public:
  Value compare(const Value& from, const Value& to) {
    std::string root;
    compare(root, from, to);
    return std::move(patch_);
  }

 private:
  // `path` is extended for a child and cut back afterwards.
  void compare(std::string& path, const Value& from, const Value& to) {
    if (from.is_object() && to.is_object()) {
      compare_objects(path, from, to);
    } else if (from.is_array() && to.is_array()) {
      compare_arrays(path, from, to);
    } else if (!(from == to)) {
      emit("replace", path, &to);
    }
  }

  void compare_objects(std::string& path, const Value& from, const Value& to) {
    const std::size_t length = path.size();
    for (const auto [key, before] : from.members()) {
      append_pointer(path, key);
      if (const Value* after = to.find(key)) {
        compare(path, before, *after);
      } else {
        emit("remove", path, nullptr);
      }
      path.resize(length);
    }
    for (const auto [key, after] : to.members()) {
      if (from.find(key) != nullptr) continue;
      append_pointer(path, key);
      emit("add", path, &after);
      path.resize(length);
    }
  }

  void compare_arrays(std::string& path, const Value& from, const Value& to) {
    std::size_t first = 0;
    std::size_t from_end = from.size();
    std::size_t to_end = to.size();
    while (first < from_end && first < to_end && from.at(first) == to.at(first)) ++first;
    while (from_end > first && to_end > first && from.at(from_end - 1) == to.at(to_end - 1)) {
      --from_end;
      --to_end;
    }
    const std::size_t length = path.size();
    const std::size_t both = std::min(from_end, to_end);
    for (std::size_t i = first; i < both; ++i) {
      path += fmt::format("/{}", i);
      compare(path, from.at(i), to.at(i));
      path.resize(length);
    }
    // From the back, so that the places of those still to go do not shift.
    for (std::size_t i = from_end; i > both; --i) {
      path += fmt::format("/{}", i - 1);
      emit("remove", path, nullptr);
      path.resize(length);
    }
    for (std::size_t i = both; i < to_end; ++i) {
      path += fmt::format("/{}", i);
      emit("add", path, &to.at(i));
      path.resize(length);
    }
  }

  void emit(std::string_view op, const std::string& path, const Value* value) {
    Value operation = Value::object({{"op", op}, {"path", path}});
    if (value != nullptr) operation.set("value", *value);
    patch_.push_back(std::move(operation));
  }

  Value patch_ = Value::array();
};

}  // namespace

Result<Value> apply_json_patch(Value target, const Value& patch) {
  if (!patch.is_array()) return fail(Code::kInvalid, "a JSON patch must be an array of operations");
  if (patch.size() > kMaxPatchOperations) {
    return fail(Code::kTooLarge, fmt::format("a JSON patch may have {} operations, this one has {}",
                                             kMaxPatchOperations, patch.size()));
  }
  Patcher patcher(target);
  for (std::size_t i = 0; i < patch.size(); ++i) {
    MS_CHECK(with_context(patcher.run(patch.at(i)), describe(patch.at(i), i)));
  }
  return target;
}

Value make_json_patch(const Value& from, const Value& to) { return Differ().compare(from, to); }

}  // namespace mainspring::json
