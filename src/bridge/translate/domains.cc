#include "bridge/translate/domains.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace mainspring::bridge {
namespace {

std::optional<std::vector<std::string>> values_of(const kube::Meta& node,
                                                  const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys) {
    const auto value = node.labels.find(key);
    if (!value) return std::nullopt;
    values.emplace_back(*value);
  }
  return values;
}

struct Size {
  std::size_t could_be = 0, is_now = 0;
  bool is_near = false;
};

}  // namespace

bool Domain::has(const kube::Meta& node) const { return values_of(node, keys) == values; }

std::string Domain::to_string() const {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    parts.push_back(fmt::format("{}={}", keys[i], values[i]));
  }
  return join(parts, ",");
}

std::vector<Domain> domains_for(std::span<const DomainNode> nodes,
                                const std::vector<std::string>& keys, std::size_t least,
                                const std::vector<std::string>& near) {
  std::map<std::vector<std::string>, Size> sizes;
  for (const DomainNode& one : nodes) {
    if (!one.node) continue;
    auto values = values_of(one.node->meta, keys);
    if (!values) continue;
    Size& size = sizes[*std::move(values)];
    size.could_be += one.could_be ? 1 : 0;
    size.is_now += one.is_now ? 1 : 0;
    size.is_near =
        size.is_near || std::find(near.begin(), near.end(), one.node->meta.name) != near.end();
  }
  const bool fixed =
      std::any_of(sizes.begin(), sizes.end(), [](const auto& one) { return one.second.is_near; });
  std::erase_if(sizes, [&](const auto& one) {
    return one.second.could_be < least || (fixed && !one.second.is_near);
  });
  std::vector<std::pair<std::vector<std::string>, Size>> sorted(sizes.begin(), sizes.end());
  // Where it can start, more room is no reason to move.
  const auto rank = [&](const Size& size) {
    return std::make_tuple(std::min(size.is_now, least), size.could_be);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto& a, const auto& b) { return rank(a.second) > rank(b.second); });
  std::vector<Domain> out;
  out.reserve(sorted.size());
  for (auto& [values, size] : sorted) out.push_back({keys, std::move(values)});
  return out;
}

}  // namespace mainspring::bridge
