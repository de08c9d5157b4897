#include "operator/sync/accounting_sync.h"

#include <fmt/format.h>

#include "api/names.h"
#include "base/text.h"
#include "control/owners.h"
#include "operator/build/etc_files.h"
#include "operator/build/jwks.h"
#include "operator/build/slurm_conf.h"

namespace mainspring::op {
namespace {

using api::Accounting;
using control::Key;
using control::Requeue;

std::string use(std::string_view kind, KeyView object) {
  return fmt::format("{}/{}/{}", kind, object.ns, object.name);
}

void used_by(const Accounting& accounting, std::vector<std::string>& values) {
  const auto add = [&](std::string_view kind, const api::KeyRef* ref) {
    if (ref != nullptr) values.push_back(use(kind, {accounting.meta.ns, ref->name}));
  };
  const api::AccountingSpec& spec = accounting.spec;
  add("Secret", spec.slurm_key_ref ? &*spec.slurm_key_ref : nullptr);
  add("Secret", api::jwt_key_of(spec));
  add("Secret", &spec.storage.password_key_ref);
  add("ConfigMap", spec.jwks_key_ref ? &*spec.jwks_key_ref : nullptr);
}

}  // namespace

AccountingSync::AccountingSync(World& world)
    : world_(world), by_use_(world.accountings.add_index(&used_by)) {
  watch(world_.manager.add({.name = "accounting",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
}

void AccountingSync::watch(control::Controller& queue) {
  using control::Controller;
  const auto users = [this](std::string_view kind, const kube::Meta& meta, Controller& to) {
    for (const auto& accounting : world_.accountings.find(by_use_, use(kind, meta.key()))) {
      to.enqueue(accounting->meta.key());
    }
  };
  queue.watch(world_.accountings);
  watch_owned(queue, world_.stateful_sets, Accounting::kResource.kind);
  watch_owned(queue, world_.services, Accounting::kResource.kind);
  watch_owned(queue, world_.secrets, Accounting::kResource.kind);
  queue.watch<kube::SecretObject>(world_.secrets,
                                  [users](const auto& before, const auto& after, Controller& to) {
                                    users("Secret", (after ? after : before)->meta, to);
                                  });
  queue.watch<kube::ConfigMap>(world_.config_maps,
                               [users](const auto& before, const auto& after, Controller& to) {
                                 users("ConfigMap", (after ? after : before)->meta, to);
                               });
  const auto of_controller = [](const api::Controller& controller, Controller& to) {
    const std::string& name = controller.spec.accounting_ref.name;
    if (!name.empty()) to.enqueue(Key(controller.meta.ns, name));
  };
  queue.watch<api::Controller>(
      world_.controllers, [of_controller](const auto& before, const auto& after, Controller& to) {
        if (before && after && before->spec.accounting_ref == after->spec.accounting_ref) return;
        if (before) of_controller(*before, to);
        if (after) of_controller(*after, to);
      });
  world_.slurm.on_cluster([this, of_controller, &queue](KeyView owner) {
    if (const auto controller = world_.controllers.get(owner)) of_controller(*controller, queue);
  });
}

Task<Result<Requeue>> AccountingSync::reconcile(Key key) {
  const AccountingPtr accounting = world_.accountings.get(key.view());
  if (!accounting || accounting->meta.deleting()) co_return Requeue{};
  const Result<Situation> outcome =
      accounting->spec.external ? co_await let_go(accounting) : co_await keep(accounting);
  if (std::optional<Situation> situation = to_tell(outcome)) {
    add_reachability(world_, controllers_of(*accounting), *situation);
    MS_CO_CHECK(co_await write_status(&world_, accounting, *std::move(situation)));
  }
  if (!outcome) co_return fail(outcome.error());
  co_return Requeue{};
}

std::vector<Key> AccountingSync::controllers_of(const Accounting& accounting) const {
  std::vector<Key> all;
  for (const auto& controller : world_.controllers_of_accounting(accounting.meta.key())) {
    all.emplace_back(controller->meta.key());
  }
  return all;
}

Result<AccountingSync::Refs> AccountingSync::find_refs(const Accounting& accounting) const {
  const api::AccountingSpec& spec = accounting.spec;
  const std::string& ns = accounting.meta.ns;
  Refs refs;
  if (spec.slurm_key_ref) {
    MS_TRY(refs.slurm_key, find_secret(world_, ns, *spec.slurm_key_ref, "spec.slurmKeyRef"));
  }
  if (const api::KeyRef* const jwt = api::jwt_key_of(spec)) {
    MS_TRY(refs.jwt_key, find_secret(world_, ns, *jwt, "spec.jwtKeyRef"));
  }
  MS_TRY(refs.password, find_secret(world_, ns, spec.storage.password_key_ref,
                                    "spec.storageConfig.passwordKeyRef"));
  if (spec.jwks_key_ref) {
    const auto map = world_.config_maps.get(ns, spec.jwks_key_ref->name);
    build::Files keys = map ? build::files_of(*map) : build::Files();
    const auto text = keys.find(spec.jwks_key_ref->key);
    if (text == keys.end()) {
      return fail(Code::kNotFound,
                  fmt::format("spec.jwksKeyRef: there is no ConfigMap {} with the key {} in "
                              "namespace {}; create it, or name another",
                              quoted(spec.jwks_key_ref->name), quoted(spec.jwks_key_ref->key), ns));
    }
    if (const auto wrong = build::check_jwks(text->second)) {
      return fail(Code::kInvalid,
                  fmt::format("spec.jwksKeyRef: key {} of ConfigMap {}: {}; {}",
                              quoted(spec.jwks_key_ref->key), quoted(spec.jwks_key_ref->name),
                              wrong->message, wrong->advice));
    }
    refs.jwks = std::move(text->second);
  }
  return refs;
}

Task<Result<Situation>> AccountingSync::keep(AccountingPtr accounting) {
  const std::string& ns = accounting->meta.ns;
  const std::string name = api::accounting_name(accounting->meta.name);
  const control::ObjectRef owner = control::ref_to(Accounting::kResource, accounting->meta);
  const auto refs = find_refs(*accounting);
  if (!refs) co_return blocked(world_, owner, "SyncFailed", refs.error().to_string());
  const auto conf = build::slurmdbd_conf(
      *accounting, *refs->password->find(accounting->spec.storage.password_key_ref.key));
  if (!conf) co_return blocked(world_, owner, "SyncFailed", conf.error().to_string());

  const auto live = world_.stateful_sets.get(ns, name);
  const build::AccountingInputs inputs{
      .accounting = *accounting,
      .slurm_key = refs->slurm_key.get(),
      .jwt_key = refs->jwt_key.get(),
      .jwks = refs->jwks,
      .slurmdbd_conf = *conf,
      .live_annotations = live ? &live->meta.annotations : nullptr};
  auto service = build::accounting_service(inputs);
  auto stateful_set = build::accounting_stateful_set(inputs);
  for (const auto* const built : {&service, &stateful_set}) {
    if (!*built) co_return blocked(world_, owner, "SyncFailed", built->error().to_string());
  }
  MS_CO_CHECK(co_await ensure(&world_, owner, kube::Service::kResource, *std::move(service),
                              seen(world_.services, ns, name)));
  MS_CO_CHECK(co_await ensure(&world_, owner, kube::SecretObject::kResource,
                              build::accounting_secret(inputs), seen(world_.secrets, ns, name)));
  MS_CO_TRY(const control::Applied applied,
            co_await ensure(&world_, owner, kube::StatefulSet::kResource, *std::move(stateful_set),
                            seen(world_.stateful_sets, ns, name)));
  const auto now = world_.stateful_sets.get(ns, name);
  co_return situation_of(now.get(), applied.meta.generation, 1);
}

Task<Result<Situation>> AccountingSync::let_go(AccountingPtr accounting) {
  const std::string& ns = accounting->meta.ns;
  const std::string name = api::accounting_name(accounting->meta.name);
  const control::ObjectRef owner = control::ref_to(Accounting::kResource, accounting->meta);
  const std::pair<kube::Resource, std::optional<kube::Meta>> ours[] = {
      {kube::StatefulSet::kResource, seen(world_.stateful_sets, ns, name)},
      {kube::Service::kResource, seen(world_.services, ns, name)},
      {kube::SecretObject::kResource, seen(world_.secrets, ns, name)}};
  for (const auto& [resource, meta] : ours) {
    if (!meta || !control::is_controlled_by(*meta, accounting->meta.uid)) continue;
    MS_CO_CHECK(co_await ensure_absent(&world_, owner, resource, *meta));
  }
  Situation out;
  out.ready = true;
  out.ready_reason = "External";
  if (const auto& address = accounting->spec.external_config) {
    out.ready_message =
        fmt::format("slurmdbd runs at {}:{}, outside", address->host, address->port);
  }
  co_return out;
}

}  // namespace mainspring::op
