#include "operator/sync/nodeset_world.h"

#include <fmt/format.h>

#include <algorithm>

#include "operator/build/metadata.h"
#include "operator/build/pod_parts.h"
#include "operator/build/worker.h"
#include "operator/nodeset/claims.h"
#include "operator/sync/ensure.h"

namespace mainspring::op {
namespace {

std::string join(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

}  // namespace

NodeSetWorld::NodeSetWorld(World& given)
    : world(given),
      expectations({given.clock, given.options.log}),
      metrics(given),
      by_sssd_(world.nodesets.add_index([](const api::NodeSet& nodeset, auto& values) {
        if (!nodeset.spec.ssh_enabled) return;
        values.push_back(join(nodeset.meta.ns, nodeset.spec.sssd_conf_ref.name));
      })),
      deletions_(given.clock, given.options.deletions_per_minute) {
  if (world.options.metrics != nullptr) {
    held_back_total_ = world.options.metrics->counter(
        "mainspring_deletions_held_back_total",
        "Times that a worker was not deleted because too many would have gone within a minute.");
  }
  expectations.follow(world.pods);
  world.nodesets.add_handler([this](const auto& before, const auto& after) {
    if (before && (!after || after->meta.uid != before->meta.uid)) forget(before->meta.uid);
  });
}

std::shared_ptr<const api::Controller> NodeSetWorld::controller_of(
    const api::NodeSet& nodeset) const {
  return world.controllers.get(nodeset.meta.ns, nodeset.spec.controller_ref.name);
}

std::shared_ptr<SlurmCluster> NodeSetWorld::slurm_of(const api::NodeSet& nodeset) const {
  return world.slurm.find({nodeset.meta.ns, nodeset.spec.controller_ref.name});
}

std::shared_ptr<const api::NodeSet> NodeSetWorld::owner_of(const kube::Pod& pod) const {
  const kube::OwnerReference* const owner = pod.meta.controller();
  if (owner == nullptr || owner->kind != api::NodeSet::kResource.kind) return nullptr;
  auto nodeset = world.nodesets.get(pod.meta.ns, owner->name);
  return nodeset && nodeset->meta.uid == owner->uid ? nodeset : nullptr;
}

Duration NodeSetWorld::settle_time(KeyView nodeset) const {
  constexpr Duration kLeast = milliseconds(20);
  constexpr Duration kEach = microseconds(50);
  constexpr Duration kMost = milliseconds(500);
  const auto found = world.nodesets.get(nodeset);
  if (!found) return kLeast;
  const auto pods = static_cast<Duration::rep>(world.pods_of(found->meta.uid).size());
  return std::min(kLeast + kEach * pods, kMost);
}

WorkerView NodeSetWorld::worker(const kube::Pod& pod, SlurmCluster* slurm) const {
  WorkerView view;
  if (!pod.node_name.empty()) view.node = world.nodes.get({}, pod.node_name.view());
  if (slurm != nullptr) view.slurm = slurm->facts(slurm_node_name(pod));
  if (view.slurm.knowledge == SlurmFacts::Knowledge::kAbsent) {
    view.slurm.elsewhere = elsewhere(pod, *slurm);
  }
  return view;
}

// Addresses are used again: a record that is down has no job, and one that another pod goes by is
// that pod's.
std::string NodeSetWorld::elsewhere(const kube::Pod& pod, SlurmCluster& slurm) const {
  const auto nodeset = owner_of(pod);
  if (!nodeset) return {};
  const KeyView controller{nodeset->meta.ns, nodeset->spec.controller_ref.name};
  std::vector<std::string_view> known_as = {pod.status.pod_ip.view(),
                                            pod.status.second_pod_ip.view()};
  if (pod.spec->host_network) {
    const std::string_view host = pod.node_name.view();
    known_as.insert(known_as.end(), {host, host.substr(0, host.find('.'))});
  } else {
    known_as.push_back(pod.hostname.empty() ? std::string_view(pod.meta.name)
                                            : pod.hostname.view());
  }
  for (const std::string_view one : known_as) {
    if (one.empty()) continue;
    for (const auto& node : slurm.nodes_at(one)) {
      const auto& pods = world.pods_of_slurm_node(controller, node->name);
      const bool anothers = std::any_of(pods.begin(), pods.end(), [&](const auto& other) {
        return other->meta.uid != pod.meta.uid;
      });
      if (!node->state.is_down() && !anothers) return std::string(std::string_view(node->name));
    }
  }
  return {};
}

void NodeSetWorld::set_revision(const api::NodeSet& nodeset, std::string hash) {
  revisions_[nodeset.meta.uid] = std::move(hash);
}

NodeSetView NodeSetWorld::view(const api::NodeSet& nodeset) {
  NodeSetView view{nodeset, {}, {}, {}, world.clock.wall_now(), {}};
  if (const auto it = revisions_.find(nodeset.meta.uid); it != revisions_.end()) {
    view.revision_hash = it->second;
  }
  view.slurm_key_hash = slurm_key_hash(nodeset);
  view.sssd_conf_hash = sssd_conf_hash(nodeset);
  const std::shared_ptr<SlurmCluster> slurm = slurm_of(nodeset);
  const auto& pods = world.pods_of(nodeset.meta.uid);
  view.workers.reserve(pods.size());
  for (const auto& pod : pods) {
    WorkerView one = worker(*pod, slurm.get());
    one.pod = pod;
    view.workers.push_back(std::move(one));
  }
  if (nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet) view.places = places(nodeset);
  if (const auto it = failures_.find(nodeset.meta.uid); it != failures_.end()) {
    for (const auto& [node, failure] : it->second) {
      if (failure.until > world.clock.now()) view.backing_off.push_back(failure.pod_uid);
    }
  }
  return view;
}

std::string NodeSetWorld::slurm_key_hash(const api::NodeSet& nodeset) const {
  const auto controller = controller_of(nodeset);
  if (!controller || !controller->spec.slurm_key_ref) return {};
  const auto secret = world.secrets.get(nodeset.meta.ns, controller->spec.slurm_key_ref->name);
  return secret ? build::hash_of(*secret) : std::string();
}

std::string NodeSetWorld::sssd_conf_hash(const api::NodeSet& nodeset) const {
  if (!nodeset.spec.ssh_enabled) return {};
  const api::KeyRef& ref = nodeset.spec.sssd_conf_ref;
  const auto secret = world.secrets.get(nodeset.meta.ns, ref.name);
  const Secret* const conf = secret ? secret->find(ref.key) : nullptr;
  return conf == nullptr ? std::string() : build::hash_of_text(conf->reveal());
}

std::vector<Place> NodeSetWorld::places(const api::NodeSet& nodeset) {
  std::vector<Place> all;
  const auto it = templates_.find(nodeset.meta.uid);
  // Without a template, or before all nodes are known, nobody may say where a pod does not belong.
  if (it == templates_.end() || !world.nodes.synced()) return all;
  world.nodes.for_each([&](const auto& node) { all.push_back(place(it->second.rules, node)); });
  return all;
}

bool NodeSetWorld::fits(const api::NodeSet& nodeset,
                        const std::shared_ptr<const kube::Node>& node) const {
  const auto it = templates_.find(nodeset.meta.uid);
  return it != templates_.end() && place(it->second.rules, node).should_continue;
}

Result<const json::Value*> NodeSetWorld::pod_template(const api::NodeSet& nodeset,
                                                      const api::Controller& controller) {
  const auto it = templates_.find(nodeset.meta.uid);
  if (it != templates_.end() && it->second.nodeset == nodeset.spec &&
      it->second.meta.labels == nodeset.meta.labels &&
      it->second.meta.annotations == nodeset.meta.annotations &&
      it->second.controller == controller.spec) {
    return &it->second.pod;
  }
  MS_TRY(json::Value pod,
         build::worker_template({nodeset, controller, world.options.cluster_domain}));
  MS_TRY(PlacementRules rules, placement_rules(pod));
  Template& kept = templates_[nodeset.meta.uid] = {nodeset.spec, nodeset.meta, controller.spec,
                                                   std::move(pod), std::move(rules)};
  return &kept.pod;
}

void NodeSetWorld::watch_sssd(control::Controller& queue) {
  queue.watch<kube::SecretObject>(
      world.secrets, [this](const auto& before, const auto& after, auto& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        for (const auto& nodeset : world.nodesets.find(by_sssd_, join(meta.ns, meta.name))) {
          to.enqueue(nodeset->meta.key());
        }
      });
}

void NodeSetWorld::watch_claims(control::Controller& queue) {
  using Claim = kube::PersistentVolumeClaim;
  queue.watch<Claim>(world.claims, [this](const auto& before, const auto& after, auto& to) {
    for (const Claim* const claim : {before.get(), after.get()}) {
      if (claim == nullptr) continue;
      for (const kube::OwnerReference& owner : claim->meta.owners) {
        if (owner.kind == api::NodeSet::kResource.kind) {
          to.enqueue(control::Key(claim->meta.ns, owner.name));
        }
        const auto pod = owner.kind == kube::Pod::kResource.kind
                             ? world.pods.get(claim->meta.ns, owner.name)
                             : nullptr;
        if (const auto nodeset = pod ? owner_of(*pod) : nullptr) to.enqueue(nodeset->meta.key());
      }
    }
    // One that is retained is nobody's, and who waits for it is told by nobody else.
    if (after) return;
    for (const auto& pod : world.pods_waiting_for({before->meta.ns, before->meta.name})) {
      if (const auto nodeset = owner_of(*pod)) to.enqueue(nodeset->meta.key());
    }
  });
}

bool NodeSetWorld::claims_settled(const api::NodeSet& nodeset, const kube::Pod& pod,
                                  Cause cause) const {
  if (nodeset.spec.volume_claim_templates.empty()) return true;
  const auto& volumes = pod.spec->volumes;
  return std::none_of(volumes.begin(), volumes.end(), [&](const kube::Volume& volume) {
    const auto claim = world.claims.get(pod.meta.ns, volume.claim_name(pod.meta.name));
    return claim && wanted_owners(nodeset, pod, cause == Cause::kScaleIn, *claim);
  });
}

void NodeSetWorld::note_failures(const api::NodeSet& nodeset) {
  constexpr int kDoublings = 10;  // One second, doubled: a quarter of an hour.
  constexpr Duration kLongest = minutes(15);
  const bool daemons = nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet;
  auto& failures = failures_[nodeset.meta.uid];
  // Not by a pod that is Ready: one that fails a moment later fails again all the same.
  std::erase_if(failures,
                [&](const auto& one) { return one.second.until + kLongest < world.clock.now(); });
  for (const auto& pod : world.pods_of(nodeset.meta.uid)) {
    const std::string place = daemons ? std::string(pod->node_name.view()) : pod->meta.name;
    if (!pod->terminal() || place.empty()) continue;
    Failure& failure = failures[place];
    if (failure.pod_uid == pod->meta.uid) continue;
    failure.pod_uid = pod->meta.uid;
    failure.until =
        world.clock.now() + std::min<Duration>(seconds(1) * (1 << failure.count), kLongest);
    failure.count = std::min(failure.count + 1, kDoublings);
    if (daemons) say_ended(nodeset, *pod);
  }
}

void NodeSetWorld::say_ended(const api::NodeSet& nodeset, const kube::Pod& pod) {
  const bool failed = pod.status.phase == kube::PodPhase::kFailed;
  world.events.event(control::ref_to(api::NodeSet::kResource, nodeset.meta),
                     failed ? control::EventType::kWarning : control::EventType::kNormal,
                     failed ? "FailedDaemonPod" : "SucceededDaemonPod", "Recreate",
                     fmt::format("Pod {} on node {} {}; another takes its place", pod.meta.name,
                                 pod.node_name.view(), failed ? "failed" : "has ended"));
}

std::optional<Duration> NodeSetWorld::next_try(std::string_view nodeset_uid) const {
  const auto it = failures_.find(nodeset_uid);
  if (it == failures_.end()) return std::nullopt;
  std::optional<Duration> soonest;
  for (const auto& [node, failure] : it->second) {
    const Duration left = failure.until - world.clock.now();
    if (left > Duration::zero() && (!soonest || left < *soonest)) soonest = left;
  }
  return soonest;
}

bool NodeSetWorld::overdue(const api::NodeSet& nodeset) const {
  return nodeset.meta.deleting() && nodeset.spec.deletion_deadline > Duration::zero() &&
         world.clock.wall_now() > *nodeset.meta.deletion + nodeset.spec.deletion_deadline;
}

bool NodeSetWorld::may_delete(const api::NodeSet& nodeset, Ground ground, std::size_t size) {
  return say_limited(nodeset, ground, deletions_.take(ground, nodeset.meta.uid, size));
}

bool NodeSetWorld::has_room(const api::NodeSet& nodeset, Ground ground, std::size_t size) {
  return say_limited(nodeset, ground, deletions_.has_room(ground, nodeset.meta.uid, size));
}

bool NodeSetWorld::say_limited(const api::NodeSet& nodeset, Ground ground, bool allowed) {
  if (allowed) return true;
  std::string why = "More pods would be deleted within a minute than is allowed; the rest waits";
  if (ground == Ground::kUprooted) {
    why +=
        ". The nodes of many of them do not fit any more, or their scaling mode does not: if that "
        "is a mistake, correct the nodeSelector, the scalingMode, or the labels, taints or "
        "hostname-override of the nodes";
  }
  warn(world, control::ref_to(api::NodeSet::kResource, nodeset.meta), "DeletionsLimited", why);
  held_back_total_.add();
  const bool begins = held_back(nodeset).empty();
  held_back_[nodeset.meta.uid] = {world.clock.now(), std::move(why)};
  if (begins) on_held_back(nodeset.meta.key());
  return false;
}

std::string_view NodeSetWorld::held_back(const api::NodeSet& nodeset) const {
  constexpr Duration kJustNow = seconds(30);  // Longer than until the next try.
  const auto it = held_back_.find(nodeset.meta.uid);
  if (it == held_back_.end() || world.clock.now() - it->second.at > kJustNow) return {};
  return it->second.why;
}

void NodeSetWorld::forget(std::string_view nodeset_uid) {
  expectations.forget(nodeset_uid);
  deletions_.forget(std::string(nodeset_uid));
  if (const auto it = held_back_.find(nodeset_uid); it != held_back_.end()) held_back_.erase(it);
  if (const auto it = revisions_.find(nodeset_uid); it != revisions_.end()) revisions_.erase(it);
  if (const auto it = templates_.find(nodeset_uid); it != templates_.end()) templates_.erase(it);
  if (const auto it = failures_.find(nodeset_uid); it != failures_.end()) failures_.erase(it);
}

}  // namespace mainspring::op
