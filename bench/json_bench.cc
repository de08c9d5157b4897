// Decoding JSON: a list of 2,000 pods and an answer of 10,000 Slurm nodes into the fields that a
// controller reads, by our Reader and by nlohmann-json in the same run; and whole values, parsed
// and written. Compare lines of the same name: bytes per second is the figure. Decoding has a bar.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "json/value.h"
#include "json_projections.h"
#include "json_samples.h"

namespace mainspring::bench {
namespace {

const std::string& pods() {
  static const std::string text = pod_list(2'000);
  return text;
}
// As a slurmrestd writes it that nobody told otherwise.
const std::string& nodes() {
  static const std::string text = nlohmann::json::parse(slurm_nodes(10'000)).dump(2);
  return text;
}
// As ours writes it: images/slurmrestd sets SLURMRESTD_JSON=compact.
const std::string& compact_nodes() {
  static const std::string text = slurm_nodes(10'000);
  return text;
}

void count_bytes(benchmark::State& state, const std::string& text) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * text.size()));
}

// What is decoded is kept, as a store keeps it: freeing it counts for neither side. What only
// decoding needed, such as nlohmann's tree, does.
template <class T>
void drop_untimed(benchmark::State& state, T& decoded) {
  benchmark::DoNotOptimize(decoded);
  state.PauseTiming();
  decoded = T();
  state.ResumeTiming();
}

template <class T>
void decode_ours(benchmark::State& state, const std::string& text) {
  json::Reader reader;
  for (auto _ : state) {
    // As it is when it comes from the network: read once, with room behind it.
    state.PauseTiming();
    std::string body;
    body.reserve(text.size() + json::Reader::kPadding);
    body = text;
    state.ResumeTiming();
    auto list = json::decode_body<T>(reader, std::move(body));
    if (!list) return state.SkipWithError(list.error().to_string().c_str());
    drop_untimed(state, *list);
  }
  count_bytes(state, text);
  state.counters["at_least"] = 15;  // Times the speed of nlohmann-json.
}

template <class T>
void decode_nlohmann(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    T list = nlohmann::json::parse(text).get<T>();
    drop_untimed(state, list);
  }
  count_bytes(state, text);
}

void watch_line(benchmark::State& state) {
  std::string line = R"({"type":"MODIFIED","object":)";
  append_pod_metadata(line, 1);
  append_pod_spec(line, 1);
  append_pod_status(line, 1);
  line += "}\n";
  json::Reader reader;
  for (auto _ : state) {
    std::string type;
    Pod pod;
    reader.open(line);
    reader.object([&](std::string_view key) {
      if (key == "type") {
        reader.read(type);
      } else if (key == "object") {
        json::read(reader, pod);
      }
    });
    if (!reader.finish()) state.SkipWithError("the line was refused");
    benchmark::DoNotOptimize(pod);
  }
  count_bytes(state, line);
}

void parse_ours(benchmark::State& state) {
  for (auto _ : state) {
    auto document = json::Document::parse(pods());
    if (!document) state.SkipWithError("the document was refused");
    benchmark::DoNotOptimize(document);
  }
  count_bytes(state, pods());
}

void parse_nlohmann(benchmark::State& state) {
  for (auto _ : state) {
    auto value = nlohmann::json::parse(pods());
    benchmark::DoNotOptimize(value);
  }
  count_bytes(state, pods());
}

void write_ours(benchmark::State& state) {
  const auto document = json::Document::parse(pods());
  for (auto _ : state) {
    std::string text = json::to_text(document->root());
    benchmark::DoNotOptimize(text);
  }
  count_bytes(state, pods());
}

void write_nlohmann(benchmark::State& state) {
  const auto value = nlohmann::json::parse(pods());
  for (auto _ : state) {
    std::string text = value.dump();
    benchmark::DoNotOptimize(text);
  }
  count_bytes(state, pods());
}

const bool registered = [] {
  const auto add = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond);
  };
  add("pods_decode/mainspring", [](auto& state) { decode_ours<PodList>(state, pods()); });
  add("pods_decode/nlohmann", [](auto& state) { decode_nlohmann<PodList>(state, pods()); });
  add("slurm_nodes_decode/mainspring",
      [](auto& state) { decode_ours<SlurmNodes>(state, nodes()); });
  add("slurm_nodes_decode/nlohmann",
      [](auto& state) { decode_nlohmann<SlurmNodes>(state, nodes()); });
  add("slurm_nodes_compact_decode/mainspring",
      [](auto& state) { decode_ours<SlurmNodes>(state, compact_nodes()); });
  add("slurm_nodes_compact_decode/nlohmann",
      [](auto& state) { decode_nlohmann<SlurmNodes>(state, compact_nodes()); });
  add("value_parse/mainspring", parse_ours);
  add("value_parse/nlohmann", parse_nlohmann);
  add("value_write/mainspring", write_ours);
  add("value_write/nlohmann", write_nlohmann);
  benchmark::RegisterBenchmark("watch_line/mainspring", watch_line)->Unit(benchmark::kMicrosecond);
  return true;
}();

}  // namespace
}  // namespace mainspring::bench

BENCHMARK_MAIN();
