#include "control/controller.h"

#include <algorithm>

#include "base/go_duration.h"

namespace mainspring::control {
namespace {

// What is still there after the grace time and after being cancelled does not listen.
constexpr Duration kLastCall = seconds(5);

const std::vector<double> kReconcileSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                               0.5,   1,      2.5,   5,    10,    30,   60,  120};

Controller::Options checked(Controller::Options options) {
  options.workers = std::max<std::size_t>(options.workers, 1);
  return options;
}

WorkQueue::Options queue_options(const Controller::Options& options) {
  WorkQueue::Options queue = options.queue;
  queue.name = options.name;
  queue.metrics = options.metrics;
  return queue;
}

// Trying again soon helps nobody where somebody has to change something first.
bool fails_again(Code code) {
  return code == Code::kInvalid || code == Code::kForbidden || code == Code::kTooLarge ||
         code == Code::kUnsupported;
}

// Somebody else wrote first, and the watch has not told us yet: with many writers that is routine,
// and the next try comes within milliseconds. Where it goes on, two of them fight.
LogLevel level_of(const Error& error, int retries) {
  constexpr int kRoutine = 3;
  if (error.code() == Code::kConflict) {
    return retries <= kRoutine ? LogLevel::kDebug : LogLevel::kWarn;
  }
  return error.retryable() ? LogLevel::kWarn : LogLevel::kError;
}

// Lets everything else on the loop have its turn: a reconcile that never had to wait would hold up
// sockets and timers for as long as the line is.
net::Task<Result<void>> yield() {
  const net::Context context = co_await net::current_context();
  const net::OneShot<net::Unit> turn;
  context.executor->post([turn] { turn.set(net::Unit{}); });
  MS_CO_CHECK(co_await turn.wait());
  co_return Result<void>();
}

}  // namespace

Controller::Instruments::Instruments(Metrics* metrics, const std::string& controller,
                                     std::size_t workers) {
  if (metrics == nullptr) return;
  const Labels labels = {{"controller", controller}};
  const auto total = [&](const char* result) {
    return metrics->counter("controller_runtime_reconcile_total", "Reconciles by how they ended.",
                            {{"controller", controller}, {"result", result}});
  };
  success = total("success");
  requeue = total("requeue");
  requeue_after = total("requeue_after");
  error = total("error");
  errors = metrics->counter("controller_runtime_reconcile_errors_total", "Reconciles that failed.",
                            labels);
  timeouts = metrics->counter("controller_runtime_reconcile_timeouts_total",
                              "Reconciles that were cancelled at their deadline.", labels);
  time = metrics->histogram("controller_runtime_reconcile_time_seconds", "Time of one reconcile.",
                            kReconcileSeconds, labels);
  active = metrics->gauge("controller_runtime_active_workers",
                          "Workers that are reconciling a key.", labels);
  stuck = metrics->gauge("mainspring_stuck_keys",
                         "Keys without one success for longer than is reasonable.", labels);
  metrics->gauge("controller_runtime_max_concurrent_reconciles", "Workers that there are.", labels)
      .set(static_cast<double>(workers));
}

Controller::Controller(net::Executor& executor, Random& random, Options options)
    : executor_(executor),
      options_(checked(std::move(options))),
      log_(options_.log.with({{"controller", options_.name}})),
      check_(options_.health == nullptr
                 ? Check()
                 : options_.health->add("controller " + options_.name, HealthKind::kLive)),
      instruments_(options_.metrics, options_.name, options_.workers),
      queue_(executor, random, queue_options(options_)),
      stuck_(executor.clock(), options_.stuck_after) {}

void Controller::enqueue(const Key& key, std::optional<Priority> priority) {
  enqueue_view(key.view(), priority);
}

void Controller::enqueue_view(KeyView key, std::optional<Priority> priority) {
  queue_.add(key, priority.value_or(started_ ? Priority::kNormal : Priority::kLow));
}

std::size_t Controller::not_current() const {
  return static_cast<std::size_t>(std::count_if(awaited_.begin(), awaited_.end(),
                                                [](const auto& current) { return !current(); }));
}

// Once: who leads for good reasons does so until the end, and its own writes it knows.
net::Task<Result<void>> Controller::wait_until_current() {
  while (const std::size_t missing = not_current()) {
    check_.warn("waits until " + std::to_string(missing) + " of its stores are up to date");
    if (auto waited = co_await synced_.wait(); !waited) {
      check_.ok();
      co_return waited;
    }
  }
  check_.ok();
  co_return Result<void>();
}

