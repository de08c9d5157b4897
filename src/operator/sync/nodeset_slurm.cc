#include "operator/sync/nodeset_slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "control/finalizer.h"
#include "control/in_parallel.h"
#include "net/wait.h"
#include "operator/build/worker.h"
#include "operator/nodeset/projection.h"
#include "operator/nodeset/reservation.h"
#include "operator/sync/pod_calls.h"
#include "slurm/nodes.h"
#include "slurm/reservations.h"

namespace mainspring::op {
namespace {

using control::EventType;
using control::Key;
using control::Requeue;
using Evidence = Removal::Evidence;

constexpr std::size_t kAtOnce = 8;
// Those that are drained at once go while others are still being told; and nothing is decided on a
// view that is older than it takes to tell so many.
constexpr std::size_t kRound = 64;
// Well within the deadline of a reconcile.
constexpr Duration kLongestPass = seconds(30);
constexpr Duration kSoon = milliseconds(20);
constexpr Duration kSlurmAway = seconds(5);
constexpr Duration kLimited = seconds(10);

control::ObjectRef ref(const api::NodeSet& nodeset) {
  return control::ref_to(api::NodeSet::kResource, nodeset.meta);
}

bool needs_slurm(Evidence evidence) {
  return evidence == Evidence::kDrained || evidence == Evidence::kAbsent;
}

// Time alone decides when they are believed to be forgotten.
bool awaits_registration(const NodeSetView& view) {
  return std::any_of(view.workers.begin(), view.workers.end(), [](const WorkerView& worker) {
    return worker.pod->ready() && !worker.pod->meta.deleting() && !worker.slurm.present();
  });
}

}  // namespace

NodeSetSlurmSync::NodeSetSlurmSync(NodeSetWorld& shared) : shared_(shared), world_(shared.world) {
  watch(world_.manager.add({.name = "nodeset-slurm",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
}

void NodeSetSlurmSync::watch(control::Controller& queue) {
  using control::Controller;
  queue.watch(world_.nodesets);
  queue.watch<kube::Pod>(world_.pods,
                         [this](const auto& before, const auto& after, Controller& to) {
                           const auto nodeset = shared_.owner_of(after ? *after : *before);
                           if (nodeset) to.enqueue(nodeset->meta.key());
                         });
  queue.wait_for(world_.controllers);
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    const kube::Node& node = after ? *after : *before;
    for (const auto& pod : world_.pods_on(node.meta.name)) {
      if (const auto owner = shared_.owner_of(*pod)) queue.enqueue(owner->meta.key());
    }
  });
  world_.slurm.on_cluster([this, &queue](KeyView owner) {
    for (const auto& nodeset : world_.nodesets_of(owner)) queue.enqueue(nodeset->meta.key());
  });
  world_.slurm.on_node([this, &queue](KeyView owner, const auto& before, const auto& after) {
    const slurm::Node& node = after ? *after : *before;
    const auto& pods = world_.pods_of_slurm_node(owner, node.name);
    for (const auto& pod : pods) {
      if (const auto nodeset = shared_.owner_of(*pod)) queue.enqueue(nodeset->meta.key());
    }
    if (!pods.empty()) return;
    // Perhaps a record to prune.
    const auto info = parse_comment(node.comment);
    if (info && info->ns == owner.ns) queue.enqueue(Key(info->ns, info->nodeset));
  });
}

Task<Result<Requeue>> NodeSetSlurmSync::reconcile(Key key) {
  MS_CO_CHECK(co_await net::sleep(shared_.settle_time(key.view())));
  Pass pass{.nodeset = world_.nodesets.get(key.view())};
  if (!pass.nodeset) co_return Requeue{};
  pass.slurm = shared_.slurm_of(*pass.nodeset);
  if (!pass.slurm) co_return Requeue{};  // Its coming wakes this key.
  if (!pass.slurm->cache().nodes_freshness().fresh()) co_return Requeue{kSlurmAway};
  MS_CO_TRY(pass.spoken, co_await pass.slurm->client().version());

  const NodeSetPtr seen = pass.nodeset;
  const NodeSetView view = shared_.view(*seen);
  MS_CO_CHECK(pass.note(co_await reservation(seen, pass.slurm, &view)));
  MS_CO_CHECK(pass.note(co_await prune(seen, pass.slurm)));
  for (const TimePoint end = world_.clock.now() + kLongestPass; !pass.over;) {
    if (world_.clock.now() >= end) co_return Requeue{kSoon};
    pass.nodeset = world_.nodesets.get(key.view());
    if (!pass.nodeset || pass.nodeset->meta.uid != seen->meta.uid) co_return Requeue{kSoon};
    MS_CO_CHECK(co_await round(&pass));
  }
  if (pass.failure) co_return fail(*std::move(pass.failure));
  co_return pass.next;
}

// What Slurm refuses must not keep the others from their turn. Where it does not answer, nobody's
// turn has come.
Result<void> NodeSetSlurmSync::Pass::note(const Result<void>& step) {
  if (step) return {};
  if (step.error().retryable() || step.error().code() == Code::kCancelled) {
    return fail(step.error());
  }
  if (!failure) failure = step.error();
  return {};
}

Task<Result<void>> NodeSetSlurmSync::round(Pass* pass) {
  const NodeSetView before = shared_.view(*pass->nodeset);
  std::vector<WorkerView> some = next_to_tell(*pass, before);
  pass->over = some.size() < kRound;
  const auto told = co_await control::in_parallel<WorkerView>(
      std::move(some),
      [this, pass](WorkerView worker) { return tell_one(pass, std::move(worker)); }, kAtOnce);
  MS_CO_CHECK(pass->note(told));

  // What has been done and is not seen yet would be decided again, on what was before.
  pass->next = {shared_.expectations.wait(pass->nodeset->meta.uid)};
  if (pass->next.after) co_return Result<void>();
  // Slurm has been asked and told much meanwhile, and so have we.
  const NodeSetPtr nodeset = world_.nodesets.get(pass->nodeset->meta.key());
  if (!nodeset || nodeset->meta.uid != pass->nodeset->meta.uid) co_return Result<void>();
  const NodeSetView now = shared_.view(*nodeset);
  const Plan plan = make_plan(now);
  MS_CO_CHECK(co_await remove_drained(nodeset, pass->slurm, &now, &plan));
  if (plan.lost > 0) {
    warn(world_, ref(*nodeset), "SlurmHasNoNodes",
         fmt::format("slurmctld knows no node at all, though {} workers are ready: {}", plan.lost,
                     "bring its state back, or those that were idle register anew"));
  }
  const bool more = !plan.remove.empty() || !plan.unregistered.empty();
  if (more || awaits_registration(now)) pass->next = {kLimited};
  co_return Result<void>();
}

std::vector<WorkerView> NodeSetSlurmSync::next_to_tell(Pass& pass, const NodeSetView& view) const {
  const CordonOptions options{world_.options.propagated_node_conditions};
  std::vector<WorkerView> some;
  for (const WorkerView& worker : view.workers) {
    if (some.size() == kRound) break;
    if (!worker.slurm.present() || worker.pod->meta.deleting()) continue;
    const auto action = slurm_action(worker, cordon_cause(worker), options);
    if (action.kind == SlurmAction::Kind::kNone &&
        !wanted_update(*pass.nodeset, worker, pass.spoken)) {
      continue;
    }
    // Once in a pass: one that is refused must not keep the others from their turn.
    if (pass.told.insert(worker.pod->meta.uid).second) some.push_back(worker);
  }
  return some;
}

Task<Result<void>> NodeSetSlurmSync::tell_one(const Pass* pass, WorkerView worker) {
  const SlurmPtr& slurm = pass->slurm;
  const std::string name(std::string_view(worker.slurm.node->name));
  const CordonOptions options{world_.options.propagated_node_conditions};
  SlurmAction action = slurm_action(worker, cordon_cause(worker), options);
  if (action.kind != SlurmAction::Kind::kNone) {
    // A node has room for one reason: what an administrator wrote since the last list must not be
    // lost to ours.
    MS_CO_TRY(worker.slurm.node, co_await slurm->cache().refresh_node(name));
    if (!worker.slurm.node) co_return Result<void>();
    action = slurm_action(worker, cordon_cause(worker), options);
  }
  const slurm::Nodes nodes(slurm->client());
  if (action.kind == SlurmAction::Kind::kDrain) {
    MS_CO_CHECK(co_await nodes.drain(name, action.reason));
    world_.options.log.info("drained", {{"node", name}, {"reason", action.reason}});
  } else if (action.kind == SlurmAction::Kind::kUndrain) {
    MS_CO_CHECK(co_await nodes.undrain(name));
    world_.options.log.info("undrained", {{"node", name}});
  } else if (action.kind == SlurmAction::Kind::kResume) {
    MS_CO_CHECK(co_await nodes.resume(name));
    world_.options.log.info("resumed", {{"node", name}});
  }
  if (action.kind != SlurmAction::Kind::kNone) {
    MS_CO_CHECK(co_await slurm->cache().refresh_node(name));
  }
  co_return co_await describe(pass, std::move(worker));
}

// Comment, topology and features of a worker that is up.
Task<Result<void>> NodeSetSlurmSync::describe(const Pass* pass, WorkerView worker) {
  const SlurmPtr& slurm = pass->slurm;
  if (!wanted_update(*pass->nodeset, worker, pass->spoken)) co_return Result<void>();
  // Features are written as a whole: those that somebody else has just added must be among them.
  const std::string name(std::string_view(worker.slurm.node->name));
  MS_CO_TRY(worker.slurm.node, co_await slurm->cache().refresh_node(name));
  if (!worker.slurm.node) co_return Result<void>();
  auto update = wanted_update(*pass->nodeset, worker, pass->spoken);
  if (!update) co_return Result<void>();
  MS_CO_CHECK(co_await slurm::Nodes(slurm->client()).update(name, *std::move(update)));
  MS_CO_CHECK(co_await slurm->cache().refresh_node(name));
  co_return Result<void>();
}

Task<Result<void>> NodeSetSlurmSync::remove_drained(NodeSetPtr nodeset, SlurmPtr slurm,
                                                    const NodeSetView* view, const Plan* plan) {
  struct Candidate {
    WorkerView worker;
    Evidence evidence = Evidence::kDrained;
  };
  std::vector<Candidate> all;
  for (const Removal& one : plan->remove) {
    if (needs_slurm(one.evidence)) all.push_back({view->workers[one.worker], one.evidence});
  }
  for (const std::size_t worker : plan->unregistered) {
    world_.events.event(
        ref(*nodeset), EventType::kWarning, "SlurmNodeNotRegistered", "Recreate",
        fmt::format("Slurm does not know the worker {}", view->workers[worker].pod->meta.name));
    all.push_back({view->workers[worker], Evidence::kAbsent});
  }
  const std::size_t size = view->workers.size();
  co_return co_await control::in_parallel<Candidate>(
      std::move(all),
      [this, nodeset, slurm, size](Candidate one) {
        return remove_one(nodeset, slurm, std::move(one.worker), one.evidence, size);
      },
      kAtOnce);
}

// The last question before a pod goes, asked of Slurm itself: the cache may be a second old, and a
// second is enough for somebody to lift a drain and for a job to start.
Task<Result<void>> NodeSetSlurmSync::remove_one(NodeSetPtr nodeset, SlurmPtr slurm,
                                                WorkerView worker, Evidence evidence,
                                                std::size_t size) {
  const bool unknown = evidence == Evidence::kAbsent;
  // A question that nothing could follow from is not asked.
  if (!shared_.has_room(*nodeset, unknown, size)) co_return Result<void>();
  const std::string name = slurm_node_name(*worker.pod);
  MS_CO_TRY(const auto now, co_await slurm->cache().refresh_node(name));
  if (evidence == Evidence::kDrained && (!now || !now->state.is_drained())) {
    co_return Result<void>();
  }
  if (unknown && now) co_return Result<void>();
  const bool allowed =
      unknown ? shared_.may_delete_unknown(*nodeset, size) : shared_.may_delete(*nodeset);
  if (!allowed) co_return Result<void>();
  co_return co_await delete_pod(&shared_, worker.pod, nodeset, PodVersion::kAny);
}

Task<Result<void>> NodeSetSlurmSync::reservation(NodeSetPtr nodeset, SlurmPtr slurm,
                                                 const NodeSetView* view) {
  const bool has_finalizer = nodeset->meta.has_finalizer(api::kReservationFinalizer);
  const bool scheduled = nodeset->spec.update_type == api::UpdateType::kScheduledUpdate;
  if (!scheduled && !has_finalizer) co_return Result<void>();
  if (!slurm->cache().reservations_freshness().fresh()) co_return Result<void>();
  std::vector<std::string> names;
  for (const WorkerView& worker : view->workers) {
    if (worker.slurm.present()) names.push_back(slurm_node_name(*worker.pod));
  }
  const std::string name = reservation_name(nodeset->meta.name);
  const auto live = slurm->cache().reservations().get({}, name);
  ReservationPlan plan = plan_reservation(*nodeset, live.get(), names, view->now);
  if (!plan.problem.empty()) warn(world_, ref(*nodeset), "ReservationFailed", plan.problem);
  if (plan.wants_finalizer && !has_finalizer && !nodeset->meta.deleting()) {
    MS_CO_CHECK(co_await control::add_finalizer(&world_.client, api::NodeSet::kResource,
                                                nodeset->meta,
                                                std::string(api::kReservationFinalizer)));
  }
  const slurm::Reservations reservations(slurm->client());
  if (plan.kind == ReservationPlan::Kind::kDelete) {
    MS_CO_CHECK(co_await reservations.remove(name));
    slurm->cache().refresh_lists();
  } else if (plan.kind != ReservationPlan::Kind::kNothing) {
    MS_CO_CHECK(co_await reservations.write(std::move(plan.spec)));
    slurm->cache().refresh_lists();
  }
  if (has_finalizer && !plan.wants_finalizer) {
    MS_CO_CHECK(co_await control::remove_finalizer(&world_.client, api::NodeSet::kResource,
                                                   nodeset->meta,
                                                   std::string(api::kReservationFinalizer)));
  }
  co_return Result<void>();
}

// Records of workers whose Kubernetes node is gone for good. Only what our own comment says is
// ours.
Task<Result<void>> NodeSetSlurmSync::prune(NodeSetPtr nodeset, SlurmPtr slurm) {
  using Flag = slurm::NodeState::Flag;
  if (!nodeset->spec.prune_defunct || !world_.nodes.synced() ||
      nodeset->spec.scaling_mode != api::ScalingMode::kDaemonSet) {
    co_return Result<void>();
  }
  std::vector<std::string> defunct;
  slurm->cache().nodes().for_each([&](const auto& node) {
    if (!node->state.is_down() || !node->state.has(Flag::kNotResponding)) return;
    const auto info = parse_comment(node->comment);
    if (!info || info->ns != nodeset->meta.ns || info->nodeset != nodeset->meta.name ||
        info->nodeset_uid != nodeset->meta.uid || info->node.empty()) {
      return;
    }
    const auto host = world_.nodes.get({}, info->node);
    const std::string name(std::string_view(node->name));
    const bool still_mapped = host && build::worker_hostname(*nodeset, {{}, host.get()}) == name;
    if (still_mapped || world_.pods.get(info->ns, info->pod)) return;
    defunct.push_back(name);
  });
  for (const std::string& name : defunct) {
    MS_CO_CHECK(co_await slurm::Nodes(slurm->client()).remove(name));
    MS_CO_CHECK(co_await slurm->cache().refresh_node(name));
    world_.events.event(
        ref(*nodeset), EventType::kNormal, "DefunctSlurmNodePruned", "Prune",
        fmt::format("Deleted the Slurm node {}: its Kubernetes node is gone", name));
  }
  co_return Result<void>();
}

}  // namespace mainspring::op
