// The change cache on a real slurmrestd, for slurm_cache_test.py, which changes and breaks things
// meanwhile. SLURM_URL, SLURM_KEY and SLURM_TOKEN (a file) say where and how. Reads lines and
// answers each with one:
//   check           waits until the cache says what fresh lists say: "ok", or how they differ
//   started ID...   those whose start was never told
//   ended ID...     those whose end was never told
//   killed          slurmctld was, so a job may go back in time once
//   key, file       makes tokens of the key from now on, which is how it begins, or reads the file
//   refused         how often a token was refused so far
//   end             what was wrong with the stories that the stores told
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "http/client.h"
#include "net/event_loop.h"
#include "net/run_blocking.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/wait.h"
#include "sim/chronicle.h"
#include "sim/job_stories.h"
#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/rest_source.h"

namespace mainspring::slurm {
namespace {

constexpr Duration kPatience = seconds(90);
// So short that tokens are renewed all the time.
constexpr MintOptions kShortLived{.lifetime = seconds(15), .renew_before = seconds(5)};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set; run tests/real/slurm_cache_test.py instead\n", name);
    std::exit(2);
  }
  return value;
}

// Tokens from one place or the other, and how often one was refused.
class Tokens final : public TokenSource {
 public:
  explicit Tokens(const Clock& clock)
      : minted_(minted_tokens_from(variable("SLURM_KEY"), clock, kShortLived)),
        file_(token_file(variable("SLURM_TOKEN"), clock)) {}

  void use_file(bool yes) { uses_file_ = yes; }
  int refusals() const { return refusals_; }

  Task<Result<Secret>> token(std::string user) override { return source().token(std::move(user)); }
  bool needs_user_header() const override { return source().needs_user_header(); }
  bool refused(const std::string& user) override {
    ++refusals_;
    return source().refused(user);
  }
  std::optional<WallTime> expires(const std::string& user) const override {
    return source().expires(user);
  }

 private:
  TokenSource& source() const { return uses_file_ ? *file_ : *minted_; }

  std::shared_ptr<TokenSource> minted_, file_;
  bool uses_file_ = false;
  int refusals_ = 0;
};

struct Process {
  Process()
      : transport(loop, network, {}),
        governor(loop, random, {}),
        client(transport, loop, random, governor, options()),
        source(client),
        cache(loop, random, source, paces()) {}
  // As by default, but for partitions and reservations, and for what answers may cost on a machine
  // that has more to do: a test does not wait minutes for a list.
  static CacheOptions paces() {
    CacheOptions made;
    made.rest_pace = seconds(5);
    made.share = 0.25;
    return made;
  }
  Client::Options options() const {
    Client::Options made;
    made.server = *http::Url::parse(variable("SLURM_URL"));
    made.tokens = tokens;
    return made;
  }
  std::vector<std::string> complaints() const {
    std::vector<std::string> all;
    const auto add = [&](const std::vector<std::string>& some) {
      all.insert(all.end(), some.begin(), some.end());
    };
    add(nodes.complaints);
    add(jobs.complaints);
    add(partitions.complaints);
    add(reservations.complaints);
    add(stories.complaints);
    return all;
  }

  net::EventLoop loop;
  net::SocketNetwork network{loop};
  Random random = Random::from_system();
  std::shared_ptr<Tokens> tokens = std::make_shared<Tokens>(loop.clock());
  http::Client transport;
  Governor governor;
  Client client;
  RestSource source;
  Cache cache;
  sim::Chronicle<Node> nodes{cache.nodes()};
  sim::Chronicle<Job> jobs{cache.jobs()};
  sim::Chronicle<Partition> partitions{cache.partitions()};
  sim::Chronicle<Reservation> reservations{cache.reservations()};
  sim::JobStories stories{cache.jobs()};
};

// Which fields of two records of a job differ: all but those that change without the job's state,
// which only the rare full list would tell (holds, priorities, reasons, estimates, most flags).
std::string different(const Job& a, const Job& b) {
  // Requeued and back in the same state between two looks at all states, which do not show it.
  if (a.state == b.state && a.restart_count != b.restart_count) return "";
  std::string fields;
  const auto look = [&](const char* name, const auto& one, const auto& other) {
    if (!(one == other)) fields += fmt::format(" {}", name);
  };
  look("state", a.state, b.state);
  look("name", a.name, b.name);
  look("partition", a.partition, b.partition);
  look("account", a.account, b.account);
  look("qos", a.qos, b.qos);
  look("user", std::pair(a.user_id, a.group_id), std::pair(b.user_id, b.group_id));
  look("admin_comment", a.admin_comment, b.admin_comment);
  look("comment", a.comment, b.comment);
  look("nodes", a.nodes, b.nodes);
  look("node_count", a.node_count, b.node_count);
  look("cpus", a.cpus, b.cpus);
  look("required_nodes", a.required_nodes, b.required_nodes);
  look("memory_per_node", a.memory_per_node, b.memory_per_node);
  look("tres_requested", a.tres_requested, b.tres_requested);
  look("tres_allocated", a.tres_allocated, b.tres_allocated);
  look("time_limit", a.time_limit, b.time_limit);
  look("external", a.is_external(), b.is_external());
  look("requeue", a.requeue, b.requeue);
  look("restart_count", a.restart_count, b.restart_count);
  look("submit_time", a.submit_time, b.submit_time);
  if (a.state.has_left_queue()) look("start_time", a.start_time, b.start_time);
  if (a.state.has_ended()) look("end_time", a.end_time, b.end_time);
  if (a.state.has_ended()) look("exit_code", a.exit_code, b.exit_code);
  return fields;
}

