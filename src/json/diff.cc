#include "json/diff.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/path.h"

namespace mainspring::json {
namespace {

constexpr std::size_t kLongestValue = 120;

class Differ {
 public:
  // `path` is extended for a child and cut back afterwards.
  void compare(std::string& path, const Value& before, const Value& after) {
    if (before.is_object() && after.is_object()) {
      compare_objects(path, before, after);
    } else if (before.is_array() && after.is_array()) {
      compare_arrays(path, before, after);
    } else if (!(before == after)) {
      changes_.push_back({path, before, after});
    }
  }

  std::vector<Change> take() { return std::move(changes_); }

 private:
  void compare_objects(std::string& path, const Value& before, const Value& after) {
    const std::size_t length = path.size();
    for (const auto [key, old] : before.members()) {
      append_key(path, key);
      if (const Value* now = after.find(key)) {
        compare(path, old, *now);
      } else {
        changes_.push_back({path, old, std::nullopt});
      }
      path.resize(length);
    }
    for (const auto [key, now] : after.members()) {
      if (before.find(key) != nullptr) continue;
      append_key(path, key);
      changes_.push_back({path, std::nullopt, now});
      path.resize(length);
    }
  }

  void compare_arrays(std::string& path, const Value& before, const Value& after) {
    const std::size_t length = path.size();
    for (std::size_t i = 0; i < std::max(before.size(), after.size()); ++i) {
      append_index(path, i);
      if (i >= after.size()) {
        changes_.push_back({path, before.at(i), std::nullopt});
      } else if (i >= before.size()) {
        changes_.push_back({path, std::nullopt, after.at(i)});
      } else {
        compare(path, before.at(i), after.at(i));
      }
      path.resize(length);
    }
  }

  std::vector<Change> changes_;
};

std::string shortened(const Value& value) {
  std::string text = to_text(value);
  if (text.size() <= kLongestValue) return text;
  std::size_t end = kLongestValue;
  // Not in the middle of a character.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

}  // namespace

std::vector<Change> diff(const Value& before, const Value& after) {
  Differ differ;
  std::string root;
  differ.compare(root, before, after);
  return differ.take();
}

std::string to_text(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) {
    if (!text.empty()) text += "; ";
    text += change.path.empty() ? "document" : change.path;
    if (!change.before) {
      text += ": added " + shortened(*change.after);
    } else if (!change.after) {
      text += ": removed " + shortened(*change.before);
    } else {
      text += ": " + shortened(*change.before) + " -> " + shortened(*change.after);
    }
  }
  return text;
}

}  // namespace mainspring::json
