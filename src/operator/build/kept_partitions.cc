#include "operator/build/kept_partitions.h"

#include <algorithm>

#include "base/text.h"

namespace mainspring::op::build {
namespace {

constexpr std::string_view kSection = "### NODESET & PARTITION ###";
constexpr std::string_view kPartition = "PartitionName=";
constexpr std::string_view kNodeSet = "NodeSet=";
constexpr std::string_view kState = "State=";

bool begins_with(std::string_view text, std::string_view key) {
  return text.size() >= key.size() && equals_ignore_case(text.substr(0, key.size()), key);
}

// "gpu" of "PartitionName=gpu Nodes=gpu"; empty where the line is of another key.
std::string_view name_in(std::string_view line, std::string_view key) {
  if (!begins_with(line, key)) return {};
  line.remove_prefix(key.size());
  return line.substr(0, std::min(line.find_first_of(" \t"), line.size()));
}

bool has(std::string_view conf, std::string_view key, std::string_view name) {
  const auto lines = split(conf, '\n');
  return std::any_of(lines.begin(), lines.end(),
                     [&](std::string_view line) { return name_in(trim(line), key) == name; });
}

std::vector<std::string_view> our_lines(std::string_view conf) {
  std::vector<std::string_view> ours;
  bool inside = false;
  for (const std::string_view line : split(conf, '\n')) {
    if (line.starts_with('#')) inside = line == kSection || (inside && line == "#");
    if (inside && !line.starts_with('#')) ours.push_back(line);
  }
  return ours;
}

}  // namespace

std::string closed_partition(std::string_view partition) {
  std::string line;
  for (const std::string_view word : split(partition, ' ')) {
    if (!word.empty() && !begins_with(word, kState)) (line += word) += ' ';
  }
  return line + "State=DRAIN";
}

std::vector<std::string> kept_lines(std::string_view before, std::string_view after,
                                    const std::function<bool(std::string_view partition)>& needed) {
  std::vector<std::string> kept;
  const std::vector<std::string_view> ours = our_lines(before);
  for (const std::string_view line : ours) {
    const std::string_view name = name_in(line, kPartition);
    if (name.empty() || has(after, kPartition, name) || !needed(name)) continue;
    const auto nodeset = std::find_if(ours.begin(), ours.end(), [&](std::string_view one) {
      return name_in(one, kNodeSet) == name;
    });
    if (nodeset != ours.end() && !has(after, kNodeSet, name)) kept.emplace_back(*nodeset);
    kept.push_back(closed_partition(line));
  }
  return kept;
}

}  // namespace mainspring::op::build
