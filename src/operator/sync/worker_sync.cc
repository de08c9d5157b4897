#include "operator/sync/worker_sync.h"

#include <algorithm>

#include "base/hostlist.h"
#include "operator/nodeset/projection.h"
#include "operator/sync/pod_calls.h"

namespace mainspring::op {

using control::Key;
using control::Requeue;

namespace {

// The more there are, the longer each has to wait: together they take a twentieth of slurmrestd's
// time, to which a look at one node is some 3 ms.
Duration until_next_look(std::size_t expected) {
  constexpr Duration kEach = milliseconds(60);
  return std::max<Duration>(seconds(1), kEach * static_cast<Duration::rep>(expected));
}

}  // namespace

WorkerSync::WorkerSync(NodeSetWorld& shared) : shared_(shared), world_(shared.world) {
  constexpr std::size_t kWorkers = 16;  // Each key is a call or two and no more.
  queue_ = &world_.manager.add({.name = "worker",
                                .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                                .workers = kWorkers});
  slurm_queue_ = &world_.manager.add({.name = "worker-slurm",
                                      .reconcile = [this](Key key) { return look(std::move(key)); },
                                      .workers = world_.options.workers});
  watch(*queue_);
  watch_slurm(*queue_, *slurm_queue_);
}

void WorkerSync::watch(control::Controller& queue) {
  queue.watch<kube::Pod>(world_.pods, [this](const auto&, const auto& after, auto& to) {
    if (after && shared_.owner_of(*after)) to.enqueue(after->meta.key());
  });
  // Whether pods with jobs are protected is all that a NodeSet says of what is shown on them, and a
  // busy pod may bring no event of its own for days.
  queue.watch<api::NodeSet>(world_.nodesets, [this](const auto& before, const auto& after,
                                                    auto& to) {
    if (!before || !after ||
        before->spec.workload_disruption_protection == after->spec.workload_disruption_protection) {
      return;
    }
    for (const auto& pod : world_.pods_of(after->meta.uid)) to.enqueue(pod->meta.key());
  });
  // Of a pod whose last job ended while nobody knew of jobs, no job tells.
  world_.slurm.on_cluster([this, &queue](KeyView owner) {
    for (const auto& nodeset : world_.nodesets_of(owner)) {
      for (const auto& pod : world_.pods_of(nodeset->meta.uid)) queue.enqueue(pod->meta.key());
    }
  });
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    for (const auto& pod : world_.pods_on((after ? *after : *before).meta.name)) {
      queue.enqueue(pod->meta.key());
    }
  });
  world_.slurm.on_node([this, &queue](KeyView owner, const auto& before, const auto& after) {
    const slurm::Node& node = after ? *after : *before;
    for (const auto& pod : world_.pods_of_slurm_node(owner, node.name)) {
      queue.enqueue(pod->meta.key());
    }
  });
}

WorkerView WorkerSync::view(const std::shared_ptr<const kube::Pod>& pod,
                            const api::NodeSet& nodeset) const {
  WorkerView worker = shared_.worker(*pod, shared_.slurm_of(nodeset).get());
  worker.pod = pod;
  return worker;
}

void WorkerSync::watch_slurm(control::Controller& queue, control::Controller& slurm_queue) {
  slurm_queue.wait_for(world_.nodesets);
  slurm_queue.watch<kube::Pod>(
      world_.pods, [this](const auto& before, const auto& after, auto& to) {
        if (!after || !after->ready() || (before && before->ready())) return;
        const auto nodeset = shared_.owner_of(*after);
        if (nodeset && is_about_to_register(view(after, *nodeset), world_.clock.wall_now())) {
          to.enqueue(after->meta.key());
        }
      });
  world_.slurm.on_job(
      [this, &queue, &slurm_queue](KeyView owner, const auto& before, const auto& after) {
        // Of a job on more nodes than this, a list tells sooner than all of them one by one.
        constexpr std::size_t kFew = 100;
        const auto holds = [](const auto& job) { return job && job->state.holds_resources(); };
        for (const auto* job : {before.get(), after.get()}) {
          if (job == nullptr || job->nodes.empty()) continue;
          const auto names = expand_hostlist(job->nodes);
          if (!names) continue;
          const bool look_at_nodes = holds(before) != holds(after) && names->size() <= kFew;
          for (const std::string& name : *names) {
            for (const auto& pod : world_.pods_of_slurm_node(owner, name)) {
              (look_at_nodes ? slurm_queue : queue).enqueue(pod->meta.key());
            }
          }
        }
      });
}

net::Task<Result<Requeue>> WorkerSync::look(Key key) {
  const auto pod = world_.pods.get(key.view());
  const auto nodeset = pod ? shared_.owner_of(*pod) : nullptr;
  const auto slurm = nodeset ? shared_.slurm_of(*nodeset) : nullptr;
  if (!slurm) co_return Requeue{};
  // What it finds is an event for the other queues; a failure is the next list's to mend.
  const auto seen = co_await slurm->cache().refresh_node(slurm_node_name(*pod));
  if (!seen) world_.options.log.debug("could not look at a node", {{"error", seen.error()}});
  queue_->enqueue(key);
  if (!is_about_to_register(view(pod, *nodeset), world_.clock.wall_now())) co_return Requeue{};
  co_return Requeue{until_next_look(slurm_queue_->queue().delayed())};
}

net::Task<Result<Requeue>> WorkerSync::reconcile(Key key) {
  const auto pod = world_.pods.get(key.view());
  if (!pod || pod->meta.deleting()) co_return Requeue{};
  const auto nodeset = shared_.owner_of(*pod);
  if (!nodeset) co_return Requeue{};
  const auto slurm = shared_.slurm_of(*nodeset);
  if (!slurm) co_return Requeue{};
  const WorkerView worker = view(pod, *nodeset);
  // Until it is known the pod keeps what it shows, and what comes to be known comes as an event.
  if (worker.slurm.knowledge == SlurmFacts::Knowledge::kUnknown) co_return Requeue{};

  const auto jobs = slurm->cache().jobs_on_node(slurm_node_name(*pod));
  json::Value metadata =
      metadata_patch(*pod, project(*nodeset, worker, jobs), cordon_cause(worker));
  if (!metadata.is_null()) {
    MS_CO_CHECK(co_await patch_pod(&world_, pod->meta.ns, pod->meta.name,
                                   {kube::PatchKind::kMerge, std::move(metadata)}, ""));
  }
  json::Value conditions = conditions_patch(worker, world_.clock.wall_now());
  if (!conditions.is_null()) {
    MS_CO_CHECK(co_await patch_pod(&world_, pod->meta.ns, pod->meta.name,
                                   {kube::PatchKind::kStrategic, std::move(conditions)}, "status"));
  }
  co_return Requeue{};
}

}  // namespace mainspring::op
