#include "operator/sync/loginset_sync.h"

#include <fmt/format.h>

#include "api/names.h"
#include "base/text.h"
#include "net/run_blocking.h"
#include "operator/build/daemons.h"
#include "operator/build/login_names.h"

namespace mainspring::op {
namespace {

using api::LoginSet;
using control::Key;
using control::Requeue;

std::string join(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

control::WatchScope labelled(std::string_view key, std::string_view value) {
  return {{}, fmt::format("{}={}", key, value), {}};
}

std::string selector_of(const LoginSet& loginset) {
  return fmt::format("{}={},{}={}", api::label::kInstance, loginset.meta.name, api::label::kName,
                     api::app::kLogin);
}

}  // namespace

LoginSetSync::LoginSetSync(World& world, build::SshKeyOptions key_options)
    : world_(world),
      key_options_(key_options),
      login_pods_(world.manager.store<kube::Pod>(labelled(api::label::kName, api::app::kLogin))),
      slices_(world.manager.store<control::ObjectMeta>(
          build::kEndpointSlices,
          labelled("endpointslice.kubernetes.io/managed-by", build::kSliceManager))),
      by_sssd_(world.loginsets.add_index([](const LoginSet& loginset, auto& values) {
        values.push_back(join(loginset.meta.ns, loginset.spec.sssd_conf_ref.name));
      })),
      pods_by_set_(login_pods_.add_index([](const kube::Pod& pod, auto& values) {
        if (const auto set = pod.meta.labels.find(api::label::kInstance)) {
          values.push_back(join(pod.meta.ns, *set));
        }
      })) {
  watch(world_.manager.add({.name = "loginset",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
  watch_names(
      world_.manager.add({.name = "loginset-names",
                          .reconcile = [this](Key key) { return reconcile_names(std::move(key)); },
                          .workers = world_.options.workers}));
}

void LoginSetSync::watch(control::Controller& queue) {
  using control::Controller;
  const auto of_controller = [this](KeyView controller, Controller& to) {
    for (const auto& loginset : world_.loginsets_of(controller)) to.enqueue(loginset->meta.key());
  };
  queue.watch(world_.loginsets);
  watch_controller(queue, world_, of_controller);
  watch_owned(queue, world_.deployments, LoginSet::kResource.kind);
  watch_owned(queue, world_.services, LoginSet::kResource.kind);
  watch_owned(queue, world_.config_maps, LoginSet::kResource.kind);
  watch_owned(queue, world_.secrets, LoginSet::kResource.kind);
  queue.watch<kube::SecretObject>(
      world_.secrets, [this](const auto& before, const auto& after, Controller& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        for (const auto& loginset : world_.loginsets.find(by_sssd_, join(meta.ns, meta.name))) {
          to.enqueue(loginset->meta.key());
        }
      });
  world_.slurm.on_cluster([of_controller, &queue](KeyView owner) { of_controller(owner, queue); });
}

void LoginSetSync::watch_names(control::Controller& queue) {
  queue.watch(world_.loginsets);
  queue.watch<kube::Pod>(login_pods_, [](const auto& before, const auto& after, auto& to) {
    for (const kube::Pod* const pod : {before.get(), after.get()}) {
      if (pod == nullptr) continue;
      if (const auto set = pod->meta.labels.find(api::label::kInstance)) {
        to.enqueue(Key(pod->meta.ns, *set));
      }
    }
  });
  watch_owned(queue, slices_, LoginSet::kResource.kind);
}

Task<Result<Requeue>> LoginSetSync::reconcile(Key key) {
  const LoginSetPtr loginset = world_.loginsets.get(key.view());
  if (!loginset || loginset->meta.deleting()) co_return Requeue{};
  const Result<Situation> outcome = co_await keep(loginset);
  if (std::optional<Situation> situation = to_tell(outcome)) {
    add_reachability(world_, {Key(key.ns, loginset->spec.controller_ref.name)}, *situation);
    MS_CO_CHECK(co_await write_status_of(loginset, *std::move(situation)));
  }
  if (!outcome) co_return fail(outcome.error());
  co_return Requeue{};
}

Result<LoginSetSync::Refs> LoginSetSync::find_refs(const LoginSet& loginset) const {
  const std::string& ns = loginset.meta.ns;
  const std::string& ref = loginset.spec.controller_ref.name;
  Refs refs{.controller = world_.controllers.get(ns, ref), .slurm_key = {}, .sssd_conf = {}};
  if (!refs.controller) return refs;
  if (const auto& key = refs.controller->spec.slurm_key_ref) {
    MS_TRY(refs.slurm_key, find_secret(world_, ns, *key, "slurmKeyRef of Controller " + ref));
  }
  MS_TRY(refs.sssd_conf, find_secret(world_, ns, loginset.spec.sssd_conf_ref, "spec.sssdConfRef"));
  return refs;
}

Task<Result<Situation>> LoginSetSync::keep(LoginSetPtr loginset) {
  const std::string& ns = loginset->meta.ns;
  const std::string& name = loginset->meta.name;
  const control::ObjectRef owner = control::ref_to(LoginSet::kResource, loginset->meta);
  const auto refs = find_refs(*loginset);
  if (!refs) co_return blocked(world_, owner, "SyncFailed", refs.error().to_string());
  if (!refs->controller) {
    co_return blocked(world_, owner, "ControllerRefFailed",
                      fmt::format("spec.controllerRef: there is no Controller {} in namespace {}",
                                  quoted(loginset->spec.controller_ref.name), ns));
  }
  MS_CO_TRY(const SecretPtr keys, co_await host_keys(loginset, refs->controller));

  const auto live = world_.deployments.get(ns, name);
  const build::LoginSetInputs inputs{.loginset = *loginset,
                                     .controller = *refs->controller,
                                     .ssh_host_keys = keys.get(),
                                     .sssd_conf = refs->sssd_conf.get(),
                                     .slurm_key = refs->slurm_key.get(),
                                     .cluster_domain = world_.options.cluster_domain,
                                     .live_annotations = live ? &live->meta.annotations : nullptr};
  auto service = build::loginset_service(inputs);
  auto deployment = build::loginset_deployment(inputs);
  for (const auto* const built : {&service, &deployment}) {
    if (!*built) co_return blocked(world_, owner, "SyncFailed", built->error().to_string());
  }
  // Before the Deployment: its pods read them at their start only.
  MS_CO_CHECK(co_await ensure(&world_, owner, kube::ConfigMap::kResource,
                              build::loginset_ssh_config(inputs),
                              seen(world_.config_maps, ns, api::ssh_config_name(name))));
  MS_CO_CHECK(co_await ensure(&world_, owner, kube::Service::kResource, *std::move(service),
                              seen(world_.services, ns, name)));
  MS_CO_TRY(const control::Applied applied,
            co_await ensure(&world_, owner, kube::Deployment::kResource, *std::move(deployment),
                            seen(world_.deployments, ns, name)));
  const auto now = world_.deployments.get(ns, name);
  co_return situation_of(now.get(), applied.meta.generation, loginset->spec.replicas);
}

Task<Result<LoginSetSync::SecretPtr>> LoginSetSync::host_keys(
    LoginSetPtr loginset, std::shared_ptr<const api::Controller> controller) {
  const std::string name = api::ssh_host_keys_name(loginset->meta.name);
  if (SecretPtr found = world_.secrets.get(loginset->meta.ns, name)) co_return found;
  // The cache may lag behind our own write, and new keys would frighten every user.
  const kube::Api<kube::SecretObject> api(world_.client, loginset->meta.ns);
  auto live = co_await api.get(name);
  if (live) co_return std::make_shared<const kube::SecretObject>(*std::move(live));
  if (live.error().code() != Code::kNotFound) co_return fail(live.error());

  MS_CO_TRY(const auto keys, co_await net::run_blocking([options = key_options_] {
              return build::make_ssh_host_keys(options);
            }));
  const build::LoginSetInputs inputs{.loginset = *loginset, .controller = *controller};
  MS_CO_CHECK(co_await ensure(&world_, control::ref_to(LoginSet::kResource, loginset->meta),
                              kube::SecretObject::kResource,
                              build::loginset_host_keys(inputs, keys), std::nullopt));
  auto made = std::make_shared<kube::SecretObject>();
  for (const auto& [file, key] : keys) made->data.emplace(file, key);
  co_return made;
}

Task<Result<void>> LoginSetSync::write_status_of(LoginSetPtr loginset, Situation situation) {
  const auto live = world_.deployments.get(loginset->meta.ns, loginset->meta.name);
  const std::int32_t replicas = live ? live->replicas : 0;
  const std::string selector = selector_of(*loginset);
  const bool is_new =
      loginset->status.replicas != replicas || loginset->status.selector != selector;
  json::Value more = json::Value::object({{"replicas", replicas}, {"selector", selector}});
  co_return co_await write_status(&world_, loginset, std::move(situation), std::move(more), is_new);
}

Task<Result<Requeue>> LoginSetSync::reconcile_names(Key key) {
  const LoginSetPtr loginset = world_.loginsets.get(key.view());
  if (!loginset || loginset->meta.deleting()) co_return Requeue{};
  const build::Pods pods = login_pods_.find(pods_by_set_, join(key.ns, key.name));
  const control::ObjectRef owner = control::ref_to(LoginSet::kResource, loginset->meta);
  for (const bool ipv6 : {false, true}) {
    json::Value slice = build::login_names(*loginset, pods, ipv6);
    auto known = seen(slices_, key.ns, build::login_names_name(key.name, ipv6));
    if (!known && slice.find("endpoints")->empty()) continue;
    MS_CO_CHECK(co_await ensure(&world_, owner, build::kEndpointSlices, std::move(slice),
                                std::move(known)));
  }
  co_return Requeue{};
}

}  // namespace mainspring::op
