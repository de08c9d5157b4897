#include "operator/sync/nodeset_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "control/finalizer.h"
#include "net/wait.h"
#include "operator/build/worker.h"
#include "operator/nodeset/claims.h"
#include "operator/nodeset/cordon.h"
#include "operator/nodeset/reservation.h"
#include "operator/sync/daemon_sync.h"
#include "operator/sync/pod_calls.h"
#include "slurm/job.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

constexpr Duration kWhileGoing = seconds(5);

// What NodeSets own, alone or together: one that is edited or deleted is to be as it should again.
template <class T>
void watch_owned(control::Controller& queue, Store<T>& store) {
  queue.watch<T>(store, [](const auto& before, const auto& after, control::Controller& to) {
    for (const T* const object : {before.get(), after.get()}) {
      if (object == nullptr) continue;
      for (const kube::OwnerReference& owner : object->meta.owners) {
        if (owner.kind == api::NodeSet::kResource.kind) {
          to.enqueue(Key(object->meta.ns, owner.name));
        }
      }
    }
  });
}

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
  queue.watch<api::NodeSet>(
      world_.nodesets, [of_controller](const auto& before, const auto& after, Controller& to) {
        // They own what all NodeSets of a Controller share, and say so
        // where one is without privilege and another is not.
        if (before && after && build::is_unprivileged(*before) == build::is_unprivileged(*after)) {
          return;
        }
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
  queue.wait_for(world_.revisions);
  shared_.watch_claims(queue);
  shared_.watch_sssd(queue);
  watch_owned(queue, world_.services);
  watch_owned(queue, world_.budgets);
  watch_owned(queue, world_.config_maps);
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
  shared_.on_held_back = [&queue](KeyView nodeset) { queue.enqueue(nodeset); };
  world_.slurm.on_reservation([this, &queue](KeyView owner, const auto& before, const auto& after) {
    const slurm::Reservation& reservation = after ? *after : *before;
    for (const auto& nodeset : world_.nodesets_of(owner)) {
      if (reservation.name == reservation_name(nodeset->meta.name)) {
        queue.enqueue(nodeset->meta.key());
      }
    }
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
  if (!nodeset->meta.deleting()) {
    const Result<void> guarded = co_await guard(nodeset);
    auto kept = co_await keep(nodeset, controller);
    MS_CO_CHECK(guarded);
    co_return kept;
  }

  MS_CO_TRY(const std::optional<Requeue> again, co_await release(nodeset, controller));
  if (again) co_return *again;
  // Each where it is there: that of the reservation outlives its purpose where Slurm is gone.
  for (const std::string_view finalizer : {api::kReservationFinalizer, api::kDrainFinalizer}) {
    const auto removed = co_await control::remove_finalizer(&world_.client, api::NodeSet::kResource,
                                                            nodeset->meta, std::string(finalizer));
    if (!removed) co_return finalizer_failed(*nodeset, removed.error());
  }
  co_return Requeue{};
}

// So that it is not gone before its workers are drained.
Task<Result<void>> NodeSetSync::guard(NodeSetPtr nodeset) {
  if (nodeset->spec.deletion_policy != api::DeletionPolicy::kDrain ||
      nodeset->meta.has_finalizer(api::kDrainFinalizer)) {
    co_return Result<void>();
  }
  const auto added = co_await control::add_finalizer(
      &world_.client, api::NodeSet::kResource, nodeset->meta, std::string(api::kDrainFinalizer));
  if (added) co_return Result<void>();
  co_return finalizer_failed(*nodeset, added.error());
}

tl::unexpected<Error> NodeSetSync::finalizer_failed(const api::NodeSet& nodeset, Error why) {
  // Somebody changed the NodeSet meanwhile: that is tried again on what is there now.
  if (why.code() != Code::kConflict) {
    warn(world_, ref(nodeset), "SyncFinalizerFailed", why.to_string());
  }
  return fail(std::move(why));
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
  const auto current = co_await revision(nodeset);
  if (!current) {
    MS_CO_CHECK(co_await hold(nodeset, "SyncFailed", current.error()));
    co_return fail(current.error());
  }
  shared_.set_revision(
      *nodeset,
      std::string(current->revision.meta.labels.find(control::kRevisionHashLabel).value_or("")));
  shared_.note_failures(*nodeset);
  NodeSetView view = shared_.view(*nodeset);
  const Plan plan = make_plan(view);
  const std::optional<Duration> unseen = shared_.expectations.wait(nodeset->meta.uid);
  if (!unseen) note(co_await act(nodeset, controller, &view, &plan));
  note(co_await drop_old_revisions(nodeset, current->revision.meta.name));
  MS_CO_CHECK(co_await write_status(nodeset, &view, &plan, current->collision_count,
                                    failure ? &*failure : nullptr));
  if (failure) co_return fail(*std::move(failure));
  if (unseen) co_return Requeue{*unseen};
  co_return look_again(view, plan);
}

// Until the spec, or what it refers to, is another: that wakes the key. Nothing can be made
// meanwhile, so no update begins, but who goes, goes, and nodes are cordoned and uncordoned.
Task<Result<Requeue>> NodeSetSync::hold(NodeSetPtr nodeset, std::string reason, Error why) {
  warn(world_, ref(*nodeset), reason, why.to_string());
  const NodeSetView view = shared_.view(*nodeset);
  NodeSetView without_update = view;
  without_update.revision_hash.clear();
  Plan plan = make_plan(without_update);
  plan.create.clear();
  const std::optional<Duration> unseen = shared_.expectations.wait(nodeset->meta.uid);
  Result<void> gone;
  if (!unseen) gone = co_await let_go(nodeset, &view, &plan);
  MS_CO_CHECK(co_await write_status(nodeset, &view, &plan, nodeset->status.collision_count, &why));
  MS_CO_CHECK(gone);
  if (unseen) co_return Requeue{*unseen};
  co_return look_again(view, plan);
}

Task<Result<std::optional<Requeue>>> NodeSetSync::release(NodeSetPtr nodeset,
                                                          ControllerPtr controller) {
  // Where the whole cluster goes there is nothing left to drain for, nor anybody to ask.
  if (!controller || controller->meta.deleting()) co_return std::nullopt;
  const bool at_once = nodeset->spec.deletion_policy == api::DeletionPolicy::kImmediate;
  if (at_once && !awaits_reservation(*nodeset)) co_return std::nullopt;
  const NodeSetView view = shared_.view(*nodeset);
  if (at_once) {
    MS_CO_CHECK(co_await remove_all(nodeset, &view));
    co_return Requeue{seconds(1)};
  }
  const Plan plan = make_plan(view);
  if (view.workers.empty() && !slurm_needs(*nodeset)) co_return std::nullopt;
  const Result<void> gone = co_await let_go(nodeset, &view, &plan);
  Result<void> forced;
  if (shared_.overdue(*nodeset)) forced = co_await remove_all(nodeset, &view);
  MS_CO_CHECK(
      co_await write_status(nodeset, &view, &plan, nodeset->status.collision_count, nullptr));
  MS_CO_CHECK(gone);
  MS_CO_CHECK(forced);
  co_return Requeue{kWhileGoing};
}

// Whoever set the deadline wants them to go, jobs or not, and whether Slurm answers or not.
Task<Result<void>> NodeSetSync::remove_all(NodeSetPtr nodeset, const NodeSetView* view) {
  Result<void> all;
  for (const WorkerView& worker : view->workers) {
    if (worker.pod->meta.deleting()) continue;
    if (!shared_.may_delete(*nodeset)) break;
    keep_first(all, co_await delete_pod(&shared_, worker.pod, nodeset, PodVersion::kAny));
  }
  co_return all;
}

// Nobody would delete it later: nodeset_slurm.h does so while the NodeSet is there. Not for long,
// and only of a Slurm that has answered lately: who wants no wait must get none that does not end.
bool NodeSetSync::awaits_reservation(const api::NodeSet& nodeset) const {
  constexpr Duration kPatience = seconds(30);
  const auto slurm = shared_.slurm_of(nodeset);
  if (!slurm || !nodeset.meta.has_finalizer(api::kReservationFinalizer) ||
      world_.clock.wall_now() > *nodeset.meta.deletion + kPatience) {
    return false;
  }
  return slurm->cache().reservations_freshness().fresh() &&
         slurm->cache().reservations().get({}, reservation_name(nodeset.meta.name)) != nullptr;
}

std::optional<NodeSetSync::Wait> NodeSetSync::slurm_needs(const api::NodeSet& nodeset) const {
  const auto slurm = shared_.slurm_of(nodeset);
  // Without any slurmrestd nobody will ever know. What jobs name when time is up stays in
  // slurm.conf for as long as they do (controller_inputs.h).
  const KeyView controller{nodeset.meta.ns, nodeset.spec.controller_ref.name};
  if (!slurm && world_.restapis_of(controller).empty()) return std::nullopt;
  if (shared_.overdue(nodeset)) return std::nullopt;
  if (nodeset.meta.has_finalizer(api::kReservationFinalizer)) {
    return Wait{"Reservation", "its reservation in Slurm has to go first"};
  }
  if (!nodeset.spec.partition_enabled) return std::nullopt;
  const std::string partition = nodeset.slurm_name();
  const auto jobs = slurm ? slurm->jobs_naming(partition) : std::nullopt;
  if (!jobs) {
    return Wait{"SlurmUnknown",
                fmt::format("nobody can say which jobs name the partition {}", partition)};
  }
  if (jobs->all == 0) return std::nullopt;
  // With its workers gone they never run, and slurmctld forgets nobody who waits.
  if (jobs->pending > 0) {
    return Wait{"PendingJobs",
                fmt::format("{} pending jobs name the partition {}, where no worker is left to run "
                            "them: cancel them, or set spec.deletion.deadline",
                            jobs->pending, partition)};
  }
  return Wait{"JobRecords",
              fmt::format("{} jobs that slurmctld has on record name the partition {}; it forgets "
                          "a job MinJobAge after its end",
                          jobs->all, partition)};
}

Requeue NodeSetSync::look_again(const NodeSetView& view, const Plan& plan) const {
  std::optional<Duration> after = shared_.next_try(view.nodeset.meta.uid);
  const auto sooner = [&](Duration one) {
    if (!after || one < *after) after = one;
  };
  const bool with_claims = !view.nodeset.spec.volume_claim_templates.empty();
  for (const WorkerView& worker : view.workers) {
    if (with_claims && waits_to_start(*worker.pod) &&
        view.now - worker.pod->meta.created < kClaimsSeen) {
      sooner(kClaimsSeen);
    }
    const bool matures = worker.pod->ready() && !worker.pod->meta.deleting() &&
                         !is_available(view.nodeset, *worker.pod, view.now);
    if (worker.slurm.empty_for) sooner(kWhileGoing);
    // Time alone makes a stranger of one that should have registered.
    if (may_have_another_name(worker)) sooner(kWhileGoing);
    if (matures) sooner(seconds(view.nodeset.spec.min_ready_seconds) + seconds(1));
  }
  // Nobody tells when the limit of deletions lets the next ones go.
  if (!plan.remove.empty() || !shared_.held_back(view.nodeset).empty()) sooner(kWhileGoing);
  return {after};
}

}  // namespace mainspring::op
