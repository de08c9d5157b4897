#include "operator/sync/ensure.h"

#include <fmt/format.h>

namespace mainspring::op {
namespace {

using control::EventType;
using kube::ConditionStatus;

void tell(World& world, const control::ObjectRef& owner, EventType type, std::string_view reason,
          std::string_view action, std::string note) {
  world.events.event(owner, type, reason, action, std::move(note));
}

void set(control::ConditionList& conditions, std::string_view type, ConditionStatus status,
         std::string_view reason, std::string_view message, std::int64_t generation, WallTime now) {
  kube::Condition wanted;
  wanted.type = kube::Text(type);
  wanted.status = status;
  wanted.reason = kube::Text(reason);
  wanted.message = kube::Text(message);
  wanted.observed_generation = generation;
  control::set_condition(conditions, std::move(wanted), now);
}

std::string_view or_else(const std::string& text, std::string_view otherwise) {
  return text.empty() ? otherwise : std::string_view(text);
}

}  // namespace

void warn(World& world, const control::ObjectRef& owner, std::string_view reason,
          const std::string& note) {
  tell(world, owner, EventType::kWarning, reason, "Sync", note);
}

Task<Result<control::Applied>> ensure(World* world, control::ObjectRef owner,
                                      kube::Resource resource, json::Value desired,
                                      std::optional<kube::Meta> seen) {
  const json::Value* const given = desired.at_pointer("/metadata/name");
  const std::string name(given == nullptr ? "" : given->as_string().value_or(""));
  const std::string what = fmt::format("{} {}", resource.kind, name);
  if (seen && seen->deleting()) {
    co_return fail(Code::kConflict, fmt::format("{} is being deleted; it is made again when it is "
                                                "gone",
                                                what));
  }
  const bool is_new = !seen;
  auto applied = co_await world->applier.apply({resource, std::move(desired), std::move(seen)});
  if (!applied) {
    tell(*world, owner, EventType::kWarning, is_new ? "CreateFailed" : "PatchFailed", "Sync",
         fmt::format("{}: {}", what, applied.error().to_string()));
    co_return fail(std::move(applied).error());
  }
  if (is_new && applied->changed) {
    tell(*world, owner, EventType::kNormal, "CreateSucceeded", "Create",
         fmt::format("Created {}", what));
  }
  co_return applied;
}

Task<Result<void>> ensure_absent(World* world, control::ObjectRef owner, kube::Resource resource,
                                 kube::Meta meta) {
  if (meta.deleting()) co_return Result<void>();
  const kube::RawApi api(world->client, resource, meta.ns);
  const std::string what = fmt::format("{} {}", resource.kind, meta.name);
  const auto removed = co_await api.remove(meta.name, {.uid = meta.uid});
  if (!removed && removed.error().code() != Code::kNotFound) {
    tell(*world, owner, EventType::kWarning, "DeleteFailed", "Delete",
         fmt::format("{}: {}", what, removed.error().to_string()));
    co_return fail(removed.error());
  }
  world->applier.forget(resource, meta.key());
  if (removed) {
    tell(*world, owner, EventType::kNormal, "DeleteSucceeded", "Delete",
         fmt::format("Deleted {}", what));
  }
  co_return Result<void>();
}

Task<Result<void>> patch_status(World* world, kube::Resource resource, kube::Meta meta,
                                json::Value status) {
  json::Value body = json::Value::object();
  body["metadata"]["resourceVersion"] = meta.resource_version;
  body["status"] = std::move(status);
  const kube::RawApi api(world->client, resource, meta.ns);
  const auto done = co_await api.patch(meta.name, {kube::PatchKind::kMerge, std::move(body)},
                                       {.subresource = "status"});
  if (!done && done.error().code() != Code::kNotFound) co_return fail(done.error());
  co_return Result<void>();
}

control::ConditionList conditions_of(const kube::Conditions& before, const Situation& situation,
                                     std::int64_t generation, WallTime now) {
  const auto word = [](bool yes) { return yes ? ConditionStatus::kTrue : ConditionStatus::kFalse; };
  control::ConditionList all = control::edit(before);
  set(all, "Ready", word(situation.ready),
      or_else(situation.ready_reason, situation.ready ? "Ready" : "NotReady"),
      situation.ready_message, generation, now);
  set(all, "Progressing", word(situation.progressing),
      situation.progressing ? "Progressing" : "Settled", situation.progress_message, generation,
      now);
  const bool degraded = !situation.degraded_reason.empty();
  set(all, "Degraded", word(degraded), or_else(situation.degraded_reason, "AsExpected"),
      situation.degraded_message, generation, now);
  if (situation.slurm_reachable) {
    set(all, "SlurmReachable", word(*situation.slurm_reachable),
        *situation.slurm_reachable ? "Answers" : "NoAnswer", situation.slurm_message, generation,
        now);
  } else if (kube::find_condition(before, "SlurmReachable") == nullptr) {
    set(all, "SlurmReachable", ConditionStatus::kUnknown, "NotAsked", "", generation, now);
  }
  return all;
}

bool same_conditions(const kube::Conditions& before, const control::ConditionList& after) {
  return control::edit(before) == after;
}

}  // namespace mainspring::op
