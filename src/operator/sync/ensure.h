// operator/sync/ensure.h
//
// How reconcilers write: objects by server-side apply, with an Event on the owner where one was
// created or could not be written; status by a patch that is made only where something differs; and
// the standard conditions. Runs on the control loop, inside a reconcile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "control/conditions.h"
#include "control/event_recorder.h"
#include "operator/sync/world.h"

namespace mainspring::op {

using net::Task;

// What the cache shows of an object, for ensure().
template <class T>
std::optional<kube::Meta> seen(const Store<T>& store, std::string_view ns, std::string_view name) {
  const auto object = store.get(ns, name);
  if (!object) return std::nullopt;
  return object->meta;
}

// Makes `desired` so. One that is being deleted is left alone, and kConflict says so. Events on
// `owner`: CreateSucceeded, CreateFailed, PatchFailed. `world` must outlive the task, here and
// below.
Task<Result<control::Applied>> ensure(World* world, control::ObjectRef owner,
                                      kube::Resource resource, json::Value desired,
                                      std::optional<kube::Meta> seen);

// Deletes an object of ours; success where it is not there. Events DeleteSucceeded, DeleteFailed.
Task<Result<void>> ensure_absent(World* world, control::ObjectRef owner, kube::Resource resource,
                                 kube::Meta meta);

// A merge patch of the object's status; kConflict where it changed since it was seen, so that the
// reconcile is done again on what is there now.
Task<Result<void>> patch_status(World* world, kube::Resource resource, kube::Meta meta,
                                json::Value status);

void warn(World& world, const control::ObjectRef& owner, std::string_view reason,
          const std::string& note);

// The standard conditions of all our kinds. An empty reason means that all is as usual.
struct Situation {
  bool ready = false;
  std::string ready_reason;  // "AllReplicasReady", "Waiting", ...: CamelCase
  std::string ready_message;
  bool progressing = false;
  std::string progress_message;
  std::string degraded_reason;  // Empty: not degraded.
  std::string degraded_message;
  // Unset: nobody has asked yet. It stays as it was, and is Unknown where it was nothing.
  std::optional<bool> slurm_reachable;
  std::string slurm_message;
};

// The conditions `before` with Ready, Progressing, Degraded and SlurmReachable as the situation has
// them; all others stay.
control::ConditionList conditions_of(const kube::Conditions& before, const Situation& situation,
                                     std::int64_t generation, WallTime now);
// Whether a status needs writing because of them.
bool same_conditions(const kube::Conditions& before, const control::ConditionList& after);

}  // namespace mainspring::op
