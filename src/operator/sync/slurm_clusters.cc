#include "operator/sync/slurm_clusters.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "net/task_group.h"
#include "net/wait.h"
#include "slurm/governor.h"
#include "slurm/replaceable_tokens.h"
#include "slurm/rest_source.h"

namespace mainspring::op {
namespace {

Result<slurm::Client::Options> client_options(const SlurmClusters::Tools& tools, KeyView owner,
                                              const std::string& url,
                                              std::shared_ptr<slurm::TokenSource> tokens) {
  slurm::Client::Options options;
  MS_TRY(options.server, http::Url::parse(url));
  options.tokens = std::move(tokens);
  options.cluster = ObjectKey(owner).to_string();
  options.log = tools.log.with({{"cluster", options.cluster}});
  options.metrics = tools.metrics;
  options.may_write = tools.may_write;
  return options;
}

// Beside the cluster's own client it has nothing new to say of the token.
slurm::Client::Options for_pings(slurm::Client::Options options) {
  options.log = {};
  options.metrics = nullptr;
  return options;
}

// Somebody looks at every node all the time, so that a change is on its pod within two seconds; a
// list that has not changed costs next to nothing. One that has, of 5,000 nodes, costs slurmctld
// 10 ms and one of slurmrestd's many threads most of a second: lists may take half of that thread
// where something changes all the time, and after calm minutes they may follow each other.
slurm::CacheOptions cache_options(const SlurmClusters::Tools& tools) {
  slurm::CacheOptions options;
  options.nodes_pace = milliseconds(800);
  options.pulse_pace = seconds(1);
  options.rest_pace = seconds(30);
  options.share = 0.05;
  options.nodes_share = 0.5;
  options.savings = minutes(5);
  options.stale_after = seconds(30);
  options.log = tools.log;
  options.metrics = tools.metrics;
  return options;
}

}  // namespace

SlurmFacts SlurmCluster::facts(std::string_view node) {
  const bool fresh = cache().nodes_freshness().fresh();
  if (!fresh || cache().nodes().size() > 0) empty_since_.reset();
  if (!fresh) return {};
  if (auto found = cache().nodes().get({}, node)) {
    return {SlurmFacts::Knowledge::kPresent, std::move(found), {}, jobs_at(node)};
  }
  // A list without a single node is what a slurmctld with lost state gives.
  if (cache().nodes().size() == 0) {
    if (!empty_since_) empty_since_ = now();
    return {.empty_for = now() - *empty_since_};
  }
  return {SlurmFacts::Knowledge::kAbsent, nullptr, {}, jobs_at(node)};
}

std::optional<std::size_t> SlurmCluster::jobs_at(std::string_view node) {
  if (!cache().jobs_freshness().fresh()) return std::nullopt;
  const auto jobs = cache().jobs_on_node(node);
  // Of one that completes, the node itself says whether it still does so here.
  return std::count_if(jobs.begin(), jobs.end(),
                       [](const auto& job) { return !job->state.is_completing(); });
}

std::optional<SlurmCluster::JobsNaming> SlurmCluster::jobs_naming(std::string_view partition) {
  if (!cache().jobs_freshness().fresh()) return std::nullopt;
  JobsNaming count;
  cache().jobs().for_each([&](const auto& job) {
    const auto names = split(std::string_view(job->partition), ',');
    if (std::find(names.begin(), names.end(), partition) == names.end()) return;
    ++count.all;
    count.pending += job->state.base() == slurm::JobState::Base::kPending ? 1 : 0;
  });
  return count;
}

class SlurmClusters::Live final : public SlurmCluster {
 public:
  Live(const Tools& tools, KeyView owner, std::string url,
       std::shared_ptr<slurm::ReplaceableTokens> tokens, slurm::Client::Options options)
      : executor_(tools.executor),
        url_(std::move(url)),
        tokens_(std::move(tokens)),
        governor_(tools.executor, tools.random,
                  {.metrics = tools.metrics, .cluster = ObjectKey(owner).to_string()}),
        ping_governor_(tools.executor, tools.random, {}),
        pinger_(tools.transport, tools.executor, tools.random, ping_governor_, for_pings(options)),
        client_(tools.transport, tools.executor, tools.random, governor_, std::move(options)),
        source_(client_),
        cache_(tools.executor, tools.random, source_, cache_options(tools)),
        by_address_(cache_.nodes().add_index([](const slurm::Node& node, auto& values) {
          values.emplace_back(std::string_view(node.address));
          if (node.hostname != node.address) values.emplace_back(std::string_view(node.hostname));
        })),
        tasks_(tools.executor) {}