net::Task<Result<void>> Controller::run() {
  MS_CO_CHECK(co_await wait_until_current());
  started_ = true;
  log_.info("controller started", {{"workers", options_.workers}, {"keys", queue_.depth()}});
  // Not inside our own scope: what is in flight when that is cancelled gets its time.
  net::TaskGroup workers(executor_);
  running_workers_ = options_.workers;
  for (std::size_t i = 0; i < options_.workers; ++i) workers.spawn(work());
  const net::OneShot<net::Unit> never;
  auto told_to_stop = co_await never.wait();
  net::CancelScope not_cancelled;
  (void)co_await stop_workers(&workers).in(not_cancelled);
  co_return fail(std::move(told_to_stop).error());
}

net::Task<Result<void>> Controller::stop_workers(net::TaskGroup* workers) {
  stopping_ = true;
  queue_.shut_down();
  if (running_workers_ == 0) co_return Result<void>();
  const net::Timer cut(executor_, options_.grace, [this, workers] {
    cut_off_ = true;
    workers->cancel(Error(Code::kCancelled, "the controller is stopping"));
  });
  const net::Timer give_up(executor_, options_.grace + kLastCall, [this] {
    all_stopped_.set(fail(Code::kTimeout, "reconciles in flight do not stop when cancelled"));
  });
  if (auto stopped = co_await all_stopped_.wait(); !stopped) {
    log_.error("controller abandons its workers",
               {{"workers", running_workers_}, {"error", stopped.error()}});
    co_return fail(std::move(stopped).error());
  }
  log_.info("controller stopped");
  co_return Result<void>();
}

net::Task<Result<void>> Controller::work() {
  for (;;) {
    {
      auto lease = co_await queue_.next();
      if (!lease) break;
      instruments_.active.add(1);
      stuck_.started(lease->key());
      watch_progress();
      const TimePoint start = executor_.now();
      const auto result = co_await reconcile_in_time(lease->key());
      instruments_.time.observe(std::chrono::duration<double>(executor_.now() - start).count());
      instruments_.active.add(-1);
      settle(*lease, result);
    }
    if (auto turned = co_await yield(); !turned) break;
  }
  if (--running_workers_ == 0) all_stopped_.set(net::Unit{});
  co_return Result<void>();
}

net::Task<Result<Requeue>> Controller::reconcile_in_time(Key key) {
  const net::Context context = co_await net::current_context();
  net::CancelScope scope(context.scope);
  const net::Timer deadline(executor_, options_.deadline, [this, &scope] {
    instruments_.timeouts.add();
    scope.cancel(Error(Code::kTimeout, "the reconcile took longer than its deadline of " +
                                           format_go_duration(options_.deadline)));
  });
  co_return co_await options_.reconcile(std::move(key)).in(scope);
}

void Controller::settle(const WorkQueue::Lease& lease, const Result<Requeue>& result) {
  if (!result) {
    settle_failure(lease, result.error());
    return;
  }
  const KeyView key = lease.key().view();
  stuck_.forget(lease.key());
  if (result->after && *result->after <= Duration::zero()) {
    instruments_.requeue.add();
    queue_.add_backed_off(key, lease.priority());
    return;
  }
  queue_.forget(key);
  if (!result->after) {
    instruments_.success.add();
    return;
  }
  instruments_.requeue_after.add();
  queue_.add_after(key, *result->after, lease.priority());
}

void Controller::settle_failure(const WorkQueue::Lease& lease, const Error& error) {
  const std::string name = lease.key().to_string();
  if (stopping_ && error.code() == Code::kCancelled) {
    log_.warn("reconcile cut off by the end of the process", {{"key", name}, {"error", error}});
    stuck_.forget(lease.key());
    return;
  }
  instruments_.error.add();
  instruments_.errors.add();
  stuck_.failed(lease.key(), error);
  const Duration own = fails_again(error.code()) ? options_.slow_retry : Duration::zero();
  const Duration at_least = std::max(own, error.retry_after().value_or(Duration::zero()));
  queue_.add_backed_off(lease.key().view(), lease.priority(), at_least);
  const int retries = queue_.retries(lease.key().view());
  log_.log(
      level_of(error, retries), "reconcile failed",
      {{"key", name}, {"code", to_string(error.code())}, {"error", error}, {"retries", retries}});
}

// Looks now and then, only while there is something that could be stuck.
void Controller::watch_progress() {
  if (progress_timer_) return;
  progress_timer_.emplace(executor_, options_.stuck_after / 20, [this] { show_progress(); });
}

void Controller::show_progress() {
  progress_timer_.reset();
  const auto stuck = stuck_.stuck();
  instruments_.stuck.set(static_cast<double>(stuck.size()));
  if (stuck_.held_workers() >= options_.workers) {
    check_.fail("every worker is held by a reconcile that does not end: " + describe(stuck));
  } else if (!stuck.empty()) {
    check_.warn(describe(stuck));
  } else {
    check_.ok();
  }
  if (stuck_.watching()) watch_progress();
}

}  // namespace mainspring::control
