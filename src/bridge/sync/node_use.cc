#include "bridge/sync/node_use.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "bridge/translate/host_ports.h"
#include "bridge/translate/taken.h"

namespace mainspring::bridge {
namespace {

// Pods of one template share their spec.
bool want_more_than_a_place(const std::vector<PodPtr>& pods) {
  const kube::PodSpec* last = nullptr;
  return std::any_of(pods.begin(), pods.end(), [&](const PodPtr& pod) {
    const kube::PodSpec& spec = *pod->spec;
    if (std::exchange(last, &spec) == &spec) return false;
    return has_host_ports(spec) || !uncounted(spec).empty();
  });
}

// How many pods its kubelet takes.
std::size_t places_on(const kube::Node& node) {
  if (!node.allocatable.contains("pods")) return std::numeric_limits<std::size_t>::max();
  const auto most = node.allocatable.amount("pods");
  return static_cast<std::size_t>(std::max<std::int64_t>(most ? most->value().value_or(0) : 0, 0));
}

}  // namespace

NodeUse::NodeUse(World& world) : world_(world) {
  world.daemons.add_handler([this](const auto&, const auto&) { ++changes_; });
  world.nodes.add_handler([this](const auto& before, const auto& after) {
    if (!after) known_.erase(before->meta.name);
  });
}

const Taken& NodeUse::by_daemons(const kube::Node& node) const {
  if (read_ != changes_) {
    read_ = changes_;
    daemons_.clear();
    world_.daemons.for_each([this](const auto& daemon) {
      daemons_.emplace_back(daemon, Spec(what_it_takes(daemon->spec)));
    });
  }
  static const Taken kNothing;
  if (daemons_.empty()) return kNothing;
  ByDaemons& known = known_[node.meta.name];
  if (known.daemons == changes_ && known.node_version == node.meta.resource_version) {
    return known.taken;
  }
  known = {node.meta.resource_version, changes_, {}};
  for (const auto& [daemon, spec] : daemons_) {
    if (runs_on(*daemon, node, world_.config)) known.taken.add(spec);
  }
  return known.taken;
}

std::size_t NodeUse::fill(std::vector<Place>& places, const std::vector<PodPtr>& gang) const {
  const bool wants_more = want_more_than_a_place(gang);
  std::set<std::string_view> own;
  std::size_t until_full = std::numeric_limits<std::size_t>::max();
  for (Place& place : places) {
    if (!place.node) continue;
    const auto& ours = world_.pods_on(place.node->meta.name);
    const auto& others = world_.lodgers_on(place.node->meta.name);
    place.taken = by_daemons(*place.node);
    const std::size_t most = place.taken.pods + ours.size() + others.size();
    const std::size_t there = places_on(*place.node);
    const std::size_t wanted = most + gang.size();
    until_full = std::min(until_full, there > wanted ? there - wanted : 0);
    if (!wants_more && there >= wanted) {
      place.taken.pods = most;
      continue;
    }
    if (own.empty()) {
      for (const PodPtr& pod : gang) own.insert(pod->meta.uid);
    }
    for (const PodPtr& pod : ours) {
      if (!own.contains(pod->meta.uid)) place.taken.add(pod->spec);
    }
    for (const auto& lodger : others) place.taken.add(lodger->spec);
  }
  return until_full;
}

}  // namespace mainspring::bridge
