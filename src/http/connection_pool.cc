#include "http/connection_pool.h"

#include <algorithm>

namespace mainspring::http {

// Passes the wake-up on if the waiting task goes away after it was called and before it could act.
class ConnectionPool::Turn {
 public:
  Turn(std::shared_ptr<ConnectionPool> pool, std::string key)
      : pool_(std::move(pool)), key_(std::move(key)) {}
  ~Turn() {
    if (taken_) return;
    if (called_.is_set()) pool_->wake_next(key_);
    called_.set(net::Unit{});  // So that it is passed over if it still stands in line.
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  const net::OneShot<net::Unit>& called() const { return called_; }
  void taken() { taken_ = true; }

 private:
  std::shared_ptr<ConnectionPool> pool_;
  std::string key_;
  net::OneShot<net::Unit> called_;
  bool taken_ = false;
};

ConnectionPool::~ConnectionPool() {
  if (sweep_timer_) executor_.drop_timer(*sweep_timer_);
}

ConnectionPool::Lease::~Lease() {
  if (pool_) pool_->release(key_, nullptr);
}

void ConnectionPool::Lease::give_back() {
  if (!pool_) return;
  auto connection = connection_ && connection_->reusable() ? std::move(connection_) : nullptr;
  connection_.reset();
  std::exchange(pool_, nullptr)->release(key_, std::move(connection));
}

std::optional<ConnectionPool::Lease> ConnectionPool::try_acquire(const std::string& key,
                                                                 bool fresh) {
  Origin& origin = origins_[key];
  drop_expired(origin);
  while (!fresh && !origin.idle.empty()) {
    // The one used last is the one most likely to be alive still.
    std::unique_ptr<ClientConnection> connection = std::move(origin.idle.back().connection);
    origin.idle.pop_back();
    if (!connection->idle_and_open()) continue;
    ++origin.in_use;
    return Lease(shared_from_this(), key, std::move(connection));
  }
  if (origin.in_use + origin.idle.size() >= limits_.max_per_origin) {
    if (origin.idle.empty()) return std::nullopt;
    origin.idle.erase(origin.idle.begin());
  }
  ++origin.in_use;
  return Lease(shared_from_this(), key, nullptr);
}

Task<Result<ConnectionPool::Lease>> ConnectionPool::acquire(std::string key, bool fresh) {
  const auto self = shared_from_this();
  for (bool waited = false;; waited = true) {
    if (auto lease = self->try_acquire(key, fresh)) co_return *std::move(lease);
    Turn turn(self, key);
    auto& line = self->origins_[key].waiting;
    // Whoever was called and lost the place to a newcomer keeps the place at the front.
    line.insert(waited ? line.begin() : line.end(), turn.called());
    MS_CO_CHECK(co_await turn.called().wait());
    turn.taken();
  }
}

void ConnectionPool::release(const std::string& key, std::unique_ptr<ClientConnection> connection) {
  Origin& origin = origins_[key];
  --origin.in_use;
  if (connection && limits_.max_idle_per_origin > 0) {
    if (origin.idle.size() >= limits_.max_idle_per_origin) origin.idle.erase(origin.idle.begin());
    origin.idle.push_back({std::move(connection), executor_.now()});
    schedule_sweep();
  }
  wake_next(key);
  if (origin.in_use == 0 && origin.idle.empty() && origin.waiting.empty()) origins_.erase(key);
}

void ConnectionPool::wake_next(const std::string& key) {
  const auto found = origins_.find(key);
  if (found == origins_.end()) return;
  auto& line = found->second.waiting;
  while (!line.empty()) {
    const net::OneShot<net::Unit> turn = line.front();
    line.pop_front();
    if (turn.is_set()) continue;  // Its task was cancelled.
    turn.set(net::Unit{});
    return;
  }
}

void ConnectionPool::drop_expired(Origin& origin) {
  const TimePoint oldest = executor_.now() - limits_.idle_timeout;
  std::erase_if(origin.idle, [&](const Idle& idle) { return idle.since <= oldest; });
}

void ConnectionPool::schedule_sweep() {
  if (sweep_timer_) return;
  sweep_timer_ =
      executor_.run_at(executor_.now() + limits_.idle_timeout, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->sweep();
      });
}

void ConnectionPool::sweep() {
  sweep_timer_.reset();
  std::optional<TimePoint> oldest;
  for (auto& [key, origin] : origins_) {
    drop_expired(origin);
    if (origin.idle.empty()) continue;
    if (!oldest || origin.idle.front().since < *oldest) oldest = origin.idle.front().since;
  }
  std::erase_if(origins_, [](const auto& entry) {
    const Origin& origin = entry.second;
    return origin.in_use == 0 && origin.idle.empty() && origin.waiting.empty();
  });
  if (!oldest) return;
  sweep_timer_ = executor_.run_at(*oldest + limits_.idle_timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->sweep();
  });
}

std::size_t ConnectionPool::idle_count() const {
  std::size_t count = 0;
  for (const auto& [key, origin] : origins_) count += origin.idle.size();
  return count;
}

void ConnectionPool::close_idle() {
  for (auto& [key, origin] : origins_) origin.idle.clear();
}

}  // namespace mainspring::http
