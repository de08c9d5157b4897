// How many keys a second go through the work queue of one loop: add, take, done.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/metrics.h"
#include "control/work_queue.h"
#include "net/virtual_executor.h"

namespace mainspring::control {
namespace {

constexpr std::size_t kKeys = 10'000;

// The machine's clock, as in a real process: reading it is part of the cost.
class RealTimeExecutor final : public net::Executor {
 public:
  const Clock& clock() const override { return clock_; }
  void post(Action action) override { inner_.post(std::move(action)); }
  TimerId run_at(TimePoint due, Action action) override {
    return inner_.run_at(due, std::move(action));
  }
  void drop_timer(TimerId id) override { inner_.drop_timer(id); }

 private:
  SystemClock clock_;
  net::VirtualExecutor inner_;
};

std::vector<Key> keys() {
  std::vector<Key> all;
  for (std::size_t i = 0; i < kKeys; ++i) {
    all.emplace_back("team-" + std::to_string(i % 50), "training-job-worker-" + std::to_string(i));
  }
  return all;
}

// All keys are added, then all are taken: the line is 10,000 long.
void add_get_done(benchmark::State& state, Metrics* metrics) {
  RealTimeExecutor executor;
  Random random(1);
  WorkQueue queue(executor, random, {.name = "bench", .metrics = metrics});
  const auto all = keys();
  for (auto _ : state) {
    for (const Key& key : all) queue.add(key.view());
    while (auto lease = queue.try_next()) benchmark::DoNotOptimize(lease->key());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kKeys));
}
void without_metrics(benchmark::State& state) { add_get_done(state, nullptr); }
void with_metrics(benchmark::State& state) {
  Metrics metrics;
  add_get_done(state, &metrics);
}
BENCHMARK(without_metrics)->Name("queue_add_get_done/no_metrics")->Unit(benchmark::kMillisecond);
BENCHMARK(with_metrics)->Name("queue_add_get_done/metrics")->Unit(benchmark::kMillisecond);

// An event storm: each key is added ten times before it is worked on.
void repeated_adds(benchmark::State& state) {
  RealTimeExecutor executor;
  Random random(1);
  Metrics metrics;
  WorkQueue queue(executor, random, {.name = "bench", .metrics = &metrics});
  const auto all = keys();
  for (auto _ : state) {
    for (int round = 0; round < 10; ++round) {
      for (const Key& key : all) queue.add(key.view());
    }
    while (auto lease = queue.try_next()) benchmark::DoNotOptimize(lease->key());
  }
  state.SetItemsProcessed(state.iterations() * 10 * static_cast<std::int64_t>(kKeys));
}
BENCHMARK(repeated_adds)->Name("queue_repeated_add")->Unit(benchmark::kMillisecond);

// Every key fails and comes back by its timer.
void back_off(benchmark::State& state) {
  net::VirtualExecutor executor;
  Random random(1);
  WorkQueue queue(executor, random, {.name = "bench", .retries_per_second = 0});
  const auto all = keys();
  for (auto _ : state) {
    for (const Key& key : all) queue.add_backed_off(key.view());
    executor.advance(minutes(5));
    while (auto lease = queue.try_next()) queue.forget(lease->key().view());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kKeys));
}
BENCHMARK(back_off)->Name("queue_back_off")->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mainspring::control

BENCHMARK_MAIN();
