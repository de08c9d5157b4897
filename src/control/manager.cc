#include "control/manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "net/wait.h"

namespace mainspring::control {
namespace {

constexpr Duration kBeat = seconds(5);
// A loop that did not turn for so long is stuck, not busy.
constexpr Duration kBeatLimit = seconds(60);

LeaderElector::Options completed(LeaderElector::Options leader, const Manager::Options& options) {
  leader.log = options.log;
  leader.metrics = options.metrics;
  return leader;
}

EventRecorder::Options event_options(const Manager::Options& options) {
  EventRecorder::Options events;
  events.controller = options.name;
  events.instance = options.instance.empty() ? options.name : options.instance;
  events.log = options.log;
  events.metrics = options.metrics;
  return events;
}

}  // namespace

Manager::Manager(net::Executor& executor, kube::Client& client, Random& random, Options options)
    : executor_(executor),
      client_(client),
      random_(random),
      options_(std::move(options)),
      events_(client, event_options(options_)) {
  if (options_.health != nullptr) {
    sources_check_ = options_.health->add("caches", HealthKind::kReady);
  }
  if (!options_.leader) return;
  elector_.emplace(executor, client, random, completed(*options_.leader, options_));
  client_.set_may_write([this] { return elector_->may_write(); });
}

Manager::~Manager() {
  if (elector_) client_.set_may_write(nullptr);
}

std::vector<WatchScope> Manager::spread(const WatchScope& scope, bool namespaced) const {
  if (!namespaced || !scope.ns.empty() || options_.namespaces.empty()) return {scope};
  std::vector<WatchScope> parts;
  for (const std::string& ns : options_.namespaces) {
    const auto same = [&ns](const WatchScope& part) { return part.ns == ns; };
    if (std::any_of(parts.begin(), parts.end(), same)) continue;
    parts.push_back({ns, scope.label_selector, scope.field_selector, scope.optional});
  }
  return parts;
}

Controller& Manager::add(Controller::Options options) {
  options.log = options_.log;
  if (options.metrics == nullptr) options.metrics = options_.metrics;
  if (options.health == nullptr) options.health = options_.health;
  controllers_.push_back(std::make_unique<Controller>(executor_, random_, std::move(options)));
  return *controllers_.back();
}

void Manager::add_work(std::string name, When when, Work work) {
  work_.push_back({std::move(name), when, std::move(work)});
}

// `work` is kept for as long as what it started: the task may use what the function holds.
Task<Result<void>> Manager::guard(std::string name, Work work) {
  Result<void> ended = co_await work();
  if (!ended && ended.error().code() != Code::kCancelled) {
    const Error why = std::move(ended).error().with_context(std::move(name));
    ended_.set(fail(why));
    if (acquiring_ != nullptr) acquiring_->cancel(why);
  }
  co_return Result<void>();
}

void Manager::spawn(net::TaskGroup& group, std::string name, Work work) {
  group.spawn(guard(std::move(name), std::move(work)));
}

Task<Result<void>> Manager::run() {
  net::TaskGroup always(executor_);
  spawn(always, "reporting", [this] { return report_sources(); });
  if (options_.health != nullptr) {
    Check beat = options_.health->add("control loop", HealthKind::kLive);
    spawn(always, "heartbeat", [beat] { return heartbeat(beat, kBeat, kBeatLimit); });
  }
  // Before the first list: who leads from the start needs no second one.
  bool at_once = !elector_;
  if (elector_) {
    const Result<bool> ours = co_await elector_->attempt();
    if (!ours && ours.error().code() == Code::kCancelled) {
      always.cancel();
      co_return co_await always.join();
    }
    at_once = ours.value_or(false);
  }
  for (const auto& [id, source] : sources_) {
    for (Work& work : source->work()) spawn(always, "watching " + source->name, std::move(work));
  }
  for (const NamedWork& one : work_) {
    if (one.when == When::kAlways) spawn(always, one.name, one.work);
  }

  Result<void> ended = co_await lead(at_once);
  // A lost lease, or work that failed: what still runs is dropped with the groups.
  if (!ended && ended.error().code() != Code::kCancelled) co_return ended;
  always.cancel();
  co_return co_await always.join();
}

// Until this process leads, or something of it has failed meanwhile.
Task<Result<void>> Manager::acquire() {
  const net::Context context = co_await net::current_context();
  net::CancelScope scope(context.scope);
  acquiring_ = &scope;
  Result<void> acquired = co_await elector_->acquire().in(scope);
  acquiring_ = nullptr;
  co_return acquired;
}

// The one before may have written until it gave up the lease, and what we know may be from before
// that.
void Manager::renew() {
  for (const auto& [id, source] : sources_) source->renew();
  for (const auto& action : on_takeover_) action();
}

Task<Result<void>> Manager::lead(bool at_once) {
  if (!at_once) {
    MS_CO_CHECK(co_await acquire());
    renew();
  }
  net::TaskGroup holding(executor_);
  net::TaskGroup recording(executor_);
  net::TaskGroup acting(executor_);
  spawn(recording, "events", [this] { return events_.run(); });
  if (elector_) spawn(holding, "leading", [this] { return elector_->hold(); });
  for (const auto& controller : controllers_) {
    spawn(acting, "controller", [&one = *controller] { return one.run(); });
  }
  for (const NamedWork& one : work_) {
    if (one.when == When::kLeading) spawn(acting, one.name, one.work);
  }

  const Result<net::Unit> ended = co_await ended_.wait();
  const Error& why = ended.error();
  if (why.code() != Code::kCancelled) co_return fail(why);

  options_.log.info("stopping: finishing what is being written");
  acting.cancel(why);
  static_cast<void>(co_await acting.join());
  recording.cancel(why);
  static_cast<void>(co_await recording.join());
  net::CancelScope own;
  static_cast<void>(co_await events_.flush(options_.flush_limit).in(own));
  holding.cancel(why);
  static_cast<void>(co_await holding.join());
  if (elector_ && cut_off()) {
    // A call that we no longer wait for may still arrive; whoever takes over must not look before.
    options_.log.warn("something was cut off: the lease is left to run out");
  } else if (elector_) {
    const Result<void> released = co_await elector_->release();
    if (!released) options_.log.warn("the lease was not released", {{"error", released.error()}});
  }
  co_return fail(why);
}

bool Manager::cut_off() const {
  return std::any_of(controllers_.begin(), controllers_.end(),
                     [](const auto& one) { return one->cut_off(); });
}

Task<Result<void>> Manager::report_sources() {
  while (true) {
    report_once();
    MS_CO_CHECK(co_await net::sleep(seconds(1)));
  }
}

void Manager::report_once() {
  std::string waiting;
  std::string trouble;
  bool current = true;
  for (const auto& [id, source] : sources_) {
    const std::optional<Error> problem = source->trouble();
    if (problem) trouble += fmt::format("{}: {}; ", source->name, problem->to_string());
    if (!source->synced()) waiting += fmt::format("{}, ", source->name);
    current = current && source->current();
  }
  if (!waiting.empty()) {
    waiting.resize(waiting.size() - 2);
    sources_check_.fail("not listed yet: " + waiting + (trouble.empty() ? "" : "; " + trouble));
  } else if (!trouble.empty()) {
    sources_check_.warn(trouble);
  } else if (!current) {
    // What is known is good enough for webhooks and pages.
    sources_check_.warn("this process has just begun to lead; all is listed once more");
  } else {
    sources_check_.ok();
  }
}

}  // namespace mainspring::control
