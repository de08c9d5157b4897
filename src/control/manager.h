// control/manager.h
//
// Manager: one process full of controllers. Makes the stores they share, fills them from the start,
// and runs the controllers while this process leads. One that had to wait for the lease may know
// less than the one before it did: all stores are listed anew, after the lease was taken, before a
// controller acts on them.
//
//   Manager manager(executor, client, random, {.name = "mainspring-operator"});
//   Store<Pod>& pods = manager.store<Pod>();
//   Controller& workers = manager.add({.name = "nodeset", .reconcile = ...});
//   workers.watch(pods);
//   Result<void> ended = loop.run(manager.run(), &stop);   // cancel `stop` to end it
//
// The end: when run()'s scope is cancelled, controllers start nothing new and have their grace to
// finish what they write; events are flushed; the lease, renewed until then, is released, unless
// something had to be cut off, of which nobody knows whether it will still arrive. When the
// lease is lost run() returns at once, with everything dropped where it stands, and main must end
// the process: nothing that it knows may be acted on.
//
// Owned by main; lives on the control loop, with everything it made.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeindex>
#include <utility>
#include <vector>

#include "control/controller.h"
#include "control/event_recorder.h"
#include "control/leader.h"
#include "control/reflector.h"
#include "net/task_group.h"

namespace mainspring::control {

class Manager {
 public:
  struct Options {
    // Of the process: the controller named in events.
    std::string name;
    std::string instance;  // This one of several: the pod's name.
    // Whose objects are seen; empty: all. Kinds without namespaces are seen always.
    std::vector<std::string> namespaces = {};
    // Unset: acts at once, for a process that is alone. Log and metrics are the manager's.
    std::optional<LeaderElector::Options> leader = std::nullopt;
    ReflectorOptions reflector = {};
    Duration flush_limit = seconds(5);  // For events, at the end.
    Logger log = {};
    Metrics* metrics = nullptr;
    Health* health = nullptr;
  };
  // All must outlive this.
  Manager(net::Executor& executor, kube::Client& client, Random& random, Options options);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // The store of a kind, one for each scope; whoever asks again gets the same. With `keep`, of many
  // objects only those. Before run().
  template <class T>
  Store<T>& store(WatchScope scope = {}, typename Reflector<T>::Keep keep = nullptr) {
    return store<T>(T::kResource, std::move(scope), std::move(keep));
  }
  template <class T>
  Store<T>& store(kube::Resource resource, const WatchScope& scope = {},
                  typename Reflector<T>::Keep keep = nullptr);

  // Options' log, metrics and health are filled in where unset. Before run().
  Controller& add(Controller::Options options);

  // Work beside the controllers. A failure ends run(); ending well does not.
  enum class When { kAlways, kLeading };
  using Work = std::function<Task<Result<void>>()>;
  void add_work(std::string name, When when, Work work);
  // Called when this process begins to lead, where it has known things before: what is not ours to
  // list anew has to be doubted by then (Store::doubt). Before run().
  void on_takeover(std::function<void()> action) { on_takeover_.push_back(std::move(action)); }

  net::Executor& executor() { return executor_; }
  kube::Client& client() { return client_; }
  Random& random() { return random_; }
  EventRecorder& events() { return events_; }
  // Asked before each write to anything that leaders share, as kube::Client does by itself; null
  // where nobody is elected. Must not outlive the manager.
  kube::Client::MayWrite may_write() const {
    if (!elector_) return nullptr;
    return [this] { return elector_->may_write(); };
  }
  bool leading() const { return !elector_ || elector_->leading(); }

  Task<Result<void>> run();

 private:
  // What feeds one store.
  struct Source {
    virtual ~Source() = default;
    virtual std::vector<Work> work() = 0;
    virtual bool synced() const = 0;
    virtual bool current() const = 0;
    virtual void renew() = 0;
    // What keeps it from being up to date, if anything does.
    virtual std::optional<Error> trouble() const = 0;
    std::string name;
  };
  template <class T>
  struct SourceOf;
  struct NamedWork {
    std::string name;
    When when;
    Work work;
  };

  std::vector<WatchScope> spread(const WatchScope& scope, bool namespaced) const;
  Task<Result<void>> guard(std::string name, Work work);
  void spawn(net::TaskGroup& group, std::string name, Work work);
  Task<Result<void>> acquire();
  void renew();
  bool cut_off() const;
  Task<Result<void>> lead(bool at_once);
  Task<Result<void>> report_sources();
  void report_once();

  net::Executor& executor_;
  kube::Client& client_;
  Random& random_;
  Options options_;
  std::optional<LeaderElector> elector_;
  EventRecorder events_;
  Check sources_check_;
  std::map<std::pair<std::type_index, std::string>, std::unique_ptr<Source>> sources_;
  std::vector<std::unique_ptr<Controller>> controllers_;
  std::vector<NamedWork> work_;
  std::vector<std::function<void()>> on_takeover_;
  net::OneShot<net::Unit> ended_;          // Set by the first that fails.
  net::CancelScope* acquiring_ = nullptr;  // While waiting for the lease.
};

template <class T>
struct Manager::SourceOf final : Source {
  std::vector<Work> work() override {
    std::vector<Work> all;
    all.reserve(reflectors.size());
    for (const auto& reflector : reflectors) {
      all.emplace_back([&one = *reflector] { return one.run(); });
    }
    return all;
  }
  bool synced() const override { return store.synced(); }
  bool current() const override { return store.current(); }
  void renew() override {
    for (const auto& reflector : reflectors) reflector->renew();
  }
  std::optional<Error> trouble() const override {
    for (const auto& reflector : reflectors) {
      if (reflector->last_error()) return reflector->last_error();
    }
    return std::nullopt;
  }

  Store<T> store;
  std::vector<std::unique_ptr<Reflector<T>>> reflectors;
};

template <class T>
Store<T>& Manager::store(kube::Resource resource, const WatchScope& scope,
                         typename Reflector<T>::Keep keep) {
  const std::string id =
      resource.path(scope.ns) + "?" + scope.label_selector + "?" + scope.field_selector;
  std::unique_ptr<Source>& slot = sources_[{std::type_index(typeid(T)), id}];
  if (slot) return static_cast<SourceOf<T>&>(*slot).store;
  auto source = std::make_unique<SourceOf<T>>();
  source->name = resource.to_string();
  const std::vector<WatchScope> parts = spread(scope, resource.namespaced);
  source->store.expect_parts(parts.size());
  for (const WatchScope& part : parts) {
    ReflectorOptions options = options_.reflector;
    options.scope = part;
    options.log = options_.log;
    options.metrics = options_.metrics;
    source->reflectors.push_back(std::make_unique<Reflector<T>>(
        kube::Api<T>(client_, resource, part.ns), source->store, std::move(options), keep));
  }
  Store<T>& store = source->store;
  slot = std::move(source);
  return store;
}

}  // namespace mainspring::control
