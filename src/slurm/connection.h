// slurm/connection.h
//
// Everything that belongs to one Slurm cluster: the client with its budget, and the change cache on
// top. Owned by main, or by whoever keeps several; lives on the control loop. run() fills the
// cache.
#pragma once

#include <utility>

#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/governor.h"
#include "slurm/rest_source.h"

namespace mainspring::slurm {

class Connection {
 public:
  // All must outlive it. The budget is measured where the cache is.
  Connection(http::Transport& transport, net::Executor& executor, Random& random,
             Client::Options client, CacheOptions cache, GovernorOptions budget = {})
      : governor_(executor, random, measured(std::move(budget), cache.metrics)),
        client_(transport, executor, random, governor_, std::move(client)),
        source_(client_),
        cache_(executor, random, source_, std::move(cache)) {}

  // The same Slurm at another address, or at its first one where it was not known.
  void move_to(http::Url server) {
    governor_.moved();
    client_.move_to(std::move(server));
    cache_.moved();
  }

  Client& client() { return client_; }
  Cache& cache() { return cache_; }

 private:
  static GovernorOptions measured(GovernorOptions budget, Metrics* metrics) {
    budget.metrics = metrics;
    return budget;
  }

  Governor governor_;
  Client client_;
  RestSource source_;
  Cache cache_;
};

}  // namespace mainspring::slurm
