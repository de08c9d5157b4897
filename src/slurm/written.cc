#include "slurm/written.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"

namespace mainspring::slurm {
namespace {

using json::Value;
using Names = std::set<std::string_view>;

bool is_change(std::string_view name) { return name.starts_with('+') || name.starts_with('-'); }

// Nothing where the list has anything but names.
std::optional<Names> names_of(const Value& list) {
  Names names;
  for (const Value& each : list) {
    const auto name = each.as_string();
    if (!name || is_change(*name)) return std::nullopt;
    names.insert(*name);
  }
  return names;
}

bool same_list(const Value& sent, const Value& is) {
  const auto asked = names_of(sent);
  return !asked || !is.is_array() || asked == names_of(is);
}

bool same_scalar(const Value& sent, const Value& is) {
  if (sent.is_number() && is.is_number()) return sent.as_double() == is.as_double();
  return sent.is_null() || sent == is;
}

std::string find_difference(const Value& sent, const Value& is, const std::string& path) {
  if (sent.is_object()) {
    for (const auto& [key, value] : sent.members()) {
      const Value* other = is.find(key);
      if (other == nullptr) continue;
      const std::string inside = path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
      if (std::string found = find_difference(value, *other, inside); !found.empty()) return found;
    }
    return {};
  }
  if (sent.is_array() ? same_list(sent, is) : same_scalar(sent, is)) return {};
  return fmt::format("{} is {}, not {}", path, json::to_text(is), json::to_text(sent));
}

}  // namespace

std::string value_difference(const Value& sent, const Value& is) {
  return find_difference(sent, is, {});
}

std::string text_difference(std::string_view name, const std::optional<std::string>& asked,
                            std::string_view is) {
  if (!asked || *asked == is) return {};
  return fmt::format("{} is '{}', not '{}'", name, is, *asked);
}

bool plain_names(const std::vector<std::string>& names) {
  return std::none_of(names.begin(), names.end(), [](const std::string& name) {
    return name.empty() || is_change(name) || (name.front() >= '0' && name.front() <= '9');
  });
}

bool same_names(const std::vector<std::string>& asked, std::string_view is) {
  const std::vector<std::string_view> parts = split(is, ',');
  Names names(parts.begin(), parts.end());
  names.erase("");
  return Names(asked.begin(), asked.end()) == names;
}

bool same_hosts(std::string_view a, std::string_view b) {
  if (a == b) return true;
  auto first = expand_hostlist(a), second = expand_hostlist(b);
  if (!first || !second) return false;
  std::sort(first->begin(), first->end());
  std::sort(second->begin(), second->end());
  return *first == *second;
}

}  // namespace mainspring::slurm
