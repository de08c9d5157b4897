// http/connection_pool.h
//
// The client's connections, by where they lead. A Lease is the right to one of a limited number of
// connections to one place, with the connection in it; dropping it closes the connection,
// give_back() keeps it for the next. Lives on one loop; owned by the client and by the leases,
// which may outlive the client.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/client_connection.h"
#include "net/one_shot.h"

namespace mainspring::http {

class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
 public:
  struct Limits {
    // In use and idle together, to one place. Who asks beyond that waits in line.
    std::size_t max_per_origin = 64;
    std::size_t max_idle_per_origin = 8;
    Duration idle_timeout = seconds(60);
  };
  // `executor` must outlive the pool and its leases.
  ConnectionPool(net::Executor& executor, Limits limits) : executor_(executor), limits_(limits) {}
  ~ConnectionPool();
  ConnectionPool(const ConnectionPool&) = delete;
  ConnectionPool& operator=(const ConnectionPool&) = delete;

  class Lease {
   public:
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();

    // Null until the holder has put one in, unless reused().
    ClientConnection* connection() const { return connection_.get(); }
    bool reused() const { return reused_; }
    void put(std::unique_ptr<ClientConnection> connection) { connection_ = std::move(connection); }
    // To be called when the exchange is complete: keeps the connection if it can carry another.
    void give_back();

   private:
    friend class ConnectionPool;
    Lease(std::shared_ptr<ConnectionPool> pool, std::string key,
          std::unique_ptr<ClientConnection> connection)
        : pool_(std::move(pool)),
          key_(std::move(key)),
          connection_(std::move(connection)),
          reused_(connection_ != nullptr) {}

    std::shared_ptr<ConnectionPool> pool_;  // Null when moved from or given back.
    std::string key_;
    std::unique_ptr<ClientConnection> connection_;
    bool reused_ = false;
  };

  // With an idle connection if there is a live one and `fresh` is false, else with the right to
  // make one.
  Task<Result<Lease>> acquire(std::string key, bool fresh);

  std::size_t idle_count() const;
  void close_idle();

 private:
  class Turn;
  struct Idle {
    std::unique_ptr<ClientConnection> connection;
    TimePoint since;
  };
  struct Origin {
    std::size_t in_use = 0;
    std::vector<Idle> idle;  // Oldest first.
    std::deque<net::OneShot<net::Unit>> waiting;
  };

  std::optional<Lease> try_acquire(const std::string& key, bool fresh);
  void drop_expired(Origin& origin);
  void release(const std::string& key, std::unique_ptr<ClientConnection> connection);
  void wake_next(const std::string& key);
  void schedule_sweep();
  void sweep();

  net::Executor& executor_;
  Limits limits_;
  std::map<std::string, Origin> origins_;
  std::optional<net::Executor::TimerId> sweep_timer_;
};

}  // namespace mainspring::http
