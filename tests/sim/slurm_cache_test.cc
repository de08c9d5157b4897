// The change cache whole, from the REST client to its stores, over a Slurm in memory that jobs come
// and go in, that restarts, and that answers late, wrongly or not at all. Whatever happens, each
// object's story is told once and in order, no job goes back, nothing that exists is reported gone,
// and when things calm down the cache says what a fresh list says, and has told how each job ended.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/seeds_testing.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "sim/chronicle.h"
#include "sim/faults.h"
#include "sim/job_stories.h"
#include "sim/slurm_api.h"
#include "slurm/cache.h"
#include "slurm/client.h"
#include "slurm/rest_source.h"

namespace mainspring::sim {
namespace {

using net::Task;
using slurm::Job;
using slurm::JobId;
using slurm::Node;

constexpr Duration kCalm = minutes(12);  // Longer than any pace of the cache.

std::string definition(int number) {
  return fmt::format(
      "NodeName=n{} NodeAddr=127.0.0.{} Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 CPUs=8 "
      "RealMemory=8000 Feature=external State=External",
      number, number % 250 + 1);
}

// Everything of one process, over a Slurm that outlives it.
struct Follower {
  Follower(net::Executor& on, http::Transport& transport, std::uint64_t seed)
      : random(seed),
        governor(on, random, {}),
        client(transport, on, random, governor, options()),
        source(client),
        cache(on, random, source, {}),
        jobs(cache.jobs()),
        nodes(cache.nodes()),
        stories(cache.jobs()),
        life(on) {
    life.spawn(cache.run());
  }
  static slurm::Client::Options options() {
    slurm::Client::Options made;
    made.server = *http::Url::parse("http://sim");
    made.tokens = slurm::static_token(Secret("any"));
    return made;
  }

  Random random;
  slurm::Governor governor;
  slurm::Client client;
  slurm::RestSource source;
  slurm::Cache cache;
  Chronicle<Job> jobs;
  Chronicle<Node> nodes;
  JobStories stories;
  net::TaskGroup life;
};

// What people do to a cluster, by chance.
class People {
 public:
  People(SlurmApi& api, std::uint64_t seed) : api_(api), random_(seed) {}

  void set_up() {
    for (; made_ < 6; ++made_) {
      EXPECT_FALSE(api_.model().create_node(definition(made_)));
    }
  }

  void act() {
    SlurmModel& model = api_.model();
    const std::string node = fmt::format("n{}", random_.below(static_cast<std::uint64_t>(made_)));
    const auto job =
        static_cast<std::uint32_t>(1 + random_.below(static_cast<std::uint64_t>(submitted_) + 1));
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        return submit(model);
      case 3:
      case 4:
        static_cast<void>(model.cancel(job));
        return;
      case 5:
        static_cast<void>(model.update_job(job, {.hold = false, .admin_comment = "seen"}));
        return;
      case 6:
        static_cast<void>(model.update_node(node, {.state = "DRAIN", .reason = "sim"}));
        return;
      case 7:
        static_cast<void>(model.update_node(node, {.state = "RESUME"}));
        return;
      case 8:
        static_cast<void>(model.create_node(definition(made_++)));
        return;
      default:
        static_cast<void>(model.delete_node(node));
        deleted.insert(node);
    }
  }

  // Something breaks, and is mended by recover().
  void disturb() {
    switch (random_.below(4)) {
      case 0:
        return api_.stop_controller();
      case 1:
        api_.stop_controller();
        return api_.start_controller();
      case 2:
        return api_.stop_rest();
      default:
        return api_.model().reconfigure();
    }
  }
  void recover() {
    if (!api_.controller_up()) api_.start_controller();
    api_.start_rest();
  }

  std::set<std::string> deleted;

 private:
  void submit(SlurmModel& model) {
    SlurmJob job;
    job.partition = "external";
    job.name = fmt::format("job{}", submitted_);
    job.admin_comment = fmt::format("key{}", submitted_);
    job.cpus_per_node = static_cast<int>(1 + random_.below(8));
    job.memory_per_node = 100;
    job.held = random_.below(4) == 0;
    if (random_.below(3) == 0) job.time_limit = 1 + static_cast<std::int64_t>(random_.below(3));
    if (!model.submit(job)) ++submitted_;
  }

