// Our side of bench/slurm_compare. Each prints lines of JSON.
//
//   slurm_cache decode nodes|jobs FILE   an answer of slurmrestd into a store: time and memory
//   slurm_cache store NODES JOBS         both in a cache, with its indexes: memory
//   slurm_cache follow URL KEY SECRET    the change cache on a real slurmrestd. Reads from its
//   input
//                                        "wait ID", which is answered at once and again when the
//                                        job has left the queue, and "usage".
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/store.h"
#include "base/text.h"
#include "http/client.h"
#include "http/server.h"
#include "json/list_splitter.h"
#include "json/value.h"
#include "net/event_loop.h"
#include "net/run_blocking.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/wait.h"
#include "process_usage.h"
#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/push.h"
#include "slurm/rest_source.h"

namespace mainspring::bench {
namespace {

using net::Task;
using slurm::Job;
using slurm::JobId;
using slurm::Node;

constexpr std::size_t kPiece = std::size_t{64} * 1024;
constexpr int kRepeats = 25;
constexpr Duration kSyncLimit = minutes(5);
constexpr Duration kWaitLimit = minutes(5);

// The next piece of a document; empty at its end.
using NextPiece = std::function<std::string_view()>;

NextPiece pieces_of_file(const std::string& path) {
  struct File {
    explicit File(const std::string& name) : number(::open(name.c_str(), O_RDONLY | O_CLOEXEC)) {}
    ~File() { ::close(number); }
    int number;
    std::array<char, kPiece> piece;
  };
  return [file = std::make_shared<File>(path)] {
    const ssize_t count = ::read(file->number, file->piece.data(), file->piece.size());
    return std::string_view(file->piece.data(),
                            static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  };
}

NextPiece pieces_of_text(std::string_view text) {
  return [text]() mutable {
    const std::string_view piece = text.substr(0, kPiece);
    text.remove_prefix(piece.size());
    return piece;
  };
}

// As the client does it: piece by piece, one record at a time.
template <class T>
Result<void> decode(const NextPiece& next_piece, std::string_view list,
                    const slurm::Source::OnRecord<T>& on_record) {
  json::ListSplitter splitter({.list = list});
  json::Reader reader;
  for (std::string_view text = next_piece(); !text.empty(); text = next_piece()) {
    MS_CHECK(splitter.feed(text, [&](std::string_view element) -> Result<void> {
      MS_TRY(auto record, json::decode<std::shared_ptr<const T>>(reader, element));
      on_record(std::move(record));
      return {};
    }));
  }
  MS_CHECK(splitter.finish());
  return {};
}

template <class T>
Result<void> fill(Store<T>& store, const NextPiece& next_piece, std::string_view list) {
  store.begin_replace();
  MS_CHECK(decode<T>(next_piece, list, [&store](auto record) { store.put(std::move(record)); }));
  store.end_replace();
  return {};
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Memory is that of a document that is never there as a whole. Time is that of decoding alone: the
// document is in memory before the clock starts.
template <class T>
int measure_decode(const std::string& path, std::string_view list) {
  const long before = memory("VmRSS:");
  auto store = std::make_unique<Store<T>>();
  must(fill(*store, pieces_of_file(path), list));
  const long peak = memory("VmHWM:") - before;
  const long filled = memory("VmRSS:") - before;
  const std::string text = read_file(path);
  double best = 1e9;
  for (int i = 0; i < kRepeats; ++i) {
    Store<T> again;
    const double start = cpu_seconds();
    must(fill(again, pieces_of_text(text), list));
    best = std::min(best, cpu_seconds() - start);
  }
  json::Value line;
  line["objects"] = store->size();
  line["cpu"] = best;
  line["store"] = filled;
  line["peak"] = peak;
  print_line(line);
  return 0;
}

// A Slurm that gave these answers once and has not changed since.
class Recorded final : public slurm::Source {
 public:
  Recorded(std::string nodes, std::string jobs)
      : nodes_(std::move(nodes)), jobs_(std::move(jobs)) {}

  Task<Result<slurm::Listed>> nodes(std::int64_t since, OnRecord<Node> on_record) override {
    if (since == 0) MS_CO_CHECK(decode<Node>(pieces_of_file(nodes_), "nodes", on_record));
    co_return slurm::Listed{.not_modified = since != 0, .last_update = 1};
  }
  Task<Result<slurm::Listed>> jobs(std::int64_t since, OnRecord<Job> on_record) override {
    if (since == 0) MS_CO_CHECK(decode<Job>(pieces_of_file(jobs_), "jobs", on_record));
    co_return slurm::Listed{.not_modified = since != 0, .last_update = 1};
  }
  Task<Result<slurm::Listed>> partitions(std::int64_t, OnRecord<slurm::Partition>) override {
    co_return slurm::Listed{.last_update = 1};
  }
  Task<Result<slurm::Listed>> reservations(std::int64_t, OnRecord<slurm::Reservation>) override {
    co_return slurm::Listed{.last_update = 1};
  }
  Task<Result<std::vector<slurm::JobPulse>>> job_states(std::vector<JobId>, slurm::Lane) override {
    co_return fail(Code::kUnsupported, "only lists are recorded");
  }
  Task<Result<std::shared_ptr<const Job>>> job(JobId, slurm::Lane) override {
    co_return fail(Code::kUnsupported, "only lists are recorded");
  }
  Task<Result<std::shared_ptr<const Node>>> node(std::string, slurm::Lane) override {
    co_return fail(Code::kUnsupported, "only lists are recorded");
  }
  Task<Result<slurm::ControllerHealth>> health() override {
    co_return slurm::ControllerHealth{.responding = true, .boot_time = 1};
  }

 private:
  std::string nodes_, jobs_;
};

Task<Result<void>> synced(slurm::Cache* cache) {
  while (!cache->jobs().synced() || !cache->nodes().synced()) {
    MS_CO_CHECK(co_await net::sleep(milliseconds(50)));
  }
  co_return Result<void>();
}

Task<Result<void>> fill_and_settle(net::Executor* executor, slurm::Cache* cache) {
  net::TaskGroup group(*executor);
  group.spawn(cache->run());
  MS_CO_CHECK(co_await net::with_timeout(kSyncLimit, "the first lists", synced(cache)));
  co_return co_await net::sleep(seconds(1));
}

int measure_store(const std::string& nodes, const std::string& jobs) {
  net::EventLoop loop;
  Random random(1);
  const long before = memory("VmRSS:");
  Recorded source(nodes, jobs);
  slurm::Cache cache(loop, random, source, {});
  must(loop.run(fill_and_settle(&loop, &cache)));
  json::Value line;
  line["store"] = memory("VmRSS:") - before;
  line["objects"] = cache.nodes().size() + cache.jobs().size();
  print_line(line);
  return 0;
}

struct Follower {
  Follower(const std::string& url, const std::string& key, std::string secret)
      : transport(loop, network, {}),
        governor(loop, random, {}),
        client(transport, loop, random, governor, client_options(url, key)),
        source(client),
        cache(loop, random, source, cache_options()),
        push_secret(std::move(secret)) {}

  slurm::Client::Options client_options(const std::string& url, const std::string& key) {
    slurm::Client::Options options;
    options.server = must(http::Url::parse(url));
    options.tokens = slurm::minted_tokens_from(key, loop.clock());
    options.on_attempt = [this](const slurm::Client::Attempt&) { ++requests; };
    return options;
  }
  // As the bridge has it: only the jobs that it follows are of interest.
  static slurm::CacheOptions cache_options() {
    slurm::CacheOptions options;
    options.cares_about = [](const slurm::JobPulse&) { return false; };
    return options;
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random{1};
  http::Client transport;
  slurm::Governor governor;
  std::int64_t requests = 0;
  slurm::Client client;
  slurm::RestSource source;
  slurm::Cache cache;
  Secret push_secret;
};

double unix_now(const Clock& clock) {
  return std::chrono::duration<double>(clock.wall_now().time_since_epoch()).count();
}

Task<Result<void>> report_start(Follower* follower, JobId job) {
  MS_CO_CHECK(co_await follower->cache.wait_for_job(
      job, [](const Job& one) { return one.state.has_left_queue(); }, kWaitLimit));
  json::Value line;
  line["seen"] = unix_now(follower->loop.clock());
  print_line(line);
  co_return Result<void>();
}

json::Value usage(const Follower& follower) {
  json::Value line;
  line["requests"] = follower.requests;
  line["cpu"] = cpu_seconds();
  line["resident"] = memory("VmRSS:");
  return line;
}

Result<std::string> read_line() {
  std::string line;
  if (!std::getline(std::cin, line)) return fail(Code::kCancelled, "the input ended");
  return line;
}

Task<Result<void>> obey(Follower* follower, net::TaskGroup* group) {
  while (true) {
    MS_CO_TRY(const std::string line, co_await net::run_blocking(read_line));
    if (line == "usage") {
      print_line(usage(*follower));
      continue;
    }
    MS_CO_TRY(const auto number, parse_integer<std::uint32_t>(line.substr(line.find(' ') + 1)));
    group->spawn(report_start(follower, JobId(number)));
    // Long enough for the cache to have looked at the job as it is now.
    MS_CO_CHECK(co_await net::sleep(milliseconds(300)));
    json::Value waiting;
    waiting["waiting"] = number;
    print_line(waiting);
  }
}

Task<Result<void>> follow(Follower* follower) {
  http::Router router;
  slurm::add_push_route(
      router, slurm::kPushPath, [follower] { return follower->push_secret; },
      [follower](const http::Request&, const slurm::PushedEvent& event) {
        follower->cache.pushed(event);
      });
  http::Server server(follower->loop, {}, std::move(router));
  MS_CO_TRY(auto listener, follower->network.listen(net::Endpoint::tcp("127.0.0.1", 0), {}));
  const unsigned port = listener->port();
  net::TaskGroup group(follower->loop);
  group.spawn(follower->cache.run());
  group.spawn(server.serve(std::move(listener)));
  MS_CO_CHECK(co_await net::with_timeout(kSyncLimit, "the first lists", synced(&follower->cache)));
  json::Value line;
  line["push_port"] = port;
  line["nodes"] = follower->cache.nodes().size();
  line["jobs"] = follower->cache.jobs().size();
  print_line(line);
  co_return co_await obey(follower, &group);
}

int run(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "decode" && argc == 4) {
    return std::string_view(argv[2]) == "nodes" ? measure_decode<Node>(argv[3], "nodes")
                                                : measure_decode<Job>(argv[3], "jobs");
  }
  if (verb == "store" && argc == 4) return measure_store(argv[2], argv[3]);
  if (verb == "follow" && argc == 5) {
    Follower follower(argv[2], argv[3], argv[4]);
    const auto ended = follower.loop.run(follow(&follower));
    std::fprintf(stderr, "slurm_cache: %s\n", ended.error().to_string().c_str());
    return 1;
  }
  std::fprintf(stderr, "usage: slurm_cache decode|store|follow ...\n");
  return 2;
}

}  // namespace
}  // namespace mainspring::bench

int main(int argc, char** argv) { return mainspring::bench::run(argc, argv); }
