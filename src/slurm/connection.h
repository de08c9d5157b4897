// slurm/connection.h
//
// Everything that belongs to one Slurm cluster: the client with its budget, and the change cache on
// top. Owned by main, or by whoever keeps several; lives on the control loop. run() fills the
// cache.
#pragma once

#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/governor.h"
#include "slurm/rest_source.h"

namespace mainspring::slurm {

class Connection {
 public:
  // All must outlive it.
  Connection(http::Transport& transport, net::Executor& executor, Random& random,
             Client::Options client, CacheOptions cache)
      : governor_(executor, random, {.metrics = cache.metrics}),
        client_(transport, executor, random, governor_, std::move(client)),
        source_(client_),
        cache_(executor, random, source_, std::move(cache)) {}

  Client& client() { return client_; }
  Cache& cache() { return cache_; }

 private:
  Governor governor_;
  Client client_;
  RestSource source_;
  Cache cache_;
};

}  // namespace mainspring::slurm
