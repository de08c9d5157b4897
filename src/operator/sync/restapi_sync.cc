#include "operator/sync/restapi_sync.h"

#include <fmt/format.h>

#include "api/names.h"
#include "base/text.h"
#include "operator/build/daemons.h"
#include "operator/sync/controller_inputs.h"

namespace mainspring::op {
namespace {

using api::RestApi;
using control::Key;
using control::Requeue;

}  // namespace

RestApiSync::RestApiSync(World& world) : world_(world) {
  watch(world_.manager.add({.name = "restapi",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
}

void RestApiSync::watch(control::Controller& queue) {
  using control::Controller;
  const auto of_controller = [this](KeyView controller, Controller& to) {
    for (const auto& restapi : world_.restapis_of(controller)) to.enqueue(restapi->meta.key());
  };
  queue.watch(world_.restapis);
  watch_controller(queue, world_, of_controller);
  watch_owned(queue, world_.deployments, RestApi::kResource.kind);
  watch_owned(queue, world_.services, RestApi::kResource.kind);
  queue.watch<kube::ConfigMap>(
      world_.config_maps, [of_controller](const auto& before, const auto& after, Controller& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        const kube::OwnerReference* const owner = meta.controller();
        if (owner == nullptr || owner->kind != api::Controller::kResource.kind) return;
        of_controller({meta.ns, owner->name}, to);
      });
  world_.slurm.on_cluster([of_controller, &queue](KeyView owner) { of_controller(owner, queue); });
}

Task<Result<Requeue>> RestApiSync::reconcile(Key key) {
  const RestApiPtr restapi = world_.restapis.get(key.view());
  if (!restapi || restapi->meta.deleting()) co_return Requeue{};
  const Result<Situation> outcome = co_await keep(restapi);
  if (std::optional<Situation> situation = to_tell(outcome)) {
    add_reachability(world_, {Key(key.ns, restapi->spec.controller_ref.name)}, *situation);
    MS_CO_CHECK(co_await write_status(&world_, restapi, *std::move(situation)));
  }
  if (!outcome) co_return fail(outcome.error());
  co_return Requeue{};
}

Task<Result<Situation>> RestApiSync::keep(RestApiPtr restapi) {
  const std::string& ns = restapi->meta.ns;
  const control::ObjectRef owner = control::ref_to(RestApi::kResource, restapi->meta);
  const std::string& ref = restapi->spec.controller_ref.name;
  const auto controller = world_.controllers.get(ns, ref);
  if (!controller) {
    co_return blocked(world_, owner, "ControllerRefFailed",
                      fmt::format("spec.controllerRef: there is no Controller {} in namespace {}",
                                  quoted(ref), ns));
  }
  std::shared_ptr<const kube::SecretObject> slurm_key;
  if (const auto& key = controller->spec.slurm_key_ref) {
    const auto found = find_secret(world_, ns, *key, "slurmKeyRef of Controller " + ref);
    if (!found) co_return blocked(world_, owner, "SyncFailed", found.error().to_string());
    slurm_key = *found;
  }
  const auto config = world_.config_maps.get(ns, api::controller_config_name(ref));
  if (!config || !config->meta.annotations.contains(api::annotation::kRestartHash)) {
    co_return waiting("WaitingForConfig",
                      "the configuration of Controller " + ref + " is not written yet");
  }

  const std::string name = api::restapi_name(restapi->meta.name);
  const auto live = world_.deployments.get(ns, name);
  const build::RestApiInputs inputs{.restapi = *restapi,
                                    .controller = *controller,
                                    .config = config.get(),
                                    .approved = approved_maps_of(world_, *controller),
                                    .slurm_key = slurm_key.get(),
                                    .live_annotations = live ? &live->meta.annotations : nullptr};
  auto service = build::restapi_service(inputs);
  auto deployment = build::restapi_deployment(inputs);
  for (const auto* const built : {&service, &deployment}) {
    if (!*built) co_return blocked(world_, owner, "SyncFailed", built->error().to_string());
  }
  MS_CO_CHECK(co_await ensure(&world_, owner, kube::Service::kResource, *std::move(service),
                              seen(world_.services, ns, name)));
  MS_CO_TRY(const control::Applied applied,
            co_await ensure(&world_, owner, kube::Deployment::kResource, *std::move(deployment),
                            seen(world_.deployments, ns, name)));
  const auto now = world_.deployments.get(ns, name);
  co_return situation_of(now.get(), applied.meta.generation, restapi->spec.replicas);
}

}  // namespace mainspring::op
