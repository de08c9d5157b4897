#include "operator/sync/cluster_sync.h"

#include <utility>

#include "kube/slurm_cluster.h"
#include "slurm/cluster.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

// How often the counts in a status may change.
constexpr Duration kPace = seconds(10);
// An upgrade may be over before it is noticed that nobody answered.
constexpr Duration kAskAgain = seconds(30);

// `reason`: of what is wrong; empty where nothing is, or nobody has answered yet.
Situation situation_of(bool ready, const std::string& reason, const std::string& message) {
  Situation out;
  out.ready = ready;
  out.slurm_reachable = ready;
  if (ready) {
    out.ready_reason = "Answers";
  } else if (reason.empty()) {
    out.ready_reason = "Connecting";
    out.progressing = true;
    out.progress_message = "it has not answered yet";
  } else {
    out.ready_reason = out.degraded_reason = reason;
  }
  out.ready_message = out.degraded_message = out.slurm_message = message;
  return out;
}

}  // namespace

ClusterSync::ClusterSync(World& world) : world_(world) {
  watch(world_.manager.add({.name = "cluster",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = 2}));
}

void ClusterSync::watch(control::Controller& queue) {
  queue.watch(world_.clusters);
  queue.watch<kube::SecretObject>(
      world_.secrets, [this](const auto& before, const auto& after, control::Controller& to) {
        const KeyView secret = (after ? after : before)->meta.key();
        world_.clusters.for_each([&](const auto& cluster) {
          if (cluster->meta.ns == secret.ns && cluster->token_secret == secret.name) {
            to.enqueue(cluster->meta.key());
          }
        });
      });
  world_.outside.on_cluster([&queue](KeyView owner) { queue.enqueue(owner); });
}

std::optional<ClusterSync::Problem> ClusterSync::connect(const api::Cluster& cluster) {
  const auto secret = world_.secrets.get(cluster.meta.ns, cluster.token_secret);
  kube::SlurmAccess access = kube::slurm_access(cluster, secret.get());
  if (!access.reason.empty()) {
    return Problem{std::move(access.reason), std::move(access.message)};
  }
  const Sha256Digest digest = sha256(access.token.reveal() + "\n" + access.server);
  const std::string key = ObjectKey(cluster.meta.key()).to_string();
  const auto known = in_use_.find(key);
  if (known != in_use_.end() && known->second.digest == digest) return std::nullopt;
  in_use_.insert_or_assign(key, InUse{.digest = digest, .asked = {}});
  world_.outside.set(cluster.meta.key(), std::move(access.server),
                     slurm::static_token(std::move(access.token)));
  return std::nullopt;
}

void ClusterSync::forget(const Key& key) {
  in_use_.erase(key.to_string());
  world_.outside.remove(key.view());
}

Task<Result<Requeue>> ClusterSync::reconcile(Key key) {
  const auto cluster = world_.clusters.get(key.view());
  if (!cluster || cluster->meta.deleting()) {
    forget(key);
    co_return Requeue{};
  }
  std::optional<Problem> problem = connect(*cluster);
  if (problem) forget(key);
  const auto slurm = world_.outside.find(key.view());
  if (slurm && !problem) {
    const slurm::Freshness freshness = slurm->cache().nodes_freshness();
    if (!freshness.why.empty()) problem = Problem{"NoAnswer", freshness.why};
  }
  api::ClusterStatus wanted = co_await look_at(cluster, slurm);
  MS_CO_CHECK(co_await write_status(cluster, std::move(wanted), std::move(problem)));
  co_return Requeue{kPace};
}

Task<api::ClusterStatus> ClusterSync::look_at(std::shared_ptr<const api::Cluster> cluster,
                                              std::shared_ptr<SlurmCluster> slurm) {
  api::ClusterStatus wanted = cluster->status;
  wanted.observed_generation = cluster->meta.generation;
  wanted.is_ready = false;
  wanted.freshness = "never synced";
  if (!slurm) co_return wanted;
  const slurm::Freshness freshness = slurm->cache().nodes_freshness();
  // Without its age, which would be a write every time.
  wanted.freshness = freshness.fresh() ? "fresh" : slurm::to_string(freshness);
  wanted.is_ready = freshness.fresh();
  wanted.nodes = static_cast<std::int32_t>(slurm->cache().nodes().size());
  wanted.jobs = static_cast<std::int32_t>(slurm->cache().jobs().size());
  if (!wanted.is_ready) co_return wanted;

  const std::string key = ObjectKey(cluster->meta.key()).to_string();
  const std::optional<TimePoint> asked = in_use_.at(key).asked;
  if (cluster->status.is_ready && asked && world_.clock.now() - *asked < kAskAgain) {
    co_return wanted;
  }
  slurm::Call ping;
  const auto answer = co_await slurm->client().send(std::move(ping));
  const auto version = co_await slurm->client().version();
  if (!answer || !version) co_return wanted;  // Asked again at the next look.
  wanted.slurm_version = answer->envelope.release;
  wanted.api_version = std::string(slurm::to_string(*version));
  if (const auto known = in_use_.find(key); known != in_use_.end()) {
    known->second.asked = world_.clock.now();
  }
  co_return wanted;
}

Task<Result<void>> ClusterSync::write_status(std::shared_ptr<const api::Cluster> cluster,
                                             api::ClusterStatus wanted,
                                             std::optional<Problem> problem) {
  const control::ConditionList conditions =
      conditions_of(cluster->status.conditions,
                    situation_of(wanted.is_ready, problem ? problem->reason : "",
                                 problem ? problem->message : ""),
                    cluster->meta.generation, world_.clock.wall_now());
  if (wanted == cluster->status && same_conditions(cluster->status.conditions, conditions)) {
    co_return Result<void>();
  }
  co_return co_await patch_status(
      &world_, api::Cluster::kResource, cluster->meta,
      json::Value::object({{"isReady", wanted.is_ready},
                           {"observedGeneration", wanted.observed_generation},
                           {"slurmVersion", wanted.slurm_version},
                           {"apiVersion", wanted.api_version},
                           {"nodes", wanted.nodes},
                           {"jobs", wanted.jobs},
                           {"freshness", wanted.freshness},
                           {"conditions", control::to_json(conditions)}}));
}

}  // namespace mainspring::op
