#include "operator/sync/daemon_sync.h"

#include <fmt/format.h>

#include "base/text.h"

namespace mainspring::op {
namespace {

struct Progress {
  std::int64_t generation = 0;  // That the numbers are about.
  std::int32_t replicas = 0;
  std::int32_t updated = 0;
  std::int32_t available = 0;
};

Situation situation_of(const std::optional<Progress>& live, std::int64_t generation,
                       std::int32_t wanted) {
  if (!live) return waiting("Creating", "the pods are being made");
  Situation out;
  const bool seen = live->generation >= generation;
  out.ready = seen && live->available >= wanted;
  out.ready_message = fmt::format("{} of {} pods are available", live->available, wanted);
  out.ready_reason = out.ready ? "Available" : "Unavailable";
  out.progressing = !seen || live->updated < wanted || live->replicas != wanted;
  if (out.progressing) {
    out.progress_message =
        fmt::format("{} of {} pods are up to date", seen ? live->updated : 0, wanted);
  }
  return out;
}

// What the Deployment's own controller complains of.
void add_complaints(Situation& out, const kube::Conditions& conditions) {
  const kube::Condition* complaint = kube::find_condition(conditions, "ReplicaFailure");
  if (complaint == nullptr || complaint->status != kube::ConditionStatus::kTrue) {
    complaint = kube::find_condition(conditions, "Progressing");
    if (complaint == nullptr || complaint->status != kube::ConditionStatus::kFalse) return;
  }
  out.degraded_reason = std::string(complaint->reason.view());
  if (out.degraded_reason.empty()) out.degraded_reason = "Failing";
  out.degraded_message = std::string(complaint->message.view());
}

// What keeps us from speaking to the Slurm of a Controller: empty where it answers, unset where it
// was not asked yet.
std::optional<std::string> trouble_with(const World& world, KeyView controller) {
  const auto cluster = world.slurm.find(controller);
  if (!cluster) return "no RestApi of it can be spoken to yet";
  const slurm::Freshness freshness = cluster->cache().nodes_freshness();
  if (freshness.fresh()) return "";
  // Not how old it is: that would be another message every time.
  if (!freshness.why.empty()) return freshness.why;
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const kube::SecretObject>> find_secret(const World& world,
                                                              std::string_view ns,
                                                              const api::KeyRef& ref,
                                                              std::string_view field) {
  auto secret = world.secrets.get(ns, ref.name);
  if (!secret) {
    return fail(Code::kNotFound,
                fmt::format("{}: there is no Secret {} in namespace {}; create it, or name another",
                            field, quoted(ref.name), ns));
  }
  const Secret* const value = secret->find(ref.key);
  if (value == nullptr || value->empty()) {
    return fail(Code::kNotFound,
                fmt::format("{}: the Secret {} has nothing under the key {}; add it, or name "
                            "another key",
                            field, quoted(ref.name), quoted(ref.key)));
  }
  return secret;
}

Situation blocked(World& world, const control::ObjectRef& object, std::string_view reason,
                  const std::string& note) {
  warn(world, object, reason, note);
  Situation out = waiting(std::string(reason), note);
  out.progressing = false;
  out.progress_message.clear();
  out.degraded_reason = std::string(reason);
  out.degraded_message = note;
  return out;
}

Situation waiting(std::string reason, std::string message) {
  Situation out;
  out.ready_reason = std::move(reason);
  out.ready_message = message;
  out.progressing = true;
  out.progress_message = std::move(message);
  return out;
}

Situation situation_of(const kube::Deployment* live, std::int64_t generation, std::int32_t wanted) {
  std::optional<Progress> progress;
  if (live != nullptr) {
    progress = Progress{live->observed_generation, live->replicas, live->updated, live->available};
  }
  Situation out = situation_of(progress, generation, wanted);
  if (live != nullptr) add_complaints(out, live->conditions);
  return out;
}

Situation situation_of(const kube::StatefulSet* live, std::int64_t generation,
                       std::int32_t wanted) {
  std::optional<Progress> progress;
  if (live != nullptr) {
    progress = Progress{live->observed_generation, live->replicas, live->updated, live->available};
  }
  return situation_of(progress, generation, wanted);
}

void add_reachability(const World& world, const std::vector<control::Key>& controllers,
                      Situation& situation) {
  bool all_asked = true;
  for (const control::Key& controller : controllers) {
    const std::optional<std::string> trouble = trouble_with(world, controller.view());
    all_asked = all_asked && trouble;
    if (!trouble || trouble->empty()) continue;
    situation.slurm_reachable = false;
    situation.slurm_message = fmt::format("Controller {}: {}", controller.name, *trouble);
    return;
  }
  if (!all_asked) return;
  situation.slurm_reachable = !controllers.empty();
  if (controllers.empty()) situation.slurm_message = "there is no Controller that this is for";
}

std::optional<Situation> to_tell(const Result<Situation>& outcome) {
  if (outcome) return *outcome;
  const Error& error = outcome.error();
  if (error.retryable() || error.code() == Code::kConflict || error.code() == Code::kCancelled) {
    return std::nullopt;
  }
  Situation out = waiting("SyncFailed", error.to_string());
  out.progressing = false;
  out.progress_message.clear();
  out.degraded_reason = "SyncFailed";
  out.degraded_message = error.to_string();
  return out;
}

void watch_controller(control::Controller& queue, World& world, WakeThoseOf wake) {
  queue.watch<api::Controller>(
      world.controllers, [wake](const auto& before, const auto& after, control::Controller& to) {
        if (before && after && before->spec == after->spec &&
            before->meta.deletion == after->meta.deletion) {
          return;
        }
        wake((after ? after : before)->meta.key(), to);
      });
  queue.watch<kube::SecretObject>(
      world.secrets, [&world, wake = std::move(wake)](const auto& before, const auto& after,
                                                      control::Controller& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        for (const auto& controller : world.controllers_using("Secret", meta.key())) {
          wake(controller->meta.key(), to);
        }
      });
}

}  // namespace mainspring::op