// A failure names what a node's record tells; what else there is of it is in the list.
std::string different(const Node& a, const Node& b) {
  if (a == b) return "";
  const auto told = [](const Node& node) {
    return fmt::format(
        "{} in {}, {}+{} used, reason \"{}\" of {}, reservation \"{}\", comment \"{}\"",
        node.state.to_string(), fmt::join(node.partitions, ","), node.alloc_cpus, node.alloc_memory,
        node.reason.view(), node.reason_changed_at.value_or(0), node.reservation.view(),
        node.comment.view());
  };
  return fmt::format(" {} instead of {}", told(a), told(b));
}

template <class T>
std::string different(const T& a, const T& b) {
  return a == b ? "" : " all";
}

template <class T>
void compare(const Store<T>& cached, const Store<T>& fresh, std::vector<std::string>& differences) {
  fresh.for_each([&](const auto& one) {
    const auto have = cached.get(one->key());
    if (!have) differences.push_back(fmt::format("{} is missing", one->key().name));
    const std::string fields = have ? different(*have, *one) : "";
    if (!fields.empty()) {
      differences.push_back(fmt::format("{} differs:{}", one->key().name, fields));
    }
  });
  cached.for_each([&](const auto& one) {
    if (!fresh.get(one->key())) differences.push_back(fmt::format("{} is gone", one->key().name));
  });
}

template <class T>
std::function<void(std::shared_ptr<const T>)> into(Store<T>& store) {
  return [&store](auto one) { store.put(std::move(one)); };
}

Task<Result<std::vector<std::string>>> differences(Process* process) {
  Store<Node> nodes;
  Store<Job> jobs;
  Store<Partition> partitions;
  Store<Reservation> reservations;
  MS_CO_CHECK(co_await process->source.nodes(0, into(nodes)));
  MS_CO_CHECK(co_await process->source.jobs(0, into(jobs)));
  MS_CO_CHECK(co_await process->source.partitions(0, into(partitions)));
  MS_CO_CHECK(co_await process->source.reservations(0, into(reservations)));
  std::vector<std::string> found;
  Cache& cache = process->cache;
  if (!cache.nodes_freshness().fresh()) found.emplace_back("nodes are not fresh");
  if (!cache.jobs_freshness().fresh()) found.emplace_back("jobs are not fresh");
  if (!cache.partitions_freshness().fresh()) found.emplace_back("partitions are not fresh");
  if (!cache.reservations_freshness().fresh()) found.emplace_back("reservations are not fresh");
  compare(cache.nodes(), nodes, found);
  compare(cache.jobs(), jobs, found);
  compare(cache.partitions(), partitions, found);
  compare(cache.reservations(), reservations, found);
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

using Told = bool (sim::JobStories::*)(std::string_view) const;
std::string untold(const sim::JobStories& stories, Told told, std::string_view ids) {
  std::vector<std::string> missing;
  for (const std::string_view id : split(ids, ' ')) {
    if (!id.empty() && !(stories.*told)(id)) missing.emplace_back(id);
  }
  return joined(missing);
}

// What needs no waiting.
std::string answer(Process& process, std::string_view word, std::string_view rest) {
  if (word == "started") return untold(process.stories, &sim::JobStories::told_start, rest);
  if (word == "ended") return untold(process.stories, &sim::JobStories::told_end, rest);
  if (word == "refused") return std::to_string(process.tokens->refusals());
  if (word == "end") return joined(process.complaints());
  if (word == "killed") process.stories.slurmctld_was_killed();
  if (word == "key" || word == "file") process.tokens->use_file(word == "file");
  return "ok";
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
    const std::string_view all = line;
    const std::string_view word = all.substr(0, all.find(' '));
    std::string said;
    if (word == "check") {
      MS_CO_TRY(said, co_await check(process));
    } else {
      said = answer(*process, word, all.substr(word.size()));
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
