// Whatever Slurm and the way to it do, the cache is like Slurm once they behave, and every handler
// has been told a story without gaps that never goes back in time and buries nobody alive.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <list>

#include "base/seeds_testing.h"
#include "net/task_group.h"
#include "slurm/cache.h"
#include "slurm/model_slurm.h"

namespace mainspring::slurm {
namespace {

using Base = JobState::Base;

std::int64_t version_of(const Job& job) { return job.priority.value_or(0); }
std::int64_t version_of(const Node& node) { return node.weight; }

// What one kind's handlers were told. Only takes notes: it is called from inside the cache.
template <class T>
struct Story {
  std::map<std::string, std::shared_ptr<const T>, std::less<>> last;
  std::map<std::string, std::int64_t, std::less<>> newest;
  int gaps = 0;          // `before` was not what had been told last.
  int steps_back = 0;    // Older than something told before.
  int repetitions = 0;   // Nothing had changed.
  int buried_alive = 0;  // Said to be gone, and it was not.

  void hear(const std::shared_ptr<const T>& before, const std::shared_ptr<const T>& after,
            const std::map<std::string, T>& truth) {
    const std::string name(store_key(after ? *after : *before).name);
    const auto known = last.find(name);
    const bool was_known = known != last.end();
    gaps += was_known != (before != nullptr) || (was_known && *known->second != *before);
    repetitions += before && after && *before == *after;
    if (after) {
      steps_back += version_of(*after) < newest[name];
      newest[name] = version_of(*after);
      last[name] = after;
    } else {
      const auto real = truth.find(name);
      buried_alive += real != truth.end() && version_of(real->second) == newest[name];
      last.erase(name);
    }
  }
  bool good() const { return gaps + steps_back + repetitions + buried_alive == 0; }
  std::string text() const {
    return fmt::format("{} gaps, {} steps back, {} repetitions, {} buried alive", gaps, steps_back,
                       repetitions, buried_alive);
  }
};

Task<Result<void>> await_job(Cache* cache, JobId id, Duration limit) {
  (void)co_await cache->wait_for_job(
      id, [](const Job& job) { return job.state.has_left_queue(); }, limit);
  co_return Result<void>();
}
Task<Result<void>> await_node(Cache* cache, std::string name, Duration limit) {
  (void)co_await cache->wait_for_node(
      std::move(name), [](const Node& node) { return node.state.is_drained(); }, limit);
  co_return Result<void>();
}
// What was written before the call is seen by the writer and in the store.
Task<Result<void>> write_through(Cache* cache, JobId id, std::int64_t written, int* missed) {
  const auto read = co_await cache->refresh_job(id);
  if (read && *read) *missed += version_of(**read) < written;
  co_return Result<void>();
}

class World {
 public:
  World(std::uint64_t seed, bool cares) : random_(seed), slurm_(executor_, random_) {
    slurm_.faults = {.failures = static_cast<unsigned>(random_.below(3) * 5),
                     .lies = static_cast<unsigned>(random_.below(3) * 10),
                     .latency = milliseconds(random_.below(300)),
                     .list_latency = milliseconds(random_.below(4000))};
    const std::uint64_t many = random_.below(3) * 30;
    for (std::uint64_t i = 0; i < 4 + many; ++i) add_job();
    for (std::uint64_t i = 0; i < 6 + many; ++i) change_node(i);
    slurm_.put_partition("main");
    CacheOptions options;
    if (!cares) options.cares_about = [](const JobPulse& job) { return job.id.number() % 2 == 0; };
    cache_ = std::make_unique<Cache>(executor_, random_, slurm_, std::move(options));
    cache_->jobs().add_handler([this](const auto& before, const auto& after) {
      jobs_.hear(before, after, slurm_.all_jobs());
    });
    cache_->nodes().add_handler([this](const auto& before, const auto& after) {
      nodes_.hear(before, after, slurm_.all_nodes());
    });
    running_.emplace(executor_);
    running_->spawn(cache_->run());
  }

