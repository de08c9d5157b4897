#include "bridge/sync/pod_writes.h"

#include <charconv>
#include <utility>

#include "base/rfc3339.h"
#include "bridge/names.h"
#include "control/cut_text.h"
#include "kube/pods.h"
#include "kube/taints.h"

namespace mainspring::bridge {
namespace {

// Gone, or another one by now: what was to be done to it is done.
bool is_gone(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kConflict;
}

json::Value identity(const kube::Pod& pod) {
  json::Value meta = json::Value::object();
  meta.set("uid", pod.meta.uid);
  return meta;
}

Task<Result<void>> patch_meta(World* world, PodPtr pod, json::Value meta) {
  json::Value body = json::Value::object();
  body.set("metadata", std::move(meta));
  const kube::Api<kube::Pod> api(world->kube, pod->meta.ns);
  auto done = co_await api.patch(pod->meta.name, {kube::PatchKind::kStrategic, std::move(body)});
  if (!done && !is_gone(done.error())) co_return fail(std::move(done).error());
  co_return Result<void>();
}

json::Value taken_off() {
  json::Value list = json::Value::array();
  list.push_back(kFinalizer);
  list.push_back(kEarlyFinalizer);
  return list;
}

bool needs_toleration(const World& world, const kube::Pod& pod) {
  if (!world.config.taint_nodes) return false;
  kube::Taint taint;
  taint.key = kManagedTaint;
  taint.value = world.config.scheduler_name;
  taint.effect = kube::TaintEffect::kNoExecute;
  return !kube::tolerates(pod.spec->tolerations, taint);
}

// Where no webhook has done it. A list of tolerations is replaced as a whole by any other patch.
Task<Result<void>> add_toleration(World* world, PodPtr pod) {
  json::Value toleration = json::Value::object();
  toleration.set("key", kManagedTaint);
  toleration.set("operator", "Equal");
  toleration.set("value", world->config.scheduler_name);
  toleration.set("effect", "NoExecute");
  const auto step = [](std::string_view op, std::string_view path, json::Value value) {
    json::Value out = json::Value::object();
    out.set("op", op);
    out.set("path", path);
    out.set("value", std::move(value));
    return out;
  };
  json::Value steps = json::Value::array();
  steps.push_back(step("test", "/metadata/uid", json::Value(pod->meta.uid)));
  if (pod->spec->tolerations.empty()) {
    json::Value list = json::Value::array();
    list.push_back(std::move(toleration));
    steps.push_back(step("add", "/spec/tolerations", std::move(list)));
  } else {
    steps.push_back(step("add", "/spec/tolerations/-", std::move(toleration)));
  }
  const kube::Api<kube::Pod> api(world->kube, pod->meta.ns);
  auto done = co_await api.patch(pod->meta.name, {kube::PatchKind::kJson, std::move(steps)});
  if (!done && !is_gone(done.error())) co_return fail(std::move(done).error());
  co_return Result<void>();
}

}  // namespace

slurm::JobId job_of(const kube::Pod& pod) {
  const std::string_view text = pod.meta.labels.find(kJobIdLabel).value_or("");
  std::uint32_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  return end == text.data() + text.size() ? slurm::JobId(number) : slurm::JobId();
}

Task<Result<void>> mark_pod(World* world, PodPtr pod, slurm::JobId job, std::string node) {
  if (needs_toleration(*world, *pod)) MS_CO_CHECK(co_await add_toleration(world, pod));
  const bool marked = job_of(*pod) == job && pod->meta.has_finalizer(kFinalizer);
  const bool placed =
      node.empty() || pod->meta.annotations.find(kNodeAnnotation).value_or("") == node;
  if (marked && placed) co_return Result<void>();
  json::Value meta = identity(*pod);
  json::Value labels = json::Value::object();
  labels.set(kJobIdLabel, job.text());
  meta.set("labels", std::move(labels));
  if (!node.empty()) {
    json::Value annotations = json::Value::object();
    annotations.set(kNodeAnnotation, node);
    meta.set("annotations", std::move(annotations));
  }
  json::Value finalizers = json::Value::array();
  finalizers.push_back(kFinalizer);
  meta.set("finalizers", std::move(finalizers));
  co_return co_await patch_meta(world, std::move(pod), std::move(meta));
}

Task<Result<void>> unmark_pod(World* world, PodPtr pod) {
  json::Value meta = identity(*pod);
  json::Value labels = json::Value::object();
  labels.set(kJobIdLabel, json::Value());
  meta.set("labels", std::move(labels));
  json::Value annotations = json::Value::object();
  annotations.set(kNodeAnnotation, json::Value());
  meta.set("annotations", std::move(annotations));
  meta.set("$deleteFromPrimitiveList/finalizers", taken_off());
  co_return co_await patch_meta(world, std::move(pod), std::move(meta));
}

Task<Result<void>> let_pod_go(World* world, PodPtr pod) {
  if (!pod->meta.has_finalizer(kFinalizer) && !pod->meta.has_finalizer(kEarlyFinalizer)) {
    co_return Result<void>();
  }
  json::Value meta = identity(*pod);
  meta.set("$deleteFromPrimitiveList/finalizers", taken_off());
  co_return co_await patch_meta(world, std::move(pod), std::move(meta));
}

Task<Result<void>> bind_pod(World* world, PodPtr pod, std::string node) {
  auto bound = co_await kube::bind_pod(&world->kube, pod->meta.ns, pod->meta.name, pod->meta.uid,
                                       std::move(node));
  // A conflict is a pod that has its node or is gone: the watch tells which.
  if (!bound && !is_gone(bound.error())) co_return fail(std::move(bound).error());
  co_return Result<void>();
}

Task<Result<void>> delete_pod(World* world, PodPtr pod) {
  const kube::Api<kube::Pod> api(world->kube, pod->meta.ns);
  if (pod->node_name.empty()) {
    // We may have taken the mark off and ended the job ourselves, and see only the latter so far.
    const auto now = co_await api.get(pod->meta.name);
    if (!now && !is_gone(now.error())) co_return fail(now.error());
    if (!now || job_of(*now) != job_of(*pod)) co_return Result<void>();
  }
  auto deleted = co_await api.remove(pod->meta.name, {.uid = pod->meta.uid});
  if (!deleted && !is_gone(deleted.error())) co_return fail(std::move(deleted).error());
  co_return Result<void>();
}

Task<Result<void>> show_waiting(World* world, PodPtr pod, std::string text) {
  control::cut_text(text, 1024);
  const kube::Condition* const shown = kube::find_condition(pod->status.conditions, "PodScheduled");
  if (shown != nullptr && shown->status == kube::ConditionStatus::kFalse &&
      shown->message == text) {
    co_return Result<void>();
  }
  json::Value condition = json::Value::object();
  condition.set("type", "PodScheduled");
  condition.set("status", "False");
  condition.set("reason", "Unschedulable");
  condition.set("message", text);
  if (shown == nullptr || shown->status != kube::ConditionStatus::kFalse) {
    condition.set("lastTransitionTime",
                  format_rfc3339(world->manager.executor().clock().wall_now()));
  }
  json::Value conditions = json::Value::array();
  conditions.push_back(std::move(condition));
  json::Value status = json::Value::object();
  status.set("conditions", std::move(conditions));
  json::Value body = json::Value::object();
  body.set("metadata", identity(*pod));
  body.set("status", std::move(status));
  const kube::Api<kube::Pod> api(world->kube, pod->meta.ns);
  auto done = co_await api.patch(pod->meta.name, {kube::PatchKind::kStrategic, std::move(body)},
                                 {.subresource = "status"});
  if (!done && !is_gone(done.error())) co_return fail(std::move(done).error());
  co_return Result<void>();
}

}  // namespace mainspring::bridge
