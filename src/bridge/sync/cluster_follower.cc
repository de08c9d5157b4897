#include "bridge/sync/cluster_follower.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "http/url.h"
#include "kube/api.h"

namespace mainspring::bridge {
namespace {

// How long a new token in the Secret goes unnoticed while the old one is good.
constexpr Duration kLookEvery = seconds(10);
// The soonest where tokens are refused.
constexpr Duration kLookAgain = seconds(1);

}  // namespace

ClusterFollower::ClusterFollower(control::Manager& manager, slurm::Connection& slurm,
                                 Options options)
    : manager_(manager),
      slurm_(slurm),
      options_(std::move(options)),
      // Where the kind is not installed, there is no such Cluster.
      clusters_(manager.store<kube::SlurmCluster>(
          {.ns = options_.cluster.ns,
           .field_selector = "metadata.name=" + options_.cluster.name,
           .optional = true})) {
  options_.tokens->replace(slurm::no_token(
      fmt::format("Cluster {} has not been read yet", options_.cluster.to_string())));
  options_.tokens->on_refused([this] {
    const TimePoint now = manager_.executor().now();
    look_at(looked_ ? std::max(now, *looked_ + kLookAgain) : now);
  });
  clusters_.add_handler([this](const auto&, const auto&) { look_at(manager_.executor().now()); });
  clusters_.on_synced([this] { look_at(manager_.executor().now()); });
  manager_.add_work("slurm cluster", control::Manager::When::kAlways, [this] { return run(); });
}

ClusterFollower::~ClusterFollower() { options_.tokens->on_refused(nullptr); }

void ClusterFollower::look_at(TimePoint when) {
  // Before the list of Clusters is there, nobody knows whether ours is missing.
  if (!clusters_.synced() || when >= next_look_) return;
  next_look_ = when;
  alarm_.set(when);
}

Task<Result<void>> ClusterFollower::run() {
  while (true) {
    MS_CO_CHECK(co_await alarm_.wait());
    looked_ = manager_.executor().now();
    next_look_ = *looked_ + kLookEvery;
    alarm_.set(next_look_);
    const Cluster cluster = clusters_.get(options_.cluster.view());
    MS_CO_TRY(kube::SlurmAccess access, co_await read(cluster));
    if (access.reason.empty()) {
      take(std::move(access));
    } else {
      tell(access, cluster);
    }
  }
}

Task<Result<kube::SlurmAccess>> ClusterFollower::read(Cluster cluster) {
  if (!cluster) {
    co_return kube::SlurmAccess::none("ClusterMissing",
                                      "it is not there (clusters.slinky.slurm.net); create it, "
                                      "or name another as slurmCluster");
  }
  const kube::Api<kube::SecretObject> secrets(manager_.client(), cluster->meta.ns);
  Result<kube::SecretObject> secret = fail(Code::kNotFound, "none is named");
  if (!cluster->token_secret.empty()) secret = co_await secrets.get(cluster->token_secret);
  if (!secret && secret.error().code() == Code::kCancelled) co_return fail(secret.error());
  if (!secret && secret.error().code() != Code::kNotFound) {
    co_return kube::SlurmAccess::none(
        "SecretUnreadable", fmt::format("spec.token.secretRef: the Secret {} cannot be read: {}",
                                        cluster->token_secret, secret.error().to_string()));
  }
  kube::SlurmAccess access = kube::slurm_access(*cluster, secret ? &*secret : nullptr);
  if (!access.reason.empty()) co_return access;
  const auto good = slurm::check_token(
      access.token,
      fmt::format("{} of the Secret {}", kube::SlurmCluster::kTokenKey, cluster->token_secret));
  if (!good) co_return kube::SlurmAccess::none("InvalidToken", good.error().message());
  co_return access;
}

void ClusterFollower::take(kube::SlurmAccess access) {
  const std::string name = options_.cluster.to_string();
  options_.check.ok();
  if (!std::exchange(trouble_, {}).empty()) {
    options_.log.info("the Cluster says again how Slurm is reached", {{"cluster", name}});
  }
  if (!used_ || !(used_->token == access.token)) {
    options_.tokens->replace(slurm::static_token(access.token));
    slurm_.cache().try_again();
    options_.log.info("the token for Slurm is another now", {{"cluster", name}});
  }
  if (!used_ || used_->server != access.server) {
    options_.log.info("Slurm is asked at this address now",
                      {{"cluster", name}, {"server", access.server}});
    // Parsed before it was called good.
    slurm_.move_to(*http::Url::parse(access.server));
  }
  used_ = std::move(access);
}

void ClusterFollower::tell(const kube::SlurmAccess& access, const Cluster& cluster) {
  const std::string what = fmt::format(
      "Cluster {}: {}; {}", options_.cluster.to_string(), access.message,
      used_ ? "the address and the token of before are used on" : "so Slurm cannot be asked yet");
  options_.check.warn(what);
  if (trouble_ == what) return;
  trouble_ = what;
  options_.log.warn("the Cluster does not say how Slurm is reached",
                    {{"reason", access.reason}, {"message", what}});
  if (!used_) options_.tokens->replace(slurm::no_token(what));
  if (!cluster || !manager_.leading()) return;
  manager_.events().event(control::ref_to(kube::SlurmCluster::kResource, cluster->meta),
                          control::EventType::kWarning, access.reason, "FollowingCluster", what);
}

}  // namespace mainspring::bridge
