#include "operator/sync/nodeset_slurm.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.h"
#include "base/hostlist.h"
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
using Ground = NodeSetWorld::Ground;

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

Ground ground_of(const Removal& one) {
  if (one.evidence == Evidence::kAbsent) return Ground::kUnknown;
  const bool uprooted = one.cause == Cause::kMisplaced || one.cause == Cause::kHostname ||
                        one.cause == Cause::kModeSwitch;
  return uprooted ? Ground::kUprooted : Ground::kWanted;
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
  shared_.watch_claims(queue);
  world_.nodes.add_handler([this, &queue](const auto& before, const auto& after) {
    const kube::Node& node = after ? *after : *before;
    for (const auto& pod : world_.pods_on(node.meta.name)) {
      if (const auto owner = shared_.owner_of(*pod)) queue.enqueue(owner->meta.key());
    }
  });
  world_.slurm.on_cluster([this, &queue](KeyView owner) {
    for (const auto& nodeset : world_.nodesets_of(owner)) queue.enqueue(nodeset->meta.key());
  });
  // A suspended job that ends changes nothing of its node.
  world_.slurm.on_job([this, &queue](KeyView owner, const auto& before, const auto& after) {
    const bool ends = before && before->state.holds_resources() &&
                      !(after && after->state.holds_resources() && after->nodes == before->nodes);
    const auto names = ends ? expand_hostlist(before->nodes) : Result<std::vector<std::string>>();
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      for (const auto& pod : world_.pods_of_slurm_node(owner, name)) {
        if (cordon_cause({.pod = pod}) == Cause::kNone) continue;
        if (const auto nodeset = shared_.owner_of(*pod)) queue.enqueue(nodeset->meta.key());
      }
    }
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
  MS_CO_CHECK(pass.note(co_await prune(&pass)));
  for (const TimePoint end = world_.clock.now() + kLongestPass; !pass.over;) {
    if (world_.clock.now() >= end) co_return Requeue{kSoon};
    pass.nodeset = world_.nodesets.get(key.view());
    if (!pass.nodeset || pass.nodeset->meta.uid != seen->meta.uid) co_return Requeue{kSoon};
    MS_CO_CHECK(co_await round(&pass));
  }
  if (pass.failure) co_return fail(*std::move(pass.failure));
  if (pass.held_back && !pass.next.after) co_return Requeue{kLimited};
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
  shared_.metrics.look_at(now);
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
    const Cause cordon = cordon_cause(worker);
    const auto action = slurm_action(worker, cordon, options);
    if (action.kind == SlurmAction::Kind::kNone && !has_outdated_note(worker, cordon) &&
        !wanted_update(*pass.nodeset, worker, pass.spoken)) {
      continue;
    }
    // Once in a pass: one that is refused must not keep the others from their turn.
    if (pass.told.insert(worker.pod->meta.uid).second) some.push_back(worker);
  }
  return some;
}

Task<Result<void>> NodeSetSlurmSync::tell_one(const Pass* pass, WorkerView worker) {
  const std::string name(std::string_view(worker.slurm.node->name));
  const CordonOptions options{world_.options.propagated_node_conditions};
  const Cause cordon = cordon_cause(worker);
  const auto kind = slurm_action(worker, cordon, options).kind;
  if (kind != SlurmAction::Kind::kNone || has_outdated_note(worker, cordon)) {
    // A node has room for one reason: what an administrator wrote since the last list must not be
    // lost to ours.
    MS_CO_TRY(worker.slurm.node, co_await pass->slurm->cache().refresh_node(name));
    if (!worker.slurm.node) co_return Result<void>();
    const SlurmAction action = slurm_action(worker, cordon, options);
    if (action.kind != SlurmAction::Kind::kNone) {
      MS_CO_CHECK(co_await act(pass->slurm, worker.pod, action));
      shared_.metrics.told(worker, action.kind);
      MS_CO_TRY(worker.slurm.node, co_await pass->slurm->cache().refresh_node(name));
      if (!worker.slurm.node) co_return Result<void>();
    }
    if (has_outdated_note(worker, cordon)) {
      MS_CO_CHECK(co_await note_drain(worker.pod, json::Value()));
    }
  }
  co_return co_await describe(pass, std::move(worker));
}

Task<Result<void>> NodeSetSlurmSync::act(SlurmPtr slurm, std::shared_ptr<const kube::Pod> pod,
                                         SlurmAction action) {
  const std::string name = slurm_node_name(*pod);
  const slurm::Nodes nodes(slurm->client());
  if (action.kind == SlurmAction::Kind::kDrain) {
    if (action.borrowed) MS_CO_CHECK(co_await note_drain(pod, action.reason));
    MS_CO_CHECK(co_await nodes.drain(name, action.reason));
    world_.options.log.info("drained", {{"node", name}, {"reason", action.reason}});
  } else if (action.kind == SlurmAction::Kind::kUndrain) {
    MS_CO_CHECK(co_await nodes.undrain(name));
    world_.options.log.info("undrained", {{"node", name}});
  } else if (action.kind == SlurmAction::Kind::kResume) {
    MS_CO_CHECK(co_await nodes.resume(name));
    world_.options.log.info("resumed", {{"node", name}});
  }
  co_return Result<void>();
}

