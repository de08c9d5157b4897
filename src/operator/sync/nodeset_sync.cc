#include "operator/sync/nodeset_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "control/finalizer.h"
#include "net/wait.h"
#include "operator/build/worker.h"
#include "operator/nodeset/cordon.h"
#include "operator/sync/daemon_sync.h"
#include "operator/sync/pod_calls.h"
#include "slurm/job.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

constexpr Duration kWhileGoing = seconds(5);

control::ObjectRef ref(const api::NodeSet& nodeset) {
  return control::ref_to(api::NodeSet::kResource, nodeset.meta);
}

}  // namespace

NodeSetSync::NodeSetSync(NodeSetWorld& shared) : shared_(shared), world_(shared.world) {
  watch(world_.manager.add({.name = "nodeset",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
}

void NodeSetSync::watch(control::Controller& queue) {
  using control::Controller;
  const auto of_controller = [this](KeyView controller, Controller& to) {
    for (const auto& nodeset : world_.nodesets_of(controller)) to.enqueue(nodeset->meta.key());
  };
  queue.watch(world_.nodesets);
  queue.watch<api::NodeSet>(world_.nodesets,
                            [of_controller](const auto& before, const auto& after, Controller& to) {
                              // They own what all NodeSets of a Controller share.
                              if (before && after) return;
                              const api::NodeSet& one = after ? *after : *before;
                              of_controller({one.meta.ns, one.spec.controller_ref.name}, to);
                            });
  watch_controller(queue, world_, of_controller);
  queue.watch<kube::Pod>(world_.pods, [](const auto& before, const auto& after, Controller& to) {
    for (const auto* pod : {before.get(), after.get()}) {
      if (pod == nullptr) continue;
      const kube::OwnerReference* const owner = pod->meta.controller();
      if (owner != nullptr && owner->kind == api::NodeSet::kResource.kind) {
        to.enqueue(Key(pod->meta.ns, owner->name));
      } else if (const auto instance = pod->meta.labels.find(api::label::kInstance);
                 owner == nullptr && instance) {
        to.enqueue(Key(pod->meta.ns, *instance));
      }
    }
  });
  queue.wait_for(world_.claims);
  queue.wait_for(world_.revisions);
  queue.wait_for(world_.services);
  queue.wait_for(world_.budgets);
  queue.wait_for(world_.config_maps);
  // Not waited for: without leave to see nodes it never fills.
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    const kube::Node& node = after ? *after : *before;
    for (const auto& pod : world_.pods_on(node.meta.name)) {
      if (const auto owner = shared_.owner_of(*pod)) queue.enqueue(owner->meta.key());
    }
    world_.nodesets.for_each([&](const auto& nodeset) {
      if (nodeset->spec.scaling_mode == api::ScalingMode::kDaemonSet || nodeset->spec.pin_to_node) {
        queue.enqueue(nodeset->meta.key());
      }
    });
  });
  world_.slurm.on_cluster([of_controller, &queue](KeyView owner) { of_controller(owner, queue); });
  world_.slurm.on_node([this, &queue](KeyView owner, const auto& before, const auto& after) {
    const slurm::Node& node = after ? *after : *before;
    for (const auto& pod : world_.pods_of_slurm_node(owner, node.name)) {
      if (const auto nodeset = shared_.owner_of(*pod)) queue.enqueue(nodeset->meta.key());
    }
  });
}

Task<Result<Requeue>> NodeSetSync::reconcile(Key key) {
  MS_CO_CHECK(co_await net::sleep(shared_.settle_time(key.view())));
  const NodeSetPtr nodeset = world_.nodesets.get(key.view());
  if (!nodeset) co_return Requeue{};
  const ControllerPtr controller = shared_.controller_of(*nodeset);
  const bool safe_deletion = nodeset->spec.deletion_policy == api::DeletionPolicy::kDrain;
  if (!nodeset->meta.deleting() && safe_deletion &&
      !nodeset->meta.has_finalizer(api::kDrainFinalizer)) {
    MS_CO_CHECK(co_await control::add_finalizer(&world_.client, api::NodeSet::kResource,
                                                nodeset->meta, std::string(api::kDrainFinalizer)));
  }
  if (!nodeset->meta.deleting()) co_return co_await keep(nodeset, controller);

  MS_CO_TRY(const std::optional<Requeue> again, co_await release(nodeset, controller));
  if (again) co_return *again;
  // Each where it is there: that of the reservation outlives its purpose where Slurm is gone.
  for (const std::string_view finalizer : {api::kReservationFinalizer, api::kDrainFinalizer}) {
    MS_CO_CHECK(co_await control::remove_finalizer(&world_.client, api::NodeSet::kResource,
                                                   nodeset->meta, std::string(finalizer)));
  }
  co_return Requeue{};
}

Task<Result<Requeue>> NodeSetSync::keep(NodeSetPtr nodeset, ControllerPtr controller) {
  if (!controller) {
    Error missing(Code::kNotFound,
                  fmt::format("spec.controllerRef.name: there is no Controller {} in {}",
                              nodeset->spec.controller_ref.name, nodeset->meta.ns));
    co_return co_await hold(nodeset, "ControllerRefFailed", std::move(missing));
  }
  std::optional<Error> failure;
  const auto note = [&](const Result<void>& step) {
    if (step) return;
    warn(world_, ref(*nodeset), "SyncFailed", step.error().to_string());
    if (!failure) failure = step.error();
  };
  note(co_await shared_objects(nodeset, controller));
  note(co_await adopt(nodeset));
  // Needed for placement too, so before the view.
  if (auto made = shared_.pod_template(*nodeset, *controller); !made) {
    co_return co_await hold(nodeset, "SyncFailed", std::move(made).error());
  }
  MS_CO_TRY(const control::CurrentRevision current, co_await revision(nodeset));
  shared_.set_revision(
      *nodeset,
      std::string(current.revision.meta.labels.find(control::kRevisionHashLabel).value_or("")));
  NodeSetView view = shared_.view(*nodeset);
  shared_.note_failures(view);
  const Plan plan = make_plan(view);
  const std::optional<Duration> unseen = shared_.expectations.wait(nodeset->meta.uid);
  if (!unseen) note(co_await act(nodeset, controller, &view, &plan));
  note(co_await drop_old_revisions(nodeset, current.revision.meta.name));
  MS_CO_CHECK(co_await write_status(nodeset, &view, &plan, current.collision_count,
                                    failure ? &*failure : nullptr));
  if (failure) co_return fail(*std::move(failure));
  if (unseen) co_return Requeue{*unseen};
  co_return look_again(view, plan);
}

// Until the spec, or what it refers to, is another: that wakes the key.
Task<Result<Requeue>> NodeSetSync::hold(NodeSetPtr nodeset, std::string reason, Error why) {
  warn(world_, ref(*nodeset), reason, why.to_string());
  NodeSetView view = shared_.view(*nodeset);
  const Plan nothing;
  MS_CO_CHECK(
      co_await write_status(nodeset, &view, &nothing, nodeset->status.collision_count, &why));
  co_return Requeue{};
}

Task<Result<std::optional<Requeue>>> NodeSetSync::release(NodeSetPtr nodeset,
                                                          ControllerPtr controller) {
  // Where the whole cluster goes there is nothing left to drain for, nor anybody to ask.
  if (nodeset->spec.deletion_policy == api::DeletionPolicy::kImmediate || !controller ||
      controller->meta.deleting()) {
    co_return std::nullopt;
  }
  NodeSetView view = shared_.view(*nodeset);
  if (!view.workers.empty()) {
    const Plan plan = make_plan(view);
    MS_CO_CHECK(co_await cordon_pods(&view, &plan));
    MS_CO_CHECK(co_await remove_pods(nodeset, &view, &plan));
    if (shared_.overdue(*nodeset)) {
      MS_CO_CHECK(co_await remove_all(nodeset, &view));
    }
    MS_CO_CHECK(
        co_await write_status(nodeset, &view, &plan, nodeset->status.collision_count, nullptr));
    co_return Requeue{kWhileGoing};
  }
  if (slurm_needs(*nodeset)) co_return Requeue{kWhileGoing};
  co_return std::nullopt;
}

// Whoever set the deadline wants them to go, jobs or not, and whether Slurm answers or not.
Task<Result<void>> NodeSetSync::remove_all(NodeSetPtr nodeset, const NodeSetView* view) {
  for (const WorkerView& worker : view->workers) {
    if (worker.pod->meta.deleting()) continue;
    if (!shared_.may_delete(*nodeset)) break;
    MS_CO_CHECK(co_await delete_pod(&shared_, worker.pod, nodeset, PodVersion::kAny));
  }
  co_return Result<void>();
}

bool NodeSetSync::slurm_needs(const api::NodeSet& nodeset) const {
  const auto slurm = shared_.slurm_of(nodeset);
  // Without any slurmrestd nobody will ever know.
  if (!slurm && world_.restapis_of({nodeset.meta.ns, nodeset.spec.controller_ref.name}).empty()) {
    return false;
  }
  if (shared_.overdue(nodeset)) return false;
  if (nodeset.meta.has_finalizer(api::kReservationFinalizer)) return true;
  if (!nodeset.spec.partition_enabled) return false;
  if (!slurm || !slurm->cache().jobs_freshness().fresh()) return true;
  const std::string partition = nodeset.slurm_name();
  bool needed = false;
  slurm->cache().jobs().for_each([&](const auto& job) {
    for (std::string_view rest = job->partition; !needed && !rest.empty();) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      needed = rest.substr(0, comma) == partition;
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
  });
  return needed;
}

Requeue NodeSetSync::look_again(const NodeSetView& view, const Plan& plan) const {
  std::optional<Duration> after = shared_.next_try(view.nodeset.meta.uid);
  const auto sooner = [&](Duration one) {
    if (!after || one < *after) after = one;
  };
  for (const WorkerView& worker : view.workers) {
    const bool matures = worker.pod->ready() && !worker.pod->meta.deleting() &&
                         !is_available(view.nodeset, *worker.pod, view.now);
    if (worker.slurm.empty_for) sooner(kWhileGoing);
    if (matures) sooner(seconds(view.nodeset.spec.min_ready_seconds) + seconds(1));
  }
  // Nobody tells when the limit of deletions lets the next ones go.
  if (!plan.remove.empty()) sooner(kWhileGoing);
  return {after};
}

}  // namespace mainspring::op
