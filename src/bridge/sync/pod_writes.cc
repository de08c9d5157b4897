#include "bridge/sync/pod_writes.h"

#include <charconv>
#include <utility>

#include "base/rfc3339.h"
#include "bridge/names.h"
#include "control/cut_text.h"
#include "json/path.h"
#include "kube/pods.h"
#include "kube/taints.h"

namespace mainspring::bridge {
namespace {

// The API server adds no finalizer to what is being deleted. It has no reason of its own for that.
bool is_going(const Error& error) {
  return error.code() == Code::kInvalid &&
         error.message().find("no new finalizers can be added") != std::string::npos;
}

// Gone, going, or another one by now: what was to be done to it is done.
bool is_gone(const Error& error) {
  return error.code() == Code::kNotFound || error.code() == Code::kConflict || is_going(error);
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

json::Value step(std::string_view op, std::string_view path, json::Value value) {
  json::Value out = json::Value::object();
  out.set("op", op);
  out.set("path", path);
  out.set("value", std::move(value));
  return out;
}

// Adds to a list, which may not be there yet.
json::Value add_to(const std::string& path, bool is_there, json::Value value) {
  if (is_there) return step("add", path + "/-", std::move(value));
  json::Value list = json::Value::array();
  list.push_back(std::move(value));
  return step("add", path, std::move(list));
}

json::Value toleration(const World& world) {
  json::Value out = json::Value::object();
  out.set("key", kManagedTaint);
  out.set("operator", "Equal");
  out.set("value", world.config.scheduler_name);
  out.set("effect", "NoExecute");
  return out;
}

Task<Result<void>> patch_by_steps(World* world, PodPtr pod, json::Value steps) {
  const kube::Api<kube::Pod> api(world->kube, pod->meta.ns);
  auto done = co_await api.patch(pod->meta.name, {kube::PatchKind::kJson, std::move(steps)});
  if (!done && !is_gone(done.error())) co_return fail(std::move(done).error());
  co_return Result<void>();
}

json::Value steps_for(const kube::Pod& pod) {
  json::Value steps = json::Value::array();
  steps.push_back(step("test", "/metadata/uid", json::Value(pod.meta.uid)));
  return steps;
}

// A list of tolerations is replaced as a whole by any other kind of patch.
Task<Result<void>> add_toleration(World* world, PodPtr pod) {
  json::Value steps = steps_for(*pod);
  steps.push_back(add_to("/spec/tolerations", !pod->spec->tolerations.empty(), toleration(*world)));
  co_return co_await patch_by_steps(world, std::move(pod), std::move(steps));
}

// Finalizer and toleration in one call, and the mark where there is a job. kInvalid where the pod
// is no longer as it was seen, for what is not there is made as a whole.
Task<Result<void>> mark_by_steps(World* world, PodPtr pod, slurm::JobId job) {
  json::Value steps = steps_for(*pod);
  steps.push_back(
      step("test", "/metadata/resourceVersion", json::Value(pod->meta.resource_version)));
  if (job && pod->meta.labels.empty()) {
    json::Value labels = json::Value::object();
    labels.set(kJobIdLabel, job.text());
    steps.push_back(step("add", "/metadata/labels", std::move(labels)));
  } else if (job) {
    std::string path = "/metadata/labels";
    json::append_pointer(path, kJobIdLabel);
    steps.push_back(step("add", path, json::Value(job.text())));
  }
  if (!pod->meta.has_finalizer(kFinalizer) && !pod->meta.deleting()) {
    steps.push_back(
        add_to("/metadata/finalizers", !pod->meta.finalizers.empty(), json::Value(kFinalizer)));
  }
  steps.push_back(add_to("/spec/tolerations", !pod->spec->tolerations.empty(), toleration(*world)));
  co_return co_await patch_by_steps(world, std::move(pod), std::move(steps));
}

// `surely`: the finalizer is written whatever the pod showed.
Task<Result<void>> write_mark(World* world, PodPtr pod, slurm::JobId job, std::string node,
                              bool surely) {
  if (needs_toleration(*world, *pod)) {
    if (node.empty()) {
      auto marked = co_await mark_by_steps(world, pod, job);
      if (marked || marked.error().code() != Code::kInvalid) co_return marked;
    }
    MS_CO_CHECK(co_await add_toleration(world, pod));
  }
  // Where it is too late for the finalizer, the job's comment still says whose it is.
  const bool guarded = (!surely && pod->meta.has_finalizer(kFinalizer)) || pod->meta.deleting();
  const bool marked = (!job || job_of(*pod) == job) && guarded;
  const bool placed =
      node.empty() || pod->meta.annotations.find(kNodeAnnotation).value_or("") == node;
  if (marked && placed) co_return Result<void>();
  json::Value meta = identity(*pod);
  if (job) meta["labels"].set(kJobIdLabel, job.text());
  if (!node.empty()) meta["annotations"].set(kNodeAnnotation, node);
  if (!guarded) {
    json::Value finalizers = json::Value::array();
    finalizers.push_back(kFinalizer);
    meta.set("finalizers", std::move(finalizers));
  }
  co_return co_await patch_meta(world, std::move(pod), std::move(meta));
}

}  // namespace

slurm::JobId job_of(const kube::Pod& pod) {
  const std::string_view text = pod.meta.labels.find(kJobIdLabel).value_or("");
  std::uint32_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
  return end == text.data() + text.size() ? slurm::JobId(number) : slurm::JobId();
}

Task<Result<void>> mark_pod(World* world, PodPtr pod, slurm::JobId job, std::string node,
                            bool surely) {
  return write_mark(world, std::move(pod), job, std::move(node), surely);
}

Task<Result<void>> guard_pod(World* world, PodPtr pod, bool surely) {
  return write_mark(world, std::move(pod), slurm::JobId(), "", surely);
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

Task<Result<bool>> bind_pod(World* world, PodPtr pod, slurm::JobId job, std::string node) {
  auto bound =
      co_await kube::bind_pod(&world->kube, pod->meta.ns, pod->meta.name, pod->meta.uid, node,
                              {.annotations = {{std::string(kNodeAnnotation), node}},
                               .labels = {{std::string(kJobIdLabel), std::string(job.text())}},
                               .dry_run = false});
  if (!bound && !is_gone(bound.error())) co_return fail(std::move(bound).error());
  co_return bound.has_value();
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