  void act() {
    const auto id = static_cast<std::uint32_t>(1 + random_.below(last_job_));
    switch (random_.below(20)) {
      case 0:
      case 1:
        return add_job();
      case 2:
      case 3:
      case 4:
        return change_job(id);
      case 5:
        return slurm_.remove_job(id);
      case 6:  // Many end at once, as after a maintenance.
        if (random_.below(4) > 0) return;
        for (std::uint32_t i = 1; i <= last_job_; ++i) slurm_.remove_job(i);
        return;
      case 7:
      case 8:
        return change_node(random_.below(8));
      case 9:
        return slurm_.remove_node(fmt::format("n{}", random_.below(8)));
      case 10:
        slurm_.put_partition(fmt::format("p{}", random_.below(3)));
        return slurm_.remove_reservation(fmt::format("r{}", random_.below(2)));
      case 11:
        slurm_.put_reservation(fmt::format("r{}", random_.below(2)));
        return slurm_.remove_partition(fmt::format("p{}", random_.below(3)));
      case 12:
        slurm_.away = random_.below(3) == 0;
        return slurm_.restart();
      case 13:
        return helpers_.spawn(
            await_job(cache_.get(), JobId(id), milliseconds(random_.below(9000))));
      case 14:
        return helpers_.spawn(await_node(cache_.get(), fmt::format("n{}", random_.below(9)),
                                         milliseconds(random_.below(9000))));
      case 15:
        if (!slurm_.all_jobs().contains(std::to_string(id))) return;
        slurm_.comment_job(id, fmt::format("c{}", random_.below(5)));
        return helpers_.spawn(write_through(cache_.get(), JobId(id),
                                            version_of(slurm_.all_jobs().at(std::to_string(id))),
                                            &writes_missed_));
      case 16:
        if (random_.below(2) == 0) return interests_.clear();
        return interests_.push_back(cache_->follow(JobId(id)));
      case 17:
        cache_->refresh_lists();
        return cache_->pushed(
            {.kind = PushedEvent::Kind::kJobStarted, .job = JobId(id), .nodes = "n[1-3]"});
      case 18:
        return executor_.advance(seconds(random_.below(40)));
      default:
        return executor_.advance(milliseconds(random_.below(1500)));
    }
  }

  void settle() {
    slurm_.away = false;
    slurm_.faults.failures = 0;
    slurm_.faults.lies = 0;
    interests_.clear();
    executor_.advance(hours(3));
  }

  template <class T>
  static std::map<std::string, T> contents(const Store<T>& store) {
    std::map<std::string, T> all;
    store.for_each(
        [&](const auto& object) { all.emplace(std::string(store_key(*object).name), *object); });
    return all;
  }

  void check() {
    EXPECT_EQ(contents(cache_->jobs()), slurm_.all_jobs());
    EXPECT_EQ(contents(cache_->nodes()), slurm_.all_nodes());
    EXPECT_EQ(contents(cache_->partitions()), slurm_.all_partitions());
    EXPECT_EQ(contents(cache_->reservations()), slurm_.all_reservations());
    EXPECT_TRUE(jobs_.good()) << jobs_.text();
    EXPECT_TRUE(nodes_.good()) << nodes_.text();
    EXPECT_EQ(writes_missed_, 0);
    EXPECT_TRUE(cache_->jobs_freshness().fresh()) << to_string(cache_->jobs_freshness());
    EXPECT_TRUE(cache_->nodes_freshness().fresh()) << to_string(cache_->nodes_freshness());
    const int before = slurm_.total();
    executor_.advance(minutes(20));
    EXPECT_LT(slurm_.total() - before, 1200 / 5) << "requests at rest";
  }

 private:
  void add_job() { slurm_.put_job(++last_job_, Base::kPending); }
  void change_job(std::uint32_t id) {
    if (!slurm_.all_jobs().contains(std::to_string(id))) return;
    static constexpr Base kStates[] = {Base::kPending, Base::kRunning, Base::kCompleted};
    slurm_.put_job(id, kStates[random_.below(3)], fmt::format("n{}", random_.below(8)));
  }
  void change_node(std::uint64_t number) {
    slurm_.put_node(fmt::format("n{}", number),
                    random_.below(2) == 0
                        ? NodeState(NodeState::Base::kIdle)
                        : NodeState(NodeState::Base::kIdle, {NodeState::Flag::kDrain}));
  }

  net::VirtualExecutor executor_;
  Random random_;
  ModelSlurm slurm_;
  std::uint32_t last_job_ = 0;
  Story<Job> jobs_;
  Story<Node> nodes_;
  int writes_missed_ = 0;
  std::unique_ptr<Cache> cache_;
  std::vector<Cache::Interest> interests_;
  net::TaskGroup helpers_{executor_};
  std::optional<net::TaskGroup> running_;
};

void live(std::uint64_t seed, bool cares) {
  World world(seed, cares);
  Random random(seed * 7919);
  for (std::uint64_t i = random.below(120); i > 0; --i) world.act();
  world.settle();
  world.check();
}

TEST(CacheProperty, EqualsSlurmInTheEndAndTellsEveryChangeOnceAndInOrder) {
  for (std::uint64_t seed = 1; seed <= seeds(80) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    live(seed, true);
  }
}

TEST(CacheProperty, HoldsWhereMostJobsAreNobodysConcern) {
  for (std::uint64_t seed = 1001; seed <= 1000 + seeds(30) && !testing::Test::HasFailure();
       ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    live(seed, false);
  }
}

}  // namespace
}  // namespace mainspring::slurm
