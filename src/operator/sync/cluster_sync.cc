#include "operator/sync/cluster_sync.h"

#include <fmt/format.h>

#include "slurm/cluster.h"

namespace mainspring::op {
namespace {

using control::Key;
using control::Requeue;

constexpr std::string_view kTokenKey = "auth-token";
// How often the counts in a status may change.
constexpr Duration kPace = seconds(10);

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

std::string ClusterSync::connect(const api::Cluster& cluster) {
  const auto secret = world_.secrets.get(cluster.meta.ns, cluster.token_secret);
  const Secret* const token = secret ? secret->find(kTokenKey) : nullptr;
  if (token == nullptr) {
    return fmt::format("spec.token.secretRef: the Secret {} with the key {} is not there",
                       cluster.token_secret, kTokenKey);
  }
  const Sha256Digest digest = sha256(token->reveal() + "\n" + cluster.server);
  Sha256Digest& in_use = in_use_[ObjectKey(cluster.meta.key()).to_string()];
  if (in_use == digest) return {};
  in_use = digest;
  world_.outside.set(cluster.meta.key(), cluster.server, slurm::static_token(*token));
  if (world_.outside.find(cluster.meta.key())) return {};
  return fmt::format("spec.server: {} is not the URL of a slurmrestd", cluster.server);
}

Task<Result<Requeue>> ClusterSync::reconcile(Key key) {
  const auto cluster = world_.clusters.get(key.view());
  if (!cluster || cluster->meta.deleting()) {
    in_use_.erase(key.to_string());
    world_.outside.remove(key.view());
    co_return Requeue{};
  }
  std::string problem = connect(*cluster);
  if (!problem.empty()) {
    in_use_.erase(key.to_string());
    world_.outside.remove(key.view());
  }
  MS_CO_CHECK(co_await write_status(cluster, std::move(problem)));
  co_return Requeue{kPace};
}

Task<Result<void>> ClusterSync::write_status(std::shared_ptr<const api::Cluster> cluster,
                                             std::string problem) {
  const auto slurm = world_.outside.find(cluster->meta.key());
  api::ClusterStatus wanted = cluster->status;
  wanted.observed_generation = cluster->meta.generation;
  wanted.is_ready = false;
  wanted.freshness = "never synced";
  if (slurm) {
    const slurm::Freshness freshness = slurm->cache().nodes_freshness();
    wanted.is_ready = freshness.fresh();
    // Without its age, which would be a write every time.
    wanted.freshness = freshness.fresh() ? "fresh" : slurm::to_string(freshness);
    wanted.nodes = static_cast<std::int32_t>(slurm->cache().nodes().size());
    wanted.jobs = static_cast<std::int32_t>(slurm->cache().jobs().size());
    if (problem.empty() && !freshness.fresh()) problem = freshness.why;
  }
  if (wanted.is_ready && wanted.api_version.empty()) {
    MS_CO_TRY(const slurm::Version version, co_await slurm->client().version());
    wanted.api_version = std::string(slurm::to_string(version));
    slurm::Call ping;
    MS_CO_TRY(const slurm::Answer answer, co_await slurm->client().send(std::move(ping)));
    wanted.slurm_version = answer.envelope.release;
  }
  Situation situation;
  situation.ready = wanted.is_ready;
  situation.ready_reason = wanted.is_ready ? "Answers" : "NoAnswer";
  situation.ready_message = problem;
  situation.slurm_reachable = wanted.is_ready;
  situation.slurm_message = problem;
  const control::ConditionList conditions = conditions_of(
      cluster->status.conditions, situation, cluster->meta.generation, world_.clock.wall_now());
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
