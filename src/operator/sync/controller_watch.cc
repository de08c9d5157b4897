// What wakes the two queues of a Controller, and what its status says.
#include <fmt/format.h>

#include "api/names.h"
#include "base/rfc3339.h"
#include "operator/build/login_names.h"
#include "operator/sync/controller_sync.h"

namespace mainspring::op {
namespace {

using control::Controller;
using control::Key;

// The Controller that owns the object, or none.
template <class T>
void enqueue_owner(const std::shared_ptr<const T>& object, Controller& to) {
  if (!object) return;
  const kube::OwnerReference* const owner = object->meta.controller();
  if (owner != nullptr && owner->kind == api::Controller::kResource.kind) {
    to.enqueue(Key(object->meta.ns, owner->name));
  }
}

void enqueue_instance(const std::shared_ptr<const kube::Pod>& pod, Controller& to) {
  if (!pod || pod->meta.labels.find(api::label::kName) != api::app::kController) return;
  if (const auto instance = pod->meta.labels.find(api::label::kInstance)) {
    to.enqueue(Key(pod->meta.ns, *instance));
  }
}

Situation situation_of(const ControllerParts& parts, const api::ConfigStatus& config,
                       const Error* failure, std::string_view reason) {
  Situation now;
  const kube::StatefulSet* const set = parts.stateful_set.get();
  if (parts.controller->spec.external) {
    now.ready = failure == nullptr;
    now.ready_reason = "External";
  } else if (set == nullptr) {
    now.ready_reason = "Waiting";
    now.ready_message = "slurmctld has not been started yet";
  } else {
    const bool settled =
        set->observed_generation == set->meta.generation && set->updated >= set->spec.replicas;
    now.ready = set->ready >= set->spec.replicas;
    now.ready_reason = now.ready ? "AllReplicasReady" : "Waiting";
    now.ready_message = fmt::format("{} of {} slurmctld ready", set->ready, set->spec.replicas);
    now.progressing = !now.ready || !settled;
    if (now.progressing) now.progress_message = now.ready_message;
  }
  if (config.state == kPending) {
    now.progressing = true;
    now.progress_message = config.message;
  }
  if (failure != nullptr) {
    now.degraded_reason = reason;
    now.degraded_message = failure->to_string();
  }
  return now;
}

json::Value to_json(const api::ConfigStatus& config) {
  json::Value out = json::Value::object({{"hash", config.hash},
                                         {"method", config.method},
                                         {"state", config.state},
                                         {"message", config.message}});
  out.set("appliedAt",
          config.applied_at ? json::Value(format_rfc3339(*config.applied_at)) : json::Value());
  return out;
}

// As it comes back from the API, which keeps whole seconds.
api::ConfigStatus stored(api::ConfigStatus config) {
  if (config.applied_at) {
    config.applied_at = std::chrono::floor<seconds>(*config.applied_at);
  }
  return config;
}

}  // namespace

ControllerSync::ControllerSync(World& world)
    : world_(world),
      slices_(world.manager.store<control::ObjectMeta>(
          build::kEndpointSlices,
          {{},
           fmt::format("endpointslice.kubernetes.io/managed-by={}", build::kSliceManager),
           {}})),
      queue_(world.manager.add({.name = "controller",
                                .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                                .workers = world.options.workers})),
      slurm_queue_(world.manager.add(
          {.name = "controller-slurm",
           .reconcile = [this](Key key) { return reconcile_slurm(std::move(key)); },
           .workers = world.options.workers})) {
  watch();
  watch_references();
}

void ControllerSync::watch() {
  const auto owned = [](const auto& before, const auto& after, Controller& to) {
    enqueue_owner(before, to);
    enqueue_owner(after, to);
  };
  const auto pods = [](const auto& before, const auto& after, Controller& to) {
    enqueue_instance(before, to);
    enqueue_instance(after, to);
  };
  queue_.watch(world_.controllers);
  queue_.watch<kube::StatefulSet>(world_.stateful_sets, owned);
  queue_.watch<kube::Service>(world_.services, owned);
  queue_.watch<control::ObjectMeta>(slices_, owned);
  queue_.watch<kube::Pod>(world_.pods, pods);
  queue_.wait_for(world_.claims);
  slurm_queue_.watch(world_.controllers);
  slurm_queue_.watch<kube::Pod>(world_.pods, pods);
  world_.slurm.on_cluster([this](KeyView owner) {
    queue_.enqueue(owner);
    slurm_queue_.enqueue(owner);
  });
}

void ControllerSync::watch_references() {
  queue_.watch<kube::ConfigMap>(
      world_.config_maps, [this](const auto& before, const auto& after, Controller& to) {
        enqueue_owner(before, to);
        enqueue_owner(after, to);
        const kube::ConfigMap& map = after ? *after : *before;
        for (const auto& user : world_.controllers_using("ConfigMap", map.meta.key())) {
          to.enqueue(user->meta.key());
        }
      });
  queue_.watch<kube::SecretObject>(
      world_.secrets, [this](const auto& before, const auto& after, Controller& to) {
        const kube::SecretObject& secret = after ? *after : *before;
        for (const auto& user : world_.controllers_using("Secret", secret.meta.key())) {
          to.enqueue(user->meta.key());
        }
      });
  queue_.watch<api::Accounting>(
      world_.accountings, [this](const auto& before, const auto& after, Controller& to) {
        if (before && after && before->spec == after->spec) return;
        const api::Accounting& accounting = after ? *after : *before;
        for (const auto& user : world_.controllers_of_accounting(accounting.meta.key())) {
          to.enqueue(user->meta.key());
        }
      });
  queue_.watch<api::NodeSet>(
      world_.nodesets, [](const auto& before, const auto& after, Controller& to) {
        if (before && after && before->spec == after->spec &&
            before->meta.deleting() == after->meta.deleting() &&
            before->status.desired == after->status.desired) {
          return;
        }
        for (const auto* nodeset : {before.get(), after.get()}) {
          if (nodeset == nullptr) continue;
          to.enqueue(Key(nodeset->meta.ns, nodeset->spec.controller_ref.name));
        }
      });
  queue_.watch<api::RestApi>(world_.restapis,
                             [](const auto& before, const auto& after, Controller& to) {
                               if (before && after && before->spec == after->spec) return;
                               const api::RestApi& restapi = after ? *after : *before;
                               to.enqueue(Key(restapi.meta.ns, restapi.spec.controller_ref.name));
                             });
}

Task<Result<void>> ControllerSync::write_status(Parts parts, api::ConfigStatus config,
                                                const Problem* problem) {
  const api::Controller& controller = *parts->controller;
  Situation situation = situation_of(*parts, config, problem ? &problem->error : nullptr,
                                     problem ? problem->reason : "");
  const auto cluster = world_.slurm.find(controller.meta.key());
  situation.slurm_reachable = cluster && cluster->cache().nodes_freshness().fresh();
  if (!cluster) {
    situation.slurm_message = "no RestApi of this Controller answers yet";
  } else if (!*situation.slurm_reachable) {
    const std::string why = cluster->cache().nodes_freshness().why;
    situation.slurm_message = why.empty() ? "no list of nodes yet" : why;
  }
  const control::ConditionList conditions = conditions_of(
      controller.status.conditions, situation, controller.meta.generation, world_.clock.wall_now());
  if (same_conditions(controller.status.conditions, conditions) &&
      controller.status.observed_generation == controller.meta.generation &&
      controller.status.config == stored(config)) {
    co_return Result<void>();
  }
  json::Value status = json::Value::object({{"conditions", control::to_json(conditions)},
                                            {"observedGeneration", controller.meta.generation}});
  if (!config.state.empty()) status.set("config", to_json(config));
  co_return co_await patch_status(&world_, api::Controller::kResource, controller.meta,
                                  std::move(status));
}

}  // namespace mainspring::op