  SlurmApi& api_;
  Random random_;
  int made_ = 0;
  int submitted_ = 0;
};

template <class T>
std::map<std::string, std::shared_ptr<const T>> contents(const Store<T>& store) {
  std::map<std::string, std::shared_ptr<const T>> all;
  store.for_each([&](const auto& one) { all.emplace(one->key().name, one); });
  return all;
}

// What a client that has never asked before is told.
Task<Result<void>> list_all(slurm::Source* source, Store<Node>* nodes, Store<Job>* jobs,
                            Store<slurm::Partition>* partitions) {
  MS_CO_CHECK(co_await source->nodes(0, [nodes](auto node) { nodes->put(std::move(node)); }));
  MS_CO_CHECK(co_await source->jobs(0, [jobs](auto job) { jobs->put(std::move(job)); }));
  MS_CO_CHECK(
      co_await source->partitions(0, [partitions](auto one) { partitions->put(std::move(one)); }));
  co_return Result<void>();
}

template <class T>
void expect_same(const Store<T>& cached, const Store<T>& fresh, std::uint64_t seed) {
  const auto have = contents(cached);
  const auto want = contents(fresh);
  for (const auto& [key, object] : have) {
    EXPECT_TRUE(want.contains(key)) << "seed " << seed << ": " << key << " is gone";
  }
  for (const auto& [key, object] : want) {
    ASSERT_TRUE(have.contains(key)) << "seed " << seed << ": " << key << " is missing";
    EXPECT_TRUE(*have.at(key) == *object) << "seed " << seed << ": " << key << " differs";
  }
}

Faults::Options faults(std::uint64_t seed) {
  return {.seed = seed,
          .delay_max = seconds(2),
          .refuse = 0.05,
          .lose_request = 0.05,
          .lose_answer = 0.05,
          .misdirect = 0.05,
          .cut_line = 0.02};
}

bool is_quiet(const net::Executor& executor, SlurmApi& api) {
  const SlurmModel& model = api.model();
  const WallTime changed(seconds(std::max(model.jobs_changed(), model.nodes_changed())));
  return executor.clock().wall_now() - changed > seconds(45);
}

void simulate(std::uint64_t seed) {
  net::VirtualExecutor executor;
  SlurmApi api(executor, {});
  People people(api, seed);
  people.set_up();
  std::map<std::uint32_t, SlurmJob::State> reached;
  api.model().on_change([&](const SlurmJob& job) { reached[job.id] = job.state; });
  Faults way(api, faults(seed));
  Follower follower(executor, way, seed);
  Random chance(seed + 1);
  for (int step = 0; step < 120; ++step) {
    people.act();
    if (chance.below(20) == 0) people.disturb();
    executor.advance(milliseconds(chance.below(8000)));
    if (chance.below(3) == 0) people.recover();
  }
  people.recover();
  way.heal();
  executor.advance(kCalm);
  // Jobs that end by themselves, and are forgotten, still change things.
  for (int i = 0; i < 60 && !is_quiet(executor, api); ++i) executor.advance(seconds(30));

  Follower other(executor, api, seed + 2);
  Store<Node> nodes;
  Store<Job> jobs;
  Store<slurm::Partition> partitions;
  ASSERT_TRUE(executor.run(list_all(&other.source, &nodes, &jobs, &partitions)));
  EXPECT_TRUE(follower.cache.jobs_freshness().fresh()) << "seed " << seed;
  EXPECT_TRUE(follower.cache.nodes_freshness().fresh()) << "seed " << seed;
  expect_same(follower.cache.nodes(), nodes, seed);
  expect_same(follower.cache.jobs(), jobs, seed);
  expect_same(follower.cache.partitions(), partitions, seed);
  EXPECT_THAT(follower.jobs.complaints, testing::IsEmpty()) << "seed " << seed;
  EXPECT_THAT(follower.nodes.complaints, testing::IsEmpty()) << "seed " << seed;
  EXPECT_THAT(follower.stories.complaints, testing::IsEmpty()) << "seed " << seed;
  for (const auto& [id, state] : reached) {
    const std::string text(JobId(id).text());
    EXPECT_TRUE(state != SlurmJob::State::kRunning || follower.stories.told_start(text))
        << "seed " << seed << ": the start of job " << id << " was not told";
    EXPECT_TRUE(state <= SlurmJob::State::kRunning || follower.stories.told_end(text))
        << "seed " << seed << ": the end of job " << id << " was not told";
  }
  // Job ids are never used again, so one that was reported gone must be.
  for (const std::string& id : follower.jobs.gone) {
    EXPECT_EQ(jobs.get({{}, id}), nullptr) << "seed " << seed << ": job " << id << " exists";
  }
  for (const std::string& name : follower.nodes.gone) {
    EXPECT_TRUE(people.deleted.contains(name)) << "seed " << seed << ": node " << name;
  }
}

TEST(SlurmCache, AgreesWithSlurmWhateverHappenedOnTheWay) {
  for (std::uint64_t seed = 1; seed <= seeds(50) && !testing::Test::HasFailure(); ++seed)
    simulate(seed);
}

TEST(SlurmCache, AsksAlmostNothingWhenNothingHappens) {
  net::VirtualExecutor executor;
  SlurmApi api(executor, {});
  People(api, 1).set_up();
  Follower follower(executor, api, 1);
  executor.advance(minutes(2));
  const std::uint64_t before = api.requests();
  executor.advance(minutes(60));
  EXPECT_LT(api.requests() - before, 0.2 * 3600);
}

TEST(SlurmCache, SeesAJobStartSoonWhenSomebodyWaits) {
  net::VirtualExecutor executor;
  SlurmApi api(executor, {});
  People(api, 1).set_up();
  Follower follower(executor, api, 1);
  executor.advance(minutes(2));
  SlurmJob job;
  job.partition = "external";
  job.memory_per_node = 100;
  ASSERT_FALSE(api.model().submit(job));
  const TimePoint submitted = executor.now();
  const auto started = executor.run(follower.cache.wait_for_job(
      JobId(job.id), [](const Job& one) { return one.state.has_left_queue(); }, minutes(1)));
  ASSERT_TRUE(started) << started.error().to_string();
  EXPECT_FALSE((*started)->nodes.empty());
  // The scheduler takes half a second of this.
  EXPECT_LT(executor.now() - submitted, milliseconds(500 + 250));
}

TEST(SlurmCache, ARestartOfSlurmctldDeletesNothing) {
  net::VirtualExecutor executor;
  SlurmApi api(executor, {});
  People people(api, 3);
  people.set_up();
  Follower follower(executor, api, 3);
  executor.advance(minutes(1));
  api.stop_controller();
  executor.advance(minutes(5));
  EXPECT_FALSE(follower.cache.nodes_freshness().fresh());
  api.start_controller();
  executor.advance(minutes(5));
  EXPECT_TRUE(follower.cache.nodes_freshness().fresh());
  EXPECT_THAT(follower.nodes.gone, testing::IsEmpty());
  EXPECT_EQ(follower.cache.nodes().size(), 6U);
}

}  // namespace
}  // namespace mainspring::sim
