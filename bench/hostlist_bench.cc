// How fast a cluster's worth of node names folds into a hostlist and back.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/hostlist.h"

namespace mainspring {
namespace {

std::vector<std::string> names(int count) {
  std::vector<std::string> all;
  all.reserve(count);
  // Every seventh node is missing, so that the result has thousands of ranges.
  for (int i = 0; static_cast<int>(all.size()) < count; ++i) {
    if (i % 7 != 3) all.push_back("gpu-node" + std::to_string(i));
  }
  return all;
}

void compress(benchmark::State& state) {
  const auto all = names(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(compress_hostlist(all));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(compress)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void expand(benchmark::State& state) {
  const std::string text = *compress_hostlist(names(static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(expand_hostlist(text));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(expand)->Arg(1'000)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace mainspring

BENCHMARK_MAIN();
