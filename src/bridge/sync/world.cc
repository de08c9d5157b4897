#include "bridge/sync/world.h"

#include <fmt/format.h>

#include <utility>

#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

constexpr std::string_view kSystem = "kube-system";

}  // namespace

World::World(control::Manager& manager, slurm::Connection& slurm, BridgeOptions options)
    : manager(manager),
      kube(manager.client()),
      slurm(slurm.client()),
      cache(slurm.cache()),
      options(std::move(options)),
      config(this->options.config),
      log(this->options.log),
      pods(manager.store<kube::Pod>(
          {.field_selector = "spec.schedulerName=" + config.scheduler_name})),
      nodes(manager.store<kube::Node>()),
      system(manager.store<kube::Namespace>(
          {.field_selector = fmt::format("metadata.name={}", kSystem)})),
      slices(manager.store<kube::ResourceSlice>({.optional = true})),
      claims(manager.store<kube::ResourceClaim>({.optional = true})),
      daemons(manager.store<Daemon>()),
      lodgers(manager.store<Lodger>(
          {.field_selector = fmt::format("spec.schedulerName!={},spec.nodeName!=,"
                                         "status.phase!=Succeeded,status.phase!=Failed",
                                         config.scheduler_name)},
          [tainted = config.taint_nodes](const Lodger& lodger) {
            return can_be_in_the_way(lodger, tainted);
          })),
      pods_by_node_(pods.add_index([](const kube::Pod& pod, std::vector<std::string>& values) {
        if (!pod.node_name.empty() && !pod.terminal()) values.push_back(pod.node_name.str());
      })),
      lodgers_by_node_(
          lodgers.add_index([](const Lodger& lodger, std::vector<std::string>& values) {
            values.push_back(lodger.node_name.str());
          })),
      by_slurm_name_(nodes.add_index([](const kube::Node& node, std::vector<std::string>& values) {
        values.push_back(slurm_name(node));
      })),
      slices_by_node_(
          slices.add_index([](const kube::ResourceSlice& slice, std::vector<std::string>& values) {
            if (!slice.node_name.empty()) values.push_back(slice.node_name.str());
          })) {}

std::string World::cluster_id() const {
  const auto found = system.get({}, kSystem);
  return found ? found->meta.uid : std::string();
}

std::string World::slurm_name(const kube::Node& node) {
  return std::string(node.meta.labels.find(kSlurmNodeLabel).value_or(node.meta.name));
}

std::shared_ptr<const kube::Node> World::kube_node(std::string_view slurm_name) const {
  const auto& found = nodes.find(by_slurm_name_, slurm_name);
  return found.empty() ? nullptr : found.front();
}

const std::vector<std::shared_ptr<const kube::Pod>>& World::pods_on(std::string_view node) const {
  return pods.find(pods_by_node_, node);
}

const std::vector<std::shared_ptr<const Lodger>>& World::lodgers_on(std::string_view node) const {
  return lodgers.find(lodgers_by_node_, node);
}

const std::vector<std::shared_ptr<const kube::ResourceSlice>>& World::slices_of(
    std::string_view node) const {
  return slices.find(slices_by_node_, node);
}

}  // namespace mainspring::bridge