  slurm::Client& client() override { return client_; }
  slurm::Client& pinger() override { return pinger_; }
  slurm::Cache& cache() override { return cache_; }
  std::vector<std::shared_ptr<const slurm::Node>> nodes_at(std::string_view address) override {
    return cache_.nodes().find(by_address_, address);
  }
  const std::string& url() const { return url_; }
  slurm::ReplaceableTokens& tokens() { return *tokens_; }
  // `known` is called whenever the list of nodes begins or ceases to be fresh, or to fail, whenever
  // the jobs begin or cease to be, and when Slurm answers again after a failure, however short.
  void start(std::function<void()> known) {
    tasks_.spawn(cache_.run());
    tasks_.spawn(watch_freshness(std::move(known)));
  }

 private:
  TimePoint now() const override { return executor_.now(); }

  // What is fresh ceases to be by the mere passing of time, and what fails from the first brings no
  // list that would tell of it.
  net::Task<Result<void>> watch_freshness(std::function<void()> known) {
    for (std::tuple seen(false, true, false, std::uint64_t{0});;) {
      MS_CO_CHECK(co_await net::sleep(seconds(1)));
      const slurm::Freshness now = cache_.nodes_freshness();
      const bool jobs = cache_.jobs_freshness().fresh();
      const auto before =
          std::exchange(seen, {now.fresh(), now.why.empty(), jobs, cache_.recoveries()});
      if (seen != before) known();
    }
  }

  net::Executor& executor_;
  const std::string url_;
  std::shared_ptr<slurm::ReplaceableTokens> tokens_;
  slurm::Governor governor_, ping_governor_;
  slurm::Client pinger_, client_;
  slurm::RestSource source_;
  slurm::Cache cache_;
  Store<slurm::Node>::IndexId by_address_;
  net::TaskGroup tasks_;  // Last: what runs ends before what it uses.
};

SlurmClusters::SlurmClusters(Tools tools) : tools_(std::move(tools)) {}
SlurmClusters::~SlurmClusters() = default;

std::shared_ptr<SlurmCluster> SlurmClusters::find(KeyView owner) const {
  const auto it = live_.find(owner);
  return it == live_.end() ? nullptr : it->second;
}

void SlurmClusters::announce(KeyView owner) const {
  for (const auto& handler : on_cluster_) handler(owner);
}

void SlurmClusters::set(KeyView owner, std::string url,
                        std::shared_ptr<slurm::TokenSource> tokens) {
  if (const auto it = live_.find(owner); it != live_.end() && it->second->url() == url) {
    it->second->tokens().replace(std::move(tokens));
    return;
  }
  auto replaceable =
      std::make_shared<slurm::ReplaceableTokens>(std::move(tokens), tools_.executor.clock());
  auto options = client_options(tools_, owner, url, replaceable);
  if (!options) {
    tools_.log.error("not a URL of a slurmrestd", {{"url", url}, {"error", options.error()}});
    return remove(owner);
  }
  auto live = std::make_shared<Live>(tools_, owner, std::move(url), std::move(replaceable),
                                     *std::move(options));
  const ObjectKey key(owner);
  live->cache().nodes().add_handler([this, key](const auto& before, const auto& after) {
    for (const auto& handler : on_node_) handler(key.view(), before, after);
  });
  live->cache().jobs().add_handler([this, key](const auto& before, const auto& after) {
    for (const auto& handler : on_job_) handler(key.view(), before, after);
  });
  live->cache().reservations().add_handler([this, key](const auto& before, const auto& after) {
    for (const auto& handler : on_reservation_) handler(key.view(), before, after);
  });
  live->cache().nodes().on_synced([this, key] { announce(key.view()); });
  live->start([this, key] { announce(key.view()); });
  live_[key] = std::move(live);
  announce(owner);
}

void SlurmClusters::remove(KeyView owner) {
  const auto it = live_.find(owner);
  if (it == live_.end()) return;
  // Not destroyed here: this may run inside one of its own handlers.
  tools_.executor.post([gone = std::shared_ptr<Live>(std::move(it->second))] {});
  live_.erase(it);
  announce(owner);
}

}  // namespace mainspring::op