Task<Result<void>> NodeSetSlurmSync::note_drain(std::shared_ptr<const kube::Pod> pod,
                                                json::Value reason) {
  json::Value body = json::Value::object();
  body["metadata"]["uid"] = pod->meta.uid;
  body["metadata"]["annotations"].set(api::annotation::kDrainedUnder, std::move(reason));
  co_return co_await patch_pod(&world_, pod->meta.ns, pod->meta.name,
                               {kube::PatchKind::kMerge, std::move(body)}, "");
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
  std::vector<Candidate> all;
  for (const Removal& one : plan->remove) {
    const WorkerView& worker = view->workers[one.worker];
    if (!needs_slurm(one.evidence)) continue;
    if (!shared_.claims_settled(*nodeset, *worker.pod, one.cause)) continue;
    all.push_back({worker, one.evidence, ground_of(one)});
  }
  for (const std::size_t worker : plan->unregistered) {
    world_.events.event(
        ref(*nodeset), EventType::kWarning, "SlurmNodeNotRegistered", "Recreate",
        fmt::format("Slurm does not know the worker {}", view->workers[worker].pod->meta.name));
    all.push_back({view->workers[worker], Evidence::kAbsent, Ground::kUnknown});
  }
  const std::size_t size = view->workers.size();
  // A question that nothing could follow from is not asked.
  std::erase_if(
      all, [&](const Candidate& one) { return !shared_.has_room(*nodeset, one.ground, size); });
  if (all.empty()) co_return Result<void>();
  // Once for all of them: no job has come to a node since it was drained.
  MS_CO_CHECK(co_await slurm->cache().refresh_jobs());
  co_return co_await control::in_parallel<Candidate>(
      std::move(all),
      [this, nodeset, slurm, size](Candidate one) {
        return remove_one(nodeset, slurm, std::move(one), size);
      },
      kAtOnce);
}

// The last question before a pod goes, asked of Slurm itself: the cache may be a second old, and a
// second is enough for somebody to lift a drain and for a job to start.
Task<Result<void>> NodeSetSlurmSync::remove_one(NodeSetPtr nodeset, SlurmPtr slurm, Candidate one,
                                                std::size_t size) {
  if (!shared_.has_room(*nodeset, one.ground, size)) co_return Result<void>();
  const std::string name = slurm_node_name(*one.worker.pod);
  MS_CO_TRY(const auto now, co_await slurm->cache().refresh_node(name));
  WorkerView latest = shared_.worker(*one.worker.pod, slurm.get());
  latest.pod = one.worker.pod;
  const bool holds = one.evidence == Evidence::kAbsent
                         ? now == nullptr && !may_have_another_name(latest)
                         : now && now->state.is_drained();
  if (!holds || slurm->jobs_at(name) != 0) co_return Result<void>();
  if (!shared_.may_delete(*nodeset, one.ground, size)) co_return Result<void>();
  co_return co_await delete_pod(&shared_, one.worker.pod, nodeset, PodVersion::kAny);
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
  if (!plan.problem.empty() && (!plan.over || has_old_workers(*view))) {
    warn(world_, ref(*nodeset), "ReservationFailed", plan.problem);
  }
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

// Whether the record is of a worker whose Kubernetes node is gone for good. Only what our own
// comment says is ours.
bool NodeSetSlurmSync::is_defunct(const api::NodeSet& nodeset, const slurm::Node& node) const {
  using Flag = slurm::NodeState::Flag;
  if (!node.state.is_down() || !node.state.has(Flag::kNotResponding)) return false;
  const auto info = parse_comment(node.comment);
  if (!info || info->ns != nodeset.meta.ns || info->nodeset != nodeset.meta.name ||
      info->nodeset_uid != nodeset.meta.uid || info->node.empty()) {
    return false;
  }
  // Whose node is another now, or whose next pod is about to register, lives on.
  const KeyView controller{nodeset.meta.ns, nodeset.spec.controller_ref.name};
  bool lives = world_.pods.get(info->ns, info->pod) != nullptr ||
               !world_.pods_of_slurm_node(controller, node.name).empty();
  world_.nodes.for_each([&](const auto& host) {
    lives =
        lives || build::worker_hostname(nodeset, {{}, host.get()}) == std::string_view(node.name);
  });
  return !lives;
}

Task<Result<void>> NodeSetSlurmSync::prune(Pass* pass) {
  const NodeSetPtr nodeset = pass->nodeset;
  // A cluster without nodes is a list that we do not have yet, as in make_plan().
  if (!nodeset->spec.prune_defunct || !world_.nodes.synced() || world_.nodes.size() == 0 ||
      nodeset->spec.scaling_mode != api::ScalingMode::kDaemonSet) {
    co_return Result<void>();
  }
  std::vector<std::string> defunct;
  pass->slurm->cache().nodes().for_each([&](const auto& node) {
    if (is_defunct(*nodeset, *node)) defunct.emplace_back(std::string_view(node->name));
  });
  Result<void> all;
  for (std::string& name : defunct) {
    pass->held_back = !shared_.has_room(*nodeset, Ground::kWanted, 0);
    if (pass->held_back) break;
    keep_first(all, co_await prune_one(nodeset, pass->slurm, std::move(name)));
  }
  co_return all;
}

// As with a pod, Slurm itself is asked once more: the list may be a second old, and a slurmd may
// have answered since.
Task<Result<void>> NodeSetSlurmSync::prune_one(NodeSetPtr nodeset, SlurmPtr slurm,
                                               std::string name) {
  MS_CO_TRY(const auto now, co_await slurm->cache().refresh_node(name));
  if (!now || !is_defunct(*nodeset, *now) || !shared_.may_delete(*nodeset)) {
    co_return Result<void>();
  }
  MS_CO_CHECK(co_await slurm::Nodes(slurm->client()).remove(name));
  MS_CO_CHECK(co_await slurm->cache().refresh_node(name));
  world_.events.event(ref(*nodeset), EventType::kNormal, "DefunctSlurmNodePruned", "Prune",
                      fmt::format("Deleted the Slurm node {}: its Kubernetes node is gone", name));
  co_return Result<void>();
}

}  // namespace mainspring::op
