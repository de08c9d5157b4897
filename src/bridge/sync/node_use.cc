#include "bridge/sync/node_use.h"

#include <algorithm>
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

bool has_places_for(std::size_t pods, const kube::Node& node) {
  if (!node.allocatable.contains("pods")) return true;
  const auto most = node.allocatable.amount("pods");
  return most && most->value().value_or(0) >= static_cast<std::int64_t>(pods);
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

void NodeUse::fill(std::vector<Place>& places, const std::vector<PodPtr>& gang) const {
  const bool wants_more = want_more_than_a_place(gang);
  std::set<std::string_view> own;
  for (Place& place : places) {
    if (!place.node) continue;
    const auto& ours = world_.pods_on(place.node->meta.name);
    const auto& others = world_.lodgers_on(place.node->meta.name);
    place.taken = by_daemons(*place.node);
    const std::size_t most = place.taken.pods + ours.size() + others.size();
    if (!wants_more && has_places_for(most + gang.size(), *place.node)) {
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
}

}  // namespace mainspring::bridge
