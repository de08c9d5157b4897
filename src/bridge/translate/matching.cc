#include "bridge/translate/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "bridge/names.h"
#include "bridge/translate/host_ports.h"

namespace mainspring::bridge {
Matching::Matching(std::span<const PodPtr> pods, std::span<const Place> nodes, Suits suits)
    : pods_(pods),
      nodes_(nodes),
      suits_(std::move(suits)),
      node_of_(pods.size(), kNowhere),
      pinned_(pods.size()),
      pods_of_(nodes.size()) {
  if (!nodes.empty())
    most_ = std::max<std::size_t>(1, (pods.size() + nodes.size() - 1) / nodes.size());
}

Result<void> Matching::pin(std::span<const std::string> given) {
  std::map<std::string_view, std::size_t> by_name;
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].node) by_name.emplace(nodes_[node].node->meta.name, node);
  }
  for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
    std::string_view name = pods_[pod]->node_name;
    if (name.empty()) name = pods_[pod]->meta.annotations.find(kNodeAnnotation).value_or("");
    if (name.empty() && !given.empty()) name = given[pod];
    if (name.empty()) continue;
    const auto at = by_name.find(name);
    if (at == by_name.end()) {
      return fail(Code::kConflict, fmt::format("pod {} was given node {}, which its Slurm job does "
                                               "not have",
                                               pods_[pod]->meta.name, name));
    }
    put(pod, at->second);
    pinned_[pod] = true;
  }
  return {};
}

bool Matching::clashes(std::size_t pod, std::size_t node, std::size_t except) const {
  Taken together;
  for (const std::size_t other : pods_of_[node]) {
    if (other == except) continue;
    if (shared_host_port(*pods_[pod]->spec, *pods_[other]->spec) != 0) return true;
    together.add(pods_[other]->spec);
  }
  // Whether there is room for it alone is part of whether the node suits it.
  if (together.pods == 0 || !nodes_[node].node) return false;
  together.add(pods_[pod]->spec);
  return !no_room(together, nodes_[node].taken, *nodes_[node].node).empty();
}

void Matching::put(std::size_t pod, std::size_t node) {
  node_of_[pod] = node;
  pods_of_[node].push_back(pod);
}

void Matching::take(std::size_t pod) {
  std::erase(pods_of_[node_of_[pod]], pod);
  node_of_[pod] = kNowhere;
}

bool Matching::in_order() {
  // The first nodes have one more where the pods do not divide evenly.
  const std::size_t uneven = nodes_.empty() ? 0 : pods_.size() % nodes_.size();
  const auto quota = [&](std::size_t node) {
    return uneven == 0 || node < uneven ? most_ : std::max<std::size_t>(most_ - 1, 1);
  };
  std::vector<std::size_t> placed;
  std::size_t node = 0;
  for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
    if (pinned_[pod]) continue;
    while (node < nodes_.size() && pods_of_[node].size() >= quota(node)) ++node;
    if (node == nodes_.size() || !suits_(pod, node) || clashes(pod, node)) {
      for (const std::size_t each : placed) take(each);
      return false;
    }
    put(pod, node);
    placed.push_back(pod);
  }
  return true;
}

bool Matching::by_score(const Score& score) {
  std::vector<std::size_t> placed;
  for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
    if (pinned_[pod]) continue;
    std::size_t best = kNowhere;
    std::int64_t most = 0;
    for (std::size_t node = 0; node < nodes_.size(); ++node) {
      if (pods_of_[node].size() >= most_ || !suits_(pod, node) || clashes(pod, node)) continue;
      const std::int64_t worth = score(pod, node);
      if (best != kNowhere && worth <= most) continue;
      best = node;
      most = worth;
    }
    if (best == kNowhere) {
      for (const std::size_t each : placed) take(each);
      return false;
    }
    put(pod, best);
    placed.push_back(pod);
  }
  return true;
}

bool Matching::search() {
  for (std::size_t pod = 0; pod < pods_.size(); ++pod) {
    if (pinned_[pod]) continue;
    std::vector<bool> seen(nodes_.size());
    if (find_place(pod, seen)) continue;
    left_over_ = pod;
    return false;
  }
  return true;
}

bool Matching::find_place(std::size_t pod, std::vector<bool>& seen) {
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (pods_of_[node].size() < most_ && suits_(pod, node) && !clashes(pod, node)) {
      put(pod, node);
      return true;
    }
  }
  for (std::size_t node = 0; node < nodes_.size(); ++node) {
    if (seen[node] || !suits_(pod, node)) continue;
    seen[node] = true;
    if (make_room(pod, node, seen)) return true;
  }
  return false;
}

bool Matching::make_room(std::size_t pod, std::size_t node, std::vector<bool>& seen) {
  const std::vector<std::size_t> there = pods_of_[node];
  for (const std::size_t other : there) {
    if (pinned_[other] || clashes(pod, node, other)) continue;
    take(other);
    if (pods_of_[node].size() < most_) {
      // Before the other looks for a place, which is not to be this one again.
      put(pod, node);
      if (find_place(other, seen)) return true;
      take(pod);
    }
    put(other, node);
  }
  return false;
}

}  // namespace mainspring::bridge
