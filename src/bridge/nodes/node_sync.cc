#include "bridge/nodes/node_sync.h"

#include <fmt/format.h>

#include <utility>

#include "base/hostlist.h"
#include "bridge/gang/pod_stage.h"
#include "bridge/names.h"
#include "bridge/sync/pod_writes.h"
#include "slurm/errors.h"
#include "slurm/nodes.h"

namespace mainspring::bridge {
namespace {

using control::Controller;
using control::EventType;
using control::Key;
using control::Requeue;
using Kind = SlurmStep::Kind;

constexpr Duration kSlurmAway = seconds(5);
constexpr Duration kLimited = seconds(10);
constexpr Duration kSoon{};
constexpr Duration kSeen = seconds(30);
constexpr std::size_t kKubeWorkers = 16;
// Each of them mostly waits; the more are made at once, the fewer lists are needed to see them. Nor
// does each cost nothing: some three kilobytes, whether or not it has work.
constexpr std::size_t kSlurmWorkers = 256;
// A node that is made anew is drained, removed, made and told about.
constexpr int kMostSteps = 6;

// Nothing has changed of what the pod means for its node.
bool is_same_tenant(const kube::Pod& before, const kube::Pod& after, const kube::Node& node) {
  const bool lost = is_out_of_service(node);
  return job_of(before) == job_of(after) && stage_of(before, lost) == stage_of(after, lost);
}
// Nor of which nodes a job has, and for whom.
bool is_same_tenant(const slurm::Job& before, const slurm::Job& after) {
  return has_nodes(before) == has_nodes(after) && before.nodes == after.nodes &&
         before.admin_comment == after.admin_comment && before.extra == after.extra;
}

bool is_external(const kube::Node& node) { return node.meta.labels.contains(kExternalNodeLabel); }

}  // namespace

NodeSync::NodeSync(World& world, Tenants& tenants)
    : world_(world),
      tenants_(tenants),
      registrar_(world.slurm),
      limit_(world.manager.executor().clock()) {
  watch_kube(
      world_.manager.add({.name = "node",
                          .reconcile = [this](Key key) { return reconcile_kube(std::move(key)); },
                          .workers = kKubeWorkers}));
  watch_slurm(
      world_.manager.add({.name = "node-slurm",
                          .reconcile = [this](Key key) { return reconcile_slurm(std::move(key)); },
                          .workers = kSlurmWorkers}));
  world_.manager.add_work("node-registrar", control::Manager::When::kLeading,
                          [this] { return registrar_.run(); });
}

// By the name of the Kubernetes node.
void NodeSync::watch_kube(Controller& queue) {
  queue.wait_for(world_.system);
  queue.wait_for(world_.cache.jobs());
  queue.watch(world_.nodes);
  queue.watch<slurm::Node>(world_.cache.nodes(),
                           [this](const auto& before, const auto& after, Controller& to) {
                             const auto node = world_.kube_node((after ? *after : *before).name);
                             if (node) to.enqueue(node->meta.key());
                           });
  queue.watch<slurm::Partition>(world_.cache.partitions(),
                                [this](const auto& before, const auto& after, Controller& to) {
                                  if (before && after) return;
                                  world_.nodes.for_each([&](const auto& node) {
                                    if (is_external(*node)) to.enqueue(node->meta.key());
                                  });
                                });
}

// By the name of the Slurm node.
void NodeSync::watch_slurm(Controller& queue) {
  queue.wait_for(world_.system);
  queue.watch<kube::Node>(world_.nodes, [](const auto& before, const auto& after, Controller& to) {
    if (before) to.enqueue(Key({}, World::slurm_name(*before)));
    if (after) to.enqueue(Key({}, World::slurm_name(*after)));
  });
  queue.watch<kube::Pod>(
      world_.pods, [this](const auto& before, const auto& after, Controller& to) {
        const auto node = world_.nodes.get({}, (after ? *after : *before).node_name);
        if (!node || (before && after && is_same_tenant(*before, *after, *node))) return;
        to.enqueue(Key({}, World::slurm_name(*node)));
      });
  queue.watch<slurm::Job>(world_.cache.jobs(),
                          [this](const auto& before, const auto& after, Controller& to) {
                            if (before && after && is_same_tenant(*before, *after)) return;
                            if (before) enqueue_nodes(*before, to);
                            if (after) enqueue_nodes(*after, to);
                          });
  queue.watch<kube::ResourceSlice>(
      world_.slices, [this](const auto& before, const auto& after, Controller& to) {
        const auto node = world_.nodes.get({}, (after ? *after : *before).node_name);
        if (node) to.enqueue(Key({}, World::slurm_name(*node)));
      });
  queue.watch(world_.cache.nodes());
  queue.watch<slurm::Partition>(world_.cache.partitions(),
                                [this](const auto& before, const auto& after, Controller& to) {
                                  if (!before || !after) enqueue_all(to);
                                });
  queue.watch<Daemon>(world_.daemons,
                      [this](const auto&, const auto&, Controller& to) { enqueue_all(to); });
}

// All that are ours to make.
void NodeSync::enqueue_all(Controller& to) const {
  world_.nodes.for_each([&](const auto& node) {
    if (is_external(*node)) to.enqueue(Key({}, World::slurm_name(*node)));
  });
}

// Pods are on nodes that their job has or had.
void NodeSync::enqueue_nodes(const slurm::Job& job, Controller& to) const {
  if (job.nodes.empty()) return;
  const auto names = expand_hostlist(job.nodes);
  if (!names) return;
  for (const std::string& name : *names) {
    if (world_.kube_node(name)) to.enqueue(Key({}, name));
  }
}

bool NodeSync::is_fresh() const {
  return world_.cache.nodes_freshness().fresh() && world_.cache.partitions_freshness().fresh() &&
         world_.cache.jobs_freshness().fresh();
}

NodeRules NodeSync::rules() const {
  return {
      world_.config, world_.cluster_id(),
      [this](std::string_view name) { return world_.cache.partitions().get({}, name) != nullptr; },
      world_.manager.executor().clock().wall_now()};
}

NodeView NodeSync::view_of(const std::string& slurm_name) const {
  NodeView view{
      slurm_name, world_.kube_node(slurm_name), world_.cache.nodes().get({}, slurm_name), {}};
  if (!view.node) return view;
  view.devices = inventory_of(world_.slices_of(view.node->meta.name), world_.config.device_classes);
  std::vector<std::shared_ptr<const Daemon>> daemons;
  world_.daemons.for_each([&](const auto& one) { daemons.push_back(one); });
  view.daemons = reserve_of(daemons, *view.node, world_.config);
  if (!view.slurm && !tenants_.on(*view.node).empty()) {
    // Slurm has lost the node, and all that it knew of its use with it; a new one would look free.
    view.hold = "pods of jobs that Slurm no longer knows run there";
  } else if (const slurm::JobId job = tenants_.overdue(*view.node)) {
    view.hold = fmt::format("pods of job {} are still there", job.text());
  }
  return view;
}

void NodeSync::tell(const NodeView& view, EventType type, std::string_view reason,
                    std::string_view action, std::string note) const {
  if (!view.node) return;
  world_.manager.events().event(control::ref_to(kube::Node::kResource, view.node->meta), type,
                                reason, action, std::move(note));
}

Task<Result<Requeue>> NodeSync::reconcile_kube(Key key) {
  const auto node = world_.nodes.get(key.view());
  if (!node || node->meta.deleting()) co_return Requeue{};
  NodeView view = view_of(World::slurm_name(*node));
  if (!is_fresh()) co_return Requeue{kSlurmAway};
  if (view.node != node) {  // Of several with one name in Slurm, one has it.
    view.node = node;
    tell(view, EventType::kWarning, "SlurmNameTaken", "Registering",
         fmt::format("another node is called {} in Slurm too; correct the label {}", view.name,
                     kSlurmNodeLabel));
    co_return Requeue{};
  }
  KubeStep next = kube_step(view, rules(), world_.manager.executor().clock().wall_now());
  for (auto& [patch, subresource] : {std::pair(&next.taint, ""), std::pair(&next.cordon, ""),
                                     std::pair(&next.condition, "status")}) {
    const auto written = co_await write(node->meta.name, std::move(*patch), subresource);
    if (written) continue;
    // It has changed or gone since; what it is now is on its way here.
    const Code code = written.error().code();
    if (code == Code::kConflict || code == Code::kNotFound) co_return Requeue{kSoon};
    co_return fail(written.error());
  }
  co_return Requeue{};
}

Task<Result<void>> NodeSync::write(std::string name, std::optional<kube::Patch> patch,
                                   std::string subresource) {
  if (!patch) co_return Result<void>();
  const kube::RawApi api(world_.kube, kube::Node::kResource, {});
  MS_CO_CHECK(co_await api.patch(std::move(name), *std::move(patch),
                                 {.subresource = std::move(subresource)}));
  co_return Result<void>();
}

Task<Result<Requeue>> NodeSync::reconcile_slurm(Key key) {
  for (int i = 0; i < kMostSteps; ++i) {
    if (!is_fresh()) co_return Requeue{kSlurmAway};
    NodeRules known = rules();
    // Without it, nobody could say later whose the node is.
    if (known.cluster.empty()) {
      co_return fail(Code::kNotFound,
                     "namespace kube-system: not found, and its UID marks our "
                     "nodes in Slurm; allow us to read it");
    }
    NodeView view = view_of(key.name);
    SlurmStep next = slurm_step(view, known);
    if (next.kind != Kind::kNone && next.kind != Kind::kCreate) {
      MS_CO_CHECK(co_await world_.cache.refresh_node(key.name));
      if (view.node) MS_CO_CHECK(co_await tenants_.confirm_overdue(view.node));
      view = view_of(key.name);
      next = slurm_step(view, known);
    }
    for (NodeProblem& problem : next.problems) {
      tell(view, EventType::kWarning, problem.reason, "Registering", std::move(problem.note));
    }
    if (next.kind == Kind::kNone) co_return Requeue{next.again};
    if (next.kind == Kind::kRemove && !may_remove(view)) co_return Requeue{kLimited};
    const bool makes = next.kind == Kind::kCreate;
    MS_CO_CHECK(co_await take(std::move(view), std::move(next)));
    if (!makes) MS_CO_CHECK(co_await world_.cache.refresh_node(key.name));
  }
  co_return Requeue{kSoon};
}

bool NodeSync::may_remove(const NodeView& view) {
  std::size_t external = 0;
  world_.cache.nodes().for_each(
      [&](const auto& node) { external += node->state.is_external() ? 1 : 0; });
  if (limit_.take(external)) return true;
  world_.log.error("too many nodes would be removed from Slurm at once; stopped for a minute",
                   {{"node", view.name}, {"external_nodes", external}});
  tell(view, EventType::kWarning, "RemovalsLimited", "Removing",
       "too many nodes would be removed from Slurm at once; this one has to wait");
  return false;
}

Task<Result<void>> NodeSync::take(NodeView view, SlurmStep next) {
  const slurm::Nodes nodes(world_.slurm);
  switch (next.kind) {
    case Kind::kNone:
      break;
    case Kind::kCreate:
      co_return co_await create(std::move(view), std::move(next));
    case Kind::kUpdate:
      MS_CO_CHECK(co_await nodes.update(view.name, std::move(next.update)));
      world_.log.info("changed a node in Slurm", {{"node", view.name}});
      break;
    case Kind::kDrain:
      MS_CO_CHECK(co_await nodes.drain(view.name, next.why));
      world_.log.info("drained", {{"node", view.name}, {"reason", next.why}});
      break;
    case Kind::kUndrain:
      MS_CO_CHECK(co_await nodes.undrain(view.name));
      world_.log.info("undrained", {{"node", view.name}});
      break;
    case Kind::kRemove:
      MS_CO_CHECK(co_await nodes.remove(view.name));
      world_.log.info("removed from Slurm", {{"node", view.name}, {"why", next.why}});
      tell(view, EventType::kNormal, "SlurmNodeRemoved", "Removing",
           fmt::format("removed from Slurm: {}", next.why));
      break;
  }
  co_return Result<void>();
}

// Waiting for it, many ask for one list; each reading its own would be many calls.
Task<Result<void>> NodeSync::create(NodeView view, SlurmStep next) {
  const auto made = co_await registrar_.add(std::move(next.spec), next.comment);
  if (made) {
    MS_CO_CHECK(co_await world_.cache.wait_for_node(
        view.name,
        [comment = next.comment](const slurm::Node& node) { return node.comment == comment; },
        kSeen));
    world_.log.info("registered with Slurm", {{"node", view.name}});
    tell(view, EventType::kNormal, "SlurmNodeCreated", "Registering", "registered with Slurm");
    co_return Result<void>();
  }
  MS_CO_CHECK(co_await world_.cache.refresh_node(view.name));
  if (slurm::refused_with(made.error(), slurm::Errno::kNodeExists)) co_return Result<void>();
  if (slurm::slurm_error(made.error()) != nullptr) {
    tell(view, EventType::kWarning, "SlurmRefusedNode", "Registering", made.error().to_string());
  }
  co_return fail(made.error());
}

}  // namespace mainspring::bridge
