// How objects leave: at once, after a grace period (pods on a node), or when the last finalizer has
// gone. Namespaces wait for their contents (sim/garbage.h).
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/rfc3339.h"
#include "sim/meta.h"
#include "sim/refusals.h"
#include "sim/registry.h"

namespace mainspring::sim {
namespace {

using json::Value;

// A pod that no kubelet has, or that has ended, needs no time to end.
std::int64_t grace_of(const Kind& kind, const Value& object, const RemoveOptions& options) {
  if (kind.resource.kind != "Pod" || kind.custom) return 0;
  const std::string_view phase = text_at(object, "/status/phase");
  if (text_at(object, "/spec/nodeName").empty() || phase == "Succeeded" || phase == "Failed") {
    return 0;
  }
  if (options.grace_seconds) return std::max<std::int64_t>(*options.grace_seconds, 0);
  const Value* wanted = object.at_pointer("/spec/terminationGracePeriodSeconds");
  return wanted == nullptr ? 30 : wanted->as_int().value_or(30);
}

void set_propagation(Value& object, std::string_view propagation) {
  if (propagation.empty()) return;
  remove_finalizer(object, "orphan");
  remove_finalizer(object, "foregroundDeletion");
  if (propagation == "Orphan") add_finalizer(object, "orphan");
  if (propagation == "Foreground") add_finalizer(object, "foregroundDeletion");
}

Result<void> check_preconditions(const Kind& kind, const Value& object,
                                 const RemoveOptions& options) {
  // Here the server names the kind, not the plural.
  const auto refusal = [&](std::string why) {
    return fail(refuse(
        409, "Conflict",
        fmt::format("Operation cannot be fulfilled on {} \"{}\": {}",
                    kind.resource.group.empty() ? kind.resource.kind
                                                : kind.resource.kind + "." + kind.resource.group,
                    name_of(object), why),
        {std::string(name_of(object)), kind.resource.group, kind.resource.kind}));
  };
  if (options.uid && *options.uid != uid_of(object)) {
    return refusal(fmt::format(
        "the UID in the precondition ({}) does not match the UID in record ({}). The object might "
        "have been deleted and then recreated",
        *options.uid, uid_of(object)));
  }
  if (!options.resource_version.empty() && options.resource_version != version_of(object)) {
    return refusal(fmt::format(
        "the ResourceVersion in the precondition ({}) does not match the ResourceVersion in record "
        "({}). The object might have been modified",
        options.resource_version, version_of(object)));
  }
  return {};
}

}  // namespace

Object Registry::mark_deleted(const Kind& kind, std::string_view key, const Value& live,
                              Value object, std::int64_t grace, bool dry_run) {
  Value& meta = object["metadata"];
  meta["deletionTimestamp"] = format_rfc3339(clock_.wall_now() + seconds(grace));
  meta["deletionGracePeriodSeconds"] = grace;
  const Value* generation = live.at_pointer("/metadata/generation");
  if (generation != nullptr && !is_being_deleted(live)) {
    meta["generation"] = generation->as_int().value_or(0) + 1;
  }
  if (dry_run) return std::make_shared<const Value>(std::move(object));
  return storage_.put(kind.collection(), key, std::move(object));
}

Result<Removed> Registry::remove(const Kind& kind, std::string_view ns, std::string_view name,
                                 const RemoveOptions& options) {
  MS_TRY(const Object live, get(kind, ns, name));
  MS_CHECK(check_preconditions(kind, *live, options));
  const std::string key = storage_key(ns, name);
  Value object = *live;
  set_propagation(object, options.propagation);
  if (!kind.custom && kind.resource.kind == "Namespace" && !is_being_deleted(*live)) {
    object["status"]["phase"] = "Terminating";
    Value& meta = object["metadata"];
    meta["deletionTimestamp"] = now_text();
    if (options.dry_run) return Removed{std::make_shared<const Value>(std::move(object))};
    return Removed{storage_.put(kind.collection(), key, std::move(object))};
  }
  const bool graceful = kind.resource.kind == "Pod" && !kind.custom;
  std::int64_t grace = grace_of(kind, *live, options);
  if (is_being_deleted(*live)) {
    // What waits already can only be made to wait less.
    const Value* pending = live->at_pointer("/metadata/deletionGracePeriodSeconds");
    const bool sooner = graceful && pending != nullptr && options.grace_seconds &&
                        *options.grace_seconds < pending->as_int().value_or(0);
    const bool waits =
        graceful || has_finalizers(object) || object.at_pointer("/spec/finalizers") != nullptr;
    if (!sooner && waits) {
      if (object == *live || options.dry_run) return Removed{live};
      return Removed{storage_.put(kind.collection(), key, std::move(object))};
    }
    if (sooner) grace = std::max<std::int64_t>(*options.grace_seconds, 0);
  }
  if (has_finalizers(object) || grace > 0) {
    return Removed{mark_deleted(kind, key, *live, std::move(object), grace, options.dry_run)};
  }
  // Pods are marked even where they go at once, which watches see.
  if (graceful) object = *mark_deleted(kind, key, *live, std::move(object), 0, options.dry_run);
  if (options.dry_run) return Removed{std::make_shared<const Value>(std::move(object)), true};
  return Removed{storage_.erase(kind.collection(), key, std::move(object)), true};
}

}  // namespace mainspring::sim
