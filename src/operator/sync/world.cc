#include "operator/sync/world.h"

#include <fmt/format.h>

#include "api/names.h"
#include "operator/nodeset/claims.h"

namespace mainspring::op {
namespace {

using control::WatchScope;

constexpr std::string_view kOurs =
    "app.kubernetes.io/name in (slurmctld,slurmrestd,slurmdbd,slurmd,login)";
constexpr std::string_view kOurPods = "app.kubernetes.io/name in (slurmctld,slurmd)";

WatchScope labelled(std::string_view selector) { return {{}, std::string(selector), {}}; }

// Helm keeps its releases in Secrets, each up to a megabyte, and no daemon of ours reads one.
WatchScope without_helm() { return {{}, {}, "type!=helm.sh/release.v1"}; }

std::string join(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}
std::string join(KeyView key) { return join(key.ns, key.name); }

template <class T>
auto by_controller(Store<T>& store) {
  return store.add_index([](const T& object, std::vector<std::string>& values) {
    values.push_back(join(object.meta.ns, object.spec.controller_ref.name));
  });
}

template <class T>
auto by_owner(Store<T>& store) {
  return store.add_index([](const T& object, std::vector<std::string>& values) {
    if (const auto* owner = object.meta.controller()) values.push_back(owner->uid);
  });
}

// Those of nobody stand under what a UID cannot be.
std::string orphans_of(std::string_view ns, std::string_view instance) {
  return fmt::format("orphan/{}/{}", ns, instance);
}

void owner_of_pod(const kube::Pod& pod, std::vector<std::string>& values) {
  if (const auto* owner = pod.meta.controller()) return values.push_back(owner->uid);
  if (const auto instance = pod.meta.labels.find(api::label::kInstance)) {
    values.push_back(orphans_of(pod.meta.ns, *instance));
  }
}

void used_by(const api::Controller& controller, std::vector<std::string>& values) {
  const auto add = [&](std::string_view kind, std::string_view name) {
    if (!name.empty()) values.push_back(fmt::format("{}/{}/{}", kind, controller.meta.ns, name));
  };
  if (controller.spec.slurm_key_ref) add("Secret", controller.spec.slurm_key_ref->name);
  if (const auto* jwt = api::jwt_key_of(controller.spec)) add("Secret", jwt->name);
  if (controller.spec.jwks_key_ref) add("ConfigMap", controller.spec.jwks_key_ref->name);
  for (const std::string& name : controller.config_map_names()) add("ConfigMap", name);
}

}  // namespace

World::World(control::Manager& given_manager, http::Transport& slurm_transport,
             OperatorOptions given_options)
    : manager(given_manager),
      client(manager.client()),
      events(manager.events()),
      clock(manager.executor().clock()),
      options(std::move(given_options)),
      applier(client, {.metrics = options.metrics}),
      controllers(manager.store<api::Controller>()),
      nodesets(manager.store<api::NodeSet>()),
      loginsets(manager.store<api::LoginSet>()),
      restapis(manager.store<api::RestApi>()),
      accountings(manager.store<api::Accounting>()),
      tokens(manager.store<api::Token>()),
      clusters(manager.store<api::Cluster>()),
      stateful_sets(manager.store<kube::StatefulSet>(labelled(kOurs))),
      deployments(manager.store<kube::Deployment>(labelled(kOurs))),
      services(manager.store<kube::Service>(labelled(kOurs))),
      budgets(manager.store<kube::PodDisruptionBudget>(labelled(kOurs))),
      pods(manager.store<kube::Pod>(labelled(kOurPods))),
      config_maps(manager.store<kube::ConfigMap>()),
      secrets(manager.store<kube::SecretObject>(without_helm())),
      claims(manager.store<kube::PersistentVolumeClaim>()),
      revisions(manager.store<kube::ControllerRevision>()),
      nodes(manager.store<kube::Node>()),
      slurm({manager.executor(), slurm_transport, manager.random(), options.log, options.metrics,
             manager.may_write()}),
      outside({manager.executor(), slurm_transport, manager.random(), options.log, nullptr,
               manager.may_write()}),
      nodesets_by_controller_(by_controller(nodesets)),
      loginsets_by_controller_(by_controller(loginsets)),
      restapis_by_controller_(by_controller(restapis)),
      controllers_by_accounting_(
          controllers.add_index([](const api::Controller& object, auto& values) {
            const std::string& name = object.spec.accounting_ref.name;
            if (!name.empty()) values.push_back(join(object.meta.ns, name));
          })),
      controllers_by_use_(controllers.add_index(&used_by)),
      pods_by_owner_(pods.add_index(&owner_of_pod)),
      pods_by_node_(pods.add_index([](const kube::Pod& pod, auto& values) {
        if (!pod.node_name.empty()) values.emplace_back(pod.node_name.view());
      })),
      pods_by_claim_(pods.add_index([](const kube::Pod& pod, auto& values) {
        if (!waits_to_start(pod)) return;
        for (const kube::Volume& volume : pod.spec->volumes) {
          const std::string claim = volume.claim_name(pod.meta.name);
          if (!claim.empty()) values.push_back(join(pod.meta.ns, claim));
        }
      })),
      pods_by_slurm_node_(pods.add_index([](const kube::Pod& pod, auto& values) {
        const auto cluster = pod.meta.labels.find(api::label::kCluster);
        if (!cluster) return;
        values.push_back(fmt::format("{}/{}/{}", pod.meta.ns, *cluster, slurm_node_name(pod)));
      })),
      revisions_by_owner_(by_owner(revisions)),
      config_maps_by_owner_(by_owner(config_maps)) {}

const std::vector<std::shared_ptr<const api::NodeSet>>& World::nodesets_of(
    KeyView controller) const {
  return nodesets.find(nodesets_by_controller_, join(controller));
}
const std::vector<std::shared_ptr<const api::LoginSet>>& World::loginsets_of(
    KeyView controller) const {
  return loginsets.find(loginsets_by_controller_, join(controller));
}
const std::vector<std::shared_ptr<const api::RestApi>>& World::restapis_of(
    KeyView controller) const {
  return restapis.find(restapis_by_controller_, join(controller));
}
const std::vector<std::shared_ptr<const api::Controller>>& World::controllers_of_accounting(
    KeyView accounting) const {
  return controllers.find(controllers_by_accounting_, join(accounting));
}
const std::vector<std::shared_ptr<const api::Controller>>& World::controllers_using(
    std::string_view kind, KeyView object) const {
  return controllers.find(controllers_by_use_, fmt::format("{}/{}", kind, join(object)));
}
const std::vector<std::shared_ptr<const kube::Pod>>& World::pods_of(
    std::string_view owner_uid) const {
  return pods.find(pods_by_owner_, owner_uid);
}
const std::vector<std::shared_ptr<const kube::Pod>>& World::orphan_pods(
    std::string_view ns, std::string_view instance) const {
  return pods.find(pods_by_owner_, orphans_of(ns, instance));
}
const std::vector<std::shared_ptr<const kube::ControllerRevision>>& World::revisions_of(
    std::string_view owner_uid) const {
  return revisions.find(revisions_by_owner_, owner_uid);
}
const std::vector<std::shared_ptr<const kube::ConfigMap>>& World::config_maps_of(
    std::string_view owner_uid) const {
  return config_maps.find(config_maps_by_owner_, owner_uid);
}
const std::vector<std::shared_ptr<const kube::Pod>>& World::pods_waiting_for(KeyView claim) const {
  return pods.find(pods_by_claim_, join(claim));
}
const std::vector<std::shared_ptr<const kube::Pod>>& World::pods_on(std::string_view node) const {
  return pods.find(pods_by_node_, node);
}
const std::vector<std::shared_ptr<const kube::Pod>>& World::pods_of_slurm_node(
    KeyView controller, std::string_view slurm_node) const {
  return pods.find(pods_by_slurm_node_, fmt::format("{}/{}", join(controller), slurm_node));
}

}  // namespace mainspring::op
