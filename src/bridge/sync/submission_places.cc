// Where all of a job is to be, where that is more than each part can say by itself: pods that have
// to be in one domain, parts that want the same nodes. Part of Submission.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/hostlist.h"
#include "base/text.h"
#include "bridge/sync/submission.h"
#include "bridge/translate/domains.h"
#include "bridge/translate/needed_nodes.h"
#include "bridge/translate/node_room.h"

namespace mainspring::bridge {

// The first of those where it can be, as Slurm cannot be told to choose.
Result<Prepared> Submission::in_one_domain(Prepared anywhere, const Gang& gang,
                                           const std::vector<VolumeNodes>& volumes,
                                           std::size_t parts) const {
  // With hundreds of them the first few are as good as any.
  constexpr std::size_t kMostTried = 16;
  const slurm::JobRequest& first = anywhere.parts.front();
  const NodeRoom room(first);
  std::vector<DomainNode> nodes;
  for (const auto& node : nodes_of(first.partition.value_or(world_.config.partition))) {
    nodes.push_back({world_.kube_node(node->name), room.could_be(*node), room.is_now(*node)});
  }
  const auto least = static_cast<std::size_t>(std::max(first.minimum_nodes.value_or(1), 1));
  std::vector<Domain> domains = domains_for(nodes, gang.topology_keys, least, gang.near);
  if (domains.size() > kMostTried) domains.resize(kMostTried);
  std::optional<Prepared> second_best;
  std::string why = fmt::format("none has {} nodes that suit", least);
  for (const Domain& domain : domains) {
    MS_TRY(Prepared one, prepare_in(&domain, gang, volumes, parts));
    if (one.impossible.empty() && !one.too_large) return one;
    if (one.impossible.empty() && !second_best) second_best = one;
    if (!one.impossible.empty()) why = fmt::format("{}: {}", domain.to_string(), one.impossible);
  }
  if (second_best) return *std::move(second_best);
  anywhere.impossible = fmt::format("all pods have to be where the nodes agree in {}, and {}",
                                    join(gang.topology_keys, ", "), why);
  return anywhere;
}

// Parts that have their nodes alone, of one partition: a node of the one is none of the others'.
void Submission::leave_to_others(Prepared& out) const {
  const std::string partition = out.parts.front().partition.value_or(world_.config.partition);
  const bool alone = std::all_of(out.parts.begin(), out.parts.end(), [&](const auto& part) {
    return !part.shared.empty() && part.partition.value_or(world_.config.partition) == partition;
  });
  if (!alone || !out.impossible.empty()) return;
  const auto nodes = nodes_of(partition);
  std::vector<PartNodes> parts;
  for (const slurm::JobRequest& part : out.parts) {
    PartNodes& one = parts.emplace_back();
    one.least = static_cast<std::size_t>(std::max(part.minimum_nodes.value_or(1), 1));
    const NodeRoom room(part);
    for (const auto& node : nodes) one.may.push_back(room.could_be(*node));
  }
  const auto others = needed_by_others(parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (others[i].empty()) continue;
    std::vector<std::string> names;
    for (const std::size_t node : others[i]) names.push_back(nodes[node]->name.str());
    // One list, as Slurm gives it back.
    auto& excluded = out.parts[i].excluded_nodes;
    for (const std::string& list : excluded) {
      auto more = expand_hostlist(list).value_or(std::vector<std::string>());
      names.insert(names.end(), more.begin(), more.end());
    }
    excluded = {compress_hostlist(names).value_or(join(names, ","))};
  }
}

}  // namespace mainspring::bridge
