// operator/sync/daemon_sync.h
//
// What the reconcilers of Accounting, RestApi, LoginSet and Token share: finding what a spec refers
// to, saying how a workload is doing, and writing that into the status. Runs on the control loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "control/controller.h"
#include "operator/sync/ensure.h"

namespace mainspring::op {

// The Secret that `ref` names, with its key in it. The error names the field and what is missing.
Result<std::shared_ptr<const kube::SecretObject>> find_secret(const World& world,
                                                              std::string_view ns,
                                                              const api::KeyRef& ref,
                                                              std::string_view field);

// Something that the object needs is not there or not right. Tells it in an Event; a watch will
// wake the reconciler when it is.
Situation blocked(World& world, const control::ObjectRef& object, std::string_view reason,
                  const std::string& note);
// The same without an Event: it comes by itself.
Situation waiting(std::string reason, std::string message);

// `live`: as the cache shows it, null where it does not yet. `generation`: of the last write, which
// the cache may not show yet.
Situation situation_of(const kube::Deployment* live, std::int64_t generation, std::int32_t wanted);
Situation situation_of(const kube::StatefulSet* live, std::int64_t generation, std::int32_t wanted);

// Says of an object that is for these Controllers whether the Slurm of each of them answers.
void add_reachability(const World& world, const std::vector<control::Key>& controllers,
                      Situation& situation);

// After a reconcile that ended in `outcome`: what the status should say. Nothing where it failed in
// a way that passes.
std::optional<Situation> to_tell(const Result<Situation>& outcome);

// Writes conditions and observedGeneration, and `more` of the status, where anything differs.
// `more_is_new`: the status does not say `more` yet.
template <class T>
Task<Result<void>> write_status(World* world, std::shared_ptr<const T> object, Situation situation,
                                json::Value more = json::Value::object(),
                                bool more_is_new = false) {
  const control::ConditionList conditions = conditions_of(
      object->status.conditions, situation, object->meta.generation, world->clock.wall_now());
  if (!more_is_new && object->status.observed_generation == object->meta.generation &&
      same_conditions(object->status.conditions, conditions)) {
    co_return Result<void>();
  }
  more.set("observedGeneration", object->meta.generation);
  more.set("conditions", control::to_json(conditions));
  co_return co_await patch_status(world, T::kResource, object->meta, std::move(more));
}

// Watches what concerns everybody who refers to a Controller: its spec, its going, and the Secrets
// that it names. `wake` enqueues those that refer to it. `world` must outlive the queue.
using WakeThoseOf = std::function<void(KeyView controller, control::Controller& to)>;
void watch_controller(control::Controller& queue, World& world, WakeThoseOf wake);

// A watch that wakes the owner of what changed, where it is of that kind.
template <class T>
void watch_owned(control::Controller& queue, Store<T>& store, std::string_view owner_kind) {
  queue.watch<T>(store, [owner_kind](const auto& before, const auto& after, auto& to) {
    for (const T* const object : {before.get(), after.get()}) {
      if (object == nullptr) continue;
      const kube::OwnerReference* const owner = object->meta.controller();
      if (owner == nullptr || owner->kind != owner_kind || owner->group() != api::kGroup) continue;
      to.enqueue(control::Key(object->meta.ns, owner->name));
    }
  });
}

}  // namespace mainspring::op
