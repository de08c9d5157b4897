#include "bridge/sync/world.h"

#include <utility>

#include "bridge/names.h"
#include "kube/core_objects.h"
#include "net/wait.h"

namespace mainspring::bridge {

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
      by_slurm_name_(nodes.add_index([](const kube::Node& node, std::vector<std::string>& values) {
        values.push_back(slurm_name(node));
      })) {
  manager.add_work("cluster-id", control::Manager::When::kAlways,
                   [this] { return read_cluster_id(); });
}

net::Task<Result<void>> World::read_cluster_id() {
  while (cluster_id_.empty()) {
    auto found = co_await kube::Api<kube::Namespace>(kube).get("kube-system");
    if (found) {
      cluster_id_ = found->meta.uid;
    } else {
      log.warn("the namespace kube-system, by which this cluster is known, cannot be read",
               {{"error", found.error()}});
      MS_CO_CHECK(co_await net::sleep(seconds(2)));
    }
  }
  co_return Result<void>();
}

std::string World::slurm_name(const kube::Node& node) {
  return std::string(node.meta.labels.find(kSlurmNodeLabel).value_or(node.meta.name));
}

std::shared_ptr<const kube::Node> World::kube_node(std::string_view slurm_name) const {
  const auto& found = nodes.find(by_slurm_name_, slurm_name);
  return found.empty() ? nullptr : found.front();
}

}  // namespace mainspring::bridge
