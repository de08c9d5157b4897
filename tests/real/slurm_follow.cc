// The change cache on a real slurmrestd, for slurm_cache_test.py, which changes and breaks things
// meanwhile. SLURM_URL and SLURM_KEY say where. Reads lines: "check" waits until the cache says
// what a fresh list says, and answers "ok" or how they differ; "end" answers what was wrong with
// the stories that the stores told, or "ok".
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "base/random.h"
#include "http/client.h"
#include "net/event_loop.h"
#include "net/run_blocking.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/wait.h"
#include "sim/chronicle.h"
#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/rest_source.h"

namespace mainspring::slurm {
namespace {

constexpr Duration kPatience = seconds(90);

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set; run tests/real/slurm_cache_test.py instead\n", name);
    std::exit(2);
  }
  return value;
}

struct Process {
  Process()
      : transport(loop, network, {}),
        governor(loop, random, {}),
        client(transport, loop, random, governor, options()),
        source(client),
        cache(loop, random, source, {}) {}
  Client::Options options() {
    Client::Options made;
    made.server = *http::Url::parse(variable("SLURM_URL"));
    made.tokens = minted_tokens_from(variable("SLURM_KEY"), loop.clock());
    return made;
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random = Random::from_system();
  http::Client transport;
  Governor governor;
  Client client;
  RestSource source;
  Cache cache;
  sim::Chronicle<Node> nodes{cache.nodes()};
  sim::Chronicle<Job> jobs{cache.jobs()};
};

// What of a job does not change but with its state: Slurm thinks about priorities, reasons and
// estimates of waiting jobs all the time.
bool same_job(const Job& a, const Job& b) {
  return a.state == b.state && a.nodes == b.nodes && a.name == b.name &&
         a.admin_comment == b.admin_comment && a.partition == b.partition;
}

template <class T, class Same>
void compare(const Store<T>& cached, const Store<T>& fresh, Same same,
             std::vector<std::string>& differences) {
  fresh.for_each([&](const auto& one) {
    const auto have = cached.get(one->key());
    if (!have) differences.push_back(fmt::format("{} is missing", one->key().name));
    if (have && !same(*have, *one))
      differences.push_back(fmt::format("{} differs", one->key().name));
  });
  cached.for_each([&](const auto& one) {
    if (!fresh.get(one->key())) differences.push_back(fmt::format("{} is gone", one->key().name));
  });
}

Task<Result<std::vector<std::string>>> differences(Process* process) {
  Store<Node> nodes;
  Store<Job> jobs;
  MS_CO_CHECK(co_await process->source.nodes(0, [&](auto one) { nodes.put(std::move(one)); }));
  MS_CO_CHECK(co_await process->source.jobs(0, [&](auto one) { jobs.put(std::move(one)); }));
  std::vector<std::string> found;
  if (!process->cache.nodes_freshness().fresh()) found.emplace_back("nodes are not fresh");
  if (!process->cache.jobs_freshness().fresh()) found.emplace_back("jobs are not fresh");
  compare(process->cache.nodes(), nodes, std::equal_to<Node>(), found);
  compare(process->cache.jobs(), jobs, same_job, found);
  co_return found;
}

std::string joined(const std::vector<std::string>& parts) {
  return parts.empty() ? "ok" : fmt::format("{}", fmt::join(parts, "; "));
}

Task<Result<std::string>> check(Process* process) {
  const TimePoint deadline = process->loop.now() + kPatience;
  std::string said;
  while (process->loop.now() < deadline) {
    const auto found = co_await differences(process);
    said = found ? joined(*found) : found.error().to_string();
    if (said == "ok") break;
    MS_CO_CHECK(co_await net::sleep(milliseconds(500)));
  }
  co_return said;
}

Result<std::string> read_line() {
  std::string line;
  if (!std::getline(std::cin, line)) return fail(Code::kCancelled, "the input ended");
  return line;
}

Task<Result<void>> obey(Process* process) {
  net::TaskGroup group(process->loop);
  group.spawn(process->cache.run());
  while (true) {
    MS_CO_TRY(const std::string line, co_await net::run_blocking(read_line));
    std::string said;
    if (line == "check") {
      MS_CO_TRY(said, co_await check(process));
    } else {
      std::vector<std::string> wrong = process->nodes.complaints;
      wrong.insert(wrong.end(), process->jobs.complaints.begin(), process->jobs.complaints.end());
      said = joined(wrong);
    }
    std::printf("%s\n", said.c_str());
    std::fflush(stdout);
  }
}

int run() {
  Process process;
  const auto ended = process.loop.run(obey(&process));
  return ended || ended.error().code() == Code::kCancelled ? 0 : 1;
}

}  // namespace
}  // namespace mainspring::slurm

int main() { return mainspring::slurm::run(); }
