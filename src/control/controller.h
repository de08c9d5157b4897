// control/controller.h
//
// Controller: keeps one kind of thing as it should be. Watches stores, turns their changes into
// keys, and has each key reconciled by a coroutine of yours, a few at a time, never the same key
// twice at once. Owned by main; lives on the control loop, as do its stores and your reconcile.
// It knows nothing of leaders (the Manager starts it when it may act) or of the API.
//
//   Controller nodesets(executor, random, {.name = "nodeset", .reconcile = reconcile});
//   nodesets.watch(nodeset_store);
//   nodesets.watch<Pod>(pod_store, [](const auto& before, const auto& after, Controller& c) {
//     ... c.enqueue(owner_key) ...
//   });
//   co_await nodesets.run();
//
// A reconcile that fails is logged, counted and tried again: after the key's growing delay, not
// before what the other side asked for (Error::retry_after()), and not sooner than `slow_retry`
// where the same call would fail again (invalid, forbidden, unsupported, too large). One that runs
// into its deadline is cancelled and counts as failed. No error is final: rights, webhooks and
// quotas change without an event for the key.
//
// No wedge: a key without one success for `stuck_after`, failing again and again or running all
// that time, is counted in mainspring_stuck_keys and named in /healthz as a warning. It does not
// fail the check, since a restart would stop the healthy keys and cure nothing. The check fails
// only when every worker has been held that long by one run each: then nothing moves, and a restart
// can help.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/store.h"
#include "control/health.h"
#include "control/key.h"
#include "control/stuck_keys.h"
#include "control/work_queue.h"
#include "net/notify.h"
#include "net/task_group.h"

namespace mainspring::control {

// When a key wants to be looked at again although nothing failed. {}: when something changes.
// {after}: also after that time, unless something changes first. {0s}: soon, with a growing delay.
struct Requeue {
  std::optional<Duration> after;
};

// Makes what exists match what should. The key's object may be gone; that is for it to find out.
using Reconcile = std::function<net::Task<Result<Requeue>>(Key key)>;

class Controller {
 public:
  struct Options {
    std::string name;
    Reconcile reconcile;
    std::size_t workers = 1;         // At least one.
    Duration deadline = minutes(2);  // Of one reconcile.
    Duration grace = seconds(20);    // For what is in flight when run() is cancelled.
    Duration slow_retry = seconds(30);
    Duration stuck_after = minutes(10);
    WorkQueue::Options queue = {};  // Name and metrics are the controller's.
    Logger log = {};
    Metrics* metrics = nullptr;
    Health* health = nullptr;
  };
  Controller(net::Executor& executor, Random& random, Options options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Asks for a reconcile of this key. Without a priority: normal, but low before the first
  // reconcile, so that what changes overtakes what was merely found at the start.
  void enqueue(const Key& key, std::optional<Priority> priority = std::nullopt);
  template <std::same_as<KeyView> View>  // A template, so that {"ns", "name"} is a Key.
  void enqueue(View key, std::optional<Priority> priority = std::nullopt) {
    enqueue_view(key, priority);
  }

  // Every change in `store` is handed to `map`, which enqueues what it concerns. Nothing is
  // reconciled before all watched stores are current. To be called before run(). The store keeps a
  // pointer to this controller: nothing may write to the store after the controller is gone.
  template <class T>
  using Map = std::function<void(const std::shared_ptr<const T>& before,
                                 const std::shared_ptr<const T>& after, Controller& controller)>;
  template <class T>
  void watch(Store<T>& store, Map<std::type_identity_t<T>> map) {
    wait_for(store);
    store.add_handler([this, map = std::move(map)](const auto& before, const auto& after) {
      map(before, after, *this);
    });
  }
  // The objects themselves are what is reconciled.
  template <class T>
  void watch(Store<T>& store) {
    wait_for(store);
    store.add_handler([this](const auto& before, const auto& after) {
      this->enqueue(store_key(after ? *after : *before));
    });
  }
  // Only waits until it is current: for stores that reconcile reads and nobody needs to be told of.
  template <class T>
  void wait_for(Store<T>& store) {
    awaited_.emplace_back([&store] { return store.current(); });
    store.on_synced([this] { synced_.notify_all(); });
    store.on_confirmed([this] { synced_.notify_all(); });
  }

  // Reconciles until the scope is cancelled, and returns the scope's reason. Then no new reconcile
  // starts; those in flight have `grace` to finish their writes before they are cancelled too. To
  // be called once.
  net::Task<Result<void>> run();

  const WorkQueue& queue() const { return queue_; }
  // Whether a reconcile was cancelled because it did not end in its grace: nobody knows what became
  // of the write that it was at.
  bool cut_off() const { return cut_off_; }

 private:
  struct Instruments {
    Instruments(Metrics* metrics, const std::string& controller, std::size_t workers);
    Counter success;
    Counter requeue;
    Counter requeue_after;
    Counter error;
    Counter errors;
    Counter timeouts;
    Histogram time;
    Gauge active;
    Gauge stuck;
  };

  void enqueue_view(KeyView key, std::optional<Priority> priority);
  std::size_t not_current() const;
  net::Task<Result<void>> wait_until_current();
  net::Task<Result<void>> stop_workers(net::TaskGroup* workers);
  net::Task<Result<void>> work();
  net::Task<Result<Requeue>> reconcile_in_time(Key key);
  void settle(const WorkQueue::Lease& lease, const Result<Requeue>& result);
  void settle_failure(const WorkQueue::Lease& lease, const Error& error);
  void watch_progress();
  void show_progress();

  net::Executor& executor_;
  const Options options_;
  const Logger log_;
  const Check check_;
  const Instruments instruments_;
  WorkQueue queue_;
  StuckKeys stuck_;
  std::optional<net::Timer> progress_timer_;
  std::vector<std::function<bool()>> awaited_;  // Whether each of the stores is current.
  net::Notify synced_;
  bool started_ = false;
  bool stopping_ = false;
  bool cut_off_ = false;
  std::size_t running_workers_ = 0;
  net::OneShot<net::Unit> all_stopped_;
};

}  // namespace mainspring::control
