// operator/sync/slurm_clusters.h
//
// The Slurm clusters that the operator speaks to: for each Controller (or Cluster) a REST client
// and a change cache. Made, changed and dropped by the slurm-client controller; everybody else only
// looks. Lives on the control loop.
//
// Whoever makes a call holds the shared_ptr for as long as the call takes: a cluster whose address
// changed is replaced by a new one, and the old one ends when nobody holds it any more.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/object_key.h"
#include "base/random.h"
#include "base/result.h"
#include "http/transport.h"
#include "net/executor.h"
#include "operator/nodeset/worker_view.h"
#include "slurm/cache.h"
#include "slurm/client.h"

namespace mainspring::op {

class SlurmCluster {
 public:
  virtual ~SlurmCluster() = default;
  virtual slurm::Client& client() = 0;
  // For pings alone, which slurmrestd answers whatever slurmctld does. Everything else fails while
  // clients are sent to a slurmctld in standby, and then is held back; what ends that is a ping.
  virtual slurm::Client& pinger() = 0;
  virtual slurm::Cache& cache() = 0;

  // What is known of the node: unknown unless the list is fresh; absent only where that list is not
  // empty.
  SlurmFacts facts(std::string_view node);

  // How many jobs run or are suspended on the node; unset where that is not known.
  std::optional<std::size_t> jobs_at(std::string_view node);

  // The nodes with this address or host name.
  virtual std::vector<std::shared_ptr<const slurm::Node>> nodes_at(std::string_view address) = 0;

  // How many jobs that slurmctld has on record name the partition, alone or among others; unset
  // where that is not known.
  struct JobsNaming {
    std::size_t all = 0;
    std::size_t pending = 0;
  };
  std::optional<JobsNaming> jobs_naming(std::string_view partition);

 private:
  virtual TimePoint now() const = 0;
  // Since when every list that facts() saw was fresh and without a node.
  std::optional<TimePoint> empty_since_;
};

class SlurmClusters {
 public:
  struct Tools {
    net::Executor& executor;
    http::Transport& transport;
    Random& random;
    Logger log;
    Metrics* metrics = nullptr;
    // Asked before every change of anything in Slurm, as slurm::Client::Options says; unset:
    // always.
    std::function<Result<Duration>()> may_write = {};
  };
  explicit SlurmClusters(Tools tools);
  ~SlurmClusters();
  SlurmClusters(const SlurmClusters&) = delete;
  SlurmClusters& operator=(const SlurmClusters&) = delete;

  // Null where Slurm cannot be spoken to (yet): no RestApi, no key, no address.
  std::shared_ptr<SlurmCluster> find(KeyView owner) const;

  // Speaks to this address with these tokens from now on. Where the address is as before, only the
  // tokens are replaced, and the cache lives on.
  void set(KeyView owner, std::string url, std::shared_ptr<slurm::TokenSource> tokens);
  void remove(KeyView owner);

  // Called for every change, with whose cluster it is; and when a cluster appears, goes, has its
  // first list, or begins or ceases to be known: a Slurm that is back after a time brings no change
  // of a node, and much may have been asked for meanwhile. To be added while things are wired up.
  using OnNode = std::function<void(KeyView owner, const std::shared_ptr<const slurm::Node>& before,
                                    const std::shared_ptr<const slurm::Node>& after)>;
  using OnJob = std::function<void(KeyView owner, const std::shared_ptr<const slurm::Job>& before,
                                   const std::shared_ptr<const slurm::Job>& after)>;
  using OnReservation =
      std::function<void(KeyView owner, const std::shared_ptr<const slurm::Reservation>& before,
                         const std::shared_ptr<const slurm::Reservation>& after)>;
  using OnCluster = std::function<void(KeyView owner)>;
  void on_node(OnNode handler) { on_node_.push_back(std::move(handler)); }
  void on_job(OnJob handler) { on_job_.push_back(std::move(handler)); }
  void on_reservation(OnReservation handler) { on_reservation_.push_back(std::move(handler)); }
  void on_cluster(OnCluster handler) { on_cluster_.push_back(std::move(handler)); }

 private:
  class Live;
  void announce(KeyView owner) const;

  Tools tools_;
  std::unordered_map<ObjectKey, std::shared_ptr<Live>, KeyHash, KeyEqual> live_;
  std::vector<OnNode> on_node_;
  std::vector<OnJob> on_job_;
  std::vector<OnReservation> on_reservation_;
  std::vector<OnCluster> on_cluster_;
};

}  // namespace mainspring::op
